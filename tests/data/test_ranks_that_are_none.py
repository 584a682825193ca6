"""0 for what was not ranked, and columns that are named like ratings: refused with what to do, in memory and engine."""

from __future__ import annotations

import re

import pytest

from privrank_jax.data import DataError
from tests.data.files import written
from tests.data.readers import read_rankings
from tests.parquet import as_parquet


def table(folder, rows, names, name="f.csv"):
    """A wide file of these ranks."""
    lines = [",".join(["user", *names])]
    lines += [",".join([f"u{k}", *map(str, row)]) for k, row in enumerate(rows)]
    return written(folder, "\n".join([*lines, ""]), name)


def long_table(folder, rows, names, rank="rank"):
    """The same with a row for each rank."""
    lines = [f"user,item,{rank}"]
    lines += [f"u{k},{one},{cell}" for k, row in enumerate(rows) for one, cell in zip(names, row)]
    return written(folder, "\n".join([*lines, ""]), "l.csv")


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 2, 0, 0], [0, 2, 1, 0]],
        [[1, 2, 3, 4], [1, 2, 3, 0]],
        [[1, 2, 3, 0], [1, 2, 3, 4]],
        [[1, 2, 3, 0], [1, 2, "0.0", "00"]],
        [[0, 1, 2, 3], [3, 2, 1, 0]],
        [["", 1, 2, 0], [0, 1, 2, "NA"], ["", "", "", ""]],
    ],
)
def test_zeros_are_unranked_or_ranks_from_zero(tmp_path, rows):
    path = table(tmp_path, rows, "abcd")
    other = long_table(tmp_path, rows, "abcd")
    for source in (path, other, as_parquet(other)):
        with pytest.raises(DataError, match="if ranks start at 0, add 1 to each"):
            read_rankings(source)
    with pytest.raises(
        DataError, match=r"f.csv, line [23], column '[ad]'|f.csv, line 2, column 'c'"
    ):
        read_rankings(path)
    assert read_rankings(path, cells="ratings").num_users == len(rows)


@pytest.mark.parametrize(
    "column", ["score", "Rating", "stars", "my_points", "Likes", "grade (1-5)"]
)
def test_columns_named_like_ratings_must_be_said(tmp_path, column):
    rows = [[1, 2, 3], [2, 1, 3]]
    long = long_table(tmp_path, rows, "abc", column)
    wide = table(tmp_path, rows, [f"{one} {column}" for one in "abc"])
    mixed = table(tmp_path, rows, ["a", "b", column], "m.csv")
    for source in (long, as_parquet(long)):
        with pytest.raises(
            DataError,
            match=f"l.* columns such as '{re.escape(column)}' are named like ratings, and would",
        ):
            read_rankings(source, item="item", rank=column)
        best = read_rankings(source, item="item", rank=column, cells="ranks")
        assert best.item_names == ("a", "b", "c")
    with pytest.raises(DataError, match=r"columns such as 'a .*' are named like ratings"):
        read_rankings(wide)
    assert read_rankings(wide, cells="ratings").num_users == 2
    assert read_rankings(mixed).num_users == 2
    worst = read_rankings(long, item="item", rank=column, cells="ratings")
    assert worst.ranks.tolist() == [[2, 1, 0], [1, 2, 0]]
