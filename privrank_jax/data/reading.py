"""One pass over a table, the same for every kind of data: columns by roles, rows that count, names, the first fault."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from privrank_jax._neighbors import NO_COLUMN, of_column, of_count
from privrank_jax.data.cells import count_of
from privrank_jax.data.columns import Column, Faults, Table, repeated
from privrank_jax.data.errors import DataError
from privrank_jax.data.header import check_no_counts, column_of, spelled_in, without
from privrank_jax.data.kinds import ITEMS, NO_USERS, SEEN_ITEMS, counted_note
from privrank_jax.data.names import Names
from privrank_jax.data.roles import Roles

ONE_ROW_EACH = "the file names no users: each row is taken for all that one user ranked"


class Reading:
    """The columns of a table that have a role, of the rows that count.

    Args:
        table: with these columns.
        roles: what was told.
        columns: of the kind: from roles to columns; users and counts are added.
        whole: whether a row is all that a user said, as a ranking is.
        counted: whether a column that looks like counts is refused.

    Attributes:
        cells: by role.
        columns: by role, as the file spells them.
        faults: the first fault so far.
        items, people: names of items and users.

    Raises:
        DataError: a column is missing, has two roles, or looks like counts that nobody spoke of.
    """

    def __init__(
        self,
        table: Table,
        roles: Roles,
        columns: Mapping[str, str],
        *,
        whole: bool = False,
        counted: bool = True,
    ) -> None:
        name, header = table.name, table.header
        self.table, self.roles, self.whole = table, roles, whole
        kept = without(name, header, roles.ignore)
        asked = {"user": self._user(kept), "count": roles.count, **columns}
        self.columns: dict[str, str] = {}
        for one, column in asked.items():
            if column is None:
                continue
            meant = column_of(name, kept, one.partition(" ")[0], column)
            if meant in self.columns.values():
                raise DataError(
                    f"{name}: column {column!r} has two roles: name one column for each"
                )
            self.columns[one] = meant
        if whole and {"user", "count"} <= self.columns.keys():
            raise DataError(
                f"{name}: `count` says how many users gave the ranking of a row, and a user has one ranking: say "
                "user=None, for a file with a whole ranking in each row, or leave it out"
            )
        used = set(self.columns.values())
        self.unused = [column for column in header if column not in used]
        if counted:
            check_no_counts(name, [column for column in kept if column not in used])
        self.cells = dict(zip(self.columns, table.columns(list(self.columns.values()))))
        self.faults = Faults(table)
        self.number: np.ndarray | None = None
        if "count" in self.cells:
            number = self.faults.read(self.cells["count"], count_of, np.int64)
            self.take(np.flatnonzero(number))
            self.number = number[number > 0]
        self.items = Names("item", roles.public, roles.blank)
        self.people = Names("user")

    def _user(self, header: Sequence[str]) -> str | None:
        """The column of users; the usual one may be absent."""
        user = self.roles.user
        return None if user == "user" and spelled_in(header, user) not in header else user

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(next(iter(self.cells.values()))) if self.cells else 0

    def take(self, rows: Int[np.ndarray, "some"]) -> None:
        """Leave out all rows but these."""
        before = self.faults.rows
        self.faults.rows = rows if before is None else before[rows]
        self.cells = {one: column.take(rows) for one, column in self.cells.items()}
        if self.number is not None:
            self.number = self.number[rows]

    def several(self, one: str) -> list[Column]:
        """The cells of a role that several columns have, ``"shown 0"``, ``"shown 1"``, ..."""
        return [column for name, column in self.cells.items() if name.startswith(f"{one} ")]

    def blanks(self, column: Column) -> np.ndarray:
        """Which cells are blank, ``(N,)`` bool."""
        empty = [not isinstance(word, tuple) and not (word or "").strip() for word in column.words]
        return np.array(empty, bool)[column.codes]

    def read_users(
        self, rows: Int[np.ndarray, "rows"] | None = None
    ) -> Int[np.ndarray, "rows"] | None:
        """The user of each row, or of these; None without a column of users."""
        if "user" not in self.cells:
            return None
        part = self.faults if rows is None else self.faults.part(rows)
        column = self.cells["user"] if rows is None else self.cells["user"].take(rows)
        (users,) = part.named([column], self.people)
        if rows is not None:
            self.faults.join(part)
        return users

    def one_row_each(self) -> None:
        """Read users, and refuse one with two rows."""
        users = self.read_users()
        if users is None:
            return
        again = np.ones(users.size, bool)
        again[np.unique(users, return_index=True)[1]] = False
        column = self.cells["user"]
        what = functools.partial(column.quoted, "user {} has two rows: keep one ranking per user")
        self.faults.where(again, column.name, what)

    def stop(self, number: int, what: str = "rows") -> None:
        """Raise the first fault, or refuse a table without rows."""
        self.faults.stop()
        if not number:
            raise DataError(
                f"{self.table.name} has no {what} below its header: there is nothing to rank"
            )

    def repeated(
        self, counts: np.ndarray | None = None, users: np.ndarray | None = None
    ) -> Int[np.ndarray, "all"] | None:
        """The number of each row as often as it counts; None where each counts once."""
        counts = self.number if counts is None else counts
        return None if counts is None else repeated(self.table.name, counts, users)

    def facts(
        self,
        names: tuple[str, ...],
        *reading: str,
        notes: Iterable[str] = (),
        fixed: bool = False,
        seen_users: bool = False,
    ) -> dict[str, Any]:
        """What data say of themselves: names, notes, what is public, what is not declared yet.

        Args:
            names: of the items.
            reading: how columns were read, as far as nobody said so.
            notes: of the kind.
            fixed: whether the items are columns of a form, which answers don't change.
            seen_users: whether users are seen by their rows alone.
        """
        roles, seen = self.roles, self.roles.public is None
        counted, alone = self.columns.get("count"), "user" not in self.columns
        told = [*notes, *((SEEN_ITEMS,) * (seen and not fixed))]
        if alone:
            each = ONE_ROW_EACH if counted is None else ONE_ROW_EACH.replace("row", "ranking")
            told.append(each if self.whole else NO_USERS)
        if counted is not None:
            told.insert(0, counted_note(counted))
        user = roles.user
        return {
            "item_names": names,
            "user_names": tuple(self.people),
            "name": self.table.name,
            "public": ("items",) * (seen and not fixed) + ("participation",) * seen_users,
            "users_are": self._users_are(user, counted),
            "undeclared": (ITEMS,) * (roles.items is None)
            + ("users",) * (self.whole and alone and user is not None),
            **self.table.said(*reading, notes=told, unused=self.unused),
        }

    def _users_are(self, user: str | None, counted: str | None) -> str:
        if "user" in self.columns and user is not None:
            return of_column(
                user
            )  # as it was asked for: ledgers know it by that, however the file spells it
        if not self.whole:
            return ""
        return NO_COLUMN if counted is None else of_count(counted)
