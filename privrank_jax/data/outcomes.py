"""How comparisons are written: which columns hold the items, and what says which one is preferred.

*Winners*: a row names the preferred item and the other one. *Battles*: two items and, in a third column, the outcome,
as chatbot arenas (``model_a, model_b, winner``) and games have it. *Pairs*: a column such as ``Oslo vs Rome`` says
which of its two items each user preferred. *Tallies*: how often each of two items won, or of ``winner_model_a``,
``winner_model_b`` and ``winner_tie`` which one is 1. *Scores*: what each of them scored.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from privrank_jax.data.errors import DataError, listed
from privrank_jax.data.header import letters, usual_column, without
from privrank_jax.data.names import form, public_items
from privrank_jax.data.roles import ComparisonRoles

LEFT, RIGHT, TIE = range(3)
_BOTH: tuple[str, ...] = ("left", "right")
_OUTCOMES = ("winner", "outcome", "result", "preferred", "preference", "verdict", "judgment")
_PAIRS = ("model_a,model_b", "left,right", "item_a,item_b", "item_1,item_2", "option_a,option_b")
_SAID = (  # what a cell says of two items where it names neither, in every file, whatever other cells say
    "a,left,model a,item a,option a,1,1.0,w,win,won,1-0",
    "b,right,model b,item b,option b,0,0.0,l,loss,lost,0-1",
    "tie,draw,d,equal,0.5,.5,1/2-1/2,½-½,both bad,bothbad,tie (bothbad),tie (both bad),both equal",
)
WORDS = {word: side for side, words in enumerate(_SAID) for word in words.split(",")}
_AT_HOME = {"h": LEFT, "home": LEFT, "a": RIGHT, "away": RIGHT, "x": TIE}
_TIED = ("tie", "draw")
_VERSUS = re.compile(r"(?:\s+|_)(?:vs\.?|versus)(?:\s+|_)", re.IGNORECASE)

_FORMS = {  # the roles that each form needs, and those that it may have
    "winners": (("winner", "loser"), ("tie",)),
    "tallies": (("left", "right", "left_wins", "right_wins"), ("tie_count",)),
    "scores": (("left", "right", "left_score", "right_score"), ()),
    "battles": (("left", "right", "outcome"), ("tie", "words")),
    "pairs": ((), ("words",)),
}
_OF_ROWS = ("side", "covariate_group", "covariates", "time")  # where a row is one comparison


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a table of comparisons is read, by its header and what was told (``roles``) alone.

    Columns are by role; ``left`` and ``right`` are those of the items, but of pairs: ``pairs`` are the two items of
    each column. ``words`` say an outcome. The form is ``usual`` where usual names said so, rather than the caller.
    """

    kind: str
    columns: dict[str, str]
    roles: ComparisonRoles
    pairs: Sequence[tuple[str, ...]] = ()
    words: dict[str, int] = dataclasses.field(default_factory=dict)
    usual: bool = True

    @property
    def several(self) -> bool:
        """Whether a row is several comparisons."""
        return self.kind == "pairs" or (self.kind == "tallies" and not self.usual)

    @property
    def by_cells(self) -> bool:
        """Whether rows with the same items, outcome and tie say the same, but for their user."""
        beside = {"weight", "time", "side", "group"} & self.columns.keys()
        told = self.roles.count or self.roles.covariates or self.roles.blank
        return not (self.several or beside or told)

    @property
    def reading(self) -> str:
        """How such a file is read, in words that depend on its columns alone."""
        said = f", where cells hold {self.sides}; blanks say nothing" * bool(self.words)
        columns = ", ".join(map(repr, [*self.columns.values()][:12]))
        return f"columns {columns} hold {self.kind}{said}"

    @property
    def sides(self) -> str:
        """What says which item is preferred."""
        first = {side: word for word, side in reversed(self.words.items())}
        sides = enumerate(("the left one", "the right one", "a tie"))
        said = [f"{first[side]} for {of}" for side, of in sides if side in first]
        return "; ".join(["the item", *["its column"] * (self.kind == "battles"), *said])


def plan_of(name: str, header: Sequence[str], roles: ComparisonRoles) -> Plan:
    """Recognize how comparisons are written: as it was told, else by usual names; what is unclear is refused."""
    kept = without(name, header, roles.ignore)
    told, pair = {one for one, value in roles.told.items() if value is not None}, {*_BOTH}
    kind = next((one for one, (needs, _) in _FORMS.items() if told & {*needs} - pair), None)
    if kind or told & pair:
        plan = _told(name, kept, roles, kind or "battles")
    else:
        plan = _usual(name, kept, roles)
    needs, more = _FORMS[plan.kind]
    others = {one for form in _FORMS.values() for roles_of in form for one in roles_of}
    others |= {*(_OF_ROWS * plan.several), *["count"] * (plan.kind == "tallies" and plan.several)}
    if unused := sorted((others & told) - {*needs, *more}):
        raise DataError(f"{name} is read as {plan.kind}: leave out `{unused[0]}`, of no use there")
    columns = plan.columns | _covariate_roles(name, kept, plan)
    columns |= roles.find(kept, "weight", "time", *(one for one in more if one != "words"))
    return dataclasses.replace(plan, columns=columns)


def _covariate_roles(name: str, header: Sequence[str], plan: Plan) -> dict[str, str]:
    """The columns of ``side`` and ``group``, and of each covariate its own or one for each item."""
    roles, side = plan.roles, plan.roles.side
    pair = [plan.columns[one] for one in _BOTH if one in plan.columns]
    found = {"side": side, "group": roles.covariate_group}
    if side in pair and plan.kind != "winners":  # the item there was always shown first
        del found["side"]
    if found["group"] is not None and side is None:
        raise DataError(
            f"{name}: a group of judges changes the advantage of the item shown first: name its column by `side`"
        )
    for one in roles.covariates:
        of_items = [f"{column}_{one}" for column in pair]
        if (side is None or one not in header) and {*of_items} <= {*header}:
            found |= dict(zip((f"first {one}", f"second {one}"), of_items))
        elif side is None:
            raise DataError(
                f"{name}: column {one!r} does not say which item has more: name the column of the item shown first by "
                f"`side`, or give two columns, {listed(of_items)}"
            )
        else:
            found[f"covariate {one}"] = one
    return {one: column for one, column in found.items() if column is not None}


def _told(name: str, header: Sequence[str], roles: ComparisonRoles, kind: str) -> Plan:
    """The form of which at least one column was named."""
    usual = dict(zip(_BOTH, usual_pair(header) or ()))
    usual |= {"outcome": usual_column(header, _OUTCOMES), **roles.find(header, "winner", "loser")}
    columns = {one: getattr(roles, one) or usual.get(one) for one in _FORMS[kind][0]}
    if lacking := [one for one, column in columns.items() if column is None]:
        raise DataError(f"{name}: name the column `{lacking[0]}` too; {_columns(header)}")
    columns = dict(zip((*_BOTH, *_FORMS[kind][0][2:]), map(str, columns.values())))
    words = _words(name, roles, columns["left"], columns["right"]) if kind == "battles" else {}
    return Plan(kind, columns, roles, words=words, usual=False)


def _usual(name: str, header: Sequence[str], roles: ComparisonRoles) -> Plan:
    """The form by usual names."""
    winners, pair = roles.find(header, "winner", "loser"), usual_pair(header)
    if len(winners) == 2:
        return Plan("winners", dict(zip(_BOTH, winners.values())), roles)
    found = [_pairs(name, header, roles)] if any(map(_VERSUS.search, header)) else []
    if pair is not None:
        columns, outcome = dict(zip(_BOTH, pair)), usual_column(header, _OUTCOMES)
        if outcome is not None and usual_column(header, ["loser"]) is None:
            columns["outcome"] = outcome
            found.append(Plan("battles", columns, roles, words=_words(name, roles, *pair)))
        marks = [usual_column(header, [f"winner_{one}"]) for one in (*pair, *_TIED)]
        if None not in marks[:2]:
            ties = [column for column in marks[2:] if column][:1]
            roles_of = [*_FORMS["tallies"][0], *["tie_count"] * len(ties)]
            columns = dict(zip(roles_of, map(str, (*pair, *marks[:2], *ties))))
            found.append(Plan("tallies", columns, roles))
    if len(found) > 1:
        raise DataError(
            f"{name}: it is unclear which columns say who was preferred: {'; or '.join(one.reading for one in found)}: "
            "`ignore` some, or name them"
        )
    if not found:
        raise DataError(
            f"{name} has no columns with usual names for comparisons; {_columns(header)}. Name `winner` and `loser`, "
            "or `left`, `right` and `outcome`, or `left_wins` and `right_wins`, or `left_score` and `right_score`"
        )
    return found[0]


def _columns(header: Sequence[str]) -> str:
    one = len(header) == 1 and {*";\t|,"} & {*header[0]}
    hint = "; if another character separates them, say which, such as separator='|'" * bool(one)
    return f"the columns are {listed(header, 40)}{hint}"


def usual_pair(header: Sequence[str]) -> tuple[str, str] | None:
    """The columns of two items by their usual names; None unless there is exactly one such pair."""
    pairs = [[usual_column(header, [one]) for one in pair.split(",")] for pair in _PAIRS]
    found = [(one, other) for one, other in pairs if one is not None and other is not None]
    return found[0] if len(found) == 1 else None


def _pairs(name: str, header: Sequence[str], roles: ComparisonRoles) -> Plan:
    """The columns of a file of pairs."""
    found = {column: _VERSUS.split(column) for column in header if _VERSUS.search(column)}
    pairs = [tuple(map(str.strip, parts)) for parts in found.values()]
    for column, pair in zip(found, pairs):
        if len(pair) != 2 or len({"", *map(form, pair)}) != 3:
            raise DataError(f"{name}: name column {column!r} by two items, with one 'vs' between")
    public_items(sorted({item for pair in pairs for item in pair}))
    columns = {f"pair {k}": column for k, column in enumerate(found)}
    return Plan("pairs", columns, roles, pairs, _words(name, roles))


def _words(name: str, roles: ComparisonRoles, *pair: str) -> dict[str, int]:
    """The words for an outcome, the same for all files where none were told and no columns are home or numbered."""
    if roles.words:
        words = {folded(word): side for side, word in enumerate(roles.words)}
        if not 2 <= len(roles.words) == len(words) <= 3:
            raise DataError(f"{name}: `words` are for left, right and perhaps a tie, as H, A, D")
        return words
    words = dict(WORDS)
    if [letters(column)[:4] for column in pair] == ["home", "away"]:
        words = {word: side for word, side in words.items() if word != "b"} | _AT_HOME
    numbers = [re.findall("[0-9]+", column) for column in pair]
    differ = {both for both in zip(*numbers) if both[0] != both[1]}
    same = len(set(map(len, numbers))) == 1
    if same and differ in ({("0", "1")}, {("1", "0")}, {("1", "2")}):
        for side, number in enumerate(differ.pop()):
            words |= {number: side, f"{number}.0": side}
    for side, column in enumerate(pair):
        if words.setdefault(folded(column), side) != side:
            raise DataError(f"{name}: column {column!r} is named like the other side: rename it")
    return words


def folded(cell: str) -> str:
    """A word of an outcome without case, and with blanks for underscores."""
    return " ".join(cell.replace("_", " ").casefold().split())
