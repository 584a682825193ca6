"""Two items and, in a third column, which one is preferred: known by their columns, read by a fixed list of words.

Examples are chatbot battles (``model_a, model_b, winner``) and game results (``home, away, result``). Columns of the
usual names are recognized; others must be named. The words for an outcome are the same for all files, so that what a
cell means never depends on other cells. Where a word is also the name of an item, and the two disagree, the file is
refused; so is one whose options would leave the outcome out, or rank its words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from privrank_jax._arguments import Argument, value_of
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.names import form

LEFT, RIGHT, TIE = range(3)
SHAPE = (
    Argument("left", quoted=True),
    Argument("right", quoted=True),
    Argument("outcome", quoted=True),
)
NAME_THEM = f"name the columns of the two items by {SHAPE[0]} and {SHAPE[1]}, and that of the outcome by {SHAPE[2]}"
_OUTCOMES = {
    "winner", "winners", "whowon", "win", "wins", "won", "win1", "win2", "wina", "winb", "outcome", "outcomes",
    "result", "results", "verdict", "preferred", "preference", "judgment",
}  # fmt: skip
_USUAL_OUTCOMES = ("winner", "outcome", "result", "preferred", "preference", "verdict", "judgment")
_USUAL_PAIRS = (
    ("modela", "modelb"),
    ("left", "right"),
    ("itema", "itemb"),
    ("item1", "item2"),
    ("optiona", "optionb"),
)
_WORDS = {
    **dict.fromkeys(("a", "left", "model a", "item a", "option a", "1", "1.0"), LEFT),
    **dict.fromkeys(("b", "right", "model b", "item b", "option b", "0", "0.0"), RIGHT),
    **dict.fromkeys(("tie", "draw", "0.5", ".5", "both bad", "bothbad"), TIE),
    **dict.fromkeys(("tie (bothbad)", "tie (both bad)"), TIE),
}
_TWIN = {"a": "b", "b": "a", "1": "2", "2": "1", "left": "right", "right": "left"}
_SIDES = re.compile(r"(left|right)(.+)|(.+)(a|b|1|2|left|right)", re.IGNORECASE | re.DOTALL)


class Battle(NamedTuple):
    """Columns of two items and of an outcome."""

    left: str
    right: str
    outcome: str

    @property
    def reading(self) -> str:
        """How such a file is read, in words that depend on its columns alone."""
        return (
            f"columns {self.left!r} and {self.right!r} hold the items, {self.outcome!r} the outcome: the preferred "
            "item or its column, or left, right, A, B, 1 (left), 0 (right); tie, draw, 0.5 and 'both bad' are ties"
        )


def battle_of(header: Sequence[str]) -> Battle | None:
    """The columns of a battle, by their usual names; None where there are none, or it is unclear which they are.

    >>> battle_of(["judge", "Model_A", "model_b", "winner"])
    Battle(left='Model_A', right='model_b', outcome='winner')
    >>> battle_of(["home", "away", "result"]), battle_of(["left", "right", "winner", "loser"])
    (None, None)
    """
    words = [letters(column) for column in header]
    outcomes = [word for word in words if word in _USUAL_OUTCOMES]
    pair = usual_pair(header)
    if len(outcomes) != 1 or pair is None or "loser" in words:
        return None
    return Battle(*pair, header[words.index(outcomes[0])])


def usual_pair(header: Sequence[str]) -> tuple[str, str] | None:
    """The columns of two items by their usual names; None unless there is exactly one such pair."""
    words = [letters(column) for column in header]
    pairs = [pair for pair in _USUAL_PAIRS if words.count(pair[0]) == words.count(pair[1]) == 1]
    if len(pairs) != 1:
        return None
    return header[words.index(pairs[0][0])], header[words.index(pairs[0][1])]


def battle_named(
    name: str, header: Sequence[str], left: str | None, right: str | None, outcome: str | None
) -> Battle:
    """The columns of a battle of which at least one was named; :class:`DataError` where others are not clear."""
    known = battle_of(header)
    given = Battle(*(a or b for a, b in zip((left, right, outcome), known or ("", "", ""))))
    if not all(given):
        raise DataError(
            f"{name}: two items and an outcome stand in three columns: {NAME_THEM}", *SHAPE
        )
    return given


class OutcomeReader:
    """Which of two items a cell prefers: :data:`LEFT`, :data:`RIGHT` or :data:`TIE`.

    Args:
        name: of the file, for messages.
        battle: the columns, whose names are words for their sides; None where both items stand in the name of one.

    Raises:
        DataError: the name of a column is a word for another outcome.
    """

    def __init__(self, name: str, battle: Battle | None) -> None:
        self._name, self._battle = name, battle
        self._words = dict(_WORDS)
        for side, column in zip((LEFT, RIGHT), battle[:2] if battle else (), strict=False):
            if self._words.setdefault(_folded(column), side) != side:
                raise DataError(
                    f"{name}: column {column!r} is named like another outcome than that of its side: rename it"
                )
        self._known: dict[str | None, int | None] = {}
        self._used: set[str] = set()  # words that were read as such

    def __call__(self, cell: str | None, left: str | None, right: str | None) -> int:
        """Read a cell.

        Args:
            cell: of the outcome.
            left: name of one item.
            right: name of the other.

        Raises:
            BadCell: it is none, or both a word for one side and the name of the other item.
        """
        try:
            word = self._known[cell]
        except KeyError:
            word = self._known[cell] = self._words.get(_folded(cell or ""))
        item = LEFT if cell == left else RIGHT if cell == right else None
        if item is None:
            if word is None:
                raise self._unknown(cell, left, right)
            self._used.add(cell or "")
            return word
        if word is not None and word != item:
            raise BadCell(
                f"{cell!r} is the name of an item and also a word for another outcome: rename the item in the whole "
                "file"
            )
        return item

    def check_items(self, items: Iterable[str]) -> None:
        """Raise :class:`DataError` if an item has the name of a word that was read as an outcome of two others."""
        used = {form(word): word for word in self._used}
        for item in items:
            if form(item) in used:
                raise DataError(
                    f"{self._name}: the outcome {used[form(item)]!r} of two other items is also the name of an item: "
                    "rename the item in the whole file"
                )

    def _unknown(self, cell: str | None, left: str | None, right: str | None) -> BadCell:
        if not (cell or "").strip():
            return BadCell("the outcome is missing: fill it in or remove the row")
        named = self._battle
        column = f" the name of its column ({named.left!r} or {named.right!r})," if named else ""
        return BadCell(
            f"{cell!r} does not say which of {left!r} and {right!r} is preferred: write the item,{column} left, right, "
            "A, B, 1 (left) or 0 (right); or tie, draw, 0.5 or both bad"
        )


def check_outcomes(name: str, header: Sequence[str], winner: str, loser: str) -> None:
    """Raise :class:`DataError` if a column that says which item is preferred is left out, or read as a column of items.

    Args:
        name: name of the file.
        header: its columns.
        winner: column of preferred items; where it has its usual name, and so has ``loser``, nothing is refused.
        loser: column of the other items.
    """
    chosen = winner, loser
    if tuple(map(form, chosen)) == ("winner", "loser"):
        return
    unused = [column for column in header if column not in chosen]
    for column in unused:
        if letters(column) in _OUTCOMES | {f"winner{letters(one)}" for one in chosen}:
            said, them = _say(winner, loser, column)
            raise DataError(
                f"{name}: column {column!r} looks like the outcome of comparing {winner!r} and {loser!r}, and would "
                f"not be used: {said}. If it is not, remove or rename it",
                *them,
            )
    for outcome, one in (chosen, chosen[::-1]):
        twin = _twin_in(one, unused)
        if letters(outcome) in _OUTCOMES and twin is not None:
            said, them = _say(min(one, twin), max(one, twin), outcome)
            raise DataError(
                f"{name}: columns {one!r} and {twin!r} look like the two items of a comparison, and {outcome!r} like "
                f"its outcome, not like a column of items: {said}",
                *them,
            )


def advice_on_outcomes(header: Sequence[str]) -> tuple[str, tuple[Argument, ...]]:
    """What to do with columns of two items and an outcome, to append to a message, and the arguments; else nothing."""
    outcome = next((column for column in header if letters(column) in _OUTCOMES), None)
    if outcome is None or "loser" in header:
        return "", ()
    pair = next((column for column in header if _twin_in(column, header) is not None), None)
    if pair is None:
        return f". If {outcome!r} says which of two items is preferred, {NAME_THEM}", SHAPE
    twin = _twin_in(pair, header) or ""
    said, them = _say(pair, twin, outcome)
    return (
        f". If {pair!r} and {twin!r} are the items and {outcome!r} says which is preferred, {said}",
        them,
    )


def _say(left: str, right: str, outcome: str) -> tuple[str, tuple[Argument, ...]]:
    them = value_of("left", left), value_of("right", right), value_of("outcome", outcome)
    return "say " + " ".join(map(str, them)), them


def _folded(cell: str) -> str:
    return " ".join(cell.replace("_", " ").casefold().split())


def letters(column: str) -> str:
    """The letters and digits of a column, without case.

    >>> letters("Model_A ")
    'modela'
    """
    return "".join(c for c in column.casefold() if c.isalnum())


def _twin_in(column: str, others: Collection[str]) -> str | None:
    """``model_b`` for ``model_a``, ``right model`` for ``left model``, where it is there."""
    found = _SIDES.fullmatch(column.lower())
    if found is None:
        return None
    start, rest, body, end = found.groups()
    twin = f"{_TWIN[start]}{rest}" if start else f"{body}{_TWIN[end]}"
    return next((other for other in others if other.lower() == twin), None)
