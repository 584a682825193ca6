"""How comparisons are written: which columns hold the items, and what says which one is preferred.

*Winners*: a row names the preferred item and the other one. *Battles*: two items and, in a third column, the outcome,
as chatbot arenas (``model_a, model_b, winner``) and games have it. *One-hot*: ``winner_model_a``, ``winner_model_b``
and ``winner_tie`` are 1 or 0, one of them 1. *Pairs*: a column such as ``Oslo vs Rome`` says which of its two items
each user preferred. *Tallies*: how often each of two items won. *Scores*: what each of them scored.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence

from privrank_jax.data.covariates import covariate_roles
from privrank_jax.data.errors import DataError, listed
from privrank_jax.data.header import letters, usual_column, without
from privrank_jax.data.names import form, item_list, public_items
from privrank_jax.data.roles import ComparisonRoles

LEFT, RIGHT, TIE = range(3)
_OUTCOMES = ("winner", "outcome", "result", "preferred", "preference", "verdict", "judgment")
_PAIRS = (
    ("model_a", "model_b"),
    ("left", "right"),
    ("item_a", "item_b"),
    ("item_1", "item_2"),
    ("option_a", "option_b"),
)
_SAID = (  # what a cell says of two items where it names neither, in every file, whatever other cells say
    "a,left,model a,item a,option a,1,1.0,w,win,won,1-0",
    "b,right,model b,item b,option b,0,0.0,l,loss,lost,0-1",
    "tie,draw,d,equal,0.5,.5,1/2-1/2,½-½,both bad,bothbad,tie (bothbad),tie (both bad),both equal",
)
WORDS = {word: side for side, words in enumerate(_SAID) for word in words.split(",")}
_AT_HOME = {"h": LEFT, "home": LEFT, "a": RIGHT, "away": RIGHT, "x": TIE}
_TIED = ("tie", "draw", "tie_bothbad", "tie_both_bad", "both_bad")
_VERSUS = re.compile(r"(?:\s+|_)(?:vs\.?|versus)(?:\s+|_)", re.IGNORECASE)

_TAKES = {  # the roles of each form; those of the first four may be told
    "winners": ("winner", "loser", "tie"),
    "tallies": ("left", "right", "left_wins", "right_wins", "tie_count"),
    "scores": ("left", "right", "left_score", "right_score"),
    "battles": ("left", "right", "outcome", "tie", "words"),
    "one-hot": (),
    "pairs": ("words",),
}
_OPTIONAL = {"tie", "tie_count", "words"}
_SEVERAL = ("pairs", "tallies")  # a row is several comparisons
_OF_ROWS = {"side", "covariate_group", "covariates", "time"}


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a table of comparisons is read, by its header and what was told alone.

    Attributes:
        kind: ``"winners"``, ``"battles"``, ``"one-hot"``, ``"pairs"``, ``"tallies"`` or ``"scores"``.
        columns: by role; ``left`` and ``right`` are those of the items, but of pairs.
        roles: what was told.
        pairs: of pairs, the two items of each column.
        words: that say an outcome.
        usual: whether usual names said so, rather than the caller.
    """

    kind: str
    columns: dict[str, str]
    roles: ComparisonRoles
    pairs: Sequence[tuple[str, str]] = ()
    words: dict[str, int] = dataclasses.field(default_factory=dict)
    usual: bool = True

    @property
    def several(self) -> bool:
        """Whether a row is several comparisons."""
        return self.kind in _SEVERAL

    @property
    def by_cells(self) -> bool:
        """Whether rows with the same items, outcome and tie say the same, but for their user."""
        beside = {"weight", "time", "side", "group"} & self.columns.keys()
        told = self.roles.count or self.roles.covariates or self.roles.blank
        return not (self.several or beside or told)

    @property
    def outcomes(self) -> list[str]:
        """The roles of the columns that say or count outcomes."""
        known = ("outcome", "left_wins", "right_wins", "tie_count")
        return [one for one in self.columns if one.partition(" ")[0] in known]

    @property
    def reading(self) -> str:
        """How such a file is read, in words that depend on its columns alone."""
        said = f", where cells hold {self.sides}; blanks say nothing" * bool(self.words)
        return f"columns {listed(self.columns.values())} hold {self.kind}{said}"

    @property
    def sides(self) -> str:
        """What says which item is preferred."""
        found = ["the item"] + ["the name of its column"] * (self.kind == "battles")
        for side, of in enumerate(("the left one", "the right one", "a tie")):
            words = [word for word, known in self.words.items() if known == side]
            found += [f"{', '.join(words[:3])} for {of}"] * bool(words)
        return "; ".join(found)


def plan_of(name: str, header: Sequence[str], roles: ComparisonRoles) -> Plan:
    """Recognize how comparisons are written: as it was told, else by usual names.

    Args:
        name: of the file, for messages.
        header: its columns.
        roles: what was told.

    Raises:
        DataError: it is unclear which columns say who was preferred, or something was told that this form does not use.
    """
    kept = without(name, header, roles.ignore)
    told = {one for one, value in roles.told.items() if value is not None}
    plan = _told(name, kept, roles, told) or _usual(name, kept, roles)
    unused = (_OPTIONAL | set().union(*_TAKES.values())) - set(_TAKES[plan.kind])
    unused |= _OF_ROWS if plan.several else set()
    unused |= {"count"} if plan.kind == "tallies" else set()
    if others := sorted(unused & told):
        raise DataError(
            f"{name} is read as {plan.kind}, which have no use for `{others[0]}`: leave it out"
        )
    columns = plan.columns | covariate_roles(name, kept, plan.kind, plan.columns, roles)
    columns |= roles.find(kept, "weight", "time")
    columns |= roles.find(kept, *({"tie", "tie_count"} & set(_TAKES[plan.kind])))
    return dataclasses.replace(plan, columns=columns)


def _told(name: str, header: Sequence[str], roles: ComparisonRoles, told: set[str]) -> Plan | None:
    """The form of which at least one column was named; None if none was."""
    for kind, takes in list(_TAKES.items())[:4]:
        needed = [one for one in takes if one not in _OPTIONAL]
        if not told & (set(needed) - ({"left", "right"} if kind != "battles" else set())):
            continue
        usual = dict(zip(("left", "right"), usual_pair(header) or ()))
        usual |= {"outcome": usual_column(header, _OUTCOMES)}
        usual |= roles.find(header, "winner", "loser")
        columns = {one: getattr(roles, one) or usual.get(one) for one in needed}
        if lacking := [one for one, column in columns.items() if column is None]:
            raise DataError(f"{name}: name the column `{lacking[0]}` too; {_columns(header)}")
        columns = dict(zip(("left", "right", *needed[2:]), map(str, columns.values())))
        words = _words(name, columns, roles) if kind == "battles" else {}
        return Plan(kind, columns, roles, words=words, usual=False)
    return None


def _usual(name: str, header: Sequence[str], roles: ComparisonRoles) -> Plan:
    """The form by usual names."""
    winners, pair = roles.find(header, "winner", "loser"), usual_pair(header)
    if len(winners) == 2:
        return Plan("winners", dict(zip(("left", "right"), winners.values())), roles)
    found = [_pairs(name, header, roles)] if any(map(_VERSUS.search, header)) else []
    if pair is not None:
        columns, outcome = dict(zip(("left", "right"), pair)), usual_column(header, _OUTCOMES)
        if outcome is not None and usual_column(header, ["loser"]) is None:
            columns["outcome"] = outcome
            found.append(Plan("battles", columns, roles, words=_words("", columns, roles)))
        every = [usual_column(header, [f"winner_{one}"]) for one in (*pair, *_TIED)]
        if None not in every[:2]:
            marks = enumerate(dict.fromkeys(column for column in every if column))
            columns = {"left": pair[0], "right": pair[1]} | {
                f"outcome {k}": one for k, one in marks
            }
            found.append(Plan("one-hot", columns, roles))
    if len(found) > 1:
        raise DataError(
            f"{name}: it is unclear which columns say who was preferred: {'; or '.join(one.reading for one in found)}. "
            "Leave columns out by `ignore`, or name them by `left`, `right` and `outcome`"
        )
    if not found:
        raise DataError(
            f"{name} has no columns with usual names for comparisons; {_columns(header)}. Name those of the preferred "
            "item and the other one by `winner` and `loser`; or of the two items by `left` and `right`, and with them "
            "`outcome` (which is preferred), `left_wins` and `right_wins` (how often each won), or `left_score` and "
            "`right_score` (the higher one wins)"
        )
    return found[0]


def _columns(header: Sequence[str]) -> str:
    if len(header) == 1 and any(sign in header[0] for sign in ";\t|,"):
        return f"its only column is {header[0]!r}: is it separated by another character? Say separator={'|'!r}"
    return f"the columns are {listed(header, 40)}"


def usual_pair(header: Sequence[str]) -> tuple[str, str] | None:
    """The columns of two items by their usual names; None unless there is exactly one such pair."""
    pairs = [[usual_column(header, [one]) for one in pair] for pair in _PAIRS]
    found = [(one, other) for one, other in pairs if one is not None and other is not None]
    return found[0] if len(found) == 1 else None


def _pairs(name: str, header: Sequence[str], roles: ComparisonRoles) -> Plan:
    """The columns of a file of pairs."""
    found = {column: _VERSUS.split(column.strip()) for column in header if _VERSUS.search(column)}
    for column, parts in found.items():
        if len(parts) != 2 or len({"", *map(form, parts)}) != 3:
            raise DataError(
                f"{name}: it is unclear which two items column {column!r} compares: name it by two different items "
                "with one 'vs' between"
            )
    try:
        public_items(items_of(map(str.strip, parts) for parts in found.values()))
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    columns = {f"pair {k}": column for k, column in enumerate(found)}
    words = _told_words(name, roles) if roles.words else dict(WORDS)
    return Plan("pairs", columns, roles, [(a.strip(), b.strip()) for a, b in found.values()], words)


def items_of(pairs: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The items of some pairs, sorted."""
    return item_list({item for pair in pairs for item in pair})


def _told_words(name: str, roles: ComparisonRoles) -> dict[str, int]:
    words = {folded(word): side for side, word in enumerate(roles.words)}
    if not 2 <= len(roles.words) == len(words) <= 3:
        raise DataError(
            f"{name}: `words` are those for left, right and, if there is a third, a tie, such as H, A, D, each another"
        )
    return words


def _words(name: str, columns: dict[str, str], roles: ComparisonRoles) -> dict[str, int]:
    """The words for an outcome, which depend on what is told and on the names of the columns alone.

    They are the same for all files, but that 0 and 1 say which column is preferred where the columns are numbered so,
    and that H and A are home and away where the columns are.
    """
    if roles.words:
        return _told_words(name, roles)
    words, pair = dict(WORDS), (columns["left"], columns["right"])
    if letters(pair[0]).startswith("home") and letters(pair[1]).startswith("away"):
        words = {word: side for word, side in words.items() if word != "b"} | _AT_HOME
    numbers = [re.findall("[0-9]+", column) for column in pair]
    differ = {both for both in zip(*numbers) if both[0] != both[1]}
    if len(numbers[0]) == len(numbers[1]) and differ in ({("0", "1")}, {("1", "0")}, {("1", "2")}):
        for side, number in enumerate(differ.pop()):
            words |= {number: side, f"{number}.0": side}
    for side, column in enumerate(pair):
        if words.setdefault(folded(column), side) != side:
            raise DataError(
                f"{name}: column {column!r} is named like another outcome than that of its side: rename it"
            )
    return words


def folded(cell: str) -> str:
    """A word of an outcome without case, and with blanks for underscores."""
    return " ".join(cell.replace("_", " ").casefold().split())
