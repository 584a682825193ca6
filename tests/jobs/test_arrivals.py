"""Rows by steps: totals, the first L of each user, and what counts as a change of published steps."""

from __future__ import annotations

import json

import numpy as np
import pytest

from privrank_jax.jobs.arrivals import arrivals_of, schedule_of
from tests.jobs.released import read

HEADER = "user,winner,loser,tie,when"
ROWS = (
    "u1,a,b,0,2024-01-03",
    "u1,b,c,0,2024-01-01",
    "u2,c,a,0,2024-01-01",
    "u1,a,c,1,2024-01-02",
    "u2,a,b,0,2024-01-05",
)


def arrivals(write, *rows, items=None, limit=2, flip=False):
    path = write(*rows, header=HEADER)
    data = read(path, time="when")
    schedule = schedule_of("day", "2024-01-01", 3)
    return arrivals_of(data, schedule, limit, flip, items)


def totals(found, first, last):
    """Wins of each item in these steps."""
    return found.sums(first, last)[:, : found.data.num_items].tolist()


def met(found, last):
    """How often each pair was compared before a step, by hand."""
    result = np.zeros((3, 3), int)
    for step in found.counted(0, last):
        for one, other, number in step["met"]:
            result[one, other] += number
            result[other, one] += number
    return result


def test_totals_of_steps(write):
    found = arrivals(write, *ROWS, limit=9, flip=True)
    assert totals(found, 0, 3) == [[0, 1, 1], [0.5, 0, 0.5], [1, 0, 0]]
    assert totals(found, 1, 2) == [[0.5, 0, 0.5]]
    np.testing.assert_array_equal(met(found, 2), [[0, 0, 2], [0, 0, 1], [2, 1, 0]])
    assert not met(arrivals(write, *ROWS), 3).any()  # where who compared what is not public


def test_the_first_rows_of_a_user_stay_whatever_arrives_later(write):
    found = arrivals(write, *ROWS)
    assert found.kept.tolist() == [False, True, True, True, True]
    early = arrivals(write, *ROWS[1:4])
    np.testing.assert_array_equal(early.sums(0, 2), found.sums(0, 2))
    every = arrivals(write, *ROWS, limit=None)
    assert every.kept.all()


def test_an_answer_does_not_decide_which_pairs_stay(write):
    """Three rows of one time, two of which stay: the same pairs, whichever item of each won."""
    pairs = set()
    for flips in range(8):
        rows = [
            f"u1,{pair[::-1] if flips >> k & 1 else pair},0,2024-01-01"
            for k, pair in enumerate(("a,b", "b,c", "a,c"))
        ]
        others = "u2,a,b,0,2024-01-02", "u3,b,c,0,2024-01-02"
        found = arrivals(write, *rows, *others, items=["a", "b", "c"], flip=True)
        pairs.add(met(found, 1).tobytes())
    assert len(pairs) == 1


def test_the_order_of_rows_plays_no_part_and_changes_are_told(write):
    found = arrivals(write, *ROWS).counted(0, 2)
    again = arrivals(write, *reversed(ROWS))
    assert again.counted(0, 2) == found
    assert ["1 rows" in one for one in again.left_out(found)] == [True]
    for changed, rows in (((*ROWS, "u3,a,b,0,2024-01-02"), 2), (ROWS[:3], 0)):
        told = arrivals(write, *changed).left_out(found)[0]
        assert "step 2 (2024-01-02 to 2024-01-03)" in told
        assert f"now has {rows}" in told


def test_what_the_state_keeps_is_text(write):
    (step,) = arrivals(write, *ROWS, flip=True).counted(0, 1)
    assert json.loads(json.dumps(step)) == step
    assert (step["rows"], sorted(step["used"].values())) == (2, [1, 1])
    assert not any(user in json.dumps(step) for user in ("u1", "u2"))
    assert not arrivals(write, *ROWS, limit=None).counted(0, 1)[0]["used"]


def test_of_a_user_no_more_rows_count_than_are_allowed_whatever_becomes_of_the_file(write):
    """Two of u1 were counted in two steps, one of u2: nothing more of u1, and one more of u2."""
    rows = (*ROWS, "u2,b,a,0,2024-01-03")
    published = arrivals(write, *rows).counted(0, 2)
    usual = arrivals(write, *rows).after(published)
    assert totals(usual, 2, 3) == [[0, 1, 0]]
    for changed in (
        (*rows, "u1,b,a,0,2024-01-01", "u2,c,b,0,2024-01-01", "u2,c,b,0,2024-01-02"),  # late
        (ROWS[0], *ROWS[4:], rows[-1]),  # gone
        (ROWS[0], "u3,b,c,0,2024-01-01", *ROWS[2:], rows[-1]),  # now of another user
        ("u2,c,a,0,2023-12-31", "u1,a,c,0,2023-12-31", *rows),  # before the start
    ):
        found = arrivals(write, *changed, items=["a", "b", "c"]).after(published)
        assert totals(found, 2, 3) == [[0, 1, 0]]


def test_items_of_the_state_and_refusals(write):
    found = arrivals(write, *ROWS, items=["c", "b", "a", "d"])
    assert found.data.item_names == ("c", "b", "a", "d")
    assert totals(found, 0, 1) == [[1, 1, 0, 0]]
    with pytest.raises(ValueError, match="before the"):
        arrivals(write, *ROWS, "u3,a,b,0,2023-12-31").check_dates()
    with pytest.raises(ValueError, match="no item 'c'"):
        arrivals(write, *ROWS, items=["a", "b"])
