"""The same cells compressed, piped in, as a frame or a workbook: the same table, or a refusal; damaged files too."""

from __future__ import annotations

import gzip
import io
import re
import sys
from types import SimpleNamespace

import openpyxl
import pandas
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrank_jax.data.errors import DataError
from privrank_jax.data.file import File
from tests.data import readers
from tests.fuzz import strategies
from tests.fuzz.as_written import csv_rows
from tests.fuzz.checks import QUICK, _plain, tiers
from tests.fuzz.strategies import fuzz

KINDS = ("comparisons", "outcomes", "pairs", "one-hot", "wide", "lists")
FRAMES = (dict, pandas.DataFrame, pyarrow.table)


# What a cell of Excel can't hold as text, or holds as something else.
NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f]|^[=#]|_x[0-9a-fA-F]{4}_")


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


@tiers(2 * QUICK)
def test_archives(tmp_path, examples):
    texts = strategies.COMPARISONS
    packed = {
        ".csv.gz": [gzip.compress(text.encode()) for text in texts],
        ".xlsx": [workbook(line.split(",") for line in text.splitlines()) for text in texts],
    }
    damaged = (
        st.tuples(st.just(suffix), strategies.damaged_bytes(tuple(each)))
        for suffix, each in packed.items()
    )

    @fuzz(examples)
    @given(archive=st.one_of(*damaged))
    def run(archive):
        path = tmp_path / f"votes{archive[0]}"
        path.write_bytes(archive[1])
        said(readers.read_comparisons, path, path)

    run()
