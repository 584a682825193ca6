"""A record that becomes several rows: they are its user's, and a guarantee for users keeps at most L of them."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import Choices, Comparisons, DataError, Rankings, columns
from privrank_jax.jobs.answers import bounded
from privrank_jax.jobs.mechanisms import Randomness

ITEMS = ("oslo", "rome", "bonn", "bern")
MANY = 500  # rows of the user "u", of whom there is one record


def _with(**cells):
    """A record of the user "u", and one that counts once of another."""
    return [{"user": "u", **cells}, {"user": "v", **cells, "n": 1, "left_n": 1, "right_n": 0}]


RECORDS = {
    "count": (_with(winner="oslo", loser="rome", n=MANY), {"count": "n", "ignore": ["left_n,right_n"]}),
    "wins": (
        _with(left="oslo", right="rome", left_n=MANY - 3, right_n=3, n=1),
        {"left_wins": "left_n", "right_wins": "right_n", "ignore": ["n"]},
    ),
    "choices": (_with(chosen="oslo", shown=list(ITEMS), n=MANY), {"count": "n", "ignore": ["left_n,right_n"]}),
    "pairs": (
        [{"user": user, **{f"{a} vs {b}": a for a, b in itertools.combinations(ITEMS, 2)}} for user in "uv"],
        {},
    ),
    "orders": ([{"user": user, "order": list(ITEMS)} for user in "uv"], {}),
    "places": ([{"user": user, **{f"rank_{k}": one for k, one in enumerate(ITEMS, 1)}} for user in "uv"], {}),
    "ranks": ([{"user": user, **{one: k for k, one in enumerate(ITEMS, 1)}} for user in "uv"], {}),
}  # fmt: skip


def read(path, shape, **options):
    kinds = {"count": Comparisons, "wins": Comparisons, "pairs": Comparisons, "choices": Choices}
    return kinds.get(shape, Rankings).read(path, items=ITEMS, **options)


@pytest.mark.parametrize("shape", RECORDS)
def test_rows_of_one_record_are_bounded_by_its_user(tmp_path, shape):
    rows, options = RECORDS[shape]
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    data = read(path, shape, **options)
    table = data.comparisons() if hasattr(data, "ranks") else data
    assert table.num_users == 2
    assert table.comparisons_per_user >= 6
    each = pr.Privacy(1.0, unit="user", adjacency="replace")
    with pytest.raises(ValueError, match=r"gave more than 1 comparison.*`contributions`"):
        bounded(table, each, Randomness())
    for most in (1, 4):
        promise = pr.Privacy(1.0, unit="user", adjacency="replace", contributions=most)
        _, kept, _ = bounded(table, promise, Randomness())
        assert np.bincount(table.users[kept]).tolist() == [
            most,
            min(most, int(np.sum(table.users == 1))),
        ]


@pytest.mark.parametrize("shape", ["count", "wins", "choices"])
def test_counts_of_one_user_are_bounded_before_rows_are_made(tmp_path, shape):
    """A count is a cell that a user may choose: 67 million rows of one would fill the memory."""
    rows, options = RECORDS[shape]
    path, most = tmp_path / "records.jsonl", columns.MOST_OF_A_USER
    column = "left_n" if shape == "wins" else "n"
    for numbers, accepted in (
        ([67_108_000], False),
        ([most // 2 + 1] * 2, False),
        ([most - 3], True),
    ):
        records = [*({**rows[0], column: number} for number in numbers), rows[1]]
        path.write_text("\n".join(map(json.dumps, records)))
        if accepted:
            assert np.bincount(read(path, shape, **options).users).max() <= most
            continue
        with pytest.raises(DataError, match="counts of"):
            read(path, shape, **options)
