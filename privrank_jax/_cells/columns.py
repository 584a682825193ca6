"""Files by their suffix, and the columns of a header by their roles."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from privrank_jax._arguments import Argument, value_of
from privrank_jax._cells.errors import DataError
from privrank_jax._cells.names import did_you_mean, form
from privrank_jax._cells.outcomes import advice_on_outcomes, numbers_in
from privrank_jax._cells.text_files import File, damages

_NO_USER = value_of("user", None)
SEPARATOR = value_of("separator", "|")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
OBJECTS = (".jsonl", ".ndjson", ".json")
PARQUET = (".parquet", ".pq")
SHEETS = (".xlsx", ".xlsm")
TABLES = (*DELIMITERS, *OBJECTS, *PARQUET, *SHEETS)
_ADVICE = {
    ".xls": "save the sheet as CSV or .xlsx",
    ".ods": "save the sheet as CSV or .xlsx",
    ".zip": "unpack it first, or compress the file by gzip",
    ".bz2": "unpack it first, or compress the file by gzip",
    ".xz": "unpack it first, or compress the file by gzip",
    ".feather": "write it as Parquet",
    ".arrow": "write it as Parquet",
}
_TIE_LOOKALIKES = {"tie", "ties", "tied", "istie", "istied", "draw", "draws", "drawn"}
_STREAM = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|\d+)/fd/\d+")
Roles = Mapping[
    str, str | None
]  # role (user, winner, loser, tie) -> its column; None if there is none


def check_file(
    path: str | os.PathLike[str], suffixes: Collection[str], what: str, holds: str, advice: str
) -> str:
    """Check that a file exists, is not empty and has one of ``suffixes``; return its suffix in lower case.

    Raises:
        DataError: in terms of ``what`` to give, what such a file ``holds``, and ``advice`` on suffixes.
    """
    file = File.of(path)
    if not file.piped:
        _check_path(file.path, what)
    suffix = file.suffix
    if suffix not in suffixes and not (file.separator and set(DELIMITERS) <= set(suffixes)):
        raise DataError(
            f"{file.name}: unknown kind of file ({suffix or 'no suffix'}); {_ADVICE.get(suffix, advice)}"
        )
    if suffix in PARQUET and (file.piped or file.compression):
        raise DataError(
            f"{file.name}: Parquet is read in parts, from a file that is not compressed as a whole: give one"
        )
    try:
        with file.binary() as binary:
            empty = not binary.read(1)
    except damages():  # which reading explains
        empty = False
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}") from error
    if empty:
        raise DataError(f"{file.name} is empty: it needs {holds}")
    return suffix


def _check_path(path: Path, what: str) -> None:
    """Raise :class:`DataError` unless there is a file that can be read more than once."""
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
            f"write them to a file first, and give {what}, or pipe them in and give - for the file"
        )


def spelled_in(header: Sequence[str], column: str | None) -> str | None:
    """The column of a header that is meant: one of this name, else the only one that differs by case or outer blanks.

    >>> spelled_in(["User ", "Winner"], "user"), spelled_in(["User", "USER"], "user"), spelled_in(["User"], None)
    ('User ', 'user', None)
    """
    if column is None or column in header:
        return column
    found = [other for other in header if form(other) == form(column)]
    return found[0] if len(found) == 1 else column


def without(name: str, header: Sequence[str], ignore: Iterable[str]) -> list[str]:
    """The columns of a header but those to ignore.

    Args:
        name: of the file, for messages.
        header: its columns.
        ignore: names of columns, also several in one text with commas between, where no column has that text as its
            name.

    Raises:
        DataError: there is no such column.

    >>> without("f", ["Age", "a", "b", "no, why"], ["age,b", "no, why"])
    ['a']
    """
    found: set[str | None] = set()
    if not header:  # a file that can't be read, as opening it explains
        return []
    for given in (ignore,) if isinstance(ignore, str) else ignore:
        whole = spelled_in(header, given) in header
        for column in (given,) if whole else map(str.strip, given.split(",")):
            meant = spelled_in(header, column)
            if meant not in header:
                said = value_of("ignore", column)
                raise DataError(
                    f"{name}: no column {column!r}{did_you_mean(column, header)}, of {said}; the columns are "
                    f"{', '.join(map(repr, header))}",
                    said,
                )
            found.add(meant)
    return [column for column in header if column not in found]


def find_columns(
    name: str, header: Sequence[str], roles: Roles
) -> tuple[dict[str, int], list[str]]:
    """Position of each role's column, and columns without a role; a tie column of the default name may be absent."""
    positions: dict[str, int] = {}
    for role, column in roles.items():
        if column is None:
            continue
        meant = spelled_in(header, column)
        found = [k for k, other in enumerate(header) if other == meant]
        if len(found) > 1:
            raise DataError(f"{name}: {len(found)} columns are named {column!r}: rename one")
        if not found and role == "tie" and column == "tie":
            _refuse_lookalikes(name, header, roles)
            continue
        if not found:
            raise _unknown_column(name, header, roles, role)
        if found[0] in positions.values():
            raise DataError(f"{name}: column {column!r} has two roles: name one column for each")
        positions[role] = found[0]
    ignored = [column for k, column in enumerate(header) if k not in positions.values()]
    return positions, ignored


def perhaps_a_title(header: Sequence[str]) -> str:
    """What to do where the first line is no header but has one cell, or nothing.

    >>> perhaps_a_title(["Teas of 2026", "", ""])
    ". If 'Teas of 2026' is a title above the names of columns, remove that line"
    >>> perhaps_a_title(["user", "winner"])
    ''
    """
    named = [column for column in header if column.strip()]
    if len(named) != 1:
        return ""
    return f". If {named[0]!r} is a title above the names of columns, remove that line"


def _unknown_column(name: str, header: Sequence[str], roles: Roles, role: str) -> DataError:
    column, others = roles[role], {other for key, other in roles.items() if key != role}
    others |= set(numbers_in(header) or ())
    near = did_you_mean(str(column), (one for one in header if one not in others))
    message = (
        f"{name}: no column {column!r}{near}; the columns are {', '.join(map(repr, header))}. Name the {role} "
        "column of this file"
    )
    arguments: tuple[Argument, ...] = (_NO_USER, SEPARATOR)
    if role == "user" and {"winner", "left"} & roles.keys():
        message += f", or {_NO_USER} if it names no users (then a guarantee per comparison only)"
    if len(header) == 1 and any(sign in header[0] for sign in ";\t|,"):
        message += (
            ". Is it separated by another character? Separate cells by commas, semicolons or tabs, or say "
            f"{SEPARATOR}"
        )
    if "winner" in roles:
        advice, more = advice_on_outcomes(header)
        message, arguments = message + advice, (*arguments, *more)
        message += "" if advice else _other_contents(header, role)
    return DataError(message + perhaps_a_title(header), *arguments)


def _other_contents(header: Sequence[str], role: str) -> str:
    """What the columns may hold instead of comparisons, and who reads that."""
    if {"chosen", "rejected"} <= {form(column) for column in header}:
        return ". Preferences of prompts are for `privrank privatize` and read_preferences"
    if role != "winner":
        return ""
    return ". Whole rankings, such as a column of ranks for each item, are for `privrank aggregate` and read_rankings"


def _refuse_lookalikes(name: str, header: Sequence[str], roles: Roles) -> None:
    """Refuse a column of ties under another name, whose rows would be read as decisions."""
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
