"""What the cells of rankings are taken for: ids and ratings are no ranks, and ranks are not refused."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privrank_jax.data import DataError
from privrank_jax.data.named import load, named_sets
from privrank_jax.data.ranks import cells_note, check_no_numbers_of_rows, unlike_ranks
from tests.data.readers import read_rankings
from tests.reference import cells as reference

BLANK = (None, "", "NA")
STARS = (
    0.06,
    0.11,
    0.27,
    0.34,
    0.22,
)  # shares of one to five stars, of films that people chose to see


def table(path: Path, rows, names, users: bool = True) -> Path:
    """A wide CSV file of these cells; None is blank."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow([*(["user"] if users else []), *names])
        out.writerows([*([f"u{k}"] if users else []), *row] for k, row in enumerate(rows))
    return path


def long_table(path: Path, rows, names) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["user", "item", "rank"])
        for k, row in enumerate(rows):
            out.writerows([f"u{k}", name, cell] for name, cell in zip(names, row))
    return path


# --- the rule

ROWS = st.lists(
    st.lists(st.none() | st.integers(1, 5), min_size=5, max_size=5), min_size=1, max_size=9
)


def from_zero(rows) -> np.ndarray:
    return np.array([[-1 if rank is None else rank - 1 for rank in row] for row in rows], np.int32)


@settings(max_examples=150, derandomize=True)
@given(rows=ROWS, left_out=st.booleans())
def test_the_rule_is_that_of_its_words(rows, left_out):
    assert unlike_ranks(from_zero(rows), left_out) == reference.unlike(rows, left_out)


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
    assert unlike_ranks(from_zero([row]), left_out=False) == (int(not like), 1)
    assert reference.like_ranks(row, left_out=False) is like


def test_long_tables_are_judged_in_blocks(monkeypatch):
    rows = [[1, 2, 3], [5, 5, 4], [None, None, None], [2, 2, 3]] * 5
    whole = unlike_ranks(from_zero(rows), left_out=False)
    monkeypatch.setattr("privrank_jax.data.ranks._BLOCK", 7)
    assert unlike_ranks(from_zero(rows), left_out=False) == whole == (5, 15)


# --- genuine rankings are not refused


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


@pytest.mark.parametrize("name", named_sets()[5:])
def test_no_real_rankings_are_refused(tmp_path, data_folder, name):
    found = load(name, data_folder)
    rng = np.random.default_rng(0)
    rows = found.ranks[rng.choice(found.num_users, min(300, found.num_users), replace=False)]
    for k, cells in enumerate(spellings(rows)):
        path = table(tmp_path / f"{k}.csv", cells, found.item_names)
        read = read_rankings(path, items=found.item_names)
        np.testing.assert_array_equal(
            read.ranks, [[-1 if r < 0 else r for r in row] for row in rows]
        )
        assert read_rankings(path).num_items == found.num_items
        assert unlike_ranks(from_zero(cells), left_out=False)[0] == 0
        long = long_table(tmp_path / f"long{k}.csv", cells, found.item_names)
        assert read_rankings(long, items=found.item_names).ranks.tolist() == read.ranks.tolist()
    few = found.item_names[: 2 + found.num_items // 3]
    some = read_rankings(path, items=few)
    assert some.num_items == len(few)
    # A tenth of the ranks taken away at random, as where people skip questions.
    gaps = [[None if rng.random() < 0.1 else rank for rank in row] for row in cells]
    assert read_rankings(table(tmp_path / "gaps.csv", gaps, found.item_names)).num_users == len(
        rows
    )


@pytest.mark.parametrize(
    ("file", "user"),
    [("sushi/sushi_rankings.csv", None), ("salad/salad.csv", None), ("potato/potato_visual.csv", "assessor"),
     ("potato/potato_weighing.csv", "assessor")],
)  # fmt: skip
def test_no_real_file_of_ranks_is_refused(data_folder, file, user):
    path = data_folder / file
    found = read_rankings(path, user=user)
    assert found.complete
    np.testing.assert_array_equal(read_rankings(path, user=user, cells="ranks").ranks, found.ranks)
    with pytest.raises(DataError, match=r"no column 'user'.*user='COLUMN' .*, or say user=None"):
        read_rankings(path)
    if user:
        with pytest.raises(
            DataError, match=r"column 'assessor': 'A1' is not a rank.* say user='assessor'"
        ):
            read_rankings(path, user=None)


# --- ratings are refused, and read where they are called so


@pytest.mark.parametrize("blank", [0.0, 0.8])
@pytest.mark.parametrize("items", [3, 5, 50])
def test_stars_are_refused_whole_or_sparse(tmp_path, items, blank):
    rng = np.random.default_rng(items)
    stars = rng.choice([1, 2, 3, 4, 5], size=(400, items), p=STARS)
    cells = [[None if rng.random() < blank else star for star in row] for row in stars.tolist()]
    names = [f"film {k}" for k in range(items)]
    for path in (
        table(tmp_path / "w.csv", cells, names),
        long_table(tmp_path / "l.csv", cells, names),
    ):
        with pytest.raises(DataError, match=r"cells='ratings'.*cells='ranks'"):
            read_rankings(path)
        assert read_rankings(path, cells="ranks").notes[0] == cells_note(None)
        found = read_rankings(path, cells="ratings", items=names)
        assert found.notes[0] == cells_note("ratings")
        assert found.ranks.tolist() == [reference.from_ratings(row) for row in cells]


RATED = [
    [5, 4.5, -1, 5],
    [None, "3.50", "3.5", 1e2],
    ["1", " 01 ", "+1.0", "nan"],
    [".5", "5e-1", "0.4", ""],
]
VALUES = [[5, 4.5, -1, 5], [None, 3.5, 3.5, 100], [1, 1, 1, None], [0.5, 0.5, 0.4, None]]


@pytest.mark.parametrize("shape", [table, long_table])
def test_ratings_become_ranks_with_their_ties(tmp_path, shape):
    path = shape(tmp_path / "votes.csv", RATED, "abcd")
    expected = [reference.from_ratings(row) for row in VALUES]
    found = read_rankings(path, cells="ratings")
    assert found.ranks.tolist() == expected
    less = [[cell and -cell for cell in row] for row in VALUES]
    costs = read_rankings(path, cells="costs")
    assert costs.ranks.tolist() == [reference.from_ratings(row) for row in less]
    assert costs.notes[0] == cells_note("costs")


@pytest.mark.parametrize(
    "cell", ["good", "1/2", "1e999", "inf", "1_0", "٣", "0x1", "--1", "9" * 40]
)
def test_what_is_no_rating(tmp_path, cell):
    path = table(tmp_path / "votes.csv", [[1, cell], [2, 1]], "ab")
    with pytest.raises(DataError, match=r"line 2, column 'b': .* is not a rating: write a number"):
        read_rankings(path, cells="ratings")


def test_ranks_beyond_the_number_of_items(tmp_path):
    wide = table(tmp_path / "wide.csv", [[1, 2, 3], [1, 2, 99]], "abc")
    with pytest.raises(
        DataError, match="line 3, column 'c': '99' is not a rank, 1 = best, of 3 items: ratings"
    ):
        read_rankings(wide)
    with pytest.raises(
        DataError, match="line 3, column 'c': '99' is not a rank, 1 = best, of 3 items"
    ):
        read_rankings(wide, items=["c", "b"])
    long = long_table(tmp_path / "long.csv", [[1, 2, 3], [1, 2, 99]], "abc")
    with pytest.raises(DataError, match="column 'rank': 99 is not a rank, 1 = best, of 3 items"):
        read_rankings(long)
    for path in (wide, long):
        assert read_rankings(path, cells="ranks").ranks.tolist() == [[0, 1, 2]] * 2
    # Of columns that are left out some rank may be.
    assert (
        read_rankings(table(wide, [[1, 3, 2], [3, 2, 1]], "abc"), items=["a", "b"]).num_items == 2
    )


def test_unknown_cells_and_orders(tmp_path):
    path = table(tmp_path / "votes.csv", [[1, 2]], "ab")
    with pytest.raises(ValueError, match="cells must be"):
        read_rankings(path, cells="stars")
    orders = tmp_path / "votes.soc"
    orders.write_text("# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: y\n3: 2,1\n")
    with pytest.raises(DataError, match=r"leave out cells"):
        read_rankings(orders, cells="ratings")


# --- columns of ids


@settings(max_examples=150, derandomize=True)
@given(
    rows=st.lists(
        st.one_of(
            st.permutations([1, 2, 3]), st.sampled_from([[1, 2, None], [None, 1, None], [1, 1, 2]])
        ),
        min_size=1,
        max_size=4,
    ),
    ids=st.permutations([1, 2, 3, 4]),
    column=st.integers(0, 3),
)
def test_numbers_of_rows_are_found_where_the_words_say(rows, ids, column):
    rows = [[*row[:column], own, *row[column:]] for row, own in zip(rows, ids)]
    expected = [k for k in range(4) if reference.numbers_rows(rows, k)]
    try:
        check_no_numbers_of_rows("votes.csv", "abcd", from_zero(rows))
    except DataError as error:
        assert f"column {'abcd'[expected[0]]!r} seems to number the rows" in str(error)  # noqa: PT017
    else:
        assert not expected


def ids(rows, first: int):
    return [[first + k, *row] for k, row in enumerate(rows)]


ORDERS = [list(p) for p in itertools.permutations([1, 2, 3])]


@pytest.mark.parametrize(
    ("rows", "cells", "message"),
    [
        (ids(ORDERS, 1), None, "column 'nr': '5' is not a rank, 1 = best, of 4 items.*user='nr'.*list the items"),
        (ids(ORDERS[:3], 1), None, "column 'nr' seems to number the rows.*user='nr'.*items.*cells='ranks'"),
        (ids(ORDERS, 1001), None, "column 'nr': '1001' is not a rank.*user='nr'"),
        ([["v1", 1, 2, 3]], None, "column 'nr': 'v1' is not a rank.*user='nr'"),
        ([["v1", 1, 2, 3]], "ranks", "column 'nr': 'v1' is not a rank.*user='nr'"),
        ([["v1", 1, 2, 3]], "ratings", "column 'nr': 'v1' is not a rating.*user='nr'"),
        (ids(ORDERS * 2, 1), "ratings", "column 'nr' seems to number the rows.*user='nr'"),
        ([[7 * k + 9, *row] for k, row in enumerate(ORDERS * 2)], "ratings", "column 'nr' seems to number the rows"),
    ],
)  # fmt: skip
def test_columns_of_ids_are_refused(tmp_path, rows, cells, message):
    path = table(tmp_path / "votes.csv", rows, ("nr", "a", "b", "c"), users=False)
    read = read_rankings
    with pytest.raises(DataError, match=message):
        read(path, user=None, cells=cells)
    assert read(path, user="nr", cells=cells).item_names == ("a", "b", "c")
    assert read(path, user=None, cells=cells, items=["a", "b", "c"]).num_users == len(rows)
    if "seems to number" in message:  # unless somebody says that it is an item
        listed = read(path, user=None, cells=cells, items=["nr", "c", "b", "a"])
        assert listed.item_names[0] == "nr"
    if cells is None and all(row[0] in range(1, 5) for row in rows):
        assert read(path, user=None, cells="ranks").num_items == 4


def test_genuine_columns_that_all_differ_are_kept(tmp_path):
    cycle = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    assert (
        read_rankings(table(tmp_path / "c.csv", cycle, "abc", users=False), user=None).num_users
        == 3
    )
    rng = np.random.default_rng(1)
    slider = rng.permutation(101)[:60].reshape(12, 5).tolist()
    path = table(tmp_path / "s.csv", slider, "abcde", users=False)
    assert read_rankings(path, user=None, cells="ratings").num_users == 12


def test_few_ratings_may_follow_each_other_and_many_may_reach_those_of_others(tmp_path):
    ten = [[k, k % 5] for k in range(10)]
    above = [[9 + 3 * k, k % 5] for k in range(11)]  # 9 to 39
    for rows, refused in (
        (ten, False), ([*ten, [10, 1]], True), (above, True), ([[9, 9], *above[1:]], False),
        ([[9, 8], *above[1:]], True),
    ):  # fmt: skip
        path = table(tmp_path / "votes.csv", rows, ("nr", "a"), users=False)
        for cells in ("ratings", "costs"):
            if not refused:
                assert read_rankings(path, user=None, cells=cells).num_users == len(rows)
                continue
            with pytest.raises(DataError, match="column 'nr' seems to number the rows"):
                read_rankings(path, user=None, cells=cells)


def test_a_column_of_users_is_no_item(tmp_path):
    path = table(tmp_path / "votes.csv", [[1, 2], [2, 1]], "ab")
    with pytest.raises(
        DataError, match="column 'user' would be ranked as an item: leave out user=None"
    ):
        read_rankings(path, user=None)
    assert read_rankings(path, user=None, items=["a", "b"]).user_names == ()
    named = table(tmp_path / "named.csv", [["x", 1, 2]], ("User ID", "a", "b"), users=False)
    with pytest.raises(DataError, match=r"no column 'user' \(did you mean 'User ID'\?\)"):
        read_rankings(named)
