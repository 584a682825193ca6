"""A raw table, with errors that name the row; the engine checks names as the loaders do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from privrank_jax._cells.codes import NameCodes, check_present, named_twice
from privrank_jax._cells.columns import (
    DELIMITERS,
    PARQUET,
    Roles,
    check_file,
    find_columns,
)
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.likeness import MOST_NAMED
from privrank_jax._cells.names import MISSING, person
from privrank_jax.tables.backend import (
    Backend,
    Expression,
    Source,
    Table,
    one_row,
    open_table,
    stream,
    text,
)


@dataclass(frozen=True)
class RawTable:
    """An opened table.

    Attributes:
        table: Ibis table.
        name: name of the file, or the given name.
        path: path of a file, otherwise None.
        stamp: identifies the file's version, to detect changes.
    """

    table: Table
    name: str
    path: Path | None
    stamp: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}; rows not shown>"  # Ibis shows the rows of a table in memory

    @classmethod
    def open(cls, source: Source, name: str | None, row: str, backend: Backend = None) -> RawTable:
        """Open a path or an Ibis table; ``row`` is what a row holds, for messages.

        Raises:
            DataError: the file does not exist, is of an unknown kind or cannot be read, or the extra is missing.
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
        stamp = _stamp(path)
        return cls(open_table(path, backend), name or path.name, path, stamp)

    def check_unchanged(self) -> None:
        """Raise :class:`DataError` if the file changed since it was checked; it is read several times."""
        if self.path is not None and _stamp(self.path) != self.stamp:
            raise DataError(f"{self.name} changed while it was read: start again")

    def columns(self, roles: Roles) -> tuple[dict[str, str], tuple[str, ...]]:
        """Each role's column, and the columns without a role."""
        header = list(self.table.columns)
        positions, ignored = find_columns(self.name, header, roles)
        found = {role: header[k] for role, k in positions.items()}
        return found, tuple(ignored)

    def text(self, column: str) -> Expression:
        """A column as text."""
        return text(self.table, column, self.name)

    def refuse(
        self, error: BadCell, column: str, wrong: Callable[[Table], Expression], occurrence: int = 0
    ) -> DataError:
        """The error for the row where ``wrong``, a predicate on the table, holds first, or at a later occurrence."""
        row = "" if self.path is None else self._row(wrong, occurrence)
        return DataError(f"{self.name}{row}, column {column!r}: {error}", *error.arguments)

    def _row(self, wrong: Callable[[Table], Expression], occurrence: int) -> str:
        """The number of the row, where the file can be read with its rows numbered."""
        assert self.path is not None
        if self.path.suffix.lower() not in PARQUET:
            return ""
        try:
            rows = open_table(self.path, self.table.get_backend(), file_row_number=True)
        except DataError:  # a column of that name in the file
            return ""
        found = rows.filter(wrong(rows)).order_by("file_row_number").select("file_row_number")
        return f", row {one_row(found.limit(1, offset=occurrence))['file_row_number'] + 1}"


def item_names(
    raw: RawTable,
    columns: Sequence[str],
    public: tuple[str, ...] | None,
    most: int,
    rows: Table = None,
    *,
    header: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Read and check the items in these columns; only distinct items reach Python.

    Args:
        raw: the table.
        columns: columns of items.
        public: the public list; None to take the items from the table, sorted.
        most: largest number of items.
        rows: rows of the table that name an item; default: all.
        header: columns of a table of comparisons, whose names no item has; None for other tables.

    Raises:
        DataError: a name that is missing, not in the list, or a second spelling of an item; too many items; no rows.
    """
    if public is not None:
        check_number(raw, len(public), most)
    rows = raw.table if rows is None else rows
    codes = NameCodes("item", True, public, header, () if header is None else None)
    seen: set[str | None] = set()
    for column in columns:
        found = rows.select(item=raw.text(column)).distinct()
        cells = {row["item"] for row in found.limit(most + 1).to_pyarrow().to_pylist()}
        if len(cells) > most:
            check_number(raw, one_row(found.aggregate(items=found.count()))["items"], most)
        for item in in_order(cells - seen):
            try:
                codes[item]
            except BadCell as error:
                raise raw.refuse(error, column, is_name(column, item)) from None
        seen |= cells
    if not seen:
        raise DataError(f"{raw.name} has no rows below its header: there is nothing to rank")
    check_number(raw, len(codes), most)
    return codes.in_order()[0]


def shown_at_most(rows: Table, most: int) -> list[int]:
    """Codes in the column ``item`` of the items that stand in at most so many rows, sorted."""
    each = rows.group_by("item").aggregate(rows=rows.count())
    return sorted(row["item"] for row in each.filter(each.rows <= most).to_pyarrow().to_pylist())


def check_number(raw: RawTable, number: int, most: int) -> None:
    """Raise :class:`DataError` if there are more than ``most`` items."""
    if number > most:
        raise DataError(
            f"{raw.name} has {number:,} items; a table of all pairs is kept, for at most {most:,}."
        )


def in_order(cells: Iterable[str | None]) -> list[str | None]:
    """Sort texts, None first."""
    return sorted(cells, key=lambda cell: (cell is not None, cell))


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class People(NamedTuple):
    """The number of users of a table, the most rows of one, and pairs of names that differ by case alone."""

    users: int
    most: int
    alike: tuple[tuple[str, str], ...] = ()


def check_users(raw: RawTable, column: str) -> People:
    """Check the users of a table.

    Names are compared in the engine, except for those with blanks or non-ASCII characters.

    Raises:
        DataError: a user is missing or named twice.
    """
    user = raw.text(column)
    table = raw.table.select(user=user)
    counted = table.group_by("user").aggregate(rows=table.count())
    name = counted.user
    odd = name.isnull() | (name == "") | name.re_search("[^!-~]")
    odd = odd | name.lower().isin(sorted(MISSING))
    capitals = name != name.lower()
    odd = odd | (capitals & name.contains("@"))  # case makes no other user of an e-mail address
    counts = {"odd": odd.sum(), "capitals": capitals.sum()}
    found = one_row(counted.aggregate(users=counted.count(), most=counted.rows.max(), **counts))
    if found["odd"]:
        _check_odd(raw, column, counted, counted.filter(odd).select("user"))
    alike = _alike(counted) if found["capitals"] else ()
    return People(found["users"], found["most"] or 0, alike)


def _alike(counted: Table) -> tuple[tuple[str, str], ...]:
    """Pairs of users whose names differ by case alone, as many as a remark names."""
    name = counted.user
    both = counted.group_by(low=name.lower()).aggregate(one=name.min(), other=name.max())
    found = both.filter(both.one != both.other).order_by("low").limit(MOST_NAMED)
    return tuple((row["one"], row["other"]) for row in found.to_pyarrow().to_pylist())


def _check_odd(raw: RawTable, column: str, counted: Table, odd: Table) -> None:
    """Check names that are not plain words: of two spellings of a name, at least one is not in its normal form."""
    import ibis
    import pyarrow

    suspects: dict[str, str] = {}
    for (name,) in stream(odd):
        try:
            check_present(name, "user")
            shared = person(name)
            if shared != name and suspects.setdefault(shared, name) != name:
                raise named_twice("user", suspects[shared], name)
        except BadCell as error:
            raise _of_user(raw, column, name, error) from None
    if not suspects:
        return
    shared = ibis.memtable(pyarrow.table({"user": list(suspects)}))
    twins = counted.semi_join(shared, "user").select("user").limit(1).to_pyarrow().to_pylist()
    for twin in twins:
        name = suspects[twin["user"]]
        error = named_twice("user", twin["user"], name)
        raise _of_user(raw, column, name, error)


def _of_user(raw: RawTable, column: str, name: str | None, error: BadCell) -> DataError:
    return raw.refuse(error, column, is_name(column, name))


def is_name(column: str, name: str | None) -> Callable[[Table], Expression]:
    """A predicate on a table: the column equals this text, or is null."""

    def where(rows: Table) -> Expression:
        return rows[column].isnull() if name is None else rows[column].cast("string") == name

    return where


def coded(rows: Table, column: str, codes: Mapping[str, int]) -> Table:
    """Replace the texts of a column by their codes; rows with other texts are dropped."""
    import ibis
    import pyarrow

    values = {
        column: pyarrow.array(list(codes), pyarrow.string()),
        "_code": pyarrow.array(list(codes.values()), pyarrow.int32()),
    }
    dictionary = ibis.memtable(pyarrow.table(values))
    joined = rows.inner_join(dictionary, column)
    return joined.drop(column).rename({column: "_code"})
