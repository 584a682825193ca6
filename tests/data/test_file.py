"""Files as bytes that become columns of text: compression, encodings, separators, CSV, JSON, Excel, frames."""

from __future__ import annotations

import codecs
import datetime
import gzip
import hashlib
import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import duckdb
import openpyxl
import pandas
import pyarrow
import pytest

import privrank_jax as pr
from privrank_jax.data import reader
from privrank_jax.data.errors import DataError
from privrank_jax.data.file import File, Origin
from privrank_jax.data.table import open_file, open_frame
from tests.data.files import GOOD, HEAD, SUFFIXES, as_file, frame, rows_of, written

TEXT = "user,winner\nGötz,Ærø\n"


def cells_of(table):
    """The cells of all columns, row by row."""
    columns = table.columns(table.header)
    return [
        tuple(c.words[k] for c, k in zip(columns, row)) for row in zip(*(c.codes for c in columns))
    ]


def opened(path, sheet=None, **options):
    return open_file(File(path, **options), sheet)


@pytest.fixture
def piped(monkeypatch):
    """Standard input with this content."""

    def pipe(content):
        stdin = SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: False)
        monkeypatch.setattr(sys, "stdin", stdin)
        return File("-")

    return pipe


# --- bytes ---


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (TEXT.encode(), None),
        (TEXT.encode("utf-8-sig"), "latin-1"),  # the mark says more
        (TEXT.encode("utf-16"), None),
        (TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("latin-1"), "Latin-1"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".CSV.gz"])
def test_encodings(tmp_path, content, encoding, suffix):
    packed = gzip.compress(content) if suffix.endswith("gz") else content
    file = File(written(tmp_path, packed, f"votes{suffix}"), encoding=encoding)
    assert "".join(file.lines()) == TEXT
    assert (file.suffix, File.of(file) is file) == (".csv", True)


@pytest.mark.parametrize(
    ("content", "encoding", "named", "name"),
    [
        (TEXT.encode("latin-1"), None, "line 2.*latin-1", "votes.csv"),
        (TEXT.encode("utf-16-le"), None, "utf-16", "votes.csv"),
        (TEXT.encode("utf-16")[:-1], None, "UTF-16", "votes.csv"),
        (b"a\x81b", "cp1252", "CP1252", "votes.csv"),
        (TEXT.encode() + b"\0", None, "NUL", "votes.csv"),
        (gzip.compress(TEXT.encode() * 99, mtime=0)[:-6], None, "damaged", "votes.csv.gz"),
    ],
)
def test_bytes_that_are_no_text(tmp_path, content, encoding, named, name):
    path = written(tmp_path, content, name)
    with pytest.raises(DataError, match=named):
        list(File(path, encoding=encoding).lines())


@pytest.mark.parametrize(
    ("suffix", "missing", "extra"),
    [("parquet", "pyarrow", r"\[tables\]"), ("xlsx", "openpyxl", r"\[excel\]")],
)
def test_without_a_package_it_is_named(tmp_path, monkeypatch, suffix, missing, extra):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(DataError, match=extra):
        pr.read(written(tmp_path, TEXT, f"votes.{suffix}"))


def test_separators_and_encodings_by_name():
    for given, sign in ((";", ";"), ("tab", "\t"), ("\\t", "\t"), ("Pipe", "|"), (" ", " ")):
        assert File("votes.txt", separator=given).separator == sign
    for given in ("", "ab", "a", '"', "\n", "7", "\0"):
        with pytest.raises(DataError, match="separator="):
            File("votes.txt", separator=given)
    for given in ("", "utf-9", "rot13", "base64", "x" * 300, "\0"):
        with pytest.raises(DataError, match="encoding="):
            File("votes.txt", encoding=given)


@pytest.mark.parametrize(
    ("content", "suffix", "text"),
    [
        (TEXT.encode(), ".csv", TEXT),
        (gzip.compress(TEXT.encode(), mtime=0), ".csv", TEXT),
        (b'\n{"user": 1}\n', ".json", '\n{"user": 1}\n'),
        (codecs.BOM_UTF8 + b'[{"user": 1}]', ".json", '[{"user": 1}]'),
        (b"", ".csv", ""),
        (b"4 2\n1 3 2 0\n", ".blt", "4 2\n1 3 2 0\n"),
        (b"# FILE NAME: a.soc\n3: 1,2\n", ".csv", "# FILE NAME: a.soc\n3: 1,2\n"),
    ],
)
def test_standard_input_is_read_once_and_known_by_its_start(piped, content, suffix, text):
    file = piped(content)
    assert (file.name, str(file), file.suffix) == ("standard input", "standard input", suffix)
    for _ in range(2):
        assert "".join(file.lines()) == text
    assert Origin(file).sha256 == hashlib.sha256(content).hexdigest()
    sys.stdin.isatty = lambda: True  # a keyboard
    with pytest.raises(DataError, match="pipe data in"):
        list(File("-").lines())


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_parquet_may_be_piped_and_compressed(tmp_path, piped, suffix):
    content = as_file(tmp_path, frame("user,winner,loser", "u,a,b"), ".parquet").read_bytes()
    packed = written(tmp_path, gzip.compress(content) if suffix else content, f"p.parquet{suffix}")
    for source in (packed, piped(packed.read_bytes())):
        assert pr.read(source).user_names == ("u",)


def test_paths_that_are_no_readable_file(tmp_path):
    for path, named in (
        (tmp_path / "nothing.csv", "no such file"),
        (tmp_path / "nothing.parquet", "no such file"),
        (tmp_path, "folder"),
        (written(tmp_path, GOOD, "votes.ods"), r"\.ods"),
        (written(tmp_path, GOOD, "votes.parquet"), "not a Parquet file"),
        (written(tmp_path, GOOD, "votes.xlsx"), "not an Excel workbook"),
        (written(tmp_path, GOOD, "votes"), "no suffix"),
        *((Path(name), "or a stream") for name in ("/dev/null", "/dev/stdin")),
        *((tmp_path / name, "or a stream") for name in ("pipe", "pipe.csv", "pipe.soc")),
    ):
        if path.name.startswith("pipe"):
            os.mkfifo(path)
        with pytest.raises(DataError, match=named):
            opened(path)
    with pytest.raises(DataError, match=r"neither a file nor a named data set.*'cars'"):
        pr.read("carz")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_is_opened_once_for_its_header_and_its_rows(tmp_path, monkeypatch, suffix):
    path, times = as_file(tmp_path, frame(*GOOD.split()), suffix), []
    file, there = File(path), reader.open_file
    monkeypatch.setattr(reader, "open_file", lambda *given: times.append(given) or there(*given))
    for _ in range(2):
        assert set(reader.header_of(file)) == {"user", "winner", "loser", "tie"}
    found = pr.read(file)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(times) == 1
    assert rows_of(pr.read(file)) == rows_of(found)  # again, from its start
    file = File(path)
    reader.header_of(file)
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="changed while it was read"):
        _ = pr.read(file).sha256


# --- CSV ---


def test_cells_and_lines(tmp_path):
    table = opened(written(tmp_path, HEAD + '\n\na,"x\nX",y,0\n\r\nb,"y,",y,\n'))
    assert cells_of(table) == [("a", "x\nX", "y", "0"), ("b", "y,", "y", "")]
    assert [table.where(row) for row in (0, 1)] == ["line 5", "line 7"]
    rows = [f"u{k},a,b,0" for k in range(9000)]
    rows[5000] = 'u,"a\n",b,0'
    table = opened(written(tmp_path, HEAD + "\n".join(rows)))
    assert table.columns(["user"])[0].words[-1] == "u8999"
    lines = [table.where(k) for k in (0, 4999, 5000, 5001, 8999)]
    assert lines == [f"line {k}" for k in (2, 5001, 5003, 5004, 9002)]
    table = opened(written(tmp_path, "user,said\nu," + "hello " * 50_000 + "\n"))
    assert cells_of(table) == [("u", "hello " * 50_000)]


@pytest.mark.parametrize(
    ("text", "sign"),
    [("a;b\n1;2\n", "semicolon"), ("a\tb\n1\t2\n", "tab"), ("a,b\n1,2\n", ""), ('a,b\n1,"2"', "")],
)
def test_separators_by_the_header(tmp_path, text, sign):
    table = opened(written(tmp_path, text))
    assert cells_of(table) == [("1", "2")]
    assert sign in "".join(table.reading)
    assert bool(sign) == bool(table.reading)
    with pytest.raises(DataError, match="semicolon and tab"):
        opened(written(tmp_path, "a;b\tc\n1;2\t3\n"))


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (GOOD.replace("\n", "\r\n"), "windows.csv"),
        (GOOD.replace("\n", "\r"), "old_mac.csv"),
        (GOOD.replace(",", "\t"), "tabs.tsv"),
        (GOOD.replace("Oslo", '"Oslo"'), "quoted.CSV"),
        (GOOD.rstrip("\n"), "no_last_newline.csv"),
        (GOOD.replace("\n", "\n\n"), "empty_lines.csv"),
    ],
)
def test_harmless_variants_read_alike(tmp_path, content, name):
    plain = rows_of(pr.read(written(tmp_path, GOOD)))
    assert rows_of(pr.read(written(tmp_path, content, name))) == plain


# --- JSON ---

ROWS = (
    {"user": 7, "winner": "x", "loser": "y", "tie": False, "turns": ["hi"]},
    {"user": "8", "winner": "y", "loser": "x", "tie": True, "turns": []},
    {"loser": "x", "winner": "z", "user": 1.50, "late": None, "turns": {"role": ["é", 1.50]}},
)
LINES = "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS).replace("1.5", "1.50")
CELLS = [
    (None, "y", "false", ("hi",), "7", "x"),
    (None, "x", "true", (), "8", "y"),
    # null is blank; numbers stay as they are written
    ("", "x", None, '{"role": ["é", "1.50"]}', "1.50", "z"),
]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("votes.jsonl", LINES),
        ("votes.JSON", f" [{LINES.replace(chr(10), ',')}]"),
        ("votes.json", json.dumps(ROWS, indent=1).replace("1.5", "1.50")),
    ],
)
def test_objects_are_rows(tmp_path, name, content):
    table = opened(written(tmp_path, content, name))
    assert table.header == ["late", "loser", "tie", "turns", "user", "winner"]  # of all objects
    assert cells_of(table) == CELLS
    assert not table.form
    assert table.where(1) in ("line 2", "line 3", "object 2")


@pytest.mark.parametrize("cell", [{"a": 1}, [["a"]]])
def test_structures_are_their_json_and_name_nobody(cell):
    columns = {"winner": ["a", "b"], "loser": ["b", "a"], "user": [cell, cell]}
    for source in (columns, pyarrow.table(columns), [dict(zip(columns, ("a", "b", cell)))]):
        words = open_frame(source).columns(["user"])[0].words
        assert list(map(json.loads, words)) == [cell]
        with pytest.raises(DataError, match="row 1, column 'user'"):
            pr.read(source)


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("v.jsonl", "", "is empty"),
        ("v.jsonl", LINES + "\n[1]", "line 4"),
        ("v.jsonl", LINES + '\n{"user":', "line 4"),
        ("v.jsonl", LINES + '\n{"user":1,"user":2}', "line 4.*stands there twice"),
        ("v.json", "[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_no_table_of_objects(tmp_path, name, content, named):
    with pytest.raises(DataError, match=named) as error:
        cells_of(opened(written(tmp_path, content, name)))
    assert name in str(error.value)


@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        *((suffix, {"separator": ";"}) for suffix in (".jsonl", ".xlsx", ".parquet")),
        *((suffix, {"encoding": "latin-1"}) for suffix in (".xlsx", ".parquet")),
        *((suffix, {"sheet": 1}) for suffix in (".csv", ".json", ".parquet")),
    ],
)
def test_what_a_format_has_not(tmp_path, suffix, options):
    path = as_file(tmp_path, frame(*GOOD.split()), suffix)
    for source in (path, frame(*GOOD.split())):
        with pytest.raises(DataError, match=next(iter(options))):
            pr.read(source, **options)


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

    def write(*sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for k, rows in enumerate(sheets):
            sheet = book.create_sheet(f"sheet {k}")
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / "votes.xlsx")
        return tmp_path / "votes.xlsx"

    return write


def test_sheets(workbook):
    expected = [("7", "tea", "milk"), ("8", "milk", "3.5"), ("7", "true", "2024-03-01")]
    table = opened(workbook(VOTES))
    assert (table.header, cells_of(table)) == (["User", "Winner", "Loser"], expected)
    assert table.reading == ()
    assert [table.where(k) for k in range(3)] == ["row 2", "row 4", "row 5"]
    several = workbook([("notes",), ("x",)], VOTES)
    for sheet in ("sheet 1", 2, "2"):
        table = opened(several, sheet)
        assert cells_of(table) == expected
        assert "only 'sheet 1' is read" in table.reading[0]
    assert opened(several).header == ["notes"]
    for sheet in ("sheet 7", 3, 0, "²"):
        with pytest.raises(DataError, match="'sheet 0', 'sheet 1'"):
            opened(several, sheet)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([], "empty"),
        ([*VOTES, (1, "a", "b", "c")], "row 6: a cell beyond"),
        ([*VOTES, (1, "a", "#N/A")], "row 6.*#N/A"),
        ([*VOTES, (1, "tea", "=B2")], "row 6.*formula '=B2'"),
    ],
)
def test_what_is_no_table_in_a_sheet(workbook, rows, named):
    with pytest.raises(DataError, match=named):
        cells_of(opened(workbook(rows)))


# --- further rows of a header: Qualtrics' are known by their ids, all others are read as answers ---

QUALTRICS = [
    ("ResponseId", "Q5_1", "Q5_2", "Q6"),
    ("Response ID", "Rank - Tea, hot", "Rank - Milk", "Why?"),
    tuple(json.dumps({"ImportId": f"QID{k}"}, separators=(",", ":")) for k in range(4)),
    ("R_1", "1", "2", "Fresh"),
    ("R_2", "2", "1", ""),
]


@pytest.mark.parametrize(
    "ids", [lambda word: word, lambda word: word.replace('"', "'").replace(":", ": ")]
)
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".xlsx"])
def test_three_rows_of_a_header(tmp_path, workbook, suffix, ids):
    rows = [*QUALTRICS[:2], tuple(map(ids, QUALTRICS[2])), *QUALTRICS[3:]]
    path = workbook(rows)
    if suffix != ".xlsx":
        text = pandas.DataFrame(rows[1:], columns=rows[0]).to_csv(
            index=False, sep=",\t"[suffix == ".tsv"]
        )
        path = written(tmp_path, text.encode("utf-16") if suffix == ".tsv" else text, f"a{suffix}")
    found = pr.data.Rankings.read(path, user="ResponseId", items="Q5_1..Q5_2")
    assert (found.user_names, found.ranks.tolist()) == (("R_1", "R_2"), [[0, 1], [1, 0]])
    assert any("Qualtrics" in one for one in found.notes)
    assert opened(path).where(1) in ("line 5", "row 5")


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
        self._columns, self.columns, self.collect = columns, list(columns), None

    def __getitem__(self, name):
        return SimpleNamespace(to_list=lambda: list(self._columns[name]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: COLUMNS,
        lambda: pyarrow.table(COLUMNS).to_pandas(types_mapper=pandas.ArrowDtype),
        lambda: Polars(COLUMNS),
        lambda: SimpleNamespace(collect=lambda: Polars(COLUMNS)),
        lambda: duckdb.connect().from_arrow(pyarrow.table(COLUMNS)),
        lambda: [dict(zip(COLUMNS, row)) for row in zip(*COLUMNS.values())],
    ],
)
def test_frames(make):
    table = open_frame(make())
    order = [list(COLUMNS).index(name) for name in table.header]
    found = [tuple(None if c == "" else c for c in row) for row in cells_of(table)]
    assert found == [tuple(row[k] for k in order) for row in FRAME]
    assert table.where(0) == "row 1"


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ("votes.csv", "is a str"),
        (7, "is a int"),
        ([{"user": "u", 1: 2}], "row 1"),
        ({"user": ["u"], "winner": ["a", "b"]}, "different lengths"),
        *(({"user": cells}, "'user' is no list") for cells in (1, "u", {"A"}, b"ABA", {0: "u"})),
        ({1: ["u"]}, "column is named 1"),
        (pyarrow.table({"user": pyarrow.array([b"a"])}), "row 1: a cell is a bytes"),
    ],
)
def test_what_is_no_frame(data, named):
    with pytest.raises(DataError, match=named):
        cells_of(open_frame(data))
