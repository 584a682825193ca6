"""How comparisons and choices are written, recognized from the names of columns alone.

A row names the preferred item and the other one, or it is a *battle*: two items and, in a third column, the outcome, as
chatbot arenas (``model_a, model_b, winner``) and games (``home, away, result``) have it. In a *file of pairs* a column
such as ``Oslo vs Rome`` says which of its two items each user preferred. In a *one-hot* file ``winner_model_a``,
``winner_model_b`` and ``winner_tie`` are 1 or 0, one of them 1. How often each of two items won (a *tally*), or what
each *scored*, is read where the caller names these columns. The words for an outcome are the same for all files, so
that what a cell means never depends on other cells.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Sequence
from typing import Any, NamedTuple

from privrank_jax.data.errors import BadCell, DataError, quoted, say
from privrank_jax.data.header import Keys, column_of, letters, spelled_in
from privrank_jax.data.names import form, is_blank, item_list, public_items
from privrank_jax.data.questions import chosen, places_of_questions

LEFT, RIGHT, TIE = range(3)
SYNTHETIC = "synthetic_epsilon"
"""Column of ε that marks synthetic rankings, never an item."""
NAME_THEM = (
    f"name the columns of the two items by {say('left')} and {say('right')}, and that of the outcome by "
    f"{say('outcome')}"
)
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
WORDS = {
    **dict.fromkeys(("a", "left", "model a", "item a", "option a", "1", "1.0"), LEFT),
    **dict.fromkeys(("w", "win", "won", "1-0"), LEFT),
    **dict.fromkeys(("b", "right", "model b", "item b", "option b", "0", "0.0"), RIGHT),
    **dict.fromkeys(("l", "loss", "lost", "0-1"), RIGHT),
    **dict.fromkeys(("tie", "draw", "d", "0.5", ".5", "1/2-1/2", "½-½", "both bad"), TIE),
    **dict.fromkeys(("bothbad", "tie (bothbad)", "tie (both bad)"), TIE),
}
"""What a cell says of two items, where it names neither."""
LETTERS = frozenset("wldhx")
"""Words that are names of items where these stand in the row."""
_AT_HOME = {"h": LEFT, "home": LEFT, "a": RIGHT, "away": RIGHT, "x": TIE}
_TWIN = {"a": "b", "1": "2", "left": "right", "home": "away"}
_TWIN |= {other: one for one, other in _TWIN.items()}
_SIDES = re.compile(
    r"(left|right|home|away)(.+)|(.+)(a|b|1|2|left|right|home|away)", re.IGNORECASE | re.DOTALL
)
_FIRST = ("a", "1", "left", "home")
_NUMBERED = {
    **dict.fromkeys(("win", "wins", "won"), "wins"),
    **dict.fromkeys(("score", "scores", "goals", "points", "runs"), "score"),
}
_GOALS = ("fthg", "ftag")  # as files of football name them
_DIGITS = re.compile(r"[0-9]+")
_VERSUS = re.compile(r"(?:\s+|_)(?:vs\.?|versus)(?:\s+|_)", re.IGNORECASE)
_TIED = ("tie", "draw", "tiebothbad", "bothbad")
_CHOSEN = ("chosen", "choice", "selected", "picked")
_SHOWN = ("shown", "options", "offered", "alternatives", "choice set")
_ONE_SHOWN = re.compile(r"(shown|options?|offered|alternatives?)[ _.-]?[0-9]+", re.ASCII)
_BETWEEN = re.compile(r"[|;]")


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
        words = dict(WORDS)
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
        found = {pair for pair in zip(left, right) if pair[0] != pair[1]}
        if (
            len(left) == len(right)
            and len(found) == 1
            and found <= {("0", "1"), ("1", "0"), ("1", "2")}
        ):
            ((one, other),) = found
            return {one: LEFT, other: RIGHT}
        return {}


class Pairs(NamedTuple):
    """Columns of answers, one for each pair of items that was asked for: name, one item, the other."""

    columns: tuple[tuple[str, str, str], ...]
    items: tuple[str, ...]

    @property
    def reading(self) -> str:
        """How such a file is read, in words that depend on its columns alone."""
        column, left, right = self.columns[0]
        return (
            f"columns such as {column!r} hold the preferred one of two items, or left, A, 1 for {left!r} and right, B, "
            f"0 for {right!r}; tie, draw, 0.5 and 'both bad' are ties; a blank is no answer"
        )


class OneHot(NamedTuple):
    """Columns of two items, and of 1 or 0 for each outcome: left, right, ties."""

    left: str
    right: str
    outcomes: tuple[str, ...]

    @property
    def reading(self) -> str:
        """How such a file is read, in words that depend on its columns alone."""
        one, other, *ties = map(repr, self.outcomes)
        more = f", and ties in {' and '.join(ties)}" if ties else ""
        return (
            f"columns {self.left!r} and {self.right!r} hold the items; a 1 stands in {one} or {other} for the "
            f"preferred one{more}"
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


def shape_of(
    name: str, header: Sequence[str], winner: str, loser: str, **named: str | None
) -> Shape | None:
    """How comparisons without columns of winners and losers are written; None for those that have them.

    Args:
        name: of the file, for messages.
        header: its columns.
        winner, loser: columns of preferred and of other items.
        named: the columns ``left``, ``right``, ``outcome``, ``left_wins``, ``right_wins``, ``left_score`` and
            ``right_score``, where the caller names them.

    Raises:
        DataError: it is unclear which columns say who was preferred.
    """
    given = {role: column for role, column in named.items() if column is not None}
    usual = (winner, loser) == ("winner", "loser")
    if given and not usual:
        raise DataError(
            f"{name}: {winner!r} and {loser!r} were said to be the preferred item and the other one, so there is no "
            f"outcome: leave out these, or {', '.join(map(say, given))}"
        )
    if given:
        return _shape_named(name, header, given)
    if not usual or {"winner", "loser"} <= set(map(form, header)):
        return None
    shapes = (battle_of(header), one_hot_of(header), pairs_of(name, header))
    found = [shape for shape in shapes if shape is not None]
    if len(found) > 1:
        raise DataError(
            f"{name}: it is unclear which columns say who was preferred: {'; or '.join(one.reading for one in found)}. "
            f"Remove the columns that do not, or {NAME_THEM}"
        )
    return found[0] if found else None


def _shape_named(name: str, header: Sequence[str], given: dict[str, str]) -> Shape:
    """The shape of a file of which at least one column was named."""
    wins, scores = (
        [given.get(f"{side}_{kind}") for side in ("left", "right")] for kind in ("wins", "score")
    )
    if any(wins) or any(scores):
        numbers = wins if any(wins) else scores
        if not all(numbers) or (any(wins) and any(scores)) or "outcome" in given:
            raise DataError(
                f"{name}: name {say('left_wins')} and {say('right_wins')}, how often each item won, or "
                f"{say('left_score')} and {say('right_score')}, what each scored, or {say('outcome')}: one of the three"
            )
        usual = usual_pair(header) or ("", "")
        pair = given.get("left", usual[0]), given.get("right", usual[1])
        if not all(pair):
            raise DataError(
                f"{name}: name the columns of the two items by {say('left')} and {say('right')}"
            )
        return (Tally if numbers is wins else Scores)(*pair, *map(str, numbers))
    known = battle_of(header) or ("", "", "")
    battle = Battle(*(given.get(role, usual) for role, usual in zip(Battle._fields, known)))
    if not all(battle):
        raise DataError(f"{name}: two items and an outcome stand in three columns: {NAME_THEM}")
    twins = numbers_in(header)
    if twins and battle.outcome in twins[:2]:
        raise DataError(
            f"{name}: columns {twins[0]!r} and {twins[1]!r} look like numbers of the two items, of which "
            f"{battle.outcome!r} is one, not the outcome: {_say_numbers(*twins, battle.left, battle.right)}"
        )
    return battle


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


def usual_pair(
    header: Sequence[str], usual: Sequence[tuple[str, str]] = _USUAL_PAIRS
) -> tuple[str, str] | None:
    """The columns of two items by their usual names; None unless there is exactly one such pair."""
    words = [letters(column) for column in header]
    pairs = [pair for pair in usual if words.count(pair[0]) == words.count(pair[1]) == 1]
    if len(pairs) != 1:
        return None
    return header[words.index(pairs[0][0])], header[words.index(pairs[0][1])]


def one_hot_of(header: Sequence[str]) -> OneHot | None:
    """The columns of a one-hot file, by their usual names; None where there are none.

    >>> one_hot_of(["model_a", "model_b", "winner_model_a", "winner_model_b", "winner_tie"]).outcomes
    ('winner_model_a', 'winner_model_b', 'winner_tie')
    """
    pair = usual_pair(header)
    if pair is None:
        return None
    words: dict[str, list[str]] = {}
    for column in header:
        words.setdefault(letters(column), []).append(column)
    sides = [words.get(f"winner{letters(item)}", []) for item in pair]
    ties = [words[f"winner{tie}"] for tie in _TIED if f"winner{tie}" in words]
    if any(len(columns) != 1 for columns in (*sides, *ties)):
        return None
    return OneHot(*pair, tuple(column for (column,) in (*sides, *ties)))


def pairs_of(name: str, header: Sequence[str]) -> Pairs | None:
    """The columns of a file of pairs; None where there are none.

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
        if len(parts) > 2 or form(parts[0]) == form(parts[1]):
            raise DataError(
                f"{name}: it is unclear which two items column {column!r} compares: name it by two different items "
                "with one 'vs' between"
            )
        found.append((column, *parts))
    if not found:
        return None
    items = item_list({item for _, *pair in found for item in pair})
    try:
        return Pairs(tuple(found), public_items(items))
    except DataError as error:
        raise DataError(f"{name}: {str(error).removeprefix('items: ')}") from None


def numbers_in(header: Sequence[str]) -> tuple[str, str, str] | None:
    """Two columns of numbers, one for each of two items, and what they say: ``"wins"`` or ``"score"``.

    >>> numbers_in(["player1", "player2", "win1", "win2"]), numbers_in(["home", "away", "away_goals", "Home_Goals"])
    (('win1', 'win2', 'wins'), ('Home_Goals', 'away_goals', 'score'))
    """
    for column in header:
        twin, side, body = _side_of(column, header)
        if twin and body in _NUMBERED and side in _FIRST:
            return column, twin, _NUMBERED[body]
    words = [letters(column) for column in header]
    if all(words.count(one) == 1 for one in _GOALS):
        left, right = (header[words.index(one)] for one in _GOALS)
        return left, right, "score"
    return None


def folded(cell: str) -> str:
    """A word of an outcome without case, and with blanks for underscores."""
    return " ".join(cell.replace("_", " ").casefold().split())


def check_outcomes(name: str, unused: Sequence[str], winner: str, loser: str) -> None:
    """Raise :class:`DataError` if a column that says which item is preferred is left out, or read as a column of items.

    Args:
        name: of the file.
        unused: columns that no argument names.
        winner: column of preferred items; where it has its usual name, and so has ``loser``, nothing is refused.
        loser: column of the other items.
    """
    chosen = winner, loser
    if tuple(map(form, chosen)) == ("winner", "loser"):
        return
    numbers = numbers_in(unused)
    if numbers and (numbers[2] == "wins" or _side_of(winner, (loser,))[0] is not None):
        items = chosen if _side_of(winner, (loser,))[1] in (*_FIRST, "") else chosen[::-1]
        raise DataError(
            f"{name}: columns {numbers[0]!r} and {numbers[1]!r} look like numbers of {winner!r} and {loser!r}, and "
            f"would not be used: {_say_numbers(*numbers, *items)}. If they do not, remove or rename them"
        )
    for column in unused:
        if letters(column) in _OUTCOMES | {f"winner{letters(one)}" for one in chosen}:
            raise DataError(
                f"{name}: column {column!r} looks like the outcome of comparing {winner!r} and {loser!r}, and would "
                f"not be used: {_say(winner, loser, column)}. If it is not, remove or rename it"
            )
    for outcome, one in (chosen, chosen[::-1]):
        twin = _side_of(one, unused)[0]
        if letters(outcome) in _OUTCOMES and twin is not None:
            raise DataError(
                f"{name}: columns {one!r} and {twin!r} look like the two items of a comparison, and {outcome!r} like "
                f"its outcome, not like a column of items: {_say(min(one, twin), max(one, twin), outcome)}"
            )


def advice_on(header: Sequence[str]) -> str:
    """What to do with a header without columns of winners and losers, to append to a message."""
    numbers = numbers_in(header)
    outcome = next(
        (one for one in header if letters(one) in _OUTCOMES and one not in (numbers or ())), None
    )
    if numbers and (outcome is None or numbers[2] == "wins"):
        others = [column for column in header if column not in numbers]
        sides = ((one, *_side_of(one, others)[:2]) for one in others)
        pair = next(((one, twin) for one, twin, side in sides if twin and side in _FIRST), None)
        pair = pair or usual_pair(header, (*_USUAL_PAIRS, ("home", "away"))) or ()
        return f". There are columns {numbers[0]!r} and {numbers[1]!r}: {_say_numbers(*numbers, *pair)}"
    if outcome is not None and "loser" not in header:
        pair = next((column for column in header if _side_of(column, header)[0]), None)
        if pair is None:
            return f". If {outcome!r} says which of two items is preferred, {NAME_THEM}"
        twin = _side_of(pair, header)[0] or ""
        said = _say(pair, twin, outcome)
        return f". If {pair!r} and {twin!r} are the items and {outcome!r} says which is preferred, {said}"
    if len(header) == 1 and any(sign in header[0] for sign in ";\t|,"):
        return f". Is it separated by another character? Say {say('separator', '|')}"
    return ". Ranks of items, or ratings, make a consensus: `privrank aggregate`"


def _say_numbers(left: str, right: str, kind: str, *items: str) -> str:
    """What to say of two columns of numbers, and of the items if these are known."""
    them = [say(f"left_{kind}", left), say(f"right_{kind}", right)]
    if items:
        them = [say("left", items[0]), say("right", items[1]), *them]
    what = "how often each item won" if kind == "wins" else "what each item scored"
    also = (
        "" if items else f", and name the columns of the items by {say('left')} and {say('right')}"
    )
    return f"if they say {what}, say {', '.join(them)}{also}"


def _say(left: str, right: str, outcome: str) -> str:
    return f"say {say('left', left)}, {say('right', right)}, {say('outcome', outcome)}"


def _side_of(column: str, others: Collection[str]) -> tuple[str | None, str, str]:
    """The twin of a column where it is there, its own side, and the letters of what they share."""
    found = _SIDES.fullmatch(column.lower())
    if found is None:
        return None, "", ""
    start, rest, body, end = found.groups()
    side, shared = start or end, rest or body
    twin = f"{_TWIN[side]}{rest}" if start else f"{body}{_TWIN[side]}"
    return next((other for other in others if other.lower() == twin), None), side, letters(shared)


# --- orders -------------------------------------------------------------------------------------------

_USUAL_ORDERS = (
    *(
        "order",
        "orders",
        "rank",
        "ranking",
        "rankings",
        "ballot",
        "preference order",
        "preferences",
    ),
)


def order_columns(
    name: str,
    header: Sequence[str],
    user: str | None,
    order: str | None,
    public: Collection[str] | None,
) -> tuple[str, ...]:
    """The columns whose cells are items, best first, or the one of texts; none where the cells are no items.

    Args:
        name: of the file, for messages.
        header: its columns, without those that are not to be used.
        user: column of users.
        order: column of texts, or the question of several columns of places, if it was named.
        public: the list of items, if there is one; columns of these names hold ranks.

    Raises:
        DataError: no column ``order``, or places of several questions.
    """
    questions = places_of_questions(header)
    if isinstance(header, Keys):  # which no form fixes, so that they are no questions
        questions = {one: columns for one, columns in questions.items() if not one}
    if order is not None and (spelled_in(header, order) in header or not questions):
        return (column_of(name, header, "order", order),)
    if public is not None and set(public) <= set(header):
        return ()
    if (question := chosen(name, questions, order)) is not None:
        return questions[question]
    others = [column for column in header if column != user]
    return tuple(others) if len(others) == 1 and form(others[0]) in _USUAL_ORDERS else ()


# --- choices ------------------------------------------------------------------------------------------


class ChoiceColumns(NamedTuple):
    """The columns of a table of choices.

    Attributes:
        chosen: the item that was chosen.
        shown: the items shown: one column of texts such as ``A|B|C``, or several of one item each.
    """

    chosen: str
    shown: tuple[str, ...]

    @property
    def reading(self) -> str:
        """How such columns are read, in words that depend on them alone."""
        if len(self.shown) == 1:
            shown = f"column {self.shown[0]!r} (items with | or ; between them)"
        else:
            shown = f"columns {self.shown[0]!r} to {self.shown[-1]!r} (an item each, or blank)"
        return f"column {self.chosen!r} is the item chosen from those of {shown}"


def choice_columns(
    header: Sequence[str], chosen: str | None = None, shown: Sequence[str] = ()
) -> ChoiceColumns | None:
    """The columns of choices, by the names that were given, else by usual names; None where there are none.

    >>> choice_columns(["user", "Chosen", "option_1", "option_2"])
    ChoiceColumns(chosen='Chosen', shown=('option_1', 'option_2'))
    >>> choice_columns(["user", "chosen", "rejected"]) is None
    True
    """
    found = [column for column in header if form(column) in _CHOSEN]
    texts = [column for column in header if form(column) in _SHOWN]
    numbered = [column for column in header if _ONE_SHOWN.fullmatch(form(column))]
    one = chosen or (found[0] if len(found) == 1 else None)
    several = tuple(shown) or tuple(texts if len(texts) == 1 else numbered)
    if one is None or not several or (len(several) == 1 and several[0] in numbered):
        return None
    spelled = (spelled_in(header, column) or column for column in several)
    return ChoiceColumns(spelled_in(header, one) or one, tuple(spelled))


def shown_items(cells: Sequence[Any], listed: Container[str] = ()) -> list[str]:
    """The items that were shown: of one text or list, or of several cells, of which some may be blank.

    Args:
        cells: as they stand.
        listed: names of items that may be marks of missing values as well.

    Raises:
        BadCell: fewer than two, or one of them twice.

    >>> shown_items(["tea | milk"]), shown_items(["tea", "", "milk"]), shown_items([("tea", "milk")])
    (['tea', 'milk'], ['tea', 'milk'], ['tea', 'milk'])
    """
    if len(cells) == 1:
        cells = cells[0] if isinstance(cells[0], tuple) else _BETWEEN.split(cells[0] or "")
    if any(isinstance(cell, tuple) for cell in cells):
        raise BadCell(
            "a list, where one item of several columns is expected: write its items in columns of their own"
        )
    named = (str(name or "").strip() for name in cells)
    items = [name for name in named if name in listed or not is_blank(name)]
    if len(items) < 2:
        raise BadCell(
            "fewer than two items are shown: write them with | or ; between them, such as A|B|C, or remove the row"
        )
    if len(set(items)) < len(items):
        twice = next(item for item in items if items.count(item) > 1)
        raise BadCell(f"{quoted(twice)} is shown twice in one row: keep it once")
    return items
