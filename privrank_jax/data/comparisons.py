"""Comparisons of pairs of items, and their reader; a faulty file is refused as a whole.

No row is dropped unless its words were said to be blank, and no name is changed; anything that looks wrong raises an
error that says where it is.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Integer, Shaped

from privrank_jax._counting import count_on_host
from privrank_jax.data.cells import count_of, mark_of, number_of, score_of, time_of, weight_of
from privrank_jax.data.columns import Column, Table
from privrank_jax.data.covariates import Covariates, arranged, covariate_roles, read_covariates
from privrank_jax.data.errors import BadCell, DataError, quoted
from privrank_jax.data.header import without
from privrank_jax.data.kinds import Data, named_once
from privrank_jax.data.names import Names, check_names, form
from privrank_jax.data.outcomes import LEFT, RIGHT, TIE, Form, folded, form_of
from privrank_jax.data.reading import Reading
from privrank_jax.data.roles import ComparisonRoles, reader_of

if TYPE_CHECKING:
    from privrank_jax.comparisons import Comparisons as Arrays
    from privrank_jax.pairwise.covariates import CovariateTable

_LETTERS = frozenset("wldhx")  # words that are names of items where these stand in the row


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Data):
    """N comparisons of m named items by n users, as NumPy arrays that nothing writes to.

    Attributes:
        users: (N,) int32, index into ``user_names`` (the row number when the data name no users).
        winners: (N,) int32, index into ``item_names``; for a tie the first item that was shown.
        losers: (N,) int32, the other item.
        tied: (N,) bool, the user preferred neither.
        item_names: the m names, in the order of a public list, else sorted.
        questionnaire: (P, 2) int32, the pairs that *every* user was asked, when that is public; else None. It lists
            what was asked, not what was answered: see ``missing``.
        weights: (N,) float64, at least 0, or None where each comparison counts once.
        weight_column: the column that they come from.
        covariates: of each comparison, or None.
        times: (N,) datetime64[us], UTC, or None.

    Other attributes are those of all data. Where the data name no users, each row stands for itself, and only a
    guarantee for single comparisons can be given.

    Raises:
        DataError: arrays that do not fit together, an index out of range, an item compared with itself, fewer than two
            items, or an item named twice.

    >>> users, winners, losers, tied = [0, 0, 1], [0, 1, 0], [1, 2, 2], [False, False, True]
    >>> found = Comparisons(users, winners, losers, tied, item_names=("a", "b", "c"))
    >>> found.num_items, found.num_users, found.comparisons_per_user, found.ties
    (3, 2, 2, 1)
    """

    users: Integer[np.ndarray, "rows"]
    winners: Integer[np.ndarray, "rows"]
    losers: Integer[np.ndarray, "rows"]
    tied: Bool[np.ndarray, "rows"]
    item_names: tuple[str, ...]
    questionnaire: Integer[np.ndarray, "pairs 2"] | None = dataclasses.field(
        default=None, kw_only=True
    )
    weights: Float[np.ndarray, "rows"] | None = dataclasses.field(default=None, kw_only=True)
    weight_column: str = dataclasses.field(default="", kw_only=True)
    covariates: Covariates | None = dataclasses.field(default=None, kw_only=True)
    times: Shaped[np.ndarray, "rows"] | None = dataclasses.field(default=None, kw_only=True)

    read = reader_of(ComparisonRoles)

    def __post_init__(self) -> None:
        super().__post_init__()
        indices = {
            one: np.array(getattr(self, one), np.int32) for one in ("users", "winners", "losers")
        }
        self._freeze(**indices, tied=np.array(self.tied, np.bool_))
        if self.weights is not None:
            self._freeze(weights=np.array(self.weights, np.float64))
        if self.questionnaire is not None:
            self._freeze(questionnaire=np.array(self.questionnaire, np.int32).reshape(-1, 2))
        self._check()

    def _check(self) -> None:
        shapes = {a.shape for a in (self.users, self.winners, self.losers, self.tied)}
        if len(shapes) != 1 or self.users.ndim != 1:
            raise DataError(f"users, winners, losers and tied must share one shape (N,): {shapes}")
        if self.weights is not None:
            right = self.weights.shape == self.users.shape and np.all(np.isfinite(self.weights))
            if not right or self.weights.min(initial=0) < 0:
                raise DataError("weights must be finite numbers of at least 0, one for each row")
        check_names(self.item_names)
        asked = () if self.questionnaire is None else (self.questionnaire,)
        for items in (self.winners, self.losers, *asked):
            if items.size and (items.min() < 0 or items.max() >= self.num_items):
                raise DataError(f"items must be given as indices 0 to {self.num_items - 1}")
        if np.any(self.winners == self.losers):
            raise DataError("an item is compared with itself: remove that row")
        bound = len(self.user_names) or None
        if self.users.size and (self.users.min() < 0 or (bound and self.users.max() >= bound)):
            raise DataError("users must be indices into user_names")

    def __len__(self) -> int:
        return self.users.size

    @property
    def num_users(self) -> int:
        """Number n of users; those whose answers are all missing count too."""
        return len(self.user_names) or int(self.users.max(initial=-1)) + 1

    @property
    def counts_per_user(self) -> Int[np.ndarray, "users"]:
        """(n,) int64, comparisons of each user. Private: do not publish without noise."""
        return np.bincount(self.users, minlength=self.num_users)

    @property
    def comparisons_per_user(self) -> int:
        """The largest number of comparisons of one user, the smallest L that drops nothing."""
        return int(self.counts_per_user.max(initial=0))

    @property
    def ties(self) -> int:
        """Number of ties."""
        return int(self.tied.sum())

    def ties_of_pairs(self) -> Float[np.ndarray, "items items"]:
        """(m, m) symmetric, how many comparisons of each pair are ties. Private.

        >>> Comparisons([0, 0], [0, 1], [1, 0], [True, False], ("a", "b")).ties_of_pairs().tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        first, second = self.winners[self.tied], self.losers[self.tied]
        found = count_on_host(first, second, self.num_items, None, None)
        return found + found.T

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone was shown, or one row where the data name no users. Private."""
        return named_once(self.item_names, self.users, self.winners, self.losers)

    @property
    def missing(self) -> int | None:
        """Questions left unanswered, over all users; None without a questionnaire.

        The sensitivity 2 maxcut(G) of noisy counts holds while *which* questions a user answered is public. Where an
        answer may also vanish or appear, a pair inside a side of the cut can move the totals by 1, and the bound is
        maxcut(G) + P.
        """
        if self.questionnaire is None:
            return None
        return len(self.questionnaire) * self.num_users - len(self)

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
        """The rows that are kept, as :func:`~privrank_jax.pairwise.covariate_table` makes it.

        Args:
            bounds: name to (low, high), between which values are clipped.
            kept: (N,) bool; default: all rows.
            private: whether covariates are; each needs bounds then, but for the advantage of the first item.

        Raises:
            ValueError: there are no covariates, or as there.
        """
        from privrank_jax.pairwise import covariate_table

        if self.covariates is None:
            raise ValueError(f"{self.name} was read without covariates.")
        found, rows = self.covariates, np.ones(len(self), bool) if kept is None else kept
        outcomes = np.where(self.tied, 0.5, found.first == self.winners)
        return covariate_table(
            found.first[rows],
            found.second[rows],
            outcomes[rows],
            {name: column[rows] for name, column in found.values.items()},
            num_items=self.num_items,
            users=self.users[rows],
            bounds={**dict.fromkeys(found.sides, (0.0, 1.0)), **(bounds or {})},
            private=private,
        )


# --- reading -------------------------------------------------------------------------------------------


class Met(NamedTuple):
    """Pairs of items that were compared, in order.

    Attributes:
        rows: the row of each.
        first, second: codes of the items.
        outcome: ``LEFT``, ``RIGHT`` or ``TIE``.
        number: how often it counts; None: once.
    """

    rows: np.ndarray
    first: np.ndarray
    second: np.ndarray
    outcome: np.ndarray
    number: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which columns of a table of comparisons are read, by its header and what was told alone.

    Attributes:
        form: how comparisons are written.
        columns: roles to columns.
        roles: what was told.
    """

    form: Form
    columns: dict[str, str]
    roles: ComparisonRoles

    @property
    def by_cells(self) -> bool:
        """Whether rows with the same items, outcome and tie say the same, but for their user."""
        beside = {"weight", "time", "side", "group"} & self.columns.keys()
        rows = self.form.kind in ("pairs", "tallies") or self.roles.count
        return not (rows or beside or self.roles.covariates or self.roles.blank)


def plan_of(name: str, header: Sequence[str], roles: ComparisonRoles) -> Plan:
    """Recognize how comparisons are written.

    Raises:
        DataError: it is unclear, or columns are named that go together with no such form.
    """
    kept = without(name, header, roles.ignore)
    found = form_of(name, kept, roles)
    for one, forms in {"words": ("battles", "pairs"), "tie_count": ("tallies",)}.items():
        if getattr(roles, one) and found.kind not in forms:
            raise DataError(f"{name}: leave out `{one}`, for which a table of this form has no use")
    columns = dict(found.columns)
    several = found.kind in ("pairs", "tallies")
    if several and (roles.covariates or roles.side or roles.covariate_group or roles.time):
        raise DataError(
            f"{name}: a row is several comparisons, and covariates and times are read of each: write a row for each"
        )
    if found.kind == "tallies" and roles.count is not None:
        raise DataError(f"{name}: wins are counts already: leave out `count`")
    pair = [columns[one] for one in ("left", "right")] if found.kind != "pairs" else []
    if found.kind == "winners" and roles.side in pair:  # who was first would say who won
        raise DataError(f"{name}: column {roles.side!r} has two roles: name one column for each")
    columns |= covariate_roles(name, kept, pair, roles)
    columns |= roles.find(kept, *("weight", "time"))
    if found.kind in ("winners", "battles"):
        columns |= roles.find(kept, "tie")
    elif "tie" in roles.told and roles.tie is not None:
        raise DataError(f"{name}: outcomes say which comparisons are ties: leave out `tie`")
    return Plan(found, columns, roles)


def read_comparisons(table: Table, roles: ComparisonRoles) -> Comparisons:
    """Read comparisons from an opened table.

    Raises:
        DataError: what is wrong, where, and how to fix it.
    """
    return read_planned(table, plan_of(table.name, table.header, roles))


def read_planned(table: Table, plan: Plan) -> Comparisons:
    """Read the columns of a plan."""
    roles, written, name = plan.roles, plan.form, table.name
    reading = Reading(table, roles, plan.columns)
    faults, cells, items = reading.faults, reading.cells, reading.items
    if written.items is not None and not items.closed:
        reading.items = items = Names("item", written.items, roles.blank)
    if not items.closed:
        items.columns = {form(column) for column in table.header}
    if roles.blank and written.kind != "pairs":
        _leave_out_blanks(reading)
        faults, cells = reading.faults, reading.cells
    weights = faults.read(cells["weight"], weight_of, float) if "weight" in cells else None
    met, spoken = _MET[written.kind](reading, written)
    several = written.kind in ("pairs", "tallies")
    users = reading.read_users(met.rows if several else None)
    covariates = None
    if roles.covariates or roles.side is not None:
        both = [cells[one] for one in ("left", "right")]
        covariates = read_covariates(faults, cells, roles.covariates, roles.side, both)
    times = faults.read(cells["time"], time_of, "datetime64[us]") if "time" in cells else None
    reading.stop(met.rows.size, "answers" if several else "rows")
    _check_words(name, spoken, items)
    names, place = items.in_order()
    first, second = (np.array(place)[codes] for codes in (met.first, met.second))
    each: Any = slice(None)
    if reading.number is not None or met.number is not None:
        once = np.ones(met.rows.size, np.int64) if met.number is None else met.number
        once = once if reading.number is None else once * reading.number[met.rows]
        each = reading.repeated(once, users)
    if covariates is not None:
        shown, numbers, groups = covariates
        covariates = arranged(name, first, second, shown, numbers, groups, roles.side).taken(each)
    turned = met.outcome == RIGHT
    winners = np.where(turned, second, first)[each]
    notes = (
        ()
        if weights is None
        else (f"each row has the weight in column {plan.columns['weight']!r}",)
    )
    return Comparisons(
        users=np.arange(winners.size) if users is None else users[each],
        winners=winners,
        losers=np.where(turned, first, second)[each],
        tied=(met.outcome == TIE)[each],
        weights=None if weights is None else weights[met.rows][each],
        weight_column=plan.columns.get("weight", ""),
        covariates=covariates,
        times=None if times is None else times[met.rows][each],
        **reading.facts(names, *(written.reading if written.usual else ()), notes=notes),
    )


def _leave_out_blanks(reading: Reading) -> None:
    """Leave out rows in which an item or the outcome is one of the words that were said to be blank."""
    blank, gone = reading.items.blank, np.zeros(reading.size, bool)
    for one in ("left", "right", "outcome"):
        if column := reading.cells.get(one):
            gone |= np.array([form(str(word or "")) in blank for word in column.words], bool)[
                column.codes
            ]
    if gone.any():
        reading.take(np.flatnonzero(~gone))


def _pair_of_row(reading: Reading) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows, and the codes of the two items of each."""
    left, right = (reading.cells[one] for one in ("left", "right"))
    first, second = reading.faults.named([left, right], reading.items)
    what = functools.partial(
        right.quoted, "item {} is compared with itself: correct or remove the row"
    )
    reading.faults.where(first == second, right.name, what)
    return np.arange(first.size), first, second


def _tied(reading: Reading) -> np.ndarray:
    if "tie" not in reading.cells:
        return np.zeros(reading.size, bool)
    return reading.faults.read(reading.cells["tie"], mark_of).astype(bool)


def _winners(reading: Reading, _: Form) -> tuple[Met, set[str]]:
    pair = _pair_of_row(reading)
    return Met(*pair, np.where(_tied(reading), TIE, LEFT)), set()


def _battles(reading: Reading, written: Form) -> tuple[Met, set[str]]:
    rows, first, second = _pair_of_row(reading)
    tied = _tied(reading)
    outcome, spoken = _spoken(
        reading, reading.cells["outcome"], written, (first, second), tied=tied
    )
    return Met(rows, first, second, outcome), spoken


def _tallies(reading: Reading, written: Form) -> tuple[Met, set[str]]:
    rows, first, second = _pair_of_row(reading)
    roles = [one for one in ("left_wins", "right_wins", "tie_count") if one in written.columns]
    number = np.stack(
        [reading.faults.read(reading.cells[one], count_of, np.int64) for one in roles], axis=1
    )
    at, outcome = np.nonzero(number)
    return Met(rows[at], first[at], second[at], outcome, number[at, outcome]), set()


def _scores(reading: Reading, _: Form) -> tuple[Met, set[str]]:
    pair = _pair_of_row(reading)
    one, other = (
        reading.faults.read(reading.cells[role], score_of, float)
        for role in ("left_score", "right_score")
    )
    return Met(*pair, np.where(one == other, TIE, np.where(one > other, LEFT, RIGHT))), set()


def _one_hot(reading: Reading, _: Form) -> tuple[Met, set[str]]:
    pair, columns = _pair_of_row(reading), reading.several("outcome")

    def mark(cell: Any) -> int:
        try:
            return mark_of(cell)
        except BadCell:
            return 2  # which no row may have

    marks = np.stack([reading.faults.read(column, mark) for column in columns], axis=1)

    def message(row: int) -> str:
        cells = ", ".join(quoted(column.words[column.codes[row]]) for column in columns)
        names = ", ".join(repr(column.name) for column in columns)
        return f"one of the columns {names} must be 1 and the others 0, but they are {cells}: correct or remove the row"

    reading.faults.where(marks.sum(axis=1) != 1, columns[0].name, message)
    return Met(*pair, np.minimum(np.argmax(marks, axis=1), TIE)), set()


def _pairs(reading: Reading, written: Form) -> tuple[Met, set[str]]:
    """A blank is no answer in a file of pairs, nor is a word that was said to be blank."""
    columns, names, faults = reading.several("pair"), reading.items, reading.faults
    blank = {"", *names.blank}
    faults.some_key(columns)
    answered = np.stack(
        [
            np.array(
                [isinstance(word, tuple) or form(word or "") not in blank for word in column.words],
                bool,
            )[column.codes]
            for column in columns
        ],
        axis=1,
    )
    rows, answers = np.nonzero(answered)
    try:
        codes = np.array([[names[item] for item in pair] for pair in written.pairs])
    except BadCell as error:
        raise DataError(f"{reading.table.name}: {error}") from None
    first, second = codes[answers].T
    outcome, spoken = np.zeros(rows.size, np.int64), set()
    for k, column in enumerate(columns):
        mine = answers == k
        part = faults.part(rows[mine])
        pair = first[mine], second[mine]
        outcome[mine], words = _spoken(reading, column.take(rows[mine]), written, pair, faults=part)
        faults.join(part)
        spoken |= words
    return Met(rows, first, second, outcome), spoken


_MET = {
    "winners": _winners,
    "battles": _battles,
    "tallies": _tallies,
    "scores": _scores,
    "one-hot": _one_hot,
    "pairs": _pairs,
}


def _spoken(
    reading: Reading,
    column: Column,
    written: Form,
    pair: tuple[np.ndarray, np.ndarray],
    *,
    tied: np.ndarray | None = None,
    faults: Any = None,
) -> tuple[np.ndarray, set[str]]:
    """Outcomes that are said in words, or by the name of an item or a column; and the words."""
    faults = faults or reading.faults
    known = [
        written.words.get(folded(word), -1) if isinstance(word, str) else -1
        for word in column.words
    ]
    items = [reading.items.get(word, -1) if isinstance(word, str) else -1 for word in column.words]
    word, item = (np.array(one, np.int64)[column.codes] for one in (known, items))
    left, right = item == pair[0], item == pair[1]
    said = np.where(left, LEFT, np.where(right, RIGHT, word))
    tied = np.zeros(said.size, bool) if tied is None else tied
    said = np.where(tied & reading.blanks(column), TIE, said)
    faults.where(
        said < 0, column.name, lambda row: _unknown(column.words[column.codes[row]], written)
    )
    letter = np.array(
        [isinstance(one, str) and folded(one) in _LETTERS for one in column.words], bool
    )
    what = "{} is the name of an item and also a word for another outcome: rename the item in the whole file"
    clash = (left | right) & (word >= 0) & (word != said) & ~letter[column.codes]
    faults.where(clash, column.name, functools.partial(column.quoted, what))
    what = "{} is no tie, and another column marks one: correct one of them"
    faults.where(tied & (said != TIE), column.name, functools.partial(column.quoted, what))
    spoken = np.unique(column.codes[~(left | right) & (word >= 0)]).tolist()
    return said, {column.words[code] for code in spoken}


def _unknown(cell: Any, written: Form) -> str:
    if not str(cell or "").strip():
        return (
            "the outcome is missing: fill it in or remove the row, or name the column that marks ties by `tie`: a "
            "blank is a tie there"
        )
    wins = (
        "; if it counts wins, name the columns `left_wins` and `right_wins`"
        if number_of(str(cell))
        else ""
    )
    column = ""
    if written.kind == "battles":
        column = f" the name of its column ({written.columns['left']!r} or {written.columns['right']!r}),"
    return (
        f"{quoted(cell)} does not say which of the two items is preferred: write the item,{column} or {written.sides}; "
        f"give other words by `words`, or say blank=[{quoted(cell)}] if the row gives no answer{wins}"
    )


def _check_words(name: str, spoken: set[str], items: Iterable[str]) -> None:
    """Raise :class:`DataError` if an item has the name of a word that was read as an outcome of two others."""
    used = {form(word): word for word in sorted(spoken)}
    for item in items:
        if form(item) in used:
            raise DataError(
                f"{name}: the outcome {quoted(used[form(item)])} of two other items is also the name of an item: "
                "rename the item in the whole file"
            )
