"""Workbooks of Excel, as rows of cells."""

from __future__ import annotations

import datetime
import sys

import openpyxl
import pytest

from privrank_jax import datasets
from privrank_jax.datasets import DataError

VOTES = [
    ("User", "Winner", "Loser", None),
    (7, "tea", "milk"),
    (8, "milk", 3.5),
    (None,),
    (7, True, "tea"),
]


@pytest.fixture
def workbook(tmp_path):
    """Write sheets of rows into a workbook."""

    def write(*sheets, name="votes.xlsx"):
        book = openpyxl.Workbook()
        assert book.active is not None
        book.remove(book.active)
        for k, rows in enumerate(sheets):
            sheet = book.create_sheet(f"sheet {k}")
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / name)
        return tmp_path / name

    return write


def test_comparisons_of_the_first_sheet(workbook):
    table = datasets.read_comparisons(workbook(VOTES))
    assert table.user_names == ("7", "8")
    assert table.item_names == ("3.5", "milk", "tea", "true")
    assert table.winners.tolist() == [2, 1, 3]
    assert table.losers.tolist() == [1, 0, 2]
    assert table.reading == ()
    several = datasets.read_comparisons(workbook(VOTES, [("notes",)]))
    assert several.reading == ("only its first sheet, 'sheet 0', is read",)
    assert several.winners.tolist() == table.winners.tolist()
    message = (
        r"the columns are 'notes'.* \(only its first sheet, 'sheet 0', is read, not 'sheet 1': "
        r"put the table there, or save its sheet as CSV\)"
    )
    with pytest.raises(DataError, match=message):
        datasets.read_comparisons(workbook([("notes",)], VOTES))
    for first in ([("notes",)], [("notes", "on teas")], []):
        with pytest.raises(DataError, match=r"'sheet 0', is read, not 'sheet 1', 'sheet 2'"):
            datasets.read_rankings(workbook(first, VOTES, [("more",)]))


def test_ranks_ratings_and_choices(workbook):
    ranks = datasets.read_rankings(
        workbook([("user", "a", "b", "c"), (1, 2, 1, 3), (2, 1, None, 2)])
    )
    assert ranks.ranks.tolist() == [[1, 0, 2], [0, -1, 1]]
    rated = [("user", "a", "b"), (1, 4.5, 9), (2, 10, 10)]
    found = datasets.read_rankings(workbook(rated), cells="ratings")
    assert found.ranks.tolist() == [[1, 0], [0, 0]]
    orders = [("order",), ("a>b",), ("b>a",), ("a=b",)]
    assert datasets.read_rankings(workbook(orders), user=None).num_users == 3
    chosen = [("user", "chosen", "shown"), ("u", "tea", "milk|tea")]
    assert datasets.read_choices(workbook(chosen)).sets.tolist() == [[1, 0]]


def test_dates_are_iso_8601(workbook):
    when = datetime.datetime(2026, 1, 2, 3, 4, 5)
    path = workbook([("user", "winner", "loser", "when"), ("u", "a", "b", when)])
    header, rows, where, _ = datasets.sheets.read_sheet(datasets.File(path))
    assert header[-1] == "when"
    assert next(rows) == ["u", "a", "b", "2026-01-02 03:04:05"]
    assert where() == "row 2"
    days = [datetime.datetime(2024, 3, day) for day in (1, 8)]
    table = datasets.read_rankings(workbook([("user", *days), (1, 2, 1)]))
    assert table.item_names == ("2024-03-01", "2024-03-08")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "its first sheet is empty: it needs a header row and one row per comparison"),
        (VOTES[:1], "votes.xlsx has no rows below its header"),
        ([*VOTES, (1, "a", "b", "c")], "row 6: a cell beyond the last column of the header, which has 3"),
        ([*VOTES, (1, "a", "#N/A")], "row 6: a cell shows the error #N/A of Excel"),
        ([*VOTES, (1, "tea", "tea")], "row 6, column"),
        ([VOTES[0], ('{"ImportId":"QID1"}', "", "")], "row 2: a second header row, as Qualtrics"),
        ([("user", "winner"), (1, "a")], "no column 'loser'"),
        ([("My survey",), *VOTES], "the first row of its sheet has one cell, 'My survey', and the next one more"),
        ([*VOTES, (1, "tea", "=B2")], "row 6: a cell has the formula '=B2', of which no value was saved"),
    ],
)  # fmt: skip
def test_refusals(workbook, rows, message):
    with pytest.raises(DataError, match=message):
        datasets.read_comparisons(workbook(rows))


def test_what_is_no_workbook_and_what_cannot_read_one(workbook, tmp_path, monkeypatch):
    whole = workbook(VOTES).read_bytes()
    (tmp_path / "half.xlsx").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="not an Excel workbook that openpyxl can read"):
        datasets.read_comparisons(tmp_path / "half.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"pip install \"privrank-jax\[excel\]\", or save"):
        datasets.read_comparisons(tmp_path / "votes.xlsx")


def test_a_ranking_of_a_workbook(privrank, workbook):
    path = workbook([*VOTES[:1], *[(k, "tea", "milk") for k in range(9)]])
    result = privrank("rank", path, "--epsilon", 1, "--max-per-user", 1)
    assert result.code == 0
    assert "tea" in result.out
