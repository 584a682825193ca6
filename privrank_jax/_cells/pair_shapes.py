"""Comparisons that stand in several columns of a row: a column per pair, or of 0 and 1 per outcome, or two of numbers.

In a *file of pairs* a column such as ``Oslo vs Rome`` says which of its two items each user preferred. In a *one-hot*
file, as chatbot arenas publish it, ``winner_model_a``, ``winner_model_b`` and ``winner_tie`` are 1 or 0, one of them 1.
Both are known by the names of their columns alone. How often each of two items won, or what each scored, is read where
the caller names these columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from privrank_jax._arguments import Argument
from privrank_jax._cells.codes import item_list, public_items
from privrank_jax._cells.errors import DataError
from privrank_jax._cells.names import form
from privrank_jax._cells.outcomes import (
    NAME_THEM,
    SHAPE,
    Battle,
    Sides,
    battle_named,
    battle_of,
    letters,
    usual_pair,
)

NUMBERS = tuple(
    Argument(name, quoted=True) for name in ("left_wins", "right_wins", "left_score", "right_score")
)
_VERSUS = re.compile(r"(?:\s+|_)(?:vs\.?|versus)(?:\s+|_)", re.IGNORECASE)
_TIES = ("tie", "draw", "tiebothbad", "bothbad")


class Pair(NamedTuple):
    """A column of answers on two items."""

    column: str
    left: str
    right: str


class Pairs(NamedTuple):
    """Columns of answers, one for each pair of items that was asked for."""

    columns: tuple[Pair, ...]
    items: tuple[str, ...]

    @property
    def reading(self) -> str:
        """How such a file is read, in words that depend on its columns alone."""
        first = self.columns[0]
        return (
            f"columns such as {first.column!r} hold the preferred one of two items, or left, A, 1 for {first.left!r} "
            f"and right, B, 0 for {first.right!r}; tie, draw, 0.5 and 'both bad' are ties; a blank is no answer"
        )


class OneHot(NamedTuple):
    """Columns of two items, and of 1 or 0 for each outcome."""

    left: str
    right: str
    left_won: str
    right_won: str
    ties: tuple[str, ...]

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The columns of 1 or 0."""
        return (self.left_won, self.right_won, *self.ties)

    @property
    def reading(self) -> str:
        """How such a file is read, in words that depend on its columns alone."""
        ties = f", and ties in {' and '.join(map(repr, self.ties))}" if self.ties else ""
        return (
            f"columns {self.left!r} and {self.right!r} hold the items; a 1 stands in {self.left_won!r} or "
            f"{self.right_won!r} for the preferred one{ties}"
        )


class Tally(NamedTuple):
    """Columns of two items, and of how often each of them won: a comparison for each win."""

    left: str
    right: str
    left_wins: str
    right_wins: str

    @property
    def reading(self) -> str:
        """How such a file is read, in words that depend on its columns alone."""
        return (
            f"columns {self.left!r} and {self.right!r} hold the items, {self.left_wins!r} and {self.right_wins!r} how "
            "often each of them won: each win is a comparison"
        )


class Scores(NamedTuple):
    """Columns of two items, and of what each of them scored: the higher score wins, equal ones are a tie."""

    left: str
    right: str
    left_score: str
    right_score: str

    @property
    def reading(self) -> str:
        """How such a file is read, in words that depend on its columns alone."""
        return (
            f"columns {self.left!r} and {self.right!r} hold the items, {self.left_score!r} and {self.right_score!r} "
            "their scores: the higher one wins, equal ones are a tie"
        )


Shape = Battle | Pairs | OneHot | Tally | Scores


def shape_named(name: str, header: Sequence[str], named: Sides) -> Shape:
    """The shape of a file of which at least one column was named.

    Raises:
        DataError: it is unclear which the other columns are, or columns of several shapes were named.
    """
    numbers = named[3:]
    if not any(numbers):
        return battle_named(name, header, *named[:3])
    wins, scores = numbers[:2], numbers[2:]
    given = wins if any(wins) else scores
    if not all(given) or (any(wins) and any(scores)) or named.outcome:
        raise DataError(
            f"{name}: name {NUMBERS[0]} and {NUMBERS[1]}, how often each item won, or {NUMBERS[2]} and {NUMBERS[3]}, "
            f"what each scored, or {SHAPE[2]}: one of the three",
            *NUMBERS,
            SHAPE[2],
        )
    usual = usual_pair(header) or ("", "")
    left, right = named.left or usual[0], named.right or usual[1]
    if not left or not right:
        raise DataError(
            f"{name}: name the columns of the two items by {SHAPE[0]} and {SHAPE[1]}", *SHAPE[:2]
        )
    return (Tally if given is wins else Scores)(left, right, *given)


def shape_of(name: str, header: Sequence[str]) -> Shape | None:
    """How comparisons without columns of winners and losers are written; None if the header does not say.

    Args:
        name: of the file, for messages.
        header: its columns.

    Raises:
        DataError: the header has several of these shapes, or a column of a pair whose items are unclear.
    """
    if {"winner", "loser"} <= set(map(form, header)):
        return None
    found = [
        shape
        for shape in (battle_of(header), one_hot_of(header), pairs_of(name, header))
        if shape is not None
    ]
    if len(found) > 1:
        raise DataError(
            f"{name}: it is unclear which columns say who was preferred: {'; or '.join(one.reading for one in found)}. "
            f"Remove the columns that do not, or {NAME_THEM}",
            *SHAPE,
        )
    return found[0] if found else None


def one_hot_of(header: Sequence[str]) -> OneHot | None:
    """The columns of a one-hot file, by their usual names; None where there are none.

    >>> one_hot_of(["model_a", "model_b", "winner_model_a", "winner_model_b", "winner_tie"]).ties
    ('winner_tie',)
    """
    pair = usual_pair(header)
    if pair is None:
        return None
    words: dict[str, list[str]] = {}
    for column in header:
        words.setdefault(letters(column), []).append(column)
    sides = [words.get(f"winner{letters(item)}", []) for item in pair]
    ties = [words[f"winner{tie}"] for tie in _TIES if f"winner{tie}" in words]
    if any(len(columns) != 1 for columns in (*sides, *ties)):
        return None
    return OneHot(*pair, sides[0][0], sides[1][0], tuple(column for (column,) in ties))


def pairs_of(name: str, header: Sequence[str]) -> Pairs | None:
    """The columns of a file of pairs; None where there are none.

    Args:
        name: of the file, for messages.
        header: its columns.

    Raises:
        DataError: a column names the same item twice, or more than two; an item is spelled in two ways.

    >>> pairs_of("f", ["user", "Oslo vs Rome", "Rome vs. Bonn"]).items
    ('Bonn', 'Oslo', 'Rome')
    """
    found = []
    for column in header:
        parts = [part.strip() for part in _VERSUS.split(column)]
        if len(parts) < 2 or not all(parts):
            continue
        if len(parts) > 2:
            raise DataError(
                f"{name}: it is unclear which two items column {column!r} compares: name it by two items with one "
                "'vs' between"
            )
        if form(parts[0]) == form(parts[1]):
            raise DataError(
                f"{name}: column {column!r} compares an item with itself: correct or remove it"
            )
        found.append(Pair(column, *parts))
    if not found:
        return None
    items = item_list({item for pair in found for item in (pair.left, pair.right)})
    try:
        return Pairs(tuple(found), public_items(items))
    except DataError as error:
        raise DataError(f"{name}: {str(error).removeprefix('items: ')}") from None
