"""Choices from sets of items, and best and worst ones (MaxDiff), with their readers.

A row is a set that was shown, in one column of texts such as ``A|B|C`` (also ``A;B;C``) or of lists, or in a column for
each item, blank where fewer were shown; what was chosen is an item, a letter A, B, C for the columns in their order, or
the name of a column. Or a row is an item that was shown (*long*): of each set, which a column of blocks and that of
users name, one row says 1 (chosen, the best), of best-worst data one says -1 (the worst), and the others 0. Or the
items of each set have a column of their own, whose cells mark the best and the worst (``blocks``).
"""

from __future__ import annotations

import dataclasses
import functools
import re
import string
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from privrank_jax.data.cells import mark_of, number_of, text_of
from privrank_jax.data.columns import Column, Faults, Table
from privrank_jax.data.errors import BadCell, DataError, listed, quoted
from privrank_jax.data.header import span_of, usual_column, without
from privrank_jax.data.kinds import Data, named_once
from privrank_jax.data.names import Names, check_names, form
from privrank_jax.data.reading import Reading
from privrank_jax.data.roles import BestWorstRoles, ChoiceRoles, reader_of

if TYPE_CHECKING:
    from privrank_jax.data.comparisons import Comparisons
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
        from privrank_jax.data.comparisons import Comparisons

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
        DataError: what is wrong, where, and how to fix it: no such columns, fewer than two items in a row, one of them
            twice, a chosen item that was not shown, a name that is missing or spelled in two ways.

    >>> from privrank_jax.data.table import open_frame
    >>> cells = {"chosen": ["tea", "milk"], "shown": ["milk|tea", "milk|tea|water"]}
    >>> found = read_choices(open_frame(cells), ChoiceRoles(items="seen"))
    >>> found.item_names, found.sets.tolist()
    (('milk', 'tea', 'water'), [[1, 0, -1], [0, 1, 2]])
    """
    header = without(table.name, table.header, roles.ignore)
    item = roles.item or (None if roles.shown else usual_column(header, roles.columns()["item"]))
    shown = _shown(table.name, header, roles)
    if item is not None and not shown:
        return _long(table, roles, header, item, Choices)
    return _rows(table, roles, roles.find(header, "chosen"), shown, Choices)


def read_best_worst(table: Table, roles: BestWorstRoles) -> BestWorst:
    """Read best and worst choices from an opened table.

    Raises:
        DataError: as :func:`read_choices`; the best item is the worst one.
    """
    header = without(table.name, table.header, roles.ignore)
    if roles.blocks:
        return _blocks(table, roles, header)
    shown = _shown(table.name, header, roles)
    item = roles.item or (None if shown else usual_column(header, roles.columns()["item"]))
    if item is not None and not shown:
        return _long(table, roles, header, item, BestWorst)
    return _rows(table, roles, roles.find(header, "best", "worst"), shown, BestWorst)


def _shown(
    name: str, header: Sequence[str], roles: ChoiceRoles | BestWorstRoles
) -> tuple[str, ...]:
    """The columns of the items shown, by what was told, else by usual names."""
    if roles.shown:
        return tuple(roles.shown)
    one = usual_column(header, _SHOWN)
    return (
        (one,) if one else tuple(column for column in header if _ONE_SHOWN.fullmatch(form(column)))
    )


def chooses(header: Sequence[str]) -> bool:
    """Whether a table holds choices, by the usual names of its columns.

    >>> chooses(["user", "Chosen", "option_1", "option_2"]), chooses(["user", "chosen", "rejected"])
    (True, False)
    """
    usual = ChoiceRoles.columns()
    shown = _shown("", header, ChoiceRoles())
    several = len(shown) > 1 or bool(usual_column(header, _SHOWN))
    long = all(usual_column(header, usual[one]) for one in ("item", "block"))
    return usual_column(header, usual["chosen"]) is not None and (several or long)


def _rows(
    table: Table,
    roles: ChoiceRoles | BestWorstRoles,
    answers: dict[str, str],
    shown: Sequence[str],
    kind: type[_Sets],
) -> Any:
    """A row for each set."""
    wanted = ("chosen",) if kind is Choices else ("best", "worst")
    for one in wanted:
        if one not in answers or not shown:
            raise DataError(
                f"{table.name}: {roles.KIND} data need columns of {' and '.join(wanted)} items, and one of the items "
                f"shown, or several of one item each: name them by {', '.join(f'`{each}`' for each in wanted)} and "
                f"`shown`; the columns are {listed(table.header, 40)}"
            )
    columns = {**answers, **{f"shown {k}": column for k, column in enumerate(shown)}}
    reading = Reading(table, roles, columns)
    _leave_out_blanks(reading, wanted)
    faults, cells = reading.faults, reading.cells
    sets = _sets(faults, reading.several("shown"), reading.items)
    codes = [
        _answer(
            reading, cells[one], sets, [reading.columns[f"shown {k}"] for k in range(len(shown))]
        )
        for one in wanted
    ]
    for one, found in zip(wanted, codes):
        what = functools.partial(
            cells[one].quoted, "{} was chosen, but is not among the items shown"
        )
        faults.where(~np.any(sets == found[:, None], axis=1), cells[one].name, what)
    if len(codes) > 1:
        faults.where(
            codes[0] == codes[1],
            cells["worst"].name,
            lambda _: "the best item is also the worst one",
        )
    how = f"columns {shown[0]!r} to {shown[-1]!r} (an item each, or blank)"
    if len(shown) == 1:
        how = f"column {shown[0]!r} (items with | or ; between them)"
    found = ", ".join(repr(reading.columns[one]) for one in wanted)
    return _made(reading, kind, sets, codes, f"column {found} is chosen from those of {how}")


def _leave_out_blanks(reading: Reading, answers: Sequence[str]) -> None:
    """Leave out rows whose answer is a word that was said to be blank."""
    if not (blank := reading.items.blank):
        return
    gone = np.zeros(reading.size, bool)
    for one in answers:
        column = reading.cells[one]
        gone |= np.array([form(str(word or "")) in blank for word in column.words], bool)[
            column.codes
        ]
    reading.take(np.flatnonzero(~gone))


def _answer(reading: Reading, column: Column, sets: np.ndarray, shown: Sequence[str]) -> np.ndarray:
    """Codes of the items that a column names, or says by the letter or the name of their column."""
    places = dict(zip(string.ascii_uppercase, range(len(shown)))) | {
        name: k for k, name in enumerate(shown)
    }
    by_place = len(shown) > 1

    def place_of(word: Any) -> int:
        text = text_of(word)
        return (
            places.get(text, places.get(text.upper(), -1))
            if by_place and text not in reading.items
            else -1
        )

    at = reading.faults.read(column, place_of, np.int64)
    rows = np.flatnonzero(at < 0)
    part = reading.faults.part(rows)
    found = np.full(len(column), -1, np.int64)
    found[rows] = part.read(column.take(rows), lambda word: reading.items[text_of(word)])
    reading.faults.join(part)
    if by_place and sets.shape[1]:
        said = np.take_along_axis(sets, np.maximum(at, 0)[:, None] % sets.shape[1], axis=1)[:, 0]
        found = np.where(at >= 0, said, found)
    return found


def _made(
    reading: Reading,
    kind: type[_Sets],
    sets: np.ndarray,
    codes: Sequence[np.ndarray],
    *how: str,
    users: Any = None,
) -> Any:
    """The data, of codes of the items shown and of those that stand first."""
    users = reading.read_users() if users is None else users
    reading.stop(len(sets))
    order, place = reading.items.in_order()
    check_names(order)
    place = np.append(np.array(place, np.int64), -1)
    sets = _first(place[sets], *(place[one] for one in codes))
    each = reading.repeated(users=users)
    each = slice(None) if each is None else each
    number = len(sets[each])
    return kind(
        np.arange(number, dtype=np.int32)
        if users is None
        else np.asarray(users)[each].astype(np.int32),
        sets[each].astype(np.int32),
        **reading.facts(order, *how),
    )


def _first(sets: np.ndarray, *chosen: np.ndarray) -> np.ndarray:
    """The same sets with the chosen items first, the others in their order, and blanks last."""
    if not sets.size:
        return sets
    later = np.where(sets < 0, sets.shape[1], 0) + np.arange(sets.shape[1])
    for k, one in enumerate(reversed(chosen), start=1):
        later = np.where(sets == one[:, None], -k, later)
    return np.take_along_axis(sets, np.argsort(later, axis=1, kind="stable"), axis=1)


def _sets(faults: Faults, columns: Sequence[Column], names: Names) -> np.ndarray:
    """The items shown in each row, ``(N, s)``, -1 where there are fewer; of several columns each at its own place."""
    several = len(columns) > 1
    joined = columns[0]
    if several:  # rows that show the same are one word
        both, codes = np.unique(
            np.stack([column.codes for column in columns], axis=1), axis=0, return_inverse=True
        )
        words = [[column.words[k] for column, k in zip(columns, row)] for row in both.tolist()]
        joined = Column(columns[0].name, codes.ravel(), words)
    found: list[list[int]] = [[] for _ in joined.words]
    for row, code, word in joined.in_order():
        try:
            found[code] = _codes_shown(word if several else _split(word), names)
        except BadCell as error:
            faults.add(row, joined.name, error)
            break
    width = max(map(len, found), default=0)
    padded = np.array([one + [-1] * (width - len(one)) for one in found], np.int64)
    return padded.reshape(len(found), width)[joined.codes]


def _split(word: Any) -> Sequence[Any]:
    return word if isinstance(word, tuple) else _BETWEEN.split(word or "")


def _codes_shown(cells: Sequence[Any], names: Names) -> list[int]:
    """Codes of the items that were shown, -1 for a blank."""
    if any(isinstance(cell, tuple) for cell in cells):
        raise BadCell(
            "a list, where one item of several columns is expected: write its items in columns of their own"
        )
    texts = [str(cell or "").strip() for cell in cells]
    codes = [names[text] if text else -1 for text in texts]
    known = [code for code in codes if code >= 0]
    if len(known) < 2:
        raise BadCell(
            "fewer than two items are shown: write them with | or ; between them, such as A|B|C, or remove the row"
        )
    if len(set(known)) < len(known):
        twice = next(
            text for text, code in zip(texts, codes) if code >= 0 and codes.count(code) > 1
        )
        raise BadCell(f"{quoted(twice)} is shown twice in one row: keep it once")
    return codes


def _long(
    table: Table,
    roles: ChoiceRoles | BestWorstRoles,
    header: Sequence[str],
    item: str,
    kind: type[_Sets],
) -> Any:
    """A row for each item that was shown; the rows of a user with the same block are a set."""
    answer = (
        roles.answer
        if isinstance(roles, BestWorstRoles)
        else roles.find(header, "chosen").get("chosen")
    )
    block = roles.find(header, "block").get("block", roles.user)
    if answer is None or block not in header:
        one = "block" if answer is not None else "answer" if kind is BestWorst else "chosen"
        raise DataError(
            f"{table.name}: name the column `{one}` too; the columns are {listed(table.header, 40)}"
        )
    by = "user" if block == roles.user else "block"  # a single set of a user needs no name
    columns = {"item": item, "answer": answer} | ({"block": str(block)} if by == "block" else {})
    reading = Reading(table, roles, columns)
    faults, cells, name = reading.faults, reading.cells, table.name
    if reading.number is not None:
        raise DataError(f"{name}: a row is an item of a set, which counts once: leave out `count`")
    (codes,) = faults.named([cells["item"]], reading.items)
    marks = faults.read(cells["answer"], mark_of if kind is Choices else _best_or_worst)
    users = reading.read_users()
    owners = np.zeros(codes.size, np.int64) if users is None else users
    reading.stop(codes.size)
    key = np.stack([owners, cells[by].codes])
    if np.any(
        codes < 0
    ):  # a set of which a blank was chosen says nothing; another one was not shown it
        number = np.unique(key, axis=1, return_inverse=True)[1].ravel()
        silent = np.isin(number, number[(codes < 0) & (marks != 0)])
        rows = np.flatnonzero((codes >= 0) & ~silent)
        reading.take(rows)
        codes, marks, key = codes[rows], marks[rows], key[:, rows]
    sets, first, at = np.unique(key, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))  # in order of their first rows
    at, number = order[at.ravel()], sets.shape[1]
    by_set = np.lexsort((np.arange(codes.size), at))
    sizes = np.bincount(at, minlength=number)
    place = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    shown = np.full((number, int(sizes.max(initial=0))), -1, np.int64)
    shown[at[by_set], place] = codes[by_set]
    answers = []
    for mark in (1,) if kind is Choices else (1, -1):
        chosen = np.flatnonzero(marks == mark)
        times = np.bincount(at[chosen], minlength=number)
        what = "chosen" if kind is Choices else "best" if mark == 1 else "worst"
        wrong = times[at] != 1
        faults.where(
            wrong,
            answer,
            lambda _, what=what, mark=mark: f"its set has not one {what} item: one row says {mark}",
        )
        found = np.full(number, -1, np.int64)
        found[at[chosen]] = codes[chosen]
        answers.append(found)
    _check_sets(faults, at, shown, item)
    faults.stop()
    who = sets[0][np.argsort(order)] if users is not None else None
    return _made(
        reading,
        kind,
        shown,
        answers,
        f"rows with the same {cells[by].name!r} are one set",
        users=who,
    )


def _check_sets(faults: Faults, at: np.ndarray, shown: np.ndarray, column: str) -> None:
    """Refuse a set with fewer than two items, or with one of them twice."""
    ordered = np.sort(shown, axis=1)
    twice = np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0), axis=1)
    faults.where(
        twice[at],
        column,
        lambda _: "its set has an item twice: keep one row, or name the column of sets by `block`",
    )
    few = np.sum(shown >= 0, axis=1) < 2
    faults.where(
        few[at], column, lambda _: "its set has a single item: a choice is from two at least"
    )


def _best_or_worst(cell: Any) -> int:
    number = number_of(text_of(cell) or "0")
    if number not in (-1.0, 0.0, 1.0):
        raise BadCell(f"{quoted(cell)} is none of 1 (the best), 0 and -1 (the worst)")
    return int(number)


def _blocks(table: Table, roles: BestWorstRoles, header: Sequence[str]) -> BestWorst:
    """Items with a column for each set, whose cells mark the best and the worst."""
    name, public = table.name, roles.public
    spans = [span_of(name, header, span) for span in roles.blocks]
    if public is None or len(roles.words) != 2 or any(len(span) != len(public) for span in spans):
        raise DataError(
            f"{name}: `blocks` are spans with a column for each item: list the `items` in the order of these columns, "
            "and give the two `words` that mark the best and the worst, such as words=['1', '2']"
        )
    if roles.shown and len(roles.shown) != len(spans):
        raise DataError(f"{name}: `shown` names a column for each of the {len(spans)} blocks")
    columns = {
        f"mark {k} {j}": column for k, span in enumerate(spans) for j, column in enumerate(span)
    }
    columns |= {f"shown {k}": column for k, column in enumerate(roles.shown)}
    reading = Reading(table, roles, columns)
    faults, size = reading.faults, len(public)
    words = {word.strip().casefold(): mark for word, mark in zip(roles.words, (1, -1))}
    sets, best, worst, rows = [], [], [], []
    for k in range(len(spans)):
        cells = [reading.cells[f"mark {k} {j}"] for j in range(size)]
        marks = np.stack(
            [faults.read(column, _marking(words, reading.items.blank)) for column in cells], axis=1
        )
        answered = np.any(marks != 0, axis=1)
        wrong = answered & ((np.sum(marks == 1, axis=1) != 1) | (np.sum(marks == -1, axis=1) != 1))
        faults.where(
            wrong,
            cells[0].name,
            lambda _: "this set has not one best and one worst item: correct or empty it",
        )
        shown = np.ones_like(marks, bool)
        if roles.shown:
            shown = _among(reading, reading.cells[f"shown {k}"], public)
            faults.where(
                np.any((marks != 0) & ~shown, axis=1),
                roles.shown[k],
                lambda _: "an item that was not shown is marked",
            )
        some = np.flatnonzero(answered)
        sets.append(np.where(shown, np.arange(size), -1)[some])
        best.append(np.argmax(marks == 1, axis=1)[some])
        worst.append(np.argmax(marks == -1, axis=1)[some])
        rows.append(some)
    users = reading.read_users()
    reading.stop(sum(map(len, rows)), "answers")
    owner = np.concatenate(rows)
    if reading.number is not None:
        reading.number = reading.number[owner]
    who = None if users is None else users[owner]
    codes = [np.concatenate(best), np.concatenate(worst)]
    return _made(reading, BestWorst, np.concatenate(sets), codes, users=who)


def _marking(words: dict[str, int], blank: set[str]) -> Callable[[Any], int]:
    def read(cell: Any) -> int:
        text = text_of(cell)
        if not text or form(text) in blank:
            return 0
        if text.casefold() not in words:
            raise BadCell(
                f"{quoted(cell)} marks neither the best nor the worst item: these are {listed(words)}"
            )
        return words[text.casefold()]

    return read


def _among(reading: Reading, column: Column, public: tuple[str, ...]) -> np.ndarray:
    """Which of the items a column shows, ``(N, m)`` bool, by their names or their numbers from 1."""
    places = {form(name): k for k, name in enumerate(public)}
    numbers = {str(k + 1): k for k in range(len(public))}
    found = np.zeros((len(column.words), len(public)), bool)
    for row, code, word in column.in_order():
        for part in map(str.strip, map(str, _split(word))):
            at = places.get(form(part), numbers.get(part, -1))
            if at < 0 and part:
                reading.faults.add(
                    row, column.name, f"{quoted(part)} is no item, and no number of one"
                )
                return found[column.codes]
            if part:
                found[code, at] = True
    return found[column.codes]
