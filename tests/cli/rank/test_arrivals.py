"""Rows by steps: totals, the first L of each user, and what counts as a change of published steps."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.rank.arrivals import check_unchanged, read_arrivals
from privrank_jax.cli.rank.request import Request
from privrank_jax.cli.rank.schedule import schedule_of

HEADER = "user,winner,loser,tie,when"
ROWS = (
    "u1,a,b,0,2024-01-03",
    "u1,b,c,0,2024-01-01",
    "u2,c,a,0,2024-01-01",
    "u1,a,c,1,2024-01-02",
    "u2,a,b,0,2024-01-05",
)


def arrivals(write, *rows, items=None, **options):
    path = write(*rows, header=HEADER)
    request = Request(
        **{
            "source": str(path), "epsilon": 1.0, "every": "day", "time": "when", "start": "2024-01-01",
            "steps": 3, "max_per_user": 2, **options,
        }
    )  # fmt: skip
    return (*read_arrivals(request, schedule_of(request), items), schedule_of(request))


def test_totals_of_steps(write):
    found, _, _ = arrivals(write, *ROWS, max_per_user=9)
    assert found.totals(0, 3).tolist() == [[0, 1, 1], [0.5, 0, 0.5], [1, 0, 0]]
    assert found.totals(1, 2).tolist() == [[0.5, 0, 0.5]]
    np.testing.assert_array_equal(found.comparisons(2), [[0, 0, 2], [0, 0, 1], [2, 1, 0]])


def test_the_first_rows_of_a_user_stay_whatever_arrives_later(write):
    found, _, _ = arrivals(write, *ROWS)
    assert found.kept.tolist() == [False, True, True, True, True]
    early, _, _ = arrivals(write, *ROWS[1:4])
    np.testing.assert_array_equal(early.totals(0, 2), found.totals(0, 2))
    every, _, _ = arrivals(write, *ROWS, unit="comparison", max_per_user=None)
    assert every.kept.all()


def test_an_answer_does_not_decide_which_pairs_stay(write):
    """Three rows of one time, two of which stay: the same pairs, whichever item of each won."""
    pairs = set()
    for flips in range(8):
        rows = [
            f"u1,{pair[::-1] if flips >> k & 1 else pair},0,2024-01-01"
            for k, pair in enumerate(("a,b", "b,c", "a,c"))
        ]
        found, _, _ = arrivals(
            write, *rows, "u2,a,b,0,2024-01-02", "u3,b,c,0,2024-01-02", items=["a", "b", "c"]
        )
        pairs.add(found.comparisons(1).tobytes())
    assert len(pairs) == 1


def test_fingerprints_tell_changes_and_ignore_the_order_of_rows(write):
    found, times, schedule = arrivals(write, *ROWS)
    before = found.fingerprints(2, times)
    again, times, _ = arrivals(write, *reversed(ROWS))
    assert again.fingerprints(2, times) == before
    check_unchanged(before, again.fingerprints(3, times), schedule, Path("board"))
    for changed in (
        (*ROWS, "u3,a,b,0,2024-01-02"),
        ROWS[:3],
        (*ROWS[:3], "u1,c,a,1,2024-01-02"),
        (*ROWS[:3], "u1,a,c,0,2024-01-02"),
        (*ROWS[:3], "u2,a,c,1,2024-01-02"),
        (*ROWS[:3], "u1,a,c,1,2024-01-02T01:00"),
    ):
        other, times, _ = arrivals(write, *changed)
        with pytest.raises(Refusal, match=r"first in step 2 \(2024-01-02 to 2024-01-03\)"):
            check_unchanged(before, other.fingerprints(2, times), schedule, Path("board"))


def test_items_of_the_state_and_refusals(write):
    found, _, _ = arrivals(write, *ROWS, items=["c", "b", "a", "d"])
    assert found.table.item_names == ("c", "b", "a", "d")
    assert found.totals(0, 1).tolist() == [[1, 1, 0, 0]]
    with pytest.raises(
        Refusal, match=r"1 rows are dated before the start of the first step, 2024-01-01"
    ):
        arrivals(write, *ROWS, "u3,a,b,0,2023-12-31")
    with pytest.raises(Refusal, match="does not say who compared"):
        arrivals(write, *ROWS, user="none")
    assert dataclasses.is_dataclass(found)
