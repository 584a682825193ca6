"""Every loader on bad input: a table that says what the file says, or a ``DataError`` that says what to do."""

from __future__ import annotations

import functools
import gzip
import io
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import openpyxl
import pandas
import pyarrow
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from privrank_jax.data import Ratings
from privrank_jax.data.errors import DataError
from privrank_jax.data.file import File
from privrank_jax.data.named import FILES, load, named_sets
from tests.data import readers
from tests.fuzz import strategies
from tests.fuzz.as_written import (
    budgets_as_written,
    comparisons_as_written,
    csv_rows,
    json_rows,
    rankings_as_written,
    ratings_as_written,
    reports_as_written,
    synthetic_as_written,
    text_of,
)
from tests.fuzz.strategies import fuzz, tiers

ITEMS = st.none() | st.lists(st.sampled_from(strategies.CELLS[-40:]), max_size=4)
COLUMN = st.sampled_from(
    ("user", "user", "user", "user", None, "note", "a", "winner", "", "\ud800")
)

QUICK, THOROUGH = 12, 1_000  # files of each kind


def _plain(message: str, path: Path) -> None:
    """A refusal that names the file, or the list of items, and speaks of it, not of the inside of Python."""
    assert path.name in message or message.startswith("`items` ")
    assert not re.search(
        r"\[Errno|codec|invalid literal|cannot convert|could not convert|out of range|too large to convert|"
        r"null byte|np\.|array\(|NoneType|Exceeds the limit",
        message.replace(path.name, "").split("(")[0],
    ), message


def _names(names) -> None:
    assert len(set(names)) == len(names)
    assert all(name.strip() for name in names)


# --- what each loader takes, and what its table must say


def read_budgets(path, user, items):
    return readers.read_user_epsilon(path, "budget", user or "user")


LOADERS = {
    "comparisons": (readers.read_comparisons, comparisons_as_written),
    "objects": (readers.read_comparisons, comparisons_as_written),
    "wide": (readers.read_rankings, rankings_as_written),
    "long": (readers.read_rankings, rankings_as_written),
    "shapes": (readers.read_rankings, rankings_as_written),
    "ratings": (functools.partial(Ratings.read, ratings="-1:100"), ratings_as_written),
    "costs": (functools.partial(Ratings.read, ratings="100:-1"), rankings_as_written),
    "reports": (readers.read_reports, reports_as_written),
    "synthetic": (readers.read_synthetic_rankings, synthetic_as_written),
    "budgets": (read_budgets, budgets_as_written),
}
PARQUET_LOADERS = tuple(LOADERS[kind][0] for kind in ("objects", "wide", "reports", "synthetic"))
PARQUET_LOADERS += (lambda path: read_budgets(path, "user", None),)


def _check_text(folder: Path, kind: str, content: bytes, suffix: str, user, items) -> None:
    path = folder / f"votes{suffix}"
    path.write_bytes(content)
    loader, as_written = LOADERS[kind]
    try:
        found = loader(path, user=user, items=items)
    except DataError as error:
        _plain(str(error), path)
        return
    finally:
        path.unlink()
    table = getattr(found, "table", found)
    if kind != "budgets":
        _names(table.item_names)
        _names(table.user_names)
        assert len(table.item_names) >= 1 + (kind != "reports")
        if items is not None:
            assert list(table.item_names) == [str(item) for item in items]
    delimiter = "\t" if suffix.lower() == ".tsv" else ","
    rows = json_rows(content) if suffix == ".jsonl" else csv_rows(content, delimiter)
    as_written(found, rows, {"user": user, "items": items})


SUFFIXES = st.sampled_from((".csv",) * 8 + (".CSV", ".tsv", ".txt", ""))


@tiers(QUICK)
@pytest.mark.parametrize("kind", LOADERS)
def test_tables(tmp_path, kind, examples):
    for text in strategies.TEXTS[kind][0]:
        for user in ("user", None):
            suffix = ".jsonl" if kind == "objects" else ".csv"
            _check_text(tmp_path, kind, text.encode(), suffix, user, None)

    @fuzz(examples)
    @given(content=strategies.contents(kind), suffix=SUFFIXES, user=COLUMN, items=ITEMS)
    def run(content, suffix, user, items):
        suffix = ".jsonl" if kind == "objects" and suffix == ".csv" else suffix
        # Options are refused early: most files are read with the default ones.
        if len(content) % 4:
            user, items = "user" if b"user" in content[:80] else None, None
        _check_text(tmp_path, kind, content, suffix, user, items)

    run()


@tiers(2 * QUICK)
def test_preflib(tmp_path, examples):
    @fuzz(examples)
    @given(
        content=strategies.contents("preflib"),
        suffix=st.sampled_from((".soc", ".soi", ".toc", ".toi")),
    )
    def run(content, suffix):
        table = _check_ranked(tmp_path / f"votes{suffix}", content)
        if table is not None:
            assert np.all(np.any(table.ranks == 0, axis=1))
            assert table.complete or suffix[3] == "i"
            assert not table.tied or suffix[1] == "t"
            assert all(name in text_of(content) for name in table.item_names)

    run()


@tiers(QUICK)
def test_orders(tmp_path, examples):
    @fuzz(examples)
    @given(content=strategies.contents("orders"))
    @example(content=b"3 1\n7\n")  # a line of one number
    @example(content=b"999999999 1\n0 2 1 5\n")  # more items than memory
    def run(content):
        table = _check_ranked(tmp_path / "votes.order", content)
        if table is None:
            return
        assert not table.tied
        lines = [line.split() for line in text_of(content).split("\n") if line.strip()]
        if len(table.ranks) == len(lines) - 1:  # other line ends are read too
            for ranks, (_, length, *order) in zip(table.ranks.tolist(), lines[1:]):
                assert [ranks[int(k)] for k in order] == list(range(int(length)))

    run()


def _check_ranked(path: Path, content: bytes):
    """The table, None if it is refused."""
    path.write_bytes(content)
    try:
        table = readers.read_rankings(path)
    except DataError as error:
        _plain(str(error), path)
        return None
    _names(table.item_names)
    return table


# --- files that are none


@pytest.mark.parametrize("ending", [".csv", ".soc", ".json", ".xlsx", ".parquet"])
def test_paths_that_are_no_files(tmp_path, ending):
    """Links to nowhere and to themselves, a file that can't be read; names that no file has."""
    paths = [tmp_path / f"{name}{ending}" for name in ("x" * 300, "nul\0", "\udcff", "no", "loop")]
    paths[3].symlink_to(tmp_path / "gone")
    paths[4].symlink_to(paths[4])
    if Path("/proc/self/mem").exists():  # reads fail with an I/O error, for the superuser too
        paths.append(tmp_path / f"mem{ending}")
        paths[5].symlink_to("/proc/self/mem")
    for path in (*paths, tmp_path / f"folder{ending}" / f"below{ending}"):
        with pytest.raises(DataError) as refused:
            readers.read_comparisons(path)
        _plain(str(refused.value), path)


def test_named_data_sets_that_are_damaged_in_one_place(data_folder, tmp_path):
    for file, known in FILES.items():
        if known.where != "here":
            content = bytearray((data_folder / file).read_bytes())
            content[len(content) // 2] ^= 1
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    for name in named_sets():
        if not name.startswith("coffee"):  # part of the package, which no folder changes
            load(name, data_folder)
            with pytest.raises(DataError, match="not the published"):
                load(name, tmp_path)


# --- Parquet

SELECTS = (
    "SELECT * FROM (VALUES ('u1', 'a', 'b'), ('u2', 'b', 'c'), ('u3', 'c', 'a')) t(\"user\", winner, loser)",
    'SELECT i AS "user", i % 3 AS winner, (i + 1) % 3 AS loser, i = 2 AS tie FROM range(9) t(i)',
    'SELECT i AS "user", 1 + i % 2 AS a, 2 - i % 2 AS b FROM range(4) t(i)',
    "SELECT * FROM (VALUES ('u1', 'a', 'b', 1, 1.0), ('u2', 'b', 'c', 0, 2.5)) "
    't("user", item_1, item_2, report, epsilon)',
    'SELECT i AS "user", 1.5 AS synthetic_epsilon, 1 + i % 2 AS a, 2 - i % 2 AS b FROM range(4) t(i)',
)
# Cells of other types, and columns that no loader expects.
VALUES = (
    "NULL", "''", "'NA'", "'a'", "chr(0) || 'a'", "'nan'::DOUBLE", "'-inf'::FLOAT", "1e308", "1.5", "-1", "true",
    "170141183460469231731687303715884105727::HUGEINT", "0.3::DECIMAL(9, 4)", "[1, 2]", "{'a': 1}", "MAP {'k': 1}",
    "'a'::BLOB", "TIMESTAMP '2020-01-01 00:00:00'", "DATE '2020-01-01'", "INTERVAL 1 DAY", "TIME '01:02:03'",
    "uuid()", "'101'::BIT", "'x'::ENUM ('x', 'y')", "repeat('z', 200000)", "[[1], []]", "NULL::INTEGER",
)  # fmt: skip
NAMES = ("user", "User", "USER", "winner", "Winner", "loser", "tie", "a", "A", "", " ", 'q"', "é", "rank", "item",
         "item_1", "item_2", "report", "epsilon", "synthetic_epsilon", "x\ny", "../z", "budget")  # fmt: skip


def _parquet(path: Path, select: str) -> bytes | None:
    """Content of a file; None where DuckDB does not write such a table."""
    quoted = str(path).replace("'", "''")
    with duckdb.connect() as connection:
        try:
            connection.execute(f"COPY ({select}) TO '{quoted}' (FORMAT parquet)")
        except duckdb.Error:
            return None
    return path.read_bytes()


@st.composite
def selects(draw) -> str:
    """A table of some columns and few rows, all of one odd type."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5))
    names += draw(st.sampled_from(((), ("user", "winner", "loser"), ("user", "a", "b"))))
    values = [draw(st.sampled_from(VALUES)) for _ in names]
    columns = ", ".join(
        f'{value} AS "{name.replace(chr(34), 2 * chr(34)) or "_"}"'
        for name, value in zip(names, values)
    )
    return f"SELECT {columns} FROM range({draw(st.integers(0, 3))})"


def _check_parquet(path: Path, content: bytes, load) -> None:
    path.write_bytes(content)
    try:
        found = load(path)
    except DataError as error:
        _plain(str(error), path)
        return
    table = getattr(found, "table", found)
    if not isinstance(table, np.ndarray):
        _names(table.item_names)
        _names(table.user_names)


@tiers(QUICK // 4, THOROUGH // 4)
def test_parquet(tmp_path, examples):
    path = tmp_path / "votes.parquet"
    valid = tuple(_parquet(path, select) for select in SELECTS)
    assert all(valid)

    @fuzz(examples)
    @given(content=strategies.damaged_bytes(valid), load=st.sampled_from(PARQUET_LOADERS))
    def damaged(content, load):
        _check_parquet(path, content, load)

    @fuzz(examples)
    @given(select=selects(), load=st.sampled_from(PARQUET_LOADERS))
    def odd(select, load):
        content = _parquet(tmp_path / "odd.parquet", select)
        if content is not None:
            _check_parquet(path, content, load)

    damaged()
    odd()
    latin = valid[0].replace(b"user", b"us\xe9r").replace(b"u1", b"\xe9\xe9")
    for read in PARQUET_LOADERS[:2]:  # names, and cells, that are not UTF-8
        _check_parquet(path, latin, read)
        _check_parquet(path, valid[0].replace(b"u1", b"\xe9\xe9"), read)


# --- the same cells compressed, piped in, as a frame or a workbook


KINDS = ("comparisons", "outcomes", "pairs", "one-hot", "wide", "lists")
FRAMES = (dict, pandas.DataFrame, pyarrow.table)


# What a cell of Excel can't hold as text, holds as something else, or cuts.
NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f]|^[=#]|_x[0-9a-fA-F]{4}_|(?s:.{32768})")


def workbook(rows):
    """Cells of text in the first sheet."""
    book, packed = openpyxl.Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet()
    for row in rows:
        sheet.append([*row])
    book.save(packed)
    return packed.getvalue()


def said(read, path, *arguments):
    """What a table says; None if it is refused."""
    try:
        table = read(*arguments)
    except DataError as error:
        _plain(str(error), path)
        return None
    if hasattr(table, "ranks"):
        return table.item_names, table.user_names, table.ranks.tolist()
    columns = (table.users, table.winners, table.losers, table.tied)
    return table.item_names, table.user_names, *(column.tolist() for column in columns)


def from_stdin(content, read):
    """Read bytes that are piped in."""
    there = sys.stdin
    sys.stdin = SimpleNamespace(isatty=lambda: False, buffer=io.BytesIO(content))
    try:
        return read(File("-"))
    finally:
        sys.stdin = there


def check(folder, kind, content):
    read = readers.read_rankings if kind in ("wide", "lists") else readers.read_comparisons
    path, packed = folder / "votes.csv", folder / "votes.csv.gz"
    path.write_bytes(content)
    expected = said(read, path, path)
    packed.write_bytes(gzip.compress(content))
    assert said(read, packed, packed) == expected
    by_bytes = (b"{", b"[", b"\x1f", b"\x28", b"P")  # of what is no text
    if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in by_bytes:
        name = folder / "standard input"
        assert said(lambda: from_stdin(content, read), name) == expected
    if expected is not None:
        rows = csv_rows(content, ",")
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        for frame in FRAMES:
            name = folder / "the table"
            assert said(lambda: read(frame(columns)), name) == expected  # noqa: B023
        cells = [[*columns], *([*row.values()] for row in rows)]
        if kind == "comparisons" and not any(NO_TEXT.search(text) for row in cells for text in row):
            book = folder / "votes.xlsx"
            book.write_bytes(workbook(cells))
            assert said(read, book, book) == expected


@tiers(QUICK)
@pytest.mark.parametrize("kind", KINDS)
def test_forms(tmp_path, kind, examples):
    for text in strategies.TEXTS[kind][0]:
        check(tmp_path, kind, text.encode())

    @fuzz(examples)
    @given(content=strategies.contents(kind))
    def run(content):
        check(tmp_path, kind, content)

    run()
