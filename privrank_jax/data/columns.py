"""One pass over a table: columns by roles, rows that count, names, and the first fault.

Each cell is replaced by the number of its word, in order of first appearance. Whether a cell is a name, a rank or a
mark of a tie is decided for each *distinct* word, once, and everything else is arithmetic on arrays of codes. A fault
still says where it is: the first row that has the word.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, Shaped

from privrank_jax._neighbors import NO_COLUMN, of_column, of_count
from privrank_jax.data.cells import count_of
from privrank_jax.data.errors import BadCell, DataError, listed, quoted
from privrank_jax.data.header import check_no_counts, column_of, spelled_in, without
from privrank_jax.data.kinds import ITEMS, NO_USERS, SEEN_ITEMS, USERS
from privrank_jax.data.names import Names, form
from privrank_jax.data.roles import Roles

# A cell as text, None where it is blank, a tuple where it is a list; and what reads one, or raises BadCell.
Word = str | tuple[str | None, ...] | None
Read = Callable[[Any], Any]

_CHUNK = 4096  # rows that are encoded together
_MOST_ROWS = 2**26
MOST_OF_A_USER = 2**16  # rows, far more than any bound that leaves noise small
ONE_ROW_EACH = "the file names no users: each {} is taken for all that one user ranked"


@dataclasses.dataclass(frozen=True, eq=False)
class Column:
    """A column of N cells: ``codes`` are ``(N,)`` int32, index into ``words``, the distinct cells.

    Cells of several columns have an array for a ``name``, that of each.
    """

    name: Any
    codes: Int[np.ndarray, "rows"]
    words: list[Any]

    def __len__(self) -> int:
        return self.codes.size

    def __repr__(self) -> str:
        return f"<Column {self.name!r}; cells not shown>"

    def take(self, rows: Shaped[np.ndarray, "some"]) -> Column:
        """The same column of some rows."""
        return Column(self.name, self.codes[rows], self.words)

    def among(self, forms: Container[str]) -> Bool[np.ndarray, "rows"]:
        """Which cells have one of these forms of names, that of a blank is "", ``(N,)`` bool."""
        found = [not isinstance(word, tuple) and form(word or "") in forms for word in self.words]
        return np.array(found, bool)[self.codes]

    def in_order(self) -> Iterator[tuple[int, int, Any]]:
        """First row, code and word of all that occur, in order of rows."""
        first = np.full(len(self.words), len(self))
        first[self.codes[::-1]] = np.arange(len(self))[::-1]
        for code in np.argsort(first, kind="stable").tolist():
            if first[code] < len(self):
                yield int(first[code]), code, self.words[code]


def encode(rows: Iterator[Sequence[Any]], columns: dict[str, int]) -> list[Column]:
    """Columns of a stream of rows of cells, by their names and their places in a row."""
    words = [defaultdict[Any, int]() for _ in columns]
    for known in words:  # the code of a new word is their number
        known.default_factory = known.__len__
    codes = [array("i") for _ in columns]
    while chunk := list(islice(rows, _CHUNK)):
        for place, known, found in zip(columns.values(), words, codes):
            found.extend(map(known.__getitem__, map(itemgetter(place), chunk)))
    return [
        Column(name, np.frombuffer(found, np.int32), list(known))
        for name, known, found in zip(columns, words, codes)
    ]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Table:
    """An opened table.

    Attributes:
        name: of the file or the frame, for messages.
        header: names of the columns.
        columns: reads some of them, by name; nothing else reads rows.
        where: a row, from 0, in words, such as ``"line 5"``.
        reading: what was detected in its form.
        relation: of an engine that holds the rows, if one does.
        form: whether its columns are those of a form, which nobody's answers change. The keys of JSON objects are not:
            they are their users'.
    """

    name: str
    header: list[str]
    columns: Callable[[Sequence[str]], list[Column]]
    where: Callable[[int], str]
    reading: tuple[str, ...] = ()
    form: bool = True
    relation: Any = None


class Faults:
    """The first fault of a table, or of its ``rows``, in order of rows and, within a row, of columns as checked."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.rows: Int[np.ndarray, "rows"] | None = None
        self._checks = 0
        self._found: tuple[Any, ...] | None = None  # row, check, column, message

    def _note(self, row: int, column: str, message: str) -> None:
        number = row if self.rows is None else int(self.rows[row])
        found = number, self._checks, column, message
        self._found = found if self._found is None else min(found, self._found)

    def values(self, column: Column, reader: Read, dtype: Any = np.int32) -> np.ndarray:
        """The value of each word that occurs, ``(words,)``."""
        self._checks += 1
        found = np.zeros(len(column.words), dtype)
        for row, code, word in column.in_order():
            try:
                found[code] = reader(word)
            except BadCell as error:
                self._note(row, column.name, str(error))
                break
        return found

    def read(self, column: Column, reader: Read, dtype: Any = np.int32) -> np.ndarray:
        """The value of each cell, ``(N,)``."""
        return self.values(column, reader, dtype)[column.codes]

    def named(self, columns: Sequence[Column], names: Names) -> list[np.ndarray]:
        """Codes of the names in some columns, each ``(N,)``."""
        codes, words = columns[0].codes, columns[0].words
        whole = len(columns) == 1 and np.all(np.bincount(codes, minlength=len(words)))
        if whole and names.takes(words):  # no Python for each name of a user
            return [codes]
        return [self.read(column, names.__getitem__) for column in columns]

    def where(self, wrong: Bool[np.ndarray, "rows"], column: Any, message: str) -> None:
        """Note the first row that is wrong, if there is one.

        ``column`` is the name of a column, or of one for each row, or the column itself; then the cell of the row
        stands for the first ``{}`` of the message.
        """
        self._checks += 1
        if wrong.any():
            row = int(np.argmax(wrong))
            if isinstance(column, Column):
                cell = column.words[column.codes[row]]
                column, message = column.name, message.replace("{}", quoted(cell), 1)
            self._note(row, str(np.broadcast_to(column, wrong.shape)[row]), message)

    def some_key(self, columns: Sequence[Column]) -> None:
        """Note the first JSON object with none of these keys, not even null: another row's keys made the columns."""
        if self.table.form or not columns:
            return
        absent = [np.array([w is None for w in one.words], bool)[one.codes] for one in columns]
        names = listed([column.name for column in columns], 3)
        message = f"it has no key {names}: write null if its user said nothing, or remove it"
        self.where(np.all(absent, axis=0), "", message)

    def stop(self) -> None:
        """Raise :class:`DataError` with the first fault, if there is one."""
        if self._found is not None:
            row, _, column, message = self._found
            of = f", column {column!r}" if column else ""
            raise DataError(f"{self.table.name}, {self.table.where(row)}{of}: {message}")


class Reading:
    """The columns of a table that have a role, of the rows that count.

    Args:
        table: with these columns.
        roles: what was told.
        columns: of the kind: from roles to columns; users and counts are added.
        whole: whether a row is all that a user said, as a ranking is.
        counted: whether a column that looks like counts is refused.

    Attributes, beside these: ``cells`` and ``columns`` by role, ``unused`` columns, ``number``, how often each row
    counts if a column says so, the ``faults`` so far, and names of ``items`` and ``people``.

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
        name = table.name
        self.table, self.whole = table, whole
        self.roles: Any = roles
        kept = without(name, table.header, roles.ignore)
        absent = roles.user == "user" and spelled_in(kept, "user") not in kept  # as it may be
        asked = {"user": None if absent else roles.user, "count": roles.count, **columns}
        self.columns: dict[str, str] = {}
        for one, column in ((one, it) for one, it in asked.items() if it is not None):
            meant = column_of(name, kept, one.partition(" ")[0], column)
            if meant in self.columns.values():
                raise DataError(f"{name}: column {column!r} has two roles: name one for each")
            self.columns[one] = meant
        if whole and {"user", "count"} <= self.columns.keys():
            raise DataError(f"{name}: a user has one ranking: say user=None, or leave `count` out")
        used = set(self.columns.values())
        self.unused = [column for column in table.header if column not in used]
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

    def leave_out_blanks(self, *roles: str) -> None:
        """Leave out rows with a cell of one of these roles that is one of the words that were said to be blank."""
        if self.items.blank:
            columns = [self.cells[one] for one in roles if one in self.cells]
            gone = np.any([one.among(self.items.blank) for one in columns], axis=0)
            self.take(np.flatnonzero(~gone))

    def read_users(self) -> Int[np.ndarray, "rows"] | None:
        """The user of each row; None without a column of users."""
        if "user" not in self.cells:
            return None
        return self.faults.named([self.cells["user"]], self.people)[0]

    def once(self, one: str, said: Int[np.ndarray, "rows"], message: str) -> None:
        """Note the first row that says what a row before it said, with its cell of a role in the message."""
        again = np.ones(said.size, bool)
        again[np.unique(said, return_index=True)[1]] = False
        self.faults.where(again, self.cells[one], message)

    def stop(self, what: str = "rows") -> None:
        """Raise the first fault, or refuse a table without rows."""
        self.faults.stop()
        if not self.size:
            raise DataError(f"{self.table.name} has no {what} below its header")

    def settle(self, what: str = "rows") -> tuple[Int[np.ndarray, "all"], Int[np.ndarray, "all"]]:
        """The user of each row, its number where none is named, and the number of the row, as often as it counts.

        Raises:
            DataError: the first fault, no rows, or more than are read, of all or of one user.
        """
        users = self.read_users()
        self.stop(what)
        each = self.repeated(users)
        return np.arange(each.size) if users is None else users[each], each

    def repeated(self, users: Int[np.ndarray, "rows"] | None = None) -> Int[np.ndarray, "all"]:
        """The number of each row as often as it counts: c equal rows, each of which is bounded, counted and protected.

        Without ``users`` each row is another user's. A count is a cell that a user may choose, so the rows of one are
        bounded before they are made.
        """
        if self.number is None:
            return np.arange(self.size)
        whose, most, number = "", _MOST_ROWS, self.number.sum(dtype=float)
        if users is not None and number <= most:
            number = np.bincount(users, self.number).max(initial=0)
            whose, most = " of one user", MOST_OF_A_USER
        if number > most:
            raise DataError(
                f"{self.table.name}: the counts{whose} add up to more than {most:,}, the most rows that are read"
            )
        return np.repeat(np.arange(self.size), self.number)

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
        user, seen = self.roles.user, self.roles.public is None and not fixed
        counted, alone = self.columns.get("count"), "user" not in self.columns
        told = [] if counted is None else [f"each row counts as often as column {counted!r} says"]
        told += [*notes, *((SEEN_ITEMS,) * seen)]
        if alone:
            row = "row" if counted is None else "ranking"
            told.append(ONE_ROW_EACH.format(row) if self.whole else NO_USERS)
        users_are = ""
        if not alone:  # by the name that was asked for, by which ledgers know it
            users_are = of_column(str(user))
        elif self.whole:
            users_are = NO_COLUMN if counted is None else of_count(counted)
        # Keys of JSON are users' own: what is read off them is for the holder of the data alone.
        reading = (*self.table.reading, *reading)
        left = (f"columns not used: {', '.join(self.unused)}",) * bool(self.unused)
        of_form = self.table.form
        return {
            "item_names": names,
            "user_names": tuple(self.people),
            "name": self.table.name,
            "public": ("items",) * seen + ("participation",) * seen_users,
            "users_are": users_are,
            "undeclared": (ITEMS,) * (self.roles.items is None)
            + (USERS,) * (self.whole and alone and user is not None),
            "reading": reading,
            "notes": (*reading, *told, *left) if of_form else tuple(told),
            "remarks": () if of_form else left,
        }
