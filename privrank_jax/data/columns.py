"""Columns as codes and distinct words, so that a word is checked once, and the first fault of a table.

Each cell is replaced by the number of its word, in order of first appearance. Whether a cell is a name, a rank or a
mark of a tie is decided for each *distinct* word, and everything else is arithmetic on arrays of codes. A fault still
says where it is: the first row that has the word.
"""

from __future__ import annotations

import dataclasses
import hashlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, Shaped

from privrank_jax.data.errors import BadCell, DataError, listed, quoted
from privrank_jax.data.names import Names, form

Word = str | tuple[str | None, ...] | None
"""A cell as text, None where it is blank, a tuple where it is a list."""

_CHUNK = 4096  # rows that are encoded together


@dataclasses.dataclass(frozen=True, eq=False)
class Column:
    """A column of N cells: ``codes`` are ``(N,)`` int32, index into ``words``, the distinct cells."""

    name: str
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

    def quoted(self, message: str, row: int) -> str:
        """A message with the cell of a row in the place of ``{}``."""
        return message.format(quoted(self.words[self.codes[row]]))

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

    def __init__(self, table: Table, rows: Int[np.ndarray, "rows"] | None = None) -> None:
        self.table, self.rows = table, rows
        self._checks = 0
        self._found: tuple[Any, ...] | None = None  # row, check, column, message

    def add(self, row: int, column: str, message: str | BadCell) -> None:
        """Note a fault, if none before it was found."""
        self._checks += 1
        self._note(row, self._checks, column, message)

    def _note(self, row: int, check: int, column: str, message: str | BadCell) -> None:
        number = row if self.rows is None else int(self.rows[row])
        found = number, check, column, str(message)
        self._found = found if self._found is None else min(found, self._found)

    def values(
        self, column: Column, reader: Callable[[Any], Any], dtype: Any = np.int32
    ) -> np.ndarray:
        """The value of each word that occurs, ``(words,)``; the reader of a word raises :class:`BadCell`."""
        self._checks += 1
        found = np.zeros(len(column.words), dtype)
        for row, code, word in column.in_order():
            try:
                found[code] = reader(word)
            except BadCell as error:
                self._note(row, self._checks, column.name, error)
                break
        return found

    def read(
        self, column: Column, reader: Callable[[Any], Any], dtype: Any = np.int32
    ) -> np.ndarray:
        """The value of each cell, ``(N,)``."""
        return self.values(column, reader, dtype)[column.codes]

    def named(self, columns: Sequence[Column], names: Names) -> list[np.ndarray]:
        """Codes of the names in some columns, each ``(N,)``."""
        codes, words = columns[0].codes, columns[0].words
        whole = len(columns) == 1 and np.all(np.bincount(codes, minlength=len(words)))
        if whole and names.takes(words):  # no Python for each name of a user
            return [codes]
        return [self.read(column, names.__getitem__) for column in columns]

    def where(
        self,
        wrong: Bool[np.ndarray, "rows"],
        column: str | np.ndarray,
        message: Callable[[int], str | BadCell],
    ) -> None:
        """Note the first row of these, if there is one; rows may have columns of their own."""
        self._checks += 1
        if wrong.any():
            row = int(np.argmax(wrong))
            self._note(
                row, self._checks, str(np.broadcast_to(column, wrong.shape)[row]), message(row)
            )

    def some_key(self, columns: Sequence[Column]) -> None:
        """Note the first JSON object with none of these keys, not even null: another row's keys made the columns."""
        if self.table.form or not columns:
            return
        absent = [np.array([w is None for w in one.words], bool)[one.codes] for one in columns]
        names = listed([column.name for column in columns], 3)
        message = f"it has no key {names}: write null if its user said nothing, or remove it"
        self.where(np.all(absent, axis=0), "", lambda _: message)

    def stop(self) -> None:
        """Raise :class:`DataError` with the first fault, if there is one."""
        if self._found is not None:
            row, _, column, message = self._found
            of = f", column {column!r}" if column else ""
            raise DataError(f"{self.table.name}, {self.table.where(row)}{of}: {message}")


def checksum(content: Any) -> str:
    """The SHA-256 of data in memory: arrays, numbers and texts, also in tuples, lists, mappings and dataclasses."""
    digest = hashlib.sha256()

    def add(one: Any) -> None:
        if dataclasses.is_dataclass(one):
            one = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        if isinstance(one, Mapping):
            one = [part for key in sorted(one) for part in (key, one[key])]
        if isinstance(one, np.ndarray) and one.dtype != object:
            digest.update(f"{one.dtype.str} {one.shape} ".encode())
            digest.update(np.ascontiguousarray(one).tobytes())
        elif isinstance(one, (tuple, list, np.ndarray)):
            digest.update(f"{len(one)} ".encode())
            for part in one:
                add(part)
        else:
            digest.update(f"{one!r} ".encode("utf-8", "surrogatepass"))

    add(content)
    return digest.hexdigest()
