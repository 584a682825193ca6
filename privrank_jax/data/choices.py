"""Choices from sets of items, and best and worst ones (MaxDiff), with their readers.

A table has one of three forms. In the first, a row is a set that was shown: in one column of texts such as ``A|B|C``
(also ``A;B;C``) or of lists, or in a column for each item, blank where fewer were shown. The chosen item is named by
itself, by a letter A, B, C for the columns in their order, or by its column.

In the second form (*long*) a row is an item that was shown. A column of blocks and that of users name its set. One row
of each set says 1 (chosen, the best), in best-worst data one says -1 (the worst), and the others say 0.

In the third form (``blocks``) the items of each set have a column each, whose cells mark the best and the worst.
"""

from __future__ import annotations

import dataclasses
import re
import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from privrank_jax.data.cells import mark_of, text_of
from privrank_jax.data.cells import reader_of as number_reader
from privrank_jax.data.columns import Column, Reading, Table
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.data.errors import BadCell, DataError, listed, quoted
from privrank_jax.data.header import span_of, usual_column, without
from privrank_jax.data.kinds import Answers, named_once
from privrank_jax.data.names import form
from privrank_jax.data.roles import BestWorstRoles, ChoiceRoles, reader_of

if TYPE_CHECKING:
    from privrank_jax.pairwise.choices import Choices as Arrays

_SHOWN = ("shown", "options", "offered", "alternatives", "choice set")
_ONE_SHOWN = re.compile(r"(shown|options?|offered|alternatives?)[ _.-]?[0-9]+", re.ASCII)
_split = re.compile(r"[|;]").split
_best_or_worst = number_reader("1 (best), 0 or -1 (worst)", lambda one: one in (-1, 0, 1))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class _Sets(Answers):
    """Sets of items that were shown, (N, s) int32, index into ``item_names``, -1 pads; what was chosen stands first."""

    sets: Int[np.ndarray, "rows size"]
    item_names: tuple[str, ...]

    questionnaire = None  # as of comparisons: nothing is known of what all users were asked

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone was shown, or one row where the data name no users. Private."""
        return named_once(self.item_names, self.users, *self.sets.T)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Choices(_Sets):
    """N choices of one of several named items each; the chosen item is the first of its set.

    >>> found = Choices.read({"chosen": ["tea", "milk"], "shown": ["milk|tea", "milk|tea|water"]})
    >>> found.item_names, found.sets.tolist()
    (('milk', 'tea', 'water'), [[1, 0, -1], [0, 1, 2]])
    """

    read = reader_of(ChoiceRoles)

    def choices(self, kept: Bool[np.ndarray, "rows"] | None = None) -> Arrays:
        """All choices, or those that are kept, as a pytree of JAX arrays; the others have weight 0."""
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

        The paired model of best and worst choices (Marley and Louviere, 2005) draws the pair (i, j) from a set with
        odds exp(θ_i - θ_j). Which of the two is the best then follows a Bradley-Terry model with log-odds 2(θ_i - θ_j),
        whatever else was shown.
        """
        note = "each answer counts as one comparison, of the best item with the worst one"
        pairs = self.users, self.sets[:, 0], self.sets[:, 1], np.zeros(len(self), bool)
        return Comparisons(*pairs, self.item_names, **self.about(note))


def read_sets(table: Table, roles: Any) -> Any:
    """Read choices, or best and worst ones, from a table: of sets the codes of items, -1: none, and marks.

    Marks are 1 for the chosen or the best item, -1 for the worst.
    """
    chosen = isinstance(roles, ChoiceRoles)
    kind, answers = (Choices, ("chosen",)) if chosen else (BestWorst, ("best", "worst"))
    header = without(table.name, table.header, roles.ignore)
    shown, item = _shown(header, roles), roles.find(header, "item")
    if getattr(roles, "blocks", ()):
        found = _blocks(table, roles, header)
    elif item and not shown:
        found = _long(table, roles, header, item)
    else:
        found = _rows(table, roles, header, shown, answers)
    reading, sets, marks, columns, *how = found  # columns of the items and of the answers
    ordered = np.sort(sets, axis=1)
    same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    faults = [
        (np.sum(sets >= 0, axis=1) < 2, "fewer than two items: write A|B|C, or a column each"),
        (same.any(axis=1), "an item twice: keep it once, or name the column of sets by `block`"),
    ]
    for one, mark in zip(answers, (1, -1)):
        what = f"no single {one} item: name one of those shown, for each answer another one"
        faults.append((np.sum(marks == mark, axis=1) != 1, what))
    for column, (wrong, what) in zip((columns[0], *columns), faults):
        reading.faults.where(wrong, column, f"its set has {what}")
    users, each = reading.settle()
    names, place = reading.items.in_order()
    chosen_first = np.where(sets < 0, 3, np.array([2, 0, 1])[marks])
    sets = np.append(np.array(place, np.int64), -1)[sets]
    sets = np.take_along_axis(sets, np.argsort(chosen_first, axis=1, kind="stable"), axis=1)
    facts = reading.facts(names, *how)
    return kind(users.astype(np.int32), sets[each].astype(np.int32), **facts)


def _shown(header: Sequence[str], roles: Any) -> Sequence[str]:
    """The columns of the items shown, by what was told, else by usual names."""
    one = usual_column(header, _SHOWN)
    several = [column for column in header if _ONE_SHOWN.fullmatch(form(column))]
    return roles.shown or ([one] if one else several)


def chooses(header: Sequence[str]) -> bool:
    """Whether a table holds choices, by the usual names of its columns."""
    found = ChoiceRoles().find(header, "chosen", "item", "block").keys()
    several = len(_shown(header, ChoiceRoles())) > 1 or bool(usual_column(header, _SHOWN))
    return "chosen" in found and (several or {"item", "block"} <= found)


def _rows(
    table: Table, roles: Any, header: Sequence[str], shown: Sequence[str], answers: Sequence[str]
) -> tuple[Any, ...]:
    """A row for each set."""
    columns = roles.find(header, *answers)
    if len(columns) < len(answers) or not shown:
        raise DataError(
            f"{table.name}: name columns by `shown`, `{'`, `'.join(answers)}`; there are {listed(header, 40)}"
        )
    columns |= {f"shown {k}": column for k, column in enumerate(shown)}
    reading = Reading(table, roles, columns)
    reading.leave_out_blanks(*answers)
    items = reading.several("shown")
    sets = _sets(reading, items)
    marks = np.zeros(sets.shape, np.int8)
    for one, mark in zip(answers, (1, -1)):
        code = _answer(reading, reading.cells[one], sets, [column.name for column in items])
        marks[(sets == code[:, None]) & (sets >= 0)] = mark
    said = [reading.columns[one] for one in answers]
    how = f"columns {listed(said)} are chosen from those in {listed(one.name for one in items)}"
    return reading, sets, marks, (items[0].name, *said), how


def _sets(reading: Reading, columns: Sequence[Column]) -> np.ndarray:
    """The items shown in each row, ``(N, s)``, -1 where there are fewer; of several columns each at its own place."""

    def code_of(word: Any) -> int:
        return reading.items[text_of(word)] if text_of(word) else -1

    def codes_of(word: Any) -> list[int]:
        return [code_of(one) for one in (word if isinstance(word, tuple) else _split(word or ""))]

    if len(columns) > 1:
        return np.stack([reading.faults.read(one, code_of) for one in columns], axis=1)
    lists = [found or [] for found in reading.faults.values(columns[0], codes_of, object)]
    width = max(map(len, lists), default=0)
    padded = np.array([one + [-1] * (width - len(one)) for one in lists], np.int64)
    return padded.reshape(len(lists), width)[columns[0].codes]


def _answer(reading: Reading, column: Column, sets: np.ndarray, shown: Sequence[str]) -> np.ndarray:
    """Codes of the items that a column names, or says by the letter or the name of their column."""
    places = dict(zip([*string.ascii_uppercase[: len(shown)], *shown], [*range(len(shown))] * 2))

    def code_of(word: Any) -> int:
        text = text_of(word)
        place = places.get(text, places.get(text.upper()))
        if text in reading.items or place is None or len(shown) < 2:
            return reading.items[text]
        return -2 - place

    codes = reading.faults.read(column, code_of, np.int64)
    if not np.any(codes < -1):
        return codes
    at_place = np.take_along_axis(sets, np.maximum(-2 - codes, 0)[:, None], axis=1)[:, 0]
    return np.where(codes < -1, at_place, codes)


def _long(
    table: Table, roles: Any, header: Sequence[str], columns: dict[str, str]
) -> tuple[Any, ...]:
    """A row for each item that was shown; the rows of a user with the same block are a set."""
    one = "chosen" if isinstance(roles, ChoiceRoles) else "answer"
    columns = {**columns, **roles.find(header, one, "block")}
    by = "block" if "block" in columns else "user"  # a single set of a user needs no name
    if one not in columns or (by == "user" and roles.user not in header):
        lacking = "block" if one in columns else one
        raise DataError(f"{table.name}: name the column `{lacking}` too of {listed(header, 40)}")
    reading = Reading(table, roles, columns)
    faults, cells = reading.faults, reading.cells
    if reading.number is not None:
        raise DataError(f"{table.name}: an item of a set counts once: leave out `count`")
    (codes,) = faults.named([cells["item"]], reading.items)
    mark = mark_of if one == "chosen" else lambda word: _best_or_worst(word or "0")
    marks = faults.read(cells[one], mark)
    faults.stop()
    key = cells[by].codes.astype(np.int64)
    if "user" in cells:
        key += len(cells[by].words) * cells["user"].codes.astype(np.int64)
    # A set of which a blank was chosen says nothing; another one was not shown the blank.
    rows = np.flatnonzero((codes >= 0) & ~np.isin(key, key[(codes < 0) & (marks != 0)]))
    _, first, at = np.unique(key[rows], return_index=True, return_inverse=True)
    at = np.argsort(np.argsort(first))[at]  # in order of their first rows
    order, sizes = np.argsort(at, kind="stable"), np.bincount(at)
    place = np.arange(at.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    sets = np.full((sizes.size, sizes.max(initial=0)), -1, np.int64)
    marked = np.zeros(sets.shape, np.int8)
    sets[at[order], place] = codes[rows][order]
    marked[at[order], place] = marks[rows][order]
    how = f"rows with the same {cells[by].name!r} are one set"
    reading.take(rows[np.sort(first)])
    spelled = cells["item"].name, cells[one].name, cells[one].name
    return reading, sets, marked, spelled, how


def _blocks(table: Table, roles: Any, header: Sequence[str]) -> tuple[Any, ...]:
    """Items with a column for each set, whose cells mark the best and the worst."""
    name, size = table.name, len(roles.public or ())
    spans = [span_of(name, header, span) for span in roles.blocks]
    if len(roles.words) != 2 or any(len(span) != size for span in spans) or roles.shown:
        raise DataError(
            f"{name}: `blocks` are spans with a column for each item: list the `items`, give the `words` "
            "of the best and worst, such as ['1', '2'], and leave out `shown`"
        )
    every = [column for span in spans for column in span]
    reading = Reading(table, roles, {f"mark {k}": column for k, column in enumerate(every)})
    marked = dict.fromkeys(["", *reading.items.blank], 0)
    marked |= {form(word): mark for word, mark in zip(roles.words, (1, -1))}

    def mark_of_cell(cell: Any) -> int:
        if (mark := marked.get(form(text_of(cell)))) is None:
            raise BadCell(f"{quoted(cell)} marks neither the best nor the worst")
        return mark

    cells = [reading.faults.read(one, mark_of_cell) for one in reading.several("mark")]
    marks = np.stack(cells, axis=1).reshape(-1, len(spans), size).swapaxes(0, 1)
    block, rows = np.nonzero(marks.any(axis=2))
    sets = np.tile(np.arange(size), (rows.size, 1))
    reading.read_users()  # also those who left all blank
    reading.take(rows)
    return reading, sets, marks[block, rows], [np.array(roles.blocks)[block]] * 3
