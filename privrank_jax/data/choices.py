"""Choices from sets of items, and best and worst ones (MaxDiff), with their readers.

A row is a set that was shown, in one column of texts such as ``A|B|C`` (also ``A;B;C``) or of lists, or in a column for
each item, blank where fewer were shown; what was chosen is an item, a letter A, B, C for the columns in their order, or
the name of a column. Or a row is an item that was shown (*long*): of each set, which a column of blocks and that of
users name, one row says 1 (chosen, the best), of best-worst data one says -1 (the worst), and the others 0. Or the
items of each set have a column of their own, whose cells mark the best and the worst (``blocks``).
"""

from __future__ import annotations

import dataclasses
import re
import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from privrank_jax.data.cells import mark_of, number_of, text_of
from privrank_jax.data.columns import Column, Faults, Table
from privrank_jax.data.comparisons import Comparisons, leave_out_blanks
from privrank_jax.data.errors import BadCell, DataError, listed, quoted
from privrank_jax.data.header import span_of, usual_column, without
from privrank_jax.data.kinds import Data, named_once
from privrank_jax.data.names import check_names, form
from privrank_jax.data.reading import Reading
from privrank_jax.data.roles import BestWorstRoles, ChoiceRoles, reader_of

if TYPE_CHECKING:
    from privrank_jax.pairwise.choices import Choices as Arrays

_SHOWN = ("shown", "options", "offered", "alternatives", "choice set")
_ONE_SHOWN = re.compile(r"(shown|options?|offered|alternatives?)[ _.-]?[0-9]+", re.ASCII)
_BETWEEN = re.compile(r"[|;]")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class _Sets(Data):
    """Sets of items that were shown; what was chosen stands first.

    Attributes:
        users: ``(N,)`` int32, index into ``user_names`` (the row number when the data name no users).
        sets: ``(N, s)`` int32, the items shown, index into ``item_names``; -1 pads.
        item_names: the m names, in the order of a public list, else sorted.

    Other attributes are those of all data.
    """

    users: Int[np.ndarray, "rows"]
    sets: Int[np.ndarray, "rows size"]
    item_names: tuple[str, ...]

    questionnaire = None  # as of comparisons: nothing is known of what all users were asked

    def __len__(self) -> int:
        return self.users.size

    @property
    def num_users(self) -> int:
        """The number of users; each set is of another one where the data name none."""
        return len(self.user_names) or len(self)

    @property
    def comparisons_per_user(self) -> int:
        """The largest number of sets of one user."""
        return int(np.bincount(self.users).max(initial=0))

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone was shown, or one row where the data name no users. Private."""
        return named_once(self.item_names, self.users, *self.sets.T)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Choices(_Sets):
    """N choices of one of several named items each; the chosen item is the first of its set."""

    read = reader_of(ChoiceRoles)

    def choices(self, kept: Bool[np.ndarray, "rows"] | None = None) -> Arrays:
        """All choices, or those that are kept, as a pytree of JAX arrays; the others have weight 0.

        >>> found = Choices(np.arange(2), np.array([[0, 1, 2], [2, 0, -1]]), ("a", "b", "c"))
        >>> found.choices(np.array([True, False])).totals.tolist()
        [1.0, 0.0, 0.0]
        """
        import jax

        from privrank_jax.comparisons import default_float
        from privrank_jax.pairwise.choices import Choices as Arrays

        weights = np.asarray(np.ones(len(self)) if kept is None else kept, default_float())
        offered = self.sets >= 0
        sets = np.where(offered, self.sets, self.sets[:, :1])
        arrays = (sets, offered, self.sets[:, 0], weights)
        shown, real, chosen, counted = jax.device_put([*map(np.ascontiguousarray, arrays)])
        return Arrays(shown, real, chosen, counted, self.num_items)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BestWorst(_Sets):
    """N answers on the best and the worst of several named items; of each set these are the first and the second.

    >>> found = BestWorst(np.arange(2), np.array([[0, 2, 1], [0, 1, -1]]), ("a", "b", "c"))
    >>> found.totals.tolist()
    [2, -1, -1]
    """

    read = reader_of(BestWorstRoles)

    @property
    def totals(self) -> Int[np.ndarray, "items"]:
        """(m,) int64, how often each item was the best, less how often it was the worst. Private."""
        best, worst = (np.bincount(self.sets[:, k], minlength=self.num_items) for k in (0, 1))
        return best - worst

    def comparisons(self) -> Comparisons:
        """Each answer as one comparison, that of the best with the worst item.

        In the paired model of best and worst choices (Marley and Louviere, 2005), where the pair (i, j) is drawn from a
        set with odds exp(θ_i - θ_j), which of the two is the best follows a Bradley-Terry model with log-odds
        2(θ_i - θ_j), whatever else was shown.
        """
        said = {field.name: getattr(self, field.name) for field in dataclasses.fields(Data)}
        note = "each answer counts as one comparison, of the best item with the worst one"
        said |= {"notes": (note, *self.notes), "reading": (*self.reading, note)}
        best, worst = self.sets[:, 0], self.sets[:, 1]
        return Comparisons(
            self.users, best, worst, np.zeros(len(self), bool), self.item_names, **said
        )


# --- reading -------------------------------------------------------------------------------------------


def read_choices(table: Table, roles: ChoiceRoles) -> Choices:
    """Read choices from an opened table.

    Raises:
        DataError: what is wrong, where, and how to fix it: no such columns, fewer than two items in a set, one of them
            twice, a chosen item that was not shown, a name that is missing or spelled in two ways.

    >>> from privrank_jax.data.table import open_frame
    >>> cells = {"chosen": ["tea", "milk"], "shown": ["milk|tea", "milk|tea|water"]}
    >>> found = read_choices(open_frame(cells), ChoiceRoles(items="seen"))
    >>> found.item_names, found.sets.tolist()
    (('milk', 'tea', 'water'), [[1, 0, -1], [0, 1, 2]])
    """
    return _read(table, roles, Choices, ("chosen",))


def read_best_worst(table: Table, roles: BestWorstRoles) -> BestWorst:
    """Read best and worst choices from an opened table.

    Raises:
        DataError: as :func:`read_choices`; the best item is the worst one.
    """
    return _read(table, roles, BestWorst, ("best", "worst"))


def _read(table: Table, roles: Any, kind: type[_Sets], answers: tuple[str, ...]) -> Any:
    header = without(table.name, table.header, roles.ignore)
    if getattr(roles, "blocks", ()):
        return _blocks(table, roles, header)
    shown = _shown(header, roles)
    item = roles.item or usual_column(header, roles.columns()["item"])
    if item is not None and not shown:
        return _long(table, roles, header, item, kind)
    return _rows(table, roles, header, shown, kind, answers)


def _shown(header: Sequence[str], roles: Any) -> tuple[str, ...]:
    """The columns of the items shown, by what was told, else by usual names."""
    if roles.shown:
        return tuple(roles.shown)
    one = usual_column(header, _SHOWN)
    several = (column for column in header if _ONE_SHOWN.fullmatch(form(column)))
    return (one,) if one else tuple(several)


def chooses(header: Sequence[str]) -> bool:
    """Whether a table holds choices, by the usual names of its columns.

    >>> chooses(["user", "Chosen", "option_1", "option_2"]), chooses(["user", "chosen", "rejected"])
    (True, False)
    """
    found = ChoiceRoles().find(header, "chosen", "item", "block").keys()
    several = len(_shown(header, ChoiceRoles())) > 1 or bool(usual_column(header, _SHOWN))
    return "chosen" in found and (several or {"item", "block"} <= found)


def _rows(
    table: Table,
    roles: Any,
    header: Sequence[str],
    shown: tuple[str, ...],
    kind: type[_Sets],
    answers: tuple[str, ...],
) -> Any:
    """A row for each set."""
    columns = roles.find(header, *answers)
    if len(columns) < len(answers) or not shown:
        raise DataError(
            f"{table.name}: {roles.KIND} data need columns of the items shown and of the {' and '.join(answers)} one: "
            f"name them by `{'`, `'.join(answers)}` and `shown`; the columns are {listed(header, 40)}"
        )
    columns |= {f"shown {k}": column for k, column in enumerate(shown)}
    reading = Reading(table, roles, columns)
    leave_out_blanks(reading, *answers)
    faults, shown = reading.faults, [reading.columns[f"shown {k}"] for k in range(len(shown))]
    sets = _sets(reading, reading.several("shown"))
    marks = np.zeros(sets.shape, np.int8)
    for one, mark in zip(answers, (1, -1)):
        column = reading.cells[one]
        code = _answer(reading, column, sets, shown)
        chosen = (sets == code[:, None]) & (sets >= 0)
        what = "{} was chosen, but is not among the items shown"
        faults.where(~chosen.any(axis=1), column.name, lambda row: column.quoted(what, row))  # noqa: B023
        what = "the best item is also the worst one"
        faults.where(np.any(chosen & (marks != 0), axis=1), column.name, lambda _: what)  # noqa: B023
        marks[chosen] = mark
    _check(faults, np.arange(len(sets)), sets, shown[0])
    how = f"columns {shown[0]!r} to {shown[-1]!r} (an item each, or blank)"
    if len(shown) == 1:
        how = f"column {shown[0]!r} (items with | or ; between them)"
    found = ", ".join(repr(reading.columns[one]) for one in answers)
    users = reading.read_users()
    return _made(reading, kind, users, sets, marks, f"column {found} is chosen from those of {how}")


def _sets(reading: Reading, columns: Sequence[Column]) -> np.ndarray:
    """The items shown in each row, ``(N, s)``, -1 where there are fewer; of several columns each at its own place."""

    def code_of(word: Any) -> int:
        return reading.items[text_of(word)] if text_of(word) else -1

    if len(columns) > 1:
        return np.stack(reading.faults.together(columns, code_of), axis=1)

    def codes_of(word: Any) -> list[int]:
        return [
            code_of(one)
            for one in (word if isinstance(word, tuple) else _BETWEEN.split(word or ""))
        ]

    lists = [found or [] for found in reading.faults.values(columns[0], codes_of, object)]
    width = max(map(len, lists), default=0)
    padded = np.array([one + [-1] * (width - len(one)) for one in lists], np.int64)
    return padded.reshape(len(lists), width)[columns[0].codes]


def _answer(reading: Reading, column: Column, sets: np.ndarray, shown: Sequence[str]) -> np.ndarray:
    """Codes of the items that a column names, or says by the letter or the name of their column."""
    places = dict(zip(string.ascii_uppercase, range(len(shown)))) | {
        name: k for k, name in enumerate(shown)
    }

    def code_of(word: Any) -> int:
        text = text_of(word)
        place = places.get(text, places.get(text.upper()))
        by_name = text in reading.items or place is None or len(shown) < 2
        return reading.items[text] if by_name else -2 - place

    codes = reading.faults.read(column, code_of, np.int64)
    if not np.any(codes < -1):
        return codes
    at_place = np.take_along_axis(sets, np.maximum(-2 - codes, 0)[:, None], axis=1)[:, 0]
    return np.where(codes < -1, at_place, codes)


def _long(table: Table, roles: Any, header: Sequence[str], item: str, kind: type[_Sets]) -> Any:
    """A row for each item that was shown; the rows of a user with the same block are a set."""
    one = "chosen" if kind is Choices else "answer"
    columns = {"item": item, **roles.find(header, one, "block")}
    by = "block" if "block" in columns else "user"  # a single set of a user needs no name
    if one not in columns or (by == "user" and roles.user not in header):
        lacking = "block" if one in columns else one
        raise DataError(
            f"{table.name}: name the column `{lacking}` too; the columns are {listed(header, 40)}"
        )
    reading = Reading(table, roles, columns)
    faults, cells = reading.faults, reading.cells
    if reading.number is not None:
        raise DataError(
            f"{table.name}: a row is an item of a set, which counts once: leave out `count`"
        )
    (codes,) = faults.named([cells["item"]], reading.items)
    marks = faults.read(cells[one], mark_of if kind is Choices else _best_or_worst)
    users = reading.read_users()
    reading.stop(codes.size)
    owners = np.zeros(codes.size, np.int64) if users is None else users.astype(np.int64)
    key = owners * len(cells[by].words) + cells[by].codes
    # A set of which a blank was chosen says nothing; another one was not shown the blank.
    rows = np.flatnonzero((codes >= 0) & ~np.isin(key, key[(codes < 0) & (marks != 0)]))
    reading.take(rows)
    _, first, at = np.unique(key[rows], return_index=True, return_inverse=True)
    at = np.argsort(np.argsort(first))[at]  # in order of their first rows
    first = np.sort(first)
    order, sizes = np.argsort(at, kind="stable"), np.bincount(at)
    place = np.arange(at.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    sets = np.full((sizes.size, sizes.max(initial=0)), -1, np.int64)
    marked = np.zeros(sets.shape, np.int8)
    sets[at[order], place] = codes[rows][order]
    marked[at[order], place] = marks[rows][order]
    _check_marks(faults, first, marked, columns[one], kind)
    _check(faults, first, sets, item)
    how = f"rows with the same {cells[by].name!r} are one set"
    return _made(reading, kind, None if users is None else users[rows][first], sets, marked, how)


def _best_or_worst(cell: Any) -> int:
    number = number_of(text_of(cell) or "0")
    if number not in (-1.0, 0.0, 1.0):
        raise BadCell(f"{quoted(cell)} is none of 1 (the best), 0 and -1 (the worst)")
    return int(number)


def _blocks(table: Table, roles: BestWorstRoles, header: Sequence[str]) -> BestWorst:
    """Items with a column for each set, whose cells mark the best and the worst."""
    name, size = table.name, len(roles.public or ())
    spans = [span_of(name, header, span) for span in roles.blocks]
    if len(roles.words) != 2 or any(len(span) != size for span in spans) or roles.shown:
        raise DataError(
            f"{name}: `blocks` are spans with a column for each item: list the `items` in the order of these columns, "
            "give the two `words` that mark the best and the worst, such as words=['1', '2'], and leave out `shown`"
        )
    every = [column for span in spans for column in span]
    reading = Reading(table, roles, {f"mark {k}": column for k, column in enumerate(every)})
    words = {word.strip().casefold(): mark for word, mark in zip(roles.words, (1, -1))}

    def mark_of_cell(cell: Any) -> int:
        text = text_of(cell)
        if not text or form(text) in reading.items.blank:
            return 0
        if text.casefold() not in words:
            raise BadCell(f"{quoted(cell)} marks neither the best nor the worst: {listed(words)}")
        return words[text.casefold()]

    found, rows, columns = [], [], reading.several("mark")
    for k in range(len(spans)):
        block = columns[k * size : (k + 1) * size]
        marks = np.stack([reading.faults.read(one, mark_of_cell) for one in block], axis=1)
        rows.append(np.flatnonzero(marks.any(axis=1)))
        found.append(marks[rows[-1]])
        _check_marks(reading.faults, rows[-1], found[-1], block[0].name, BestWorst)
    users, owner, marks = reading.read_users(), np.concatenate(rows), np.concatenate(found)
    reading.stop(owner.size, "answers")
    if reading.number is not None:
        reading.number = reading.number[owner]
    sets = np.tile(np.arange(size), (owner.size, 1))
    return _made(reading, BestWorst, None if users is None else users[owner], sets, marks)


def _check_marks(
    faults: Faults, rows: np.ndarray, marks: np.ndarray, column: str, kind: type[_Sets]
) -> None:
    """Refuse a set without one chosen item, or one best and one worst; ``rows`` are those of the sets."""
    for mark, what in (1, "chosen or best"), (-1, "worst"):
        wrong = np.sum(marks == mark, axis=1) != 1
        if wrong.any() and (mark > 0 or kind is BestWorst):
            row = int(rows[np.argmax(wrong)])
            faults.add(row, column, f"its set has not one {what} item: correct or remove it")


def _check(faults: Faults, rows: np.ndarray, sets: np.ndarray, column: str) -> None:
    """Refuse a set with fewer than two items, or with one of them twice; ``rows`` are those of the sets."""
    ordered = np.sort(sets, axis=1)
    twice = np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0), axis=1)
    few = np.sum(sets >= 0, axis=1) < 2
    if np.any(wrong := twice | few):
        k = int(np.argmax(wrong))
        what = "fewer than two items: write them with | or ; between, such as A|B|C, or in rows or columns each"
        if not few[k]:
            what = "an item twice: keep it once, or name the column of sets by `block`"
        faults.add(int(rows[k]), column, f"its set has {what}")


def _made(
    reading: Reading,
    kind: type[_Sets],
    users: np.ndarray | None,
    sets: np.ndarray,
    marks: np.ndarray,
    *how: str,
) -> Any:
    """The data, of codes of the items shown, -1 for none, of which the chosen or best is marked 1, the worst -1."""
    reading.stop(len(sets))
    names, place = reading.items.in_order()
    check_names(names)
    key = np.where(sets < 0, 3, np.array([2, 0, 1])[marks])
    sets = np.append(np.array(place, np.int64), -1)[sets]
    sets = np.take_along_axis(sets, np.argsort(key, axis=1, kind="stable"), axis=1)
    each = reading.repeated(users=users)
    rows = np.arange(len(sets)) if each is None else each
    users = np.arange(rows.size) if users is None else users[rows]
    facts = reading.facts(names, *how)
    return kind(users.astype(np.int32), sets[rows].astype(np.int32), **facts)
