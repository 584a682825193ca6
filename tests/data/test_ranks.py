"""What the cells of rankings are taken for: ratings are no ranks, and ranks are not refused."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privrank_jax.data import DataError, Rankings, Ratings
from privrank_jax.data.ballots import check_ranks
from privrank_jax.data.named import load
from tests.reference import cells as reference

STARS = (0.06, 0.11, 0.27, 0.34, 0.22)  # of one to five, of films that people chose to see


def table(path: Path, rows, names, long=False) -> Path:
    """A CSV file of these cells, a row for each user or for each cell; None is blank."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["user", "item", "rank"] if long else ["user", *names])
        for k, row in enumerate(rows):
            if long:
                out.writerows([f"u{k}", name, cell] for name, cell in zip(names, row))
            else:
                out.writerow([f"u{k}", *row])
    return path


def refused(rows, left_out: bool = False) -> bool:
    ranks = np.array([[-1 if rank is None else rank - 1 for rank in row] for row in rows], np.int32)
    try:
        check_ranks("votes", ["a"], ranks, left_out=left_out)
    except DataError:
        return True
    return False


ROWS = st.lists(
    st.lists(st.none() | st.integers(1, 5), min_size=5, max_size=5), min_size=1, max_size=9
)


@settings(max_examples=150, derandomize=True)
@given(rows=ROWS, left_out=st.booleans())
def test_the_rule_is_that_of_its_words(rows, left_out):
    unlike, users = reference.unlike(rows, left_out)
    assert refused(rows, left_out) == (2 * unlike > users)


@pytest.mark.parametrize(
    ("row", "like"),
    [
        ([1, 2, 3], True), ([3, 1, None], True), ([2, 3, None], False), ([None, None, 1], True),
        ([None, 2, None], False),
        ([1, 2, 2, 4], True), ([1, 3, 3, 4], True), ([1, 2, 2, 3], True), ([1, 1, 1, 1], True), ([4, 4, 4, 4], True),
        ([2, 2, 2, 2], False), ([5, 4, 4, 3, 5], False), ([1, 2, 3, 4, 4, 4, 4, 4], True), ([1, 1, 2, 2], False),
        ([1, 2, 3, 4, 5, 5, 4, 3, 2, 1], False), ([1, 2, 3, 8, 8, 8, 8, 8], True),
    ],
)  # fmt: skip
def test_examples_of_the_rule(row, like):
    assert refused([row]) is not like
    assert reference.like_ranks(row, left_out=False) is like


def spellings(ranks: np.ndarray):
    """Ranks of a table, ties by the number of items before, by that up to them, and without gaps."""
    before = [[None if rank < 0 else rank + 1 for rank in row] for row in ranks.tolist()]
    yield before
    if any(len(set(row) - {None}) < len([r for r in row if r]) for row in before):
        yield [
            [None if r is None else sum(o is not None and o <= r for o in row) for r in row]
            for row in before
        ]
        yield [
            [None if r is None else 1 + len({o for o in row if o is not None and o < r}) for r in row]
            for row in before
        ]  # fmt: skip


KINDS = (
    "apa",
    "aspen",
    "aspen-mayor",
    "coffee-rankings",
    "german",
    "nascar",
    "potato",
    "salad",
    "sushi",
)


@pytest.mark.parametrize("name", KINDS)
def test_no_real_rankings_are_refused(tmp_path, data_folder, name):
    found = load(name, data_folder)
    rng = np.random.default_rng(0)
    rows = found.ranks[rng.choice(found.num_users, min(300, found.num_users), replace=False)]
    for k, cells in enumerate(spellings(rows)):
        path = table(tmp_path / f"{k}.csv", cells, found.item_names)
        read = Rankings.read(path, items=found.item_names)
        np.testing.assert_array_equal(read.ranks, rows)
        assert Rankings.read(path).num_items == found.num_items
        long = table(tmp_path / f"long{k}.csv", cells, found.item_names, long=True)
        assert Rankings.read(long, items=found.item_names).ranks.tolist() == read.ranks.tolist()
    few = found.item_names[: 2 + found.num_items // 3]
    assert Rankings.read(path, items=few).num_items == len(few)
    # A tenth of the ranks taken away at random, as where people skip questions.
    gaps = [[None if rng.random() < 0.1 else rank for rank in row] for row in cells]
    read = Rankings.read(table(tmp_path / "gaps.csv", gaps, found.item_names))
    assert read.num_users == len(rows)


@pytest.mark.parametrize("blank", [0.0, 0.8])
@pytest.mark.parametrize("items", [3, 5, 50])
def test_stars_are_refused_whole_or_sparse(tmp_path, items, blank):
    rng = np.random.default_rng(items)
    stars = rng.choice([1, 2, 3, 4, 5], size=(400, items), p=STARS)
    cells = [[None if rng.random() < blank else star for star in row] for row in stars.tolist()]
    names = [f"film {k}" for k in range(items)]
    for long in (False, True):
        path = table(tmp_path / "votes.csv", cells, names, long)
        with pytest.raises(DataError, match=r"ratings='1:5'.*ranks=True"):
            Rankings.read(path)
        assert Rankings.read(path, ranks=True).num_items == items
        found = Ratings.read(path, ratings="1:5", items=names)
        assert found.ranks.tolist() == [reference.from_ratings(row) for row in cells]


def test_ranks_beyond_the_number_of_items(tmp_path):
    wide = table(tmp_path / "wide.csv", [[1, 2, 3], [1, 2, 99]], "abc")
    for items in (None, ["c", "b"]):
        with pytest.raises(
            DataError, match="line 3, column 'c': '99' is not a rank, 1 = best, of 3"
        ):
            Rankings.read(wide, items=items)
    long = table(tmp_path / "long.csv", [[1, 2, 3], [1, 2, 99]], "abc", long=True)
    with pytest.raises(DataError, match="column 'rank': 99 is not a rank of 3 items"):
        Rankings.read(long)
    for path in (wide, long):
        assert Rankings.read(path, ranks=True).ranks.tolist() == [[0, 1, 2]] * 2
    # Of columns that are left out some rank may be.
    some = Rankings.read(table(wide, [[1, 3, 2], [3, 2, 1]], "abc"), items=["a", "b"])
    assert some.num_items == 2
