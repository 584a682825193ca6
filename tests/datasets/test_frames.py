"""Columns in memory: dicts, and frames of packages that are not imported."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import ibis
import numpy as np
import pandas
import pyarrow
import pytest

from privrank_jax.datasets import DataError, comparisons_from, rankings_from, read_comparisons
from tests.datasets.votes import GOOD, written

VOTES = {
    "user": ["ann", "bob", "ann"],
    "winner": ["Oslo", "Paris", "Oslo"],
    "loser": ["Paris", "Rome", "Rome"],
    "tie": [False, True, None],
    "note": [[1], {}, b""],
}


class Polars:
    """The part of a polars frame that is used; the package is not needed here."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name):
        return PolarsColumn(self._columns[name])


class PolarsColumn:
    def __init__(self, cells):
        self._cells = cells

    def to_list(self):
        return list(self._cells)


class Lazy:
    def __init__(self, frame):
        self.collect = lambda: frame


def arrays():
    return {name: np.array(cells, object) for name, cells in VOTES.items()}


def arrow():
    return pyarrow.table({name: cells for name, cells in VOTES.items() if name != "note"})


@pytest.mark.parametrize(
    "make",
    [
        lambda: VOTES,
        arrays,
        lambda: pandas.DataFrame(VOTES),
        arrow,
        lambda: Polars(VOTES),
        lambda: Lazy(Polars(VOTES)),
        lambda: ibis.memtable(arrow()),
        lambda: duckdb.connect().from_arrow(arrow()),
    ],
)
def test_frames_are_read_like_files(tmp_path, make):
    found, file = comparisons_from(make()), read_comparisons(written(tmp_path, GOOD))
    for field in ("users", "winners", "losers", "tied"):
        assert getattr(found, field).tolist() == getattr(file, field).tolist()
    assert (found.item_names, found.user_names) == (file.item_names, file.user_names)
    assert found.name == "the table"


def test_rankings_of_frames():
    wide = pandas.DataFrame({"User": [1, 2], "a": [1, 2], "b": [2, np.nan], "c": [None, 1]})
    table = rankings_from(wide, name="my votes")
    assert table.ranks.tolist() == [[0, 1, -1], [1, -1, 0]]
    assert (table.user_names, table.name) == (("1", "2"), "my votes")
    stars = {"a": np.array([5.0, 3.0]), "b": np.array([4.5, 4.0])}
    assert rankings_from(stars, user=None, cells="ratings").ranks.tolist() == [[0, 1], [1, 0]]
    long = {"user": ["u", "u"], "item": ["a", "b"], "rank": [2, 1]}
    assert rankings_from(long, num_users=3).ranks.tolist() == [[1, 0], [-1, -1], [-1, -1]]
    assert rankings_from({"v": ["u"], "said": ["b>a"]}, user="v", order="said").ranks.tolist() == [
        [1, 0]
    ]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ("votes.csv", "is a str, not a table"),
        (7, "is a int, not a table"),
        ({"user": ["u"], "winner": ["a", "b"], "loser": ["b"]}, "columns have different lengths"),
        ({"user": ["u"], "winner": [["a"]], "loser": ["b"]}, "row 1: a cell is a list"),
        ({"user": ["u"], "winner": [b"a"], "loser": ["b"]}, "row 1: a cell is a bytes"),
        ({"user": 1, "winner": ["a"], "loser": ["b"]}, "column 'user' is no list of cells"),
        ({"user": "u", "winner": ["a"], "loser": ["b"]}, "column 'user' is no list of cells"),
        ({"user": np.ones((1, 2)), "winner": ["a"], "loser": ["b"]}, "a cell is a list"),
        ({1: ["u"]}, "a column is named 1: name columns by text"),
        ({"user": [], "winner": [], "loser": []}, "has no rows"),
        ({"winner": ["a"], "loser": ["b"]}, "no column 'user'"),
        ({"user": ["u", float("nan")], "winner": ["a"] * 2, "loser": ["b"] * 2}, "row 2.*the user is missing"),
        (pandas.DataFrame({"user": ["u"], "winner": ["a"], "loser": [pandas.NA]}), "marks a missing value"),
    ],
)  # fmt: skip
def test_refusals(frame, message):
    with pytest.raises(DataError, match=message):
        comparisons_from(frame)


def test_nothing_is_imported_for_it():
    run = (
        "import sys\nfrom privrank_jax.datasets import comparisons_from, rankings_from\n"
        "comparisons_from(dict(user=['u'], winner=['a'], loser=['b']))\n"
        "print({'pandas', 'polars', 'pyarrow', 'ibis', 'duckdb'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
