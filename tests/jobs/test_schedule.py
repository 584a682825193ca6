"""Schedules of leaderboards over time: ends of steps, which have ended, and what makes none."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.jobs import arrivals as module
from privrank_jax.jobs.arrivals import schedule_of


def schedule(**options):
    usual = {"every": "day", "start": "2024-01-31", "steps": 3, "until": "2024-02-02"}
    return schedule_of(**{**usual, **options})


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


def test_what_has_ended():
    found = schedule()
    assert found.ended == 2  # the second ends at the very time
    assert schedule(until="2024-02-01T23:59:59").ended == 1
    assert schedule(until=None).ended == 3
    assert (
        schedule(start="2999-01-01", until="3000-01-01").ended == 0
    )  # not before the clock says so


@pytest.mark.parametrize("every", ["hour", "day", "week", "month"])
def test_without_a_last_step_they_reach_to_the_end_of_the_one_that_goes_on(every, monkeypatch):
    now = np.datetime64("2026-11-29T07:30:15", "us")
    monkeypatch.setattr(module, "_now", lambda: now)
    start = now - np.timedelta64(123 if every == "hour" else 4000, "h")
    if every == "month":
        start = start.astype("datetime64[M]").astype("datetime64[D]")
    found = schedule(every=every, start=str(start), steps=None, until=None)
    assert found.steps is None
    assert found.starts[-2] <= found.until < found.starts[-1]
    assert found.ended == len(found.starts) - 2
    same = schedule(every=every, start=str(start), steps=found.ended + 1, until=None)
    np.testing.assert_array_equal(found.starts, same.starts)
    assert found.words == same.words


def test_what_may_be_published():
    found = schedule(start="2999-01-01", steps=None, until=None)
    assert (found.ended, len(found.starts)) == (0, 2)
    with pytest.raises(ValueError, match="no step"):
        found.check_ended(found.ended)
    found = schedule(every="hour", start="2001-01-01", steps=None, until=None)
    with pytest.raises(ValueError, match="later `start`"):  # no thousand years at first
        found.check_ended(found.ended)
    with pytest.raises(ValueError, match="the clock"):
        found.check_ended(found.ended + 2, known=found.ended + 2)
    found.check_ended(found.ended, known=1)
    found.check_ended(found.ended + 1, known=found.ended + 1)


@pytest.mark.parametrize(
    ("options", "newest", "refused"),
    [
        ({"until": "2024-02-03"}, "2024-02-01T23:59", True),
        ({"until": "2024-02-03"}, "2024-02-02", False),  # just a day old
        ({"until": "2024-02-03T12:00", "steps": 5}, "2024-02-02T11:59", True),  # in the last step
        ({"until": "2024-02-03T12:00", "steps": 5}, "2024-02-02T12:01", False),
        ({"until": "2025-01-01"}, "2024-02-02", False),  # all steps have ended: none is due later
        ({"until": "2025-01-01"}, "2024-02-01", True),
        ({"every": "month", "start": "2024-01-01", "until": "2024-03-01"}, "2024-02-02", False),
        ({"every": "month", "start": "2024-01-01", "until": "2024-03-01"}, "2024-01-31", True),
    ],
)  # fmt: skip
def test_old_exports(options, newest, refused):
    times = np.array(["2024-01-31", newest, "2999-01-01"], "datetime64[us]")  # one is a slip
    if not refused:
        schedule(**options).check_recent(times, "v.csv")
        return
    with pytest.raises(ValueError, match="old export") as error:
        schedule(**options).check_recent(times, "v.csv")
    assert f"until={newest.removesuffix('T00:00')!r}" in str(error.value)
