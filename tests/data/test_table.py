"""Files and frames as columns of codes and words."""

from __future__ import annotations

import datetime
import gzip
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import openpyxl
import pandas
import pyarrow
import pytest

from privrank_jax.data.errors import DataError
from privrank_jax.data.file import File
from privrank_jax.data.table import open_file, open_frame
from tests.data.files import GOOD, HEAD, written


def rows_of(table):
    """The cells of all columns, row by row."""
    columns = table.columns(table.header)
    return [
        tuple(c.words[k] for c, k in zip(columns, row)) for row in zip(*(c.codes for c in columns))
    ]


def opened(path, **options):
    return open_file(File(path, **options))


# --- CSV ---


def test_cells_and_lines(tmp_path):
    table = opened(written(tmp_path, HEAD + '\n\na,"x\nX",y,0\n\r\nb,"y,",y,\n'))
    assert rows_of(table) == [("a", "x\nX", "y", "0"), ("b", "y,", "y", "")]
    assert [table.where(row) for row in (0, 1)] == ["line 5", "line 7"]


def test_lines_of_long_files(tmp_path):
    rows = [f"u{k},a,b,0" for k in range(9000)]
    rows[5000] = 'u,"a\n",b,0'
    table = opened(written(tmp_path, HEAD + "\n".join(rows)))
    assert table.columns(["user"])[0].words[-1] == "u8999"
    assert [table.where(k) for k in (0, 4999, 5000, 5001, 8999)] == [
        "line 2", "line 5001", "line 5003", "line 5004", "line 9002",
    ]  # fmt: skip


def test_a_cell_may_be_as_long_as_a_conversation(tmp_path):
    table = opened(written(tmp_path, "user,said\nu," + "hello " * 50_000 + "\n"))
    assert rows_of(table) == [("u", "hello " * 50_000)]


@pytest.mark.parametrize(
    ("text", "sign"), [("a;b\n1;2\n", "semicolon"), ("a\tb\n1\t2\n", "tab"), ("a,b\n1,2\n", "")]
)
def test_separators_by_the_header(tmp_path, text, sign):
    table = opened(written(tmp_path, text))
    assert rows_of(table) == [("1", "2")]
    assert sign in "".join(table.reading)
    assert bool(sign) == bool(table.reading)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = written(tmp_path, GOOD)

    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(DataError, match="cannot be read: Permission denied"):
        opened(path)


def test_a_csv_file_is_opened_once(tmp_path, monkeypatch):
    path, times = written(tmp_path, GOOD), []
    there = Path.open
    monkeypatch.setattr(
        Path, "open", lambda *given, **more: times.append(1) or there(*given, **more)
    )
    assert len(rows_of(opened(path))) == 3
    assert len(times) == 1


# --- JSON ---

ROWS = (
    {"user": 7, "winner": "x", "loser": "y", "tie": False, "turns": ["hi"]},
    {"user": "8", "winner": "y", "loser": "x", "tie": True, "turns": []},
    {"loser": "x", "winner": "z", "user": 1.50, "late": None},
)
LINES = "\n".join(map(json.dumps, ROWS)).replace("1.5", "1.50")
CELLS = [
    (None, "y", "false", ("hi",), "7", "x"),
    (None, "x", "true", (), "8", "y"),
    ("", "x", None, None, "1.50", "z"),  # null is blank; numbers stay as they are written
]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("votes.jsonl", LINES),
        ("votes.ndjson", f"\n{LINES}\n\n"),
        ("votes.json", LINES),
        ("votes.JSON", f" [{LINES.replace(chr(10), ',')}]"),
        ("votes.json", json.dumps(ROWS, indent=1).replace("1.5", "1.50")),
        ("votes.json", json.dumps({"battles": ROWS}).replace("1.5", "1.50")),
        ("votes.json", json.dumps({"battles": ROWS}, indent=1).replace("1.5", "1.50")),
        ("votes.jsonl.gz", gzip.compress(LINES.encode())),
    ],
)
def test_objects_are_rows(tmp_path, name, content):
    table = opened(written(tmp_path, content, name))
    assert table.header == ["late", "loser", "tie", "turns", "user", "winner"]  # of all objects
    assert rows_of(table) == CELLS
    assert not table.form
    assert table.where(1) in ("line 2", "line 3", "object 2")


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("v.jsonl", "", "is empty"),
        ("v.jsonl", "\n \n", "is empty"),
        ("v.json", "[]", "is empty"),
        ("v.jsonl", LINES + "\n[1]", "line 4"),
        ("v.jsonl", f"[{LINES}]", "line 1"),
        ("v.jsonl", LINES + '\n{"user":', "line 4"),
        ("v.jsonl", LINES + '\n{"user":1,"user":2}', "line 4.*'user' stands there twice"),
        ("v.json", "[" * 100_000, "not valid JSON"),
        ("v.json", '[{"user":1},3]', "object 2"),
        ("v.jsonl", LINES + '\n{"user":{"id":1},"winner":"x"}', "line 4, key 'user'"),
    ],
)
def test_what_is_no_table_of_objects(tmp_path, name, content, named):
    with pytest.raises(DataError, match=named) as error:
        rows_of(opened(written(tmp_path, content, name)))
    assert name in str(error.value)


def test_json_has_no_separator_and_no_sheet(tmp_path):
    path = written(tmp_path, LINES, "v.jsonl")
    with pytest.raises(DataError, match="separator=';'"):
        opened(path, separator=";")
    with pytest.raises(DataError, match="sheet=2"):
        open_file(File(path), 2)


# --- Excel ---

VOTES = [
    ("User", "Winner", "Loser", None),
    (7, "tea", "milk"),
    (None,),
    (8, "milk", 3.5),
    (7, True, datetime.datetime(2024, 3, 1)),
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


def test_sheets(workbook):
    expected = [("7", "tea", "milk"), ("8", "milk", "3.5"), ("7", "true", "2024-03-01")]
    table = opened(workbook(VOTES))
    assert (table.header, rows_of(table)) == (["User", "Winner", "Loser"], expected)
    assert table.reading == ()
    assert [table.where(k) for k in range(3)] == ["row 2", "row 4", "row 5"]
    several = workbook([("notes",), ("x",)], VOTES)
    for sheet in ("sheet 1", 2, "2"):
        table = open_file(File(several), sheet)
        assert rows_of(table) == expected
        assert "'sheet 1' is read, not 'sheet 0'" in table.reading[0]
    assert opened(several).header == ["notes"]
    for sheet in ("sheet 7", 3, 0):
        with pytest.raises(DataError, match="'sheet 0', 'sheet 1'"):
            open_file(File(several), sheet)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([], "empty"),
        ([*VOTES, (1, "a", "b", "c")], "row 6: a cell beyond the last column"),
        ([("My survey",), *VOTES], "row 2: a cell beyond the last column"),
        ([*VOTES, (1, "a", "#N/A")], "row 6.*#N/A"),
        ([VOTES[0], ('{"ImportId":"QID1"}', "", "")], "second header"),
        ([*VOTES, (1, "tea", "=B2")], "row 6.*formula '=B2'"),
    ],
)
def test_what_is_no_table_in_a_sheet(workbook, rows, named):
    with pytest.raises(DataError, match=named):
        rows_of(opened(workbook(rows)))


def test_what_is_no_workbook_and_what_cannot_read_one(workbook, tmp_path, monkeypatch):
    whole = workbook(VOTES).read_bytes()
    with pytest.raises(DataError, match="not an Excel workbook"):
        opened(written(tmp_path, whole[: len(whole) // 2], "half.xlsx"))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"privrank-jax\[excel\]"):
        opened(tmp_path / "votes.xlsx")


# --- frames ---

COLUMNS = {
    "user": ["ann", "bob", "ann"],
    "when": [1, 2, None],
    "tie": [False, True, None],
    "shown": [["a", "b"], ["a"], []],
}
FRAME = [("ann", "1", "false", ("a", "b")), ("bob", "2", "true", ("a",)), ("ann", None, None, ())]


class Polars:
    """The part of a polars frame that is used; the package is not needed here."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)
        self.collect = None

    def __getitem__(self, name):
        column = type("Column", (), {})()
        column.to_list = lambda: list(self._columns[name])
        return column


class Lazy:
    def __init__(self, frame):
        self.collect = lambda: frame


@pytest.mark.parametrize(
    "make",
    [
        lambda: COLUMNS,
        lambda: {name: np.array([*cells, 0], object)[:-1] for name, cells in COLUMNS.items()},
        lambda: pyarrow.table(COLUMNS),
        lambda: pyarrow.table(COLUMNS).to_pandas(types_mapper=pandas.ArrowDtype),
        lambda: Polars(COLUMNS),
        lambda: Lazy(Polars(COLUMNS)),
        lambda: duckdb.connect().from_arrow(pyarrow.table(COLUMNS)),
    ],
)
def test_frames(make):
    table = open_frame(make())
    assert table.header == list(COLUMNS)
    found = [tuple(None if str(c) == "<NA>" else c for c in row) for row in rows_of(table)]
    assert found == FRAME
    assert table.where(0) == "row 1"


@pytest.mark.parametrize(
    ("frame", "named"),
    [
        ("votes.csv", "is a str"),
        (7, "is a int"),
        ({"user": ["u"], "winner": ["a", "b"]}, "different lengths"),
        ({"user": [{"a": 1}]}, "row 1: a cell is a dict"),
        ({"user": [b"a"]}, "row 1: a cell is a bytes"),
        ({"user": [[["a"]]]}, "row 1: a cell is a list"),
        ({"user": 1}, "'user' is no list"),
        ({"user": "u"}, "'user' is no list"),
        ({1: ["u"]}, "column is named 1"),
    ],
)
def test_what_is_no_frame(frame, named):
    with pytest.raises(DataError, match=named):
        rows_of(open_frame(frame))


def test_nothing_is_imported_for_frames():
    run = (
        "import sys\nfrom privrank_jax.data.table import open_frame\n"
        "open_frame(dict(user=['u'])).columns(['user'])\n"
        "print({'jax', 'pandas', 'polars', 'pyarrow', 'ibis', 'duckdb'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
