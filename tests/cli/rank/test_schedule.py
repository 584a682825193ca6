"""Schedules of leaderboards over time: ends of steps, which have ended, and options that make none."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.rank.request import Request
from privrank_jax.cli.rank.schedule import schedule_of


def schedule(**options):
    usual = {"every": "day", "start": "2024-01-31", "steps": 3, "until": "2024-02-02"}
    return schedule_of(Request(source="votes.csv", **{**usual, **options}))


@pytest.mark.parametrize(
    ("every", "start", "ends"),
    [
        ("hour", "2024-01-31T23:30", ["2024-02-01T00:30", "2024-02-01T01:30"]),
        ("day", "2024-02-28", ["2024-02-29", "2024-03-01"]),
        ("week", "2024-02-26", ["2024-03-04", "2024-03-11"]),
        ("month", "2024-11-15T06:00", ["2024-12-15T06:00", "2025-01-15T06:00"]),
    ],
)
def test_ends_of_steps(every, start, ends):
    found = schedule(every=every, start=start, steps=2)
    np.testing.assert_array_equal(found.starts, np.array([start, *ends], "datetime64[us]"))
    assert found.words == f"every {every} from {start}"


def test_steps_of_times_and_what_has_ended():
    found = schedule()
    times = np.array(
        ["2024-01-30T23:59", "2024-01-31", "2024-02-01", "2024-02-02T23:59", "2024-02-03"],
        "datetime64[us]",
    )
    assert found.steps_of(times).tolist() == [-1, 0, 1, 2, 3]
    assert found.ended == 2  # the second ends at the very time
    assert schedule(until="2024-02-01T23:59:59").ended == 1
    assert schedule(until=None).ended == 3
    assert (
        schedule(start="2999-01-01", until="3000-01-01").ended == 0
    )  # not before the clock says so


def test_refusals():
    for wrong, match in [
        ({"start": "soon"}, "--start 'soon' is no time"),
        ({"until": "soon"}, "--until 'soon' is no time"),
        ({"every": "month"}, "days 1 to 28"),
        ({"steps": 0}, "--steps must lie between 1 and 10,000, got 0"),
    ]:
        with pytest.raises(Refusal, match=match):
            schedule(**wrong)


def test_options_that_make_no_schedule():
    def check(**options):
        Request(source="votes.csv", epsilon=1.0, **options).check_over_time()

    check()
    with pytest.raises(Refusal, match=r"--time, --steps: these are for a leaderboard over time"):
        check(time="when", steps=3)
    with pytest.raises(Refusal, match=r"needs --start, --state: the schedule is public"):
        check(every="day", time="when", steps=3)
    with pytest.raises(Refusal, match="--every 'year' is unknown"):
        check(every="year")
