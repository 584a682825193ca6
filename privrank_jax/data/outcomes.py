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
from privrank_jax.data.errors import BadCell, DataError
from privrank_jax.data.names import form

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
    **dict.fromkeys(("w", "win", "won", "1-0"), LEFT),
    **dict.fromkeys(("b", "right", "model b", "item b", "option b", "0", "0.0"), RIGHT),
    **dict.fromkeys(("l", "loss", "lost", "0-1"), RIGHT),
    **dict.fromkeys(
        ("tie", "draw", "d", "0.5", ".5", "1/2-1/2", "½-½", "both bad", "bothbad"), TIE
    ),
    **dict.fromkeys(("tie (bothbad)", "tie (both bad)"), TIE),
}
_LETTERS = frozenset("wldhx")  # words that are names of items where these stand in the row
_AT_HOME = {"h": LEFT, "home": LEFT, "a": RIGHT, "away": RIGHT, "x": TIE}
_TWIN = {"a": "b", "1": "2", "left": "right", "home": "away"}
_TWIN |= {other: one for one, other in _TWIN.items()}
_SIDES = re.compile(
    r"(left|right|home|away)(.+)|(.+)(a|b|1|2|left|right|home|away)", re.IGNORECASE | re.DOTALL
)
_WON = {"win", "wins", "won"}
_FIRST = ("a", "1", "left", "home")
_SCORED = {"score", "scores", "goals", "points", "runs"}
_GOALS = ("fthg", "ftag")  # as files of football name them
_DIGITS = re.compile(r"[0-9]+")


class Battle(NamedTuple):
    """Columns of two items and of an outcome."""

    left: str
    right: str
    outcome: str

    @property
    def words(self) -> dict[str, int]:
        """The words for an outcome, which depend on the names of these columns alone.

        They are the same for all files, but that 0 and 1 say which column is preferred where the columns are numbered
        so, and that H and A are home and away where the columns are.

        >>> found = Battle("response_0", "response_1", "better").words
        >>> found["0"] == LEFT, found["1"] == RIGHT, Battle("a", "b", "won").words["1"] == LEFT
        (True, True, True)
        """
        words = dict(_WORDS)
        if self._at_home:
            return {word: side for word, side in words.items() if word != "b"} | _AT_HOME
        for number, side in self._numbers.items():
            words |= {number: side, f"{number}.0": side}
        return words

    @property
    def reading(self) -> str:
        """How such a file is read, in words that depend on its columns alone."""
        return (
            f"columns {self.left!r} and {self.right!r} hold the items, {self.outcome!r} the outcome: the preferred "
            f"item or its column, or {self.sides}; tie, draw, D, 0.5, 1/2-1/2 and 'both bad' are ties"
        )

    @property
    def sides(self) -> str:
        """The words for the items of the two columns."""
        if self._at_home:
            return "left, home, H, W, 1 or 1-0, right, away, A, L, 0 or 0-1"
        if self._numbers:
            left, right = self._numbers
            return (
                f"left, A, W or {left} for {self.left!r}, right, B, L or {right} for {self.right!r}"
            )
        return "left, A, W, 1 or 1-0, right, B, L, 0 or 0-1"

    @property
    def _at_home(self) -> bool:
        """Whether the columns are of a home and an away side."""
        return letters(self.left).startswith("home") and letters(self.right).startswith("away")

    @property
    def _numbers(self) -> dict[str, int]:
        """The numbers of the two columns that an outcome may name: 0 and 1, or 1 and 2 in this order."""
        left, right = (_DIGITS.findall(column) for column in (self.left, self.right))
        if len(left) != len(right):
            return {}
        found = {pair for pair in zip(left, right) if pair[0] != pair[1]}
        if len(found) == 1 and found <= {("0", "1"), ("1", "0"), ("1", "2")}:
            ((one, other),) = found
            return {one: LEFT, other: RIGHT}
        return {}


class Sides(NamedTuple):
    """Columns of two items, and of what says which is preferred, that the caller names; "" where none is named."""

    left: str = ""
    right: str = ""
    outcome: str = ""
    left_wins: str = ""
    right_wins: str = ""
    left_score: str = ""
    right_score: str = ""


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
    if (twins := numbers_in(header)) and given.outcome in twins[:2]:
        advice, them = _say_numbers(*twins, given.left, given.right)
        raise DataError(
            f"{name}: columns {twins[0]!r} and {twins[1]!r} look like numbers of the two items, of which "
            f"{given.outcome!r} is one, not the outcome: {advice}",
            *them,
        )
    return given


def numbers_in(header: Sequence[str]) -> tuple[str, str, str] | None:
    """Two columns of numbers, one for each of two items, and what they say: ``"wins"`` or ``"score"``.

    >>> numbers_in(["player1", "player2", "win1", "win2"]), numbers_in(["home", "away", "away_goals", "Home_Goals"])
    (('win1', 'win2', 'wins'), ('Home_Goals', 'away_goals', 'score'))
    """
    for column in header:
        twin, side, body = _side_of(column, header)
        kind = "wins" if body in _WON else "score" if body in _SCORED else ""
        if twin and kind and side in _FIRST:
            return column, twin, kind
    words = [letters(column) for column in header]
    if all(words.count(one) == 1 for one in _GOALS):
        left, right = (header[words.index(one)] for one in _GOALS)
        return left, right, "score"
    return None


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
        self._words = battle.words if battle else dict(_WORDS)
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
            BadCell: it is none, or both a word for one side and the name of the other item, unless it is a letter for
                which files of games are known.
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
        if word is not None and word != item and _folded(cell or "") not in _LETTERS:
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
            tie = Argument("tie", quoted=True)
            return BadCell(
                "the outcome is missing: fill it in or remove the row, or name the column that marks ties by "
                f"{tie}: a blank is a tie there",
                tie,
            )
        named = self._battle
        column = f" the name of its column ({named.left!r} or {named.right!r})," if named else ""
        sides = named.sides if named else Battle("", "", "").sides
        return BadCell(
            f"{cell!r} does not say which of {left!r} and {right!r} is preferred: write the item,{column} {sides}; or "
            "tie, draw, D, 0.5 or both bad"
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
    numbers = numbers_in(unused)
    if numbers and (numbers[2] == "wins" or _twin_in(winner, (loser,)) is not None):
        items = chosen if _side_of(winner, (loser,))[1] in (*_FIRST, "") else chosen[::-1]
        said, them = _say_numbers(*numbers, *items)
        raise DataError(
            f"{name}: columns {numbers[0]!r} and {numbers[1]!r} look like numbers of {winner!r} and {loser!r}, and "
            f"would not be used: {said}. If they do not, remove or rename them",
            *them,
        )
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


def _say_numbers(left: str, right: str, kind: str, *items: str) -> tuple[str, tuple[Argument, ...]]:
    """What to say of two columns of numbers, and of the items if these are known."""
    them = value_of(f"left_{kind}", left), value_of(f"right_{kind}", right)
    if items:
        them = (value_of("left", items[0]), value_of("right", items[1]), *them)
    what = "how often each item won" if kind == "wins" else "what each item scored"
    also = "" if items else f", and name the columns of the items by {SHAPE[0]} and {SHAPE[1]}"
    return f"if they say {what}, say {' '.join(map(str, them))}{also}", (*them, *SHAPE[:2])


def advice_on_outcomes(header: Sequence[str]) -> tuple[str, tuple[Argument, ...]]:
    """What to do with columns of two items and an outcome, to append to a message, and the arguments; else nothing."""
    numbers = numbers_in(header)
    outcome = next(
        (one for one in header if letters(one) in _OUTCOMES and one not in (numbers or ())), None
    )
    if numbers and (outcome is None or numbers[2] == "wins"):
        others = [column for column in header if column not in numbers]
        sides = ((one, *_side_of(one, others)[:2]) for one in others)
        pair = next(((one, twin) for one, twin, side in sides if twin and side in _FIRST), ())
        said, them = _say_numbers(*numbers, *pair)
        return f". There are columns {numbers[0]!r} and {numbers[1]!r}: {said}", them
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
    return _side_of(column, others)[0]


def _side_of(column: str, others: Collection[str]) -> tuple[str | None, str, str]:
    """The twin of a column where it is there, its own side, and the letters of what they share."""
    found = _SIDES.fullmatch(column.lower())
    if found is None:
        return None, "", ""
    start, rest, body, end = found.groups()
    side, shared = start or end, rest or body
    twin = f"{_TWIN[side]}{rest}" if start else f"{body}{_TWIN[side]}"
    return next((other for other in others if other.lower() == twin), None), side, letters(shared)
