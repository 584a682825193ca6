"""Inputs that once failed: names that collide, structures, calendars, damaged books, blanks that are names."""

from __future__ import annotations

import zipfile

import ibis
import numpy as np
import openpyxl
import pandas
import pyarrow
import pyarrow.parquet
import pytest

import privrank_jax as pr
from privrank_jax.data import DataError

VOTES = {"user": ["u", "v", "w"], "winner": ["A", "B", "A"], "loser": ["B", "C", "C"]}


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        (("user", "model_a", "model_b", "outcome"), {}),
        (("user", "high", "low", "won"), {"left": "high", "right": "low", "outcome": "won"}),
        (("low", "first", "number", "rows"), {"user": "low", "left": "first", "right": "number", "outcome": "rows"}),
    ],
)  # fmt: skip
def test_columns_may_have_the_names_of_those_made_here(tmp_path, names, roles):
    cells = (["u", "v", "u"], ["x", "y", "z"], ["y", "z", "x"], ["x", "tie", "x"])
    columns = dict(zip(names, cells))
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "v.parquet")
    expected = pr.read(columns, **roles).arrays().win_counts().matrix
    for source in (tmp_path / "v.parquet", ibis.memtable(columns)):
        found = pr.read(source, **roles)
        np.testing.assert_array_equal(found.win_counts().matrix, expected)
        assert found.num_users == 2
        assert pr.rank(found, None).names


@pytest.mark.parametrize(
    "source",
    [
        pandas.DataFrame({"user": ["u", "v"], "tea": [1, 2], "milk": [2, 1]}).to_dict(),
        {**VOTES, "winner": {"A", "B", "C"}},
        {**VOTES, "winner": b"ABA"},
    ],
)
def test_structures_are_no_columns(source):
    with pytest.raises(DataError, match="is no list of cells"):
        pr.read(source)


def test_times_are_counted_with_their_rows_and_end_with_the_calendar():
    days = ["2024-01-01", "2024-01-02", "2024-01-03"]
    read = pr.read({**VOTES, "time": days, "n": [2, 0, 3]}, time="time", count="n")
    assert read.times.shape == (5,) == read.winners.shape
    for text in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-05:00"):
        with pytest.raises(DataError, match="is no time"):
            pr.read({**VOTES, "time": [text] * 3}, time="time")
    at = np.array(["2024-05-31", "2024-06-01", "NaT"], "datetime64[ns]")
    with pytest.raises(DataError, match="column 'time'"):
        pr.read({**VOTES, "time": at}, time="time")
    assert pr.read({**VOTES, "time": at[[0, 1, 0]]}, time="time").times[1] == at[1]


def test_listed_items_may_be_named_like_blanks():
    shown = {"user": ["u", "v"], "chosen": ["A", "none"], "shown": ["A|B|none"] * 2}
    assert pr.read(shown, items=["A", "B", "none"]).sets.tolist() == [[0, 1, 2], [2, 0, 1]]
    orders = {"user": ["u", "v"], "order": ["NA", "A>NA"]}
    assert pr.read(orders, items=["NA", "A"]).ranks.tolist() == [[0, -1], [1, 0]]


def test_damaged_sheets_are_refused(tmp_path):
    book = openpyxl.Workbook()
    for row in (("user", "winner", "loser"), *(("u", "a", "b") for _ in range(99))):
        book.active.append(row)
    book.save(tmp_path / "good.xlsx")
    good = zipfile.ZipFile(tmp_path / "good.xlsx")
    with good, zipfile.ZipFile(tmp_path / "bad.xlsx", "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            bad.writestr(name, content[: len(content) * 2 // 3] if "sheet1" in name else content)
    with pytest.raises(DataError, match="not an Excel workbook"):
        pr.read(tmp_path / "bad.xlsx")
    with pytest.raises(DataError, match="no sheet '²'"):
        pr.read(tmp_path / "good.xlsx", sheet="²")


def test_arguments_are_lists_of_texts():
    assert pr.read(VOTES, items=np.array(["C", "A", "B"])).item_names == ("C", "A", "B")
    wide = {"user": ["u", "v"], "tea": [1, 2], "milk": [2, 1], "third": [3, 3]}
    assert pr.read(wide, ignore=(one for one in ["third"])).item_names == ("milk", "tea")
    picks = {"user": ["u", "v"], "pick": ["A", "B"], "opts": ["A|B"] * 2}
    assert len(pr.read(picks, chosen="pick", shown="opts")) == 2
    for wrong in (
        {"items": 5}, {"items": "A,B"}, {"ignore": [1]}, {"user": 5}, {"kind": []}, {"num_users": "3"},
        {"num_users": 0},
    ):  # fmt: skip
        with pytest.raises(DataError):
            pr.read(VOTES, **wrong)


def test_two_marks_of_ties_are_unclear():
    for other in ("Tie", "is_tie"):
        with pytest.raises(DataError, match="both look like marks of ties"):
            pr.read({**VOTES, "tie": [0, 0, 0], other: [1, 0, 0]})


def test_long_rankings_are_read_alike_in_an_engine(tmp_path):
    rows = {"user": ["u", "u", "v"], "item": ["A", "Over  Vote", "A"], "rank": ["1", "2", "1"]}
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "v.parquet")
    for given in (
        {"blank": ["over vote"], "items": ["A", "B"]},
        {"blank": ["over vote"], "items": ["A", "B", "Over  Vote"]},
    ):
        here, there = pr.read(rows, **given), pr.read(tmp_path / "v.parquet", **given)
        np.testing.assert_array_equal(there.in_memory().ranks, here.ranks)
        assert there.weights().num_users == 2
    nothing = {"user": ["u", "v"], "item": ["", ""], "rank": ["", ""]}
    pyarrow.parquet.write_table(pyarrow.table(nothing), tmp_path / "n.parquet")
    assert pr.read(nothing, items=["A", "B"]).num_users == 2
    assert pr.read(tmp_path / "n.parquet", items=["A", "B"]).num_users == 2


def test_names_and_cells_that_can_not_be_written_are_refused(tmp_path):
    with pytest.raises(DataError, match="half a surrogate pair"):
        pr.read({**VOTES, "winner": ["\ud800", "B", "A"]})
    with pytest.raises(DataError, match="a list, where one item"):
        pr.read({"user": ["u"], "chosen": ["A"], "option_1": [["A", "B"]], "option_2": ["C"]})
    with pytest.raises(DataError, match="the user is missing"):
        pr.read({**VOTES, "user": [pandas.NaT, "v", "w"]})
    pyarrow.parquet.write_table(pyarrow.table(VOTES), tmp_path / "v.parquet")
    for given in ({"separator": ";"}, {"sheet": 1}, {"encoding": "latin-1"}):
        with pytest.raises(DataError, match="leave these out"):
            pr.read(tmp_path / "v.parquet", **given)
