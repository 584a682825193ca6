"""How comparisons are written: which columns hold the items, and what says which one is preferred.

*Winner, loser*: a row names the preferred item and the other one. *Battles*: two items and, in a third column, the
outcome, as chatbot arenas (``model_a, model_b, winner``) and games have it. *One-hot*: ``winner_model_a``,
``winner_model_b`` and ``winner_tie`` are 1 or 0, one of them 1. *Pairs*: a column such as ``Oslo vs Rome`` says which
of its two items each user preferred. *Tallies*: how often each of two items won. *Scores*: what each of them scored.
The words for an outcome are the same for all files, so that what a cell means never depends on other cells.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from privrank_jax.data.errors import DataError, listed
from privrank_jax.data.header import letters, usual_column
from privrank_jax.data.names import form, item_list, public_items
from privrank_jax.data.roles import ComparisonRoles

LEFT, RIGHT, TIE = range(3)
_USUAL_OUTCOMES = ("winner", "outcome", "result", "preferred", "preference", "verdict", "judgment")
_USUAL_PAIRS = (
    ("model_a", "model_b"),
    ("left", "right"),
    ("item_a", "item_b"),
    ("item_1", "item_2"),
    ("option_a", "option_b"),
)
WORDS = {
    **dict.fromkeys(
        ("a", "left", "model a", "item a", "option a", "1", "1.0", "w", "win", "won", "1-0"), LEFT
    ),
    **dict.fromkeys(
        ("b", "right", "model b", "item b", "option b", "0", "0.0", "l", "loss", "lost", "0-1"),
        RIGHT,
    ),
    **dict.fromkeys(("tie", "draw", "d", "equal", "0.5", ".5", "1/2-1/2", "½-½", "both bad"), TIE),
    **dict.fromkeys(("bothbad", "tie (bothbad)", "tie (both bad)", "both equal"), TIE),
}
"""What a cell says of two items, where it names neither."""
_AT_HOME = {"h": LEFT, "home": LEFT, "a": RIGHT, "away": RIGHT, "x": TIE}
_TIED = ("tie", "draw", "tie_bothbad", "tie_both_bad", "both_bad")
_DIGITS = re.compile(r"[0-9]+")
_VERSUS = re.compile(r"(?:\s+|_)(?:vs\.?|versus)(?:\s+|_)", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Form:
    """How a table of comparisons is written.

    Attributes:
        kind: ``"winners"``, ``"battles"``, ``"one-hot"``, ``"pairs"``, ``"tallies"`` or ``"scores"``.
        columns: by role; ``left`` and ``right`` are those of the items, but of pairs.
        pairs: of pairs, the two items of each column.
        words: that say an outcome.
        usual: whether usual names said so, rather than the caller.
    """

    kind: str
    columns: dict[str, str]
    pairs: tuple[tuple[str, str], ...] = ()
    words: dict[str, int] = dataclasses.field(default_factory=dict)
    usual: bool = True

    @property
    def items(self) -> tuple[str, ...] | None:
        """The items that the header names."""
        return item_list({item for pair in self.pairs for item in pair}) if self.pairs else None

    @property
    def reading(self) -> tuple[str, ...]:
        """How such a file is read, in words that depend on its columns alone."""
        named = list(map(repr, self.columns.values()))
        if self.kind == "battles":
            said = f"{named[2]} the outcome: the preferred item or its column, or {self.sides}"
            return (f"columns {named[0]} and {named[1]} hold the items, {said}",)
        if self.kind == "one-hot":
            return (
                f"columns {named[0]} and {named[1]} hold the items; a 1 stands in one of {', '.join(named[2:])}",
            )
        if self.kind == "pairs":
            return (
                f"columns such as {named[0]} hold the preferred one of two items, or {self.sides}; blanks say nothing",
            )
        return ()

    @property
    def sides(self) -> str:
        """The words for the items of the two columns."""
        found = [[], [], []]
        for word, side in self.words.items():
            found[side].append(word)
        sides = zip(("the left one", "the right one", "a tie"), found)
        return "; ".join(f"{', '.join(words[:3])} for {side}" for side, words in sides if words)


def form_of(name: str, header: Sequence[str], roles: ComparisonRoles) -> Form:
    """How a table is written: as it was told, else by usual names.

    Args:
        name: of the file, for messages.
        header: its columns, without those that are not to be used.
        roles: what was told.

    Raises:
        DataError: it is unclear which columns say who was preferred.
    """
    told = roles.told
    of_winners = {"winner", "loser"} & told.keys()
    numbers = [pair for pair in _NUMBERS if set(pair) & told.keys()]
    of_pairs = {"left", "right", "outcome"} & told.keys()
    if of_winners and (numbers or of_pairs):
        others = sorted({*of_pairs, *sum(numbers, ())} & told.keys())
        raise DataError(f"{name}: `winner` and `loser` say all: leave out {listed(others)}")
    if numbers or of_pairs:
        return _told(name, header, roles, numbers)
    winners = roles.find(header, "winner", "loser")
    if of_winners or len(winners) == 2:
        if len(winners) < 2:
            lacks = ({"winner", "loser"} - winners.keys()).pop()
            raise DataError(f"{name}: name the column of {lacks}s by `{lacks}`; {_columns(header)}")
        columns = {"left": winners["winner"], "right": winners["loser"]}
        return Form("winners", columns, usual=not of_winners)
    found = [
        one
        for one in (_battle(header, roles), _one_hot(header), _pairs(name, header, roles))
        if one
    ]
    if len(found) > 1:
        raise DataError(
            f"{name}: it is unclear which columns say who was preferred: "
            f"{'; or '.join(one.reading[0] for one in found)}. Leave columns out by `ignore`, or name them by `left`, "
            "`right` and `outcome`"
        )
    if not found:
        raise DataError(
            f"{name} has no columns with usual names for comparisons; {_columns(header)}. Name those of the preferred "
            "item and the other one by `winner` and `loser`; or of the two items by `left` and `right`, and with them "
            "`outcome` (which is preferred), `left_wins` and `right_wins` (how often each won), or `left_score` and "
            "`right_score` (the higher one wins)"
        )
    return found[0]


_NUMBERS = (("left_wins", "right_wins"), ("left_score", "right_score"))


def _columns(header: Sequence[str]) -> str:
    if len(header) == 1 and any(sign in header[0] for sign in ";\t|,"):
        return f"its only column is {header[0]!r}: is it separated by another character? Say separator={'|'!r}"
    return f"the columns are {listed(header, 40)}"


def usual_pair(header: Sequence[str]) -> tuple[str, str] | None:
    """The columns of two items by their usual names; None unless there is exactly one such pair."""
    pairs = [
        (usual_column(header, [one]), usual_column(header, [other])) for one, other in _USUAL_PAIRS
    ]
    found = [(one, other) for one, other in pairs if one is not None and other is not None]
    return found[0] if len(found) == 1 else None


def _told(
    name: str, header: Sequence[str], roles: ComparisonRoles, numbers: list[tuple[str, str]]
) -> Form:
    """The form of a table of which at least one column of a pair of items was named."""
    usual = usual_pair(header) or (None, None)
    columns = {"left": roles.left or usual[0], "right": roles.right or usual[1]}
    if None in columns.values():
        raise DataError(
            f"{name}: name the columns of the two items by `left` and `right`; {_columns(header)}"
        )
    given = [numbers[0][k] for k in (0, 1)] if numbers else ["outcome"]
    if len(numbers) > 1 or (numbers and roles.outcome) or (roles.words and numbers):
        raise DataError(
            f"{name}: give `outcome`, or `left_wins` and `right_wins`, or `left_score` and `right_score`"
        )
    for one in given:
        column = (
            getattr(roles, one)
            or (one == "outcome" and usual_column(header, _USUAL_OUTCOMES))
            or None
        )
        if column is None:
            raise DataError(f"{name}: name the column `{one}` too; {_columns(header)}")
        columns[one] = column
    if roles.tie_count is not None:
        if given[0] != "left_wins":
            raise DataError(f"{name}: `tie_count` stands beside `left_wins` and `right_wins`")
        columns["tie_count"] = roles.tie_count
    kind = {"outcome": "battles", "left_wins": "tallies", "left_score": "scores"}[given[0]]
    found = {one: str(column) for one, column in columns.items()}
    return Form(
        kind, found, words=_words(name, found, roles) if kind == "battles" else {}, usual=False
    )


def _told_words(name: str, roles: ComparisonRoles) -> dict[str, int]:
    """The words for an outcome that were told."""
    if not 2 <= len(roles.words) <= 3:
        raise DataError(
            f"{name}: `words` are those for left, right and, if there is a third, a tie, such as H, A, D"
        )
    words = {folded(word): side for side, word in enumerate(roles.words)}
    if len(words) < len(roles.words):
        raise DataError(
            f"{name}: two of the `words` of the outcome are the same: {listed(roles.words)}"
        )
    return words


def _words(name: str, columns: dict[str, str], roles: ComparisonRoles) -> dict[str, int]:
    """The words for an outcome, which depend on what is told and on the names of the columns alone.

    They are the same for all files, but that 0 and 1 say which column is preferred where the columns are numbered so,
    and that H and A are home and away where the columns are.
    """
    left, right = columns["left"], columns["right"]
    if roles.words:
        return _told_words(name, roles)
    words = dict(WORDS)
    if letters(left).startswith("home") and letters(right).startswith("away"):
        words = {word: side for word, side in words.items() if word != "b"} | _AT_HOME
    numbers = [_DIGITS.findall(column) for column in (left, right)]
    differ = {pair for pair in zip(*numbers) if pair[0] != pair[1]}
    if (
        len(numbers[0]) == len(numbers[1])
        and len(differ) == 1
        and differ <= {("0", "1"), ("1", "0"), ("1", "2")}
    ):
        for number, side in zip(differ.pop(), (LEFT, RIGHT)):
            words |= {number: side, f"{number}.0": side}
    for side, column in ((LEFT, left), (RIGHT, right)):
        if words.setdefault(folded(column), side) != side:
            raise DataError(
                f"{name}: column {column!r} is named like another outcome than that of its side: rename it"
            )
    return words


def _battle(header: Sequence[str], roles: ComparisonRoles) -> Form | None:
    pair, outcome = usual_pair(header), usual_column(header, _USUAL_OUTCOMES)
    if pair is None or outcome is None or usual_column(header, ["loser"]):
        return None
    columns = {"left": pair[0], "right": pair[1], "outcome": outcome}
    return Form("battles", columns, words=_words("", columns, roles))


def _one_hot(header: Sequence[str]) -> Form | None:
    pair = usual_pair(header)
    if pair is None:
        return None
    sides = [usual_column(header, [f"winner_{one}"]) for one in pair]
    found = (usual_column(header, [f"winner_{one}"]) for one in _TIED)
    ties = dict.fromkeys(column for column in found if column)
    if None in sides:
        return None
    outcomes = {f"outcome {k}": str(column) for k, column in enumerate([*sides, *ties])}
    return Form("one-hot", {"left": pair[0], "right": pair[1], **outcomes})


def _pairs(name: str, header: Sequence[str], roles: ComparisonRoles) -> Form | None:
    """The columns of a file of pairs; None where there are none."""
    found: dict[str, tuple[str, str]] = {}
    for column in header:
        parts = [part.strip() for part in _VERSUS.split(column)]
        if len(parts) < 2 or not all(parts):
            continue
        if len(parts) > 2 or form(parts[0]) == form(parts[1]):
            raise DataError(
                f"{name}: it is unclear which two items column {column!r} compares: name it by two different items "
                "with one 'vs' between"
            )
        found[column] = parts[0], parts[1]
    if not found:
        return None
    made = Form(
        "pairs",
        {f"pair {k}": column for k, column in enumerate(found)},
        tuple(found.values()),
        _told_words(name, roles) if roles.words else dict(WORDS),
    )
    try:
        public_items(made.items or ())
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    return made


def folded(cell: str) -> str:
    """A word of an outcome without case, and with blanks for underscores."""
    return " ".join(cell.replace("_", " ").casefold().split())
