"""Columns that hold no ranks or ratings among the others are refused; items that everyone agrees on are not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax.data import DataError
from privrank_jax.data.ranks import is_beside
from tests.data.readers import read_rankings

RNG = np.random.default_rng(0)
USERS, ITEMS = 30, 5
RANKS = np.array([RNG.permutation(ITEMS) + 1 for _ in range(USERS)])
STARS = RNG.choice([1, 2, 3, 4, 5], size=(USERS, ITEMS))
K = np.arange(USERS)
FLAGS = {"always 1": K * 0 + 1, "1 to 3": 1 + K % 3, "often 1": 1 + (K % 7 == 0)}


@pytest.fixture
def read(tmp_path):
    """Read a table of users: its items, or the message."""

    def outcome(cells, names="ABCDEFGH", kind=None, **options):
        path = tmp_path / "votes.csv"
        header = ",".join(["user", *names[: np.shape(cells)[1]]])
        lines = [f"u{k},{','.join(map(str, row))}" for k, row in enumerate(cells)]
        path.write_text("\n".join([header, *lines]) + "\n")
        try:
            return read_rankings(path, cells=kind, **options).item_names
        except DataError as error:
            return str(error).replace(path.name, "f")

    return outcome


def with_column(table, column, at=2):
    return np.insert(np.asarray(table), at, column, axis=1)


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_among_ranks(read, flag):
    cells = with_column(RANKS, FLAGS[flag])
    said = read(cells)
    assert said.startswith(
        "f: column 'C' seems to be no item: without it each row is a ranking, and with it 30 are"
    )
    assert said.endswith(
        "Leave it out by ignore=['C'] (--ignore C), or list the items (--items), with it if it is one"
    )
    assert read(cells, ignore=["C"]) == tuple("ABDEF")
    assert read(cells, items=list("ABCDEF")) == tuple("ABCDEF")
    assert read(cells, kind="ranks") == tuple("ABCDEF")


def test_a_flag_among_partial_ranks(read):
    partial = [[rank if rank < 4 else "" for rank in row] for row in RANKS.tolist()]
    assert "column 'C' seems to be no item" in read([[*row[:2], 1, *row[2:]] for row in partial])


def test_items_that_all_agree_on(read):
    """Always first, always last, and tied with another now and then."""
    first = np.column_stack([np.ones(USERS, int), RANKS + 1])
    last = np.column_stack([RANKS, np.full(USERS, ITEMS + 1)])
    assert read(first) == read(last) == tuple("ABCDEF")
    tied = np.where(RANKS == 2, 1, RANKS)
    tied = np.where(tied > 2, tied - 1, tied)
    assert read(tied) == tuple("ABCDE")
    some = with_column(RANKS, FLAGS["always 1"])
    some[: USERS // 2 + 1, 2] = ITEMS + 1
    assert read(some) == tuple("ABCDEF")


def test_two_items_that_always_share_a_place(read):
    """Leaving out either leaves rankings, so neither is the odd one."""
    assert read(with_column(RANKS, RANKS[:, 0])) == tuple("ABCDEF")


@pytest.mark.parametrize("items", [2, 3, 4, 10])
def test_few_rows_say_nothing(items):
    least = next((users for users in range(200) if is_beside(items, users, users)), None)
    assert least == (None if items == 2 else math.ceil(7 / math.log(items / 2)))
    if least is not None:
        assert not is_beside(items, 3 * least, least)


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (40 + K % 9, "its numbers begin at 40, far above the ratings of most columns"),
        (K * 0 + 100, "its numbers begin at 100"),
        (K * 0 + 3, "it holds 3 in each of 30 rows"),
    ],
)
def test_other_scales_among_ratings(read, column, why):
    cells = with_column(STARS, column)
    assert f"column 'C' seems to be no item: {why}" in read(cells, kind="ratings")
    assert read(cells, kind="ratings", ignore=["C"]) == tuple("ABDEF")
    assert read(cells, kind="ratings", items=list("ABCDEF")) == tuple("ABCDEF")
    assert read(cells, kind="costs") == tuple("ABCDEF")


def test_several_other_scales(read):
    cells = with_column(with_column(STARS, 40 + K % 9), 1950 + K % 30)
    assert "seems to be no item" in read(cells, kind="ratings")


def test_items_that_all_rate_alike(read):
    for best in (1, 5):
        assert read(with_column(STARS, best), kind="ratings") == tuple("ABCDEF")
    assert read(np.full((USERS, 4), [1, 2, 3, 4]), kind="ratings") == tuple("ABCD")
    assert read(with_column(STARS, 40)[:10], kind="ratings") == tuple("ABCDEF")
    assert read(STARS * 1.0 - 3, kind="ratings") == tuple("ABCDE")
    assert read(STARS * [1, 2, 1, 1, 2], kind="ratings") == tuple("ABCDE")
