"""File formats as streams of rows: CSV and TSV by the standard library, Parquet by Ibis and DuckDB."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privrank_jax._cells.columns import (
    DELIMITERS,
    PARQUET,
    Roles,
    check_file,
    find_columns,
)
from privrank_jax._cells.errors import DataError


@dataclass(frozen=True)
class Source:
    """An opened file: its rows of cells (text or None) and the position of each role's cell in a row."""

    name: str
    rows: Iterator[Sequence[str | None]]
    positions: dict[str, int]
    ignored: list[str]
    where: Callable[[], str]  # the row last read, in words


def open_source(path: Path, roles: Roles, row: str = "comparison") -> Source:
    """Open a file by its suffix and find its columns.

    Args:
        path: ends in .csv, .tsv, .parquet or .pq.
        roles: role to column.
        row: what a row holds, for messages.

    Raises:
        DataError: the file or a column is absent, or the file has none of these formats.
    """
    suffix = check_file(
        path,
        (*DELIMITERS, *PARQUET),
        f"one file of {row}s",
        f"a header row and one row per {row}",
        "give a .csv, .tsv or .parquet file",
    )
    if suffix in PARQUET:
        return _parquet(path, roles)
    return _csv(path, DELIMITERS[suffix], roles, row)


def read_header(path: Path) -> list[str]:
    """Names of a file's columns; none if it can't be read, which :func:`open_source` explains."""
    try:
        if not path.is_file():  # a pipe could be read only once
            return []
        if path.suffix.lower() in PARQUET:
            return list(_parquet_table(path).columns)
        rows = csv.reader(read_lines(path), delimiter=DELIMITERS[path.suffix.lower()], strict=True)
        return next((row for row in rows if row), [])
    except (ValueError, KeyError, OSError, csv.Error):
        return []


def _csv(path: Path, delimiter: str, roles: Roles, row: str) -> Source:
    reader = csv.reader(read_lines(path), delimiter=delimiter, strict=True)
    rows = _csv_rows(path.name, reader)
    header = next(rows, None)
    if header is None:
        raise DataError(f"{path.name} is empty: it needs a header row and one row per {row}")
    positions, ignored = find_columns(path.name, header, roles)
    return Source(
        path.name,
        rows,
        positions,
        ignored,
        lambda: f"line {reader.line_num}",
    )


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a text file, with their ends; :class:`DataError` for what is not UTF-8."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for line in file:
                if "\0" in line:
                    raise DataError(
                        f"{path.name}: NUL bytes, so it is not UTF-8 text (UTF-16? a spreadsheet?): "
                        f"save it as {_kind(path)} in UTF-8"
                    )
                yield line
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path.name}, line {_undecodable(path)}: bytes that are not UTF-8: save the file as "
            f"{_kind(path)} in UTF-8"
        ) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def _kind(path: Path) -> str:
    return "CSV" if path.suffix.lower() in DELIMITERS else "text"


def _undecodable(path: Path) -> int:
    """Number of the first line with bytes that are not UTF-8."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


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


def _parquet(path: Path, roles: Roles) -> Source:
    from privrank_jax.tables.backend import explained, stream, text

    table = _parquet_table(path, ordered=True)
    header = list(table.columns)
    positions, ignored = find_columns(path.name, header, roles)
    with explained(path):
        cells = [text(table, header[k], path.name) for k in positions.values()]
        selected = table.select(**{f"cell{k}": cell for k, cell in enumerate(cells)})
    count = 0

    def rows() -> Iterator[Sequence[str | None]]:
        nonlocal count
        with explained(path):
            for row in stream(selected):
                count += 1
                yield row

    order = {role: k for k, role in enumerate(positions)}
    return Source(path.name, rows(), order, ignored, lambda: f"row {count}")


def _parquet_table(path: Path, *, ordered: bool = False) -> Any:
    from privrank_jax.tables.backend import check_installed, connect, open_table

    check_installed(path.name)
    return open_table(path, connect(ordered=ordered))
