"""Tables as streams of rows: CSV and JSON by the standard library, Parquet by DuckDB, Excel by openpyxl, or in memory.

A small strict reader of CSV stays with the standard library: it is there, starts at once, refuses what is no CSV, and
names the line. DuckDB reads faster, but takes 0.16 s of processor time to import, keeps no line numbers, and renames
columns; so it is left to Parquet.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from privrank_jax._arguments import value_of
from privrank_jax._cells.columns import (
    DELIMITERS,
    OBJECTS,
    PARQUET,
    SHEETS,
    TABLES,
    Roles,
    check_file,
    find_columns,
)
from privrank_jax._cells.errors import DataError
from privrank_jax._cells.public import not_used
from privrank_jax._cells.text_files import SEPARATORS, File
from privrank_jax.datasets.frames import Frame
from privrank_jax.datasets.json_objects import read_objects
from privrank_jax.datasets.sheets import other_sheets, read_sheet

Data = str | os.PathLike[str] | Frame
Row = Sequence[str | None]
_NAMES = {sign: name for name, sign in SEPARATORS.items() if name.isalpha()}
csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))  # a cell may hold a conversation
_SECOND_HEADERS = ('{"ImportId"', "{'ImportId'", "Open-Ended Response")


class Said(TypedDict):
    """What a table says of how it was read."""

    notes: tuple[str, ...]
    reading: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """An opened table: its rows of cells (text or None) and the position of each role's cell in a row.

    ``form`` tells whether its columns are those of a form, which nobody's answers change. The keys of JSON objects are
    not: they are their users'.
    """

    name: str
    rows: Iterator[Row]
    positions: dict[str, int]
    ignored: list[str]
    where: Callable[[], str]  # the row last read, in words
    reading: tuple[str, ...] = ()  # what was detected in its form
    form: bool = True

    def said(self, *detected: str, notes: Iterable[str]) -> Said:
        """The fields of a table on how it was read: public notes, what was detected, remarks for its holder alone.

        Args:
            detected: how its columns are read, as far as nobody said so.
            notes: what does not depend on the names of its columns.
        """
        reading, ignored = (*self.reading, *detected), not_used(self.ignored)
        if self.form:
            return {"notes": (*reading, *notes, *ignored), "reading": reading, "remarks": ()}
        return {"notes": tuple(notes), "reading": reading, "remarks": ignored}


def open_source(data: Data, roles: Roles, row: str = "comparison") -> Source:
    """Open a file by its suffix, or columns in memory, and find the columns.

    Args:
        data: a path or :class:`File` that ends in one of ``TABLES``, or a :class:`Frame`.
        roles: role to column.
        row: what a row holds, for messages.

    Raises:
        DataError: the file or a column is absent, or the file has none of these formats.
    """
    if isinstance(data, Frame):
        positions, ignored = find_columns(data.name, data.header, roles)
        rows, where = data.rows(positions)
        return Source(data.name, rows, dict(zip(positions, range(len(positions)))), ignored, where)
    file = File.of(data)
    suffix = check_file(
        file,
        TABLES,
        f"one file of {row}s",
        f"a header row and one row per {row}",
        "give a .csv, .tsv, .jsonl, .parquet or .xlsx file, or name the character between its cells",
    )
    _check_form(file, suffix)
    if suffix in PARQUET:
        return _parquet(file, roles)
    if suffix in OBJECTS:
        return _objects(file, roles, row)
    if suffix in SHEETS:
        return _sheet(file, roles, row)
    return _csv(file, roles, row)


def _check_form(file: File, suffix: str) -> None:
    """Refuse a separator or an encoding of a file that has none."""
    for name, value, without in (
        ("separator", file.separator, (*PARQUET, *OBJECTS, *SHEETS)),
        ("encoding", file.encoding, (*PARQUET, *SHEETS)),
    ):
        if value is not None and suffix in without:
            said = value_of(name, value)
            raise DataError(f"{file.name} has no {name}: leave out {said}", said)


def read_header(data: Data) -> list[str]:
    """Names of a table's columns; none if it can't be read, which :func:`open_source` explains."""
    if isinstance(data, Frame):
        return data.header
    file = File.of(data)
    try:
        if not file.piped and not file.path.is_file():  # a pipe could be read only once
            return []
        if file.suffix in PARQUET:
            return list(_parquet_table(file).columns)
        if file.suffix in OBJECTS:
            return read_objects(file)[0]
        if file.suffix in SHEETS:
            return read_sheet(file)[0]
        if file.suffix not in DELIMITERS and file.separator is None:
            return []
        return _header(file, _separator(file)[0])
    except (ValueError, KeyError, OSError, csv.Error):
        return []


def read_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """Lines of a text file, with their ends; :class:`DataError` for what can't be decoded."""
    return File.of(path).lines()


def _header(file: File, separator: str) -> list[str]:
    rows = csv.reader(file.lines(), delimiter=separator, strict=True)
    return next((row for row in rows if row), [])


def _separator(file: File) -> tuple[str, tuple[str, ...]]:
    """What separates the cells, and a sentence where the header said so.

    It is what was said, else the separator of the suffix if the header has it, else the only other one that it has.
    """
    usual = DELIMITERS.get(file.suffix, ",")
    if file.separator is not None:
        return file.separator, ()
    found = [sign for sign in (usual, *(set(",;\t") - {usual})) if _splits(file, sign)]
    if not found or found[0] == usual:
        return usual, ()
    if len(found) > 1:
        said = value_of("separator", _NAMES[found[0]])
        raise DataError(
            f"{file.name}: its header has {' and '.join(sorted(_NAMES[sign] for sign in found))} characters, and it "
            f"is unclear which separate cells: say so, such as {said}",
            said,
        )
    return found[0], (f"cells are separated by {_NAMES[found[0]]}s, as its header shows",)


def _splits(file: File, separator: str) -> bool:
    try:
        return len(_header(file, separator)) > 1
    except csv.Error:
        return False


def _csv(file: File, roles: Roles, row: str) -> Source:
    separator, reading = _separator(file)
    reader = csv.reader(file.lines(), delimiter=separator, strict=True)
    rows = _csv_rows(file.name, reader)
    header = next(rows, None)
    if header is None:
        raise DataError(f"{file.name} is empty: it needs a header row and one row per {row}")
    _check_one_header(file, separator)
    positions, ignored = find_columns(file.name, header, roles)
    return Source(
        file.name,
        rows,
        positions,
        ignored,
        lambda: f"line {reader.line_num}",
        (*file.reading, *reading),
    )


def _check_one_header(file: File, separator: str) -> None:
    """Refuse the rows that survey platforms write below the names of the columns: texts of questions, and their ids."""
    with contextlib.suppress(csv.Error):
        rows = csv.reader(file.lines(), delimiter=separator, strict=True)
        for row in itertools.islice(rows, 4):
            _check_no_header(row, f"{file.name}, line {rows.line_num}")


def _check_no_header(row: Row, place: str) -> None:
    if any(cell is not None and cell.startswith(_SECOND_HEADERS) for cell in row):
        raise DataError(
            f"{place}: a second header row, as Qualtrics and other survey platforms write it (texts of questions, "
            "ids): keep the row with the names of the columns and the answers, and remove all rows between"
        )


def _csv_rows(name: str, reader: Any) -> Iterator[list[str]]:
    """Rows as long as the header; wholly empty lines are skipped."""
    width = None
    try:
        for row in reader:
            if len(row) != width:
                if not row:
                    continue
                if width is not None:
                    raise DataError(
                        f"{name}, line {reader.line_num}: {len(row)} fields where the header has "
                        f"{width}: put a name that holds the separator into double quotes, or add "
                        "what is missing"
                    )
                width = len(row)
            yield row
    except csv.Error as error:
        raise DataError(
            f"{name}, line {reader.line_num}: not valid CSV ({error}): check the double quotes"
        ) from error


def _objects(file: File, roles: Roles, row: str) -> Source:
    header, rows, where = read_objects(file)
    if not header:
        raise DataError(f"{file.name} is empty: it needs one JSON object per {row}")
    positions, ignored = find_columns(file.name, header, roles)
    keys = [header[k] for k in positions.values()]
    order = {role: k for k, role in enumerate(positions)}
    return Source(file.name, rows(keys), order, ignored, where, file.reading, form=False)


@contextlib.contextmanager
def naming_sheets(data: Data | File) -> Iterator[None]:
    """Errors of a workbook's header, with the sheets that were not read."""
    try:
        yield
    except DataError as error:
        if isinstance(data, Frame) or (file := File.of(data)).suffix not in SHEETS:
            raise
        raise DataError(f"{error}{other_sheets(file)}", *error.arguments) from None


def _sheet(file: File, roles: Roles, row: str) -> Source:
    header, rows, where, reading = read_sheet(file)
    with naming_sheets(file):
        if not header:
            raise DataError(
                f"{file.name}: its first sheet is empty: it needs a header row and one row per {row}"
            )
        positions, ignored = find_columns(file.name, header, roles)

    def checked() -> Iterator[Row]:
        for number, cells in enumerate(rows):
            if number < 3:
                _check_no_header(cells, f"{file.name}, {where()}")
            yield cells

    return Source(file.name, checked(), positions, ignored, where, (*file.reading, *reading))


def _parquet(file: File, roles: Roles) -> Source:
    from privrank_jax.tables.backend import explained, stream, text

    path = file.path
    table = _parquet_table(file, ordered=True)
    header = list(table.columns)
    positions, ignored = find_columns(path.name, header, roles)
    with explained(path):
        cells = [text(table, header[k], path.name) for k in positions.values()]
        selected = table.select(**{f"cell{k}": cell for k, cell in enumerate(cells)})
    count = 0

    def rows() -> Iterator[Row]:
        nonlocal count
        with explained(path):
            for row in stream(selected):
                count += 1
                yield row

    order = {role: k for k, role in enumerate(positions)}
    return Source(path.name, rows(), order, ignored, lambda: f"row {count}")


def _parquet_table(file: File, *, ordered: bool = False) -> Any:
    from privrank_jax.tables.backend import check_installed, connect, open_table

    check_installed(file.name)
    return open_table(file.path, connect(ordered=ordered))
