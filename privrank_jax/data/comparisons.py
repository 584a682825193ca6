"""Comparisons of pairs of items, and their reader; a faulty file is refused as a whole, with the place of the fault.

*Winners*: a row names the preferred item and the other one. *Battles*: two items and, in a third column, the outcome,
as chatbot arenas (``model_a, model_b, winner``) and games have it. *Pairs*: a column such as ``Oslo vs Rome`` says
which of its two items each user preferred. *Tallies*: how often each of two items won, or of ``winner_model_a``,
``winner_model_b`` and ``winner_tie`` which one is 1. *Scores*: what each of them scored.

A release with covariates under flips protects outcomes and takes everything else in the file as public. So columns must
not tell the outcome by where they stand: "how much longer the winner's answer was" would. Two forms are read. A column,
such as ``length``, beside a column of who was shown first (on the left, at home): how much more the *first* item has.
Or two columns, ``winner_length`` and ``loser_length``, which change places with the items if the outcome does. Where a
row names two items and an outcome, these are named after the columns of items: ``model_a_length``, ``model_b_length``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int, Integer, Shaped

from privrank_jax._counting import count_on_host
from privrank_jax.data.cells import count_of, mark_of, score_of, time_of, value_of, weight_of
from privrank_jax.data.columns import Column, Reading, Table
from privrank_jax.data.errors import BadCell, DataError, listed
from privrank_jax.data.header import letters, usual_column, without
from privrank_jax.data.kinds import Answers, named_once
from privrank_jax.data.names import Names, form, public_items
from privrank_jax.data.roles import ComparisonRoles, reader_of

if TYPE_CHECKING:
    from privrank_jax.comparisons import Comparisons as Arrays
    from privrank_jax.pairwise.covariates import CovariateTable

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

_LETTERS = frozenset("wldhx")  # words for an outcome, but where an item has this name
_BESIDE = {"weight": (weight_of, float), "time": (time_of, "datetime64[us]")}
_MOST_GROUPS = 200


@dataclasses.dataclass(frozen=True, eq=False)
class Covariates:
    """Covariates of N comparisons; items that come first do so whatever the outcome.

    Attributes:
        first, second: (N,) int, the item shown first, or where none was the first in the list of items; the other.
        values: name to (N,) numbers, of the first item against the second.
        sides: names of those that are the advantage of being shown first, 1 where it is one and 0 elsewhere.
        grouped: whether there is a column of groups of judges, however many it holds.
    """

    first: Int[np.ndarray, "rows"]
    second: Int[np.ndarray, "rows"]
    values: Mapping[str, Float[np.ndarray, "rows"]]
    sides: tuple[str, ...] = ()
    grouped: bool = False

    def taken(self, rows: Int[np.ndarray, "some"]) -> Covariates:
        """The same of these rows."""
        values = {name: column[rows] for name, column in self.values.items()}
        first, second = self.first[rows], self.second[rows]
        return dataclasses.replace(self, first=first, second=second, values=values)

    def __repr__(self) -> str:
        return f"<Covariates {', '.join(self.values)}; values not shown>"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Answers):
    """N comparisons of m named items by n users, as NumPy arrays that nothing writes to.

    Attributes:
        users: (N,) int32, index into ``user_names`` (the row number when the data name no users).
        winners, losers: (N,) int32, index into ``item_names``; for a tie the first item that was shown comes first.
        tied: (N,) bool, the user preferred neither.
        item_names: the m names, in the order of a public list, else sorted.
        questionnaire: (P, 2) int32, the pairs that *every* user was asked, when that is public; else None. It lists
            what was asked, not what was answered.
        weights: (N,) float64, at least 0, from ``weight_column``; None where each comparison counts once.
        covariates: of each comparison, or None.
        times: (N,) datetime64[us], UTC, or None.

    Where the data name no users, only a guarantee for single comparisons can be given. Arrays that do not fit together
    raise :class:`DataError`.

    >>> users, winners, losers, tied = [0, 0, 1], [0, 1, 0], [1, 2, 2], [False, False, True]
    >>> found = Comparisons(users, winners, losers, tied, item_names=("a", "b", "c"))
    >>> found.num_items, found.num_users, found.comparisons_per_user, found.ties
    (3, 2, 2, 1)
    """

    winners: Integer[np.ndarray, "rows"]
    losers: Integer[np.ndarray, "rows"]
    tied: Bool[np.ndarray, "rows"]
    item_names: tuple[str, ...]
    _: dataclasses.KW_ONLY
    questionnaire: Integer[np.ndarray, "pairs 2"] | None = None
    weights: Float[np.ndarray, "rows"] | None = None
    weight_column: str = ""
    covariates: Covariates | None = None
    times: Shaped[np.ndarray, "rows"] | None = None

    read = reader_of(ComparisonRoles)

    def __post_init__(self) -> None:
        super().__post_init__()
        types = {"users": np.int32, "winners": np.int32, "losers": np.int32, "tied": np.bool_}
        types |= {"questionnaire": np.int32, "weights": np.float64}
        given = {one: (getattr(self, one), dtype) for one, dtype in types.items()}
        self._freeze(**{k: np.array(x, d) for k, (x, d) in given.items() if x is not None})
        shapes = {a.shape for a in (self.users, self.winners, self.losers, self.tied)}
        if len(shapes) != 1 or self.users.ndim != 1:
            raise DataError(f"users, winners, losers and tied must share one shape (N,): {shapes}")
        if self.weights is not None:
            right = self.weights.shape == self.users.shape and np.all(np.isfinite(self.weights))
            if not right or self.weights.min(initial=0) < 0:
                raise DataError("weights must be finite numbers of at least 0, one for each row")
        public_items(self.item_names, self.name)
        asked = () if self.questionnaire is None else (self.questionnaire,)
        for items in (self.winners, self.losers, *asked):
            if items.min(initial=0) < 0 or items.max(initial=0) >= self.num_items:
                raise DataError(f"items must be given as indices 0 to {self.num_items - 1}")
        if np.any(self.winners == self.losers):
            raise DataError("an item is compared with itself: remove that row")
        if self.users.min(initial=0) < 0 or self.users.max(initial=-1) >= self.num_users:
            raise DataError("users must be indices into user_names")

    @property
    def ties(self) -> int:
        """Number of ties."""
        return int(self.tied.sum())

    def ties_of_pairs(self) -> Float[np.ndarray, "items items"]:
        """(m, m) symmetric, how many comparisons of each pair are ties. Private."""
        pairs = self.winners[self.tied], self.losers[self.tied]
        found = count_on_host(*pairs, self.num_items, None, None)
        return found + found.T

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone was shown, or one row where the data name no users. Private."""
        return named_once(self.item_names, self.users, self.winners, self.losers)

    def arrays(self) -> Arrays:
        """The same comparisons as a pytree of JAX arrays, no row masked."""
        import jax.numpy as jnp

        from privrank_jax.comparisons import Comparisons as Arrays

        columns = (self.users, self.winners, self.losers, self.tied, np.ones(len(self), bool))
        return Arrays(*map(jnp.asarray, columns), num_items=self.num_items)

    def covariate_table(
        self,
        bounds: dict[str, tuple[float, float]] | None = None,
        kept: Bool[np.ndarray, "rows"] | None = None,
        *,
        private: bool = False,
    ) -> CovariateTable:
        """The rows that are kept (default: all), as :func:`~privrank_jax.pairwise.covariate_table` makes it.

        Of covariates that are ``private`` each needs ``bounds``, but for the advantage of the first item.
        """
        from privrank_jax.pairwise import covariate_table

        if self.covariates is None:
            raise ValueError(f"{self.name} was read without covariates.")
        rows = np.arange(len(self)) if kept is None else np.flatnonzero(kept)
        found = self.covariates.taken(rows)
        return covariate_table(
            *(found.first, found.second),
            np.where(self.tied[rows], 0.5, found.first == self.winners[rows]),
            found.values,
            num_items=self.num_items,
            users=self.users[rows],
            bounds=dict.fromkeys(found.sides, (0.0, 1.0)) | (bounds or {}),
            private=private,
        )


# --- how comparisons are written ----------------------------------------------------------------------


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


# --- reading ------------------------------------------------------------------------------------------


def read_comparisons(table: Table, roles: ComparisonRoles, plan: Plan | None = None) -> Comparisons:
    """Read comparisons from an opened table; :class:`DataError` says what is wrong, and where."""
    plan = plan or plan_of(table.name, table.header, roles)
    columns = plan.columns
    reading = Reading(table, roles, columns)
    if plan.pairs and not reading.items.closed:
        items = tuple(sorted({item for pair in plan.pairs for item in pair}))
        reading.items = Names("item", items, roles.blank)
    if not reading.items.closed:
        reading.items.columns = {form(column) for column in table.header}
    if not plan.pairs:
        reading.leave_out_blanks("left", "right", "outcome")
    left, right, outcome = (_of_pairs if plan.pairs else _of_rows)(reading, plan)
    faults, cells = reading.faults, reading.cells
    beside = {one: faults.read(cells[one], *how) for one, how in _BESIDE.items() if one in cells}
    users, each = reading.settle("answers" if plan.several else "rows")
    names, place = reading.items.in_order()
    left, right = (np.array(place, np.int32)[side] for side in (left, right))
    covariates = _covariates(reading, names, left, right)
    turned, weight = outcome == RIGHT, columns.get("weight", "")
    notes = [f"each row has the weight in column {weight!r}"] * bool(weight)
    form_of = [plan.reading] * (plan.usual and plan.kind != "winners")
    return Comparisons(
        users=users,
        winners=np.where(turned, right, left)[each],
        losers=np.where(turned, left, right)[each],
        tied=(outcome == TIE)[each],
        weights=beside["weight"][each] if "weight" in beside else None,
        weight_column=weight,
        covariates=None if covariates is None else covariates.taken(each),
        times=beside["time"][each] if "time" in beside else None,
        **reading.facts(names, *form_of, notes=notes),
    )


def _covariates(
    reading: Reading, names: Sequence[str], first: np.ndarray, second: np.ndarray
) -> Covariates | None:
    """Covariates of the item shown first; ``first`` and ``second`` are places in the list ``names`` of items."""
    roles: Any = reading.roles
    faults, cells, side = reading.faults, reading.cells, roles.side
    if side is None and not roles.covariates:
        return None
    item = np.full(first.size, -1)  # that was shown first; -1 where neither was
    if side in (pair := [cells[one].name for one in ("left", "right")]):
        item = (first, second)[pair.index(side)]
    elif column := cells.get("side"):
        places = {"": -1} | {name.strip(): k for k, name in enumerate(names)}
        item = faults.read(column, lambda word: places.get(str(word or "").strip(), -2))
        what = "{} is neither of the two items: name the one shown first, or leave the cell blank"
        faults.where((item != first) & (item != second) & (item != -1), column, what)
    known = item >= 0
    ahead = np.where(known, item == first, first < second)
    values: dict[str, np.ndarray] = {}
    for one in roles.covariates:
        roles_of_one = (f"{role} {one}" for role in ("covariate", "first", "second"))
        several = [cells[role] for role in roles_of_one if role in cells]
        numbers = [faults.read(column, value_of, float) for column in several]
        if len(several) == 1:
            what = "which item was shown first is blank, so the sign of the number is not known"
            faults.where(~known, several[0].name, what)
            values[one] = numbers[0]
        else:  # adding 0 makes the difference of equal values 0 whoever won, and never -0
            values[one] = np.where(ahead, 1.0, -1.0) * (numbers[0] - numbers[1]) + 0.0
    at, sides = np.zeros(first.size, int), [str(side)] * (side is not None)
    if group := cells.get("group"):
        faults.where(group.among({""}), group.name, "blank: name the group")
        kinds = sorted({str(word or "").strip() for _, _, word in group.in_order()})
        if len(kinds) > _MOST_GROUPS:
            raise DataError(f"{reading.table.name}: more than {_MOST_GROUPS} groups of judges")
        at = faults.read(group, lambda word: kinds.index(str(word or "").strip()))
        sides = [f"{side}, {kind}" for kind in kinds]
    values |= {one: (known & (at == k)).astype(float) for k, one in enumerate(sides)}
    faults.stop()
    items = np.where(ahead, first, second), np.where(ahead, second, first)
    return Covariates(*items, values, tuple(sides), grouped="group" in cells)


def _of_rows(reading: Reading, plan: Plan) -> tuple[np.ndarray, ...]:
    """Codes of the two items and outcomes, where a row names two items; it may count several times."""
    faults, cells = reading.faults, reading.cells
    first, second = faults.named([cells["left"], cells["right"]], reading.items)
    what = "an item is compared with itself: correct or remove the row"
    faults.where(first == second, cells["right"].name, what)
    tied = np.zeros(first.size, bool)
    if "tie" in cells:
        tied = faults.read(cells["tie"], mark_of).astype(bool)
    if plan.kind == "winners":
        return first, second, np.where(tied, TIE, LEFT)
    if plan.kind == "battles":
        return first, second, _outcomes(reading, plan, cells["outcome"], (first, second), tied)
    if plan.kind == "scores":
        both = (cells[one] for one in ("left_score", "right_score"))
        one, other = (faults.read(column, score_of, float) for column in both)
        better = np.where(one > other, LEFT, RIGHT)
        return first, second, np.where(one == other, TIE, better)
    counts = [cells[one] for one in ("left_wins", "right_wins", "tie_count") if one in cells]
    number = np.stack([faults.read(one, count_of, np.int64) for one in counts], axis=1)
    if not plan.several:
        what = f"one of {listed(column.name for column in counts)} must be 1, the others 0"
        faults.where(number.sum(axis=1) != 1, counts[0].name, what)
    rows, outcome = np.nonzero(number)
    reading.take(rows)
    reading.number = number[rows, outcome] * (1 if reading.number is None else reading.number)
    return first[rows], second[rows], outcome


def _of_pairs(reading: Reading, plan: Plan) -> tuple[np.ndarray, ...]:
    """The same of a column for each pair: a blank is no answer, nor is a word that was said to be blank."""
    columns, names = reading.several("pair"), reading.items
    reading.faults.some_key(columns)
    rows, answers = np.nonzero(~np.stack([one.among({"", *names.blank}) for one in columns], 1))
    try:
        codes = np.array([[names[item] for item in pair] for pair in plan.pairs])
    except BadCell as error:
        raise DataError(f"{reading.table.name}: {error}") from None
    first, second = codes[answers].T
    reading.take(rows)
    starts = np.cumsum([0, *(len(one.words) for one in columns)])
    cells = np.stack([one.codes + start for one, start in zip(columns, starts)], axis=1)
    names_of = np.array([column.name for column in columns])[answers]
    said = Column(names_of, cells[rows, answers], [word for one in columns for word in one.words])
    return first, second, _outcomes(reading, plan, said, (first, second))


def _outcomes(
    reading: Reading, plan: Plan, said: Column, pair: tuple[np.ndarray, ...], tied: Any = False
) -> np.ndarray:
    """Outcomes of pairs of items that are ``said`` in words, or by the name of an item or a column."""
    names, faults, (left, right) = reading.items, reading.faults, pair
    spellings, known = {form(name) for name in names}, []
    for text in (word if isinstance(word, str) else "" for word in said.words):
        word, like = folded(text), form(text) in spellings
        outcome = -1 if like and word in _LETTERS else plan.words.get(word, -1)
        known.append((outcome, names.get(text, -1), like))
    word, item, like = np.array(known, np.int64).reshape(-1, 3)[said.codes].T
    by_item = np.where(item == left, LEFT, np.where(item == right, RIGHT, -1))
    found = np.where(by_item < 0, word, by_item)
    found = np.where(tied & said.among({""}), TIE, found)
    hint = f"write {plan.sides}; or give `words`, `blank` ones, a column `tie`"
    faults.where(found < 0, said, f"{{}} does not say which item is preferred: {hint}")
    what = "{} names an item and is also a word for an outcome: rename the item in the whole file"
    faults.where((like == 1) & (word >= 0) & (word != by_item), said, what)
    what = "{} is no tie, and another column marks one: correct one of them"
    faults.where(tied & (found != TIE), said, what)
    return found
