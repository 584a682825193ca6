"""A raw table and where in it something is wrong; names checked in the engine as the loaders check them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privrank_jax.datasets.comparisons_file import BadCell, check_present, named_twice
from privrank_jax.datasets.formats import (
    DELIMITERS,
    PARQUET,
    Roles,
    check_file,
    find_columns,
    ignored_columns,
)
from privrank_jax.datasets.names import MISSING, form
from privrank_jax.datasets.table import DataError
from privrank_jax.tables.backend import one_row, open_table, stream, text


@dataclass(frozen=True)
class RawTable:
    """An opened table.

    Attributes:
        table: Ibis table.
        name: of the file, or as given.
        path: None unless it is a file.
    """

    table: Any
    name: str
    path: Path | None

    @classmethod
    def open(cls, source: Any, name: str | None, row: str, backend: Any = None) -> RawTable:
        """A path or an Ibis table; ``row`` is what a row holds, for messages.

        Raises:
            DataError: no such file, an unknown kind, one that can't be read, or the extra is missing.
        """
        if not isinstance(source, str | os.PathLike):
            return cls(source, name or "the table", None)
        path = Path(source)
        check_file(
            path,
            (*DELIMITERS, *PARQUET),
            f"one file of {row}s",
            f"a header row and one row per {row}",
            "give a .csv, .tsv or .parquet file",
        )
        return cls(open_table(path, backend), name or path.name, path)

    def columns(self, roles: Roles) -> tuple[dict[str, str], tuple[str, ...]]:
        """Each role's column, and the columns without a role."""
        header = list(self.table.columns)
        positions = find_columns(self.name, header, roles)
        found = {role: header[k] for role, k in positions.items()}
        return found, tuple(ignored_columns(header, positions))

    def text(self, column: str) -> Any:
        """A column as text."""
        return text(self.table, column, self.name)

    def refuse(self, error: BadCell, column: str, wrong: Callable[[Any], Any]) -> DataError:
        """The error with the place of the first row where ``wrong``, a function of the table, holds."""
        row = "" if self.path is None else self._row(wrong)
        return DataError(f"{self.name}{row}, column {column!r}: {error}")

    def _row(self, wrong: Callable[[Any], Any]) -> str:
        """The number of the row, where the file can be read with its rows numbered."""
        assert self.path is not None
        if self.path.suffix.lower() not in PARQUET:
            return ""
        try:
            rows = open_table(self.path, self.table.get_backend(), file_row_number=True)
            first = one_row(rows.filter(wrong(rows)).aggregate(row=rows.file_row_number.min()))
        except DataError:  # a column of that name in the file
            return ""
        return f", row {first['row'] + 1}"


def check_users(raw: RawTable, column: str) -> dict[str, int]:
    """How many users a table has, and the most rows of one: ``users``, ``most``.

    Names are compared in the engine, except for those with blanks or other than ASCII characters.

    Raises:
        DataError: a user missing, or named twice.
    """
    user = raw.text(column)
    table = raw.table.select(user=user)
    counted = table.group_by("user").aggregate(rows=table.count())
    name = counted.user
    odd = name.isnull() | (name == "") | name.re_search("[^!-~]")
    odd = odd | name.lower().isin(sorted(MISSING))
    found = one_row(
        counted.aggregate(users=counted.count(), most=counted.rows.max(), odd=odd.sum())
    )
    if found["odd"]:
        _check_odd(raw, column, counted, counted.filter(odd).select("user"))
    return {"users": found["users"], "most": found["most"] or 0}


def _check_odd(raw: RawTable, column: str, counted: Any, odd: Any) -> None:
    """Names that are no plain word: of two spellings of one name, one at least is not in its shared form."""
    import ibis
    import pyarrow

    suspects: dict[str, str] = {}
    for (name,) in stream(odd):
        try:
            check_present(name, "user")
            shared = form(name, fold_case=False)
            if shared != name and suspects.setdefault(shared, name) != name:
                raise named_twice("user", suspects[shared], name, False)
        except BadCell as error:
            raise _of_user(raw, column, name, error) from None
    if not suspects:
        return
    shared = ibis.memtable(pyarrow.table({"user": list(suspects)}))
    twins = counted.semi_join(shared, "user").select("user").limit(1).to_pyarrow().to_pylist()
    for twin in twins:
        name = suspects[twin["user"]]
        error = named_twice("user", twin["user"], name, False)
        raise _of_user(raw, column, name, error)


def _of_user(raw: RawTable, column: str, name: str | None, error: BadCell) -> DataError:
    return raw.refuse(error, column, is_name(column, name))


def is_name(column: str, name: str | None) -> Callable[[Any], Any]:
    """A function of a table: where a column is this text, or nothing."""

    def where(rows: Any) -> Any:
        return rows[column].isnull() if name is None else rows[column].cast("string") == name

    return where


def coded(rows: Any, column: str, codes: Mapping[str, int]) -> Any:
    """``rows`` with the texts of a column replaced by their codes; other rows are gone."""
    import ibis
    import pyarrow

    values = {
        column: pyarrow.array(list(codes), pyarrow.string()),
        "_code": pyarrow.array(list(codes.values()), pyarrow.int32()),
    }
    dictionary = ibis.memtable(pyarrow.table(values))
    joined = rows.inner_join(dictionary, column)
    return joined.drop(column).rename({column: "_code"})
