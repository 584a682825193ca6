"""File formats as streams of rows: CSV and TSV by the standard library, Parquet by Ibis and DuckDB."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privrank_jax._arguments import value_of
from privrank_jax.datasets.names import did_you_mean
from privrank_jax.datasets.outcomes import advice_on_outcomes
from privrank_jax.datasets.table import DataError

_NO_USER = value_of("user", None)
DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
_TIE_LOOKALIKES = {"tie", "ties", "tied", "istie", "istied", "draw", "draws", "drawn"}

_STREAM = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|\d+)/fd/\d+")

Roles = Mapping[str, str | None]  # role (user, winner, loser, tie) -> its column; None: no such


@dataclass(frozen=True)
class Source:
    """An opened file: its rows of cells (text or None) and where each role's cell lies in a row."""

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
        DataError: the file or a column is absent, or the file is none of these formats.
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


def check_file(path: Path, suffixes: Collection[str], what: str, holds: str, advice: str) -> str:
    """The suffix, in lower case, of a file with one of ``suffixes`` that exists and isn't empty.

    Raises:
        DataError: in terms of ``what`` to give, what such a file ``holds``, and ``advice`` on suffixes.
    """
    try:
        folder, there = path.is_dir(), path.exists()
    except OSError as error:
        raise DataError(f"{path}: no such file ({error.strerror}); check the path") from error
    if folder:
        raise DataError(f"{path} is a folder: give {what}")
    if not there:
        raise DataError(f"{path}: no such file; check the path")
    if not path.is_file() or _STREAM.fullmatch(str(path)):
        raise DataError(
            f"{path} is a stream (standard input, a pipe or a device), and data are read more than once: "
            f"write them to a file first, and give {what}"
        )
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise DataError(f"{path.name}: unknown kind of file ({suffix or 'no suffix'}); {advice}")
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if empty:
        raise DataError(f"{path.name} is empty: it needs {holds}")
    return suffix


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


def find_columns(name: str, header: Sequence[str], roles: Roles) -> dict[str, int]:
    """Position of each role's column; a tie column of the default name may be absent."""
    positions: dict[str, int] = {}
    for role, column in roles.items():
        if column is None:
            continue
        found = [k for k, other in enumerate(header) if other == column]
        if len(found) > 1:
            raise DataError(f"{name}: {len(found)} columns are named {column!r}: rename one")
        if not found and role == "tie" and column == "tie":
            _refuse_lookalikes(name, header, roles)
            continue
        if not found:
            raise DataError(_unknown_column(name, header, roles, role), _NO_USER)
        if found[0] in positions.values():
            raise DataError(f"{name}: column {column!r} has two roles: name one column for each")
        positions[role] = found[0]
    return positions


def _unknown_column(name: str, header: Sequence[str], roles: Roles, role: str) -> str:
    column, others = roles[role], {other for key, other in roles.items() if key != role}
    near = did_you_mean(str(column), (one for one in header if one not in others))
    message = (
        f"{name}: no column {column!r}{near}; the columns are {', '.join(map(repr, header))}. Name the {role} "
        "column of this file"
    )
    if role == "user" and "winner" in roles:
        message += f", or {_NO_USER} if it names no users (then a guarantee per comparison only)"
    if len(header) == 1 and any(sign in header[0] for sign in ";\t|,"):
        message += ". Is it separated by another sign? Separate a .csv by commas, a .tsv by tabs"
    if "winner" in roles:
        message += advice_on_outcomes(header)
    return message


def _refuse_lookalikes(name: str, header: Sequence[str], roles: Roles) -> None:
    """A column of ties under another name must not be read as decisions."""
    for column in header:
        word = "".join(c for c in column.casefold() if c.isalnum())
        if word in _TIE_LOOKALIKES and column not in roles.values():
            named, none = value_of("tie", column), value_of("tie", None)
            raise DataError(
                f"{name}: column {column!r} looks like a mark of ties: give {named} to use it, or {none} to read "
                "every row as a decision",
                named,
                none,
            )


def ignored_columns(header: Sequence[str], positions: Mapping[str, int]) -> list[str]:
    """The columns without a role."""
    return [column for k, column in enumerate(header) if k not in positions.values()]


def _csv(path: Path, delimiter: str, roles: Roles, row: str) -> Source:
    reader = csv.reader(read_lines(path), delimiter=delimiter, strict=True)
    rows = _csv_rows(path.name, reader)
    header = next(rows, None)
    if header is None:
        raise DataError(f"{path.name} is empty: it needs a header row and one row per {row}")
    positions = find_columns(path.name, header, roles)
    return Source(
        path.name,
        rows,
        positions,
        ignored_columns(header, positions),
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
    positions = find_columns(path.name, header, roles)
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
    ignored = ignored_columns(header, positions)
    return Source(path.name, rows(), order, ignored, lambda: f"row {count}")


def _parquet_table(path: Path, *, ordered: bool = False) -> Any:
    from privrank_jax.tables.backend import check_installed, connect, open_table

    check_installed(path.name)
    return open_table(path, connect(ordered=ordered))
