"""Comparisons of pairs of items, and their reader; a faulty file is refused as a whole, with the place of the fault.

A release with covariates under flips protects outcomes and takes everything else in the file as public. So columns must
not tell the outcome by where they stand: "how much longer the winner's answer was" would. Two forms are read. A column,
such as ``length``, beside a column of who was shown first (on the left, at home): how much more the *first* item has.
Or two columns, ``winner_length`` and ``loser_length``, which change places with the items if the outcome does. Where a
row names two items and an outcome, these are named after the columns of items: ``model_a_length``, ``model_b_length``.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int, Integer, Shaped

from privrank_jax._counting import count_on_host
from privrank_jax.data.cells import count_of, mark_of, score_of, time_of, value_of, weight_of
from privrank_jax.data.columns import Column, Table
from privrank_jax.data.errors import BadCell, DataError, listed
from privrank_jax.data.kinds import Answers, named_once
from privrank_jax.data.names import Names, form, public_items
from privrank_jax.data.outcomes import LEFT, RIGHT, TIE, Plan, folded, plan_of
from privrank_jax.data.reading import Reading
from privrank_jax.data.roles import ComparisonRoles, reader_of

if TYPE_CHECKING:
    from privrank_jax.comparisons import Comparisons as Arrays
    from privrank_jax.pairwise.covariates import CovariateTable

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
    left, right = np.array(place)[left], np.array(place)[right]
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
        wrong = (item != first) & (item != second) & (item != -1)
        faults.where(wrong, column.name, functools.partial(column.quoted, what))
    known = item >= 0
    ahead = np.where(known, item == first, first < second)
    values: dict[str, np.ndarray] = {}
    for one in roles.covariates:
        roles_of_one = (f"{role} {one}" for role in ("covariate", "first", "second"))
        several = [cells[role] for role in roles_of_one if role in cells]
        numbers = [faults.read(column, value_of, float) for column in several]
        if len(several) == 1:
            what = "which item was shown first is blank, so the sign of the number is not known"
            faults.where(~known, several[0].name, lambda _: what)  # noqa: B023
            values[one] = numbers[0]
        else:  # adding 0 makes the difference of equal values 0 whoever won, and never -0
            values[one] = np.where(ahead, 1.0, -1.0) * (numbers[0] - numbers[1]) + 0.0
    at, sides = np.zeros(first.size, int), [str(side)] * (side is not None)
    if group := cells.get("group"):
        faults.where(group.among({""}), group.name, lambda _: "blank: name the group")
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
    faults.where(first == second, cells["right"].name, lambda _: what)
    tied = np.zeros(first.size, bool)
    if "tie" in cells:
        tied = faults.read(cells["tie"], mark_of).astype(bool)
    if plan.kind == "winners":
        return first, second, np.where(tied, TIE, LEFT)
    if plan.kind == "battles":
        said = cells["outcome"]
        return first, second, _outcomes(reading, plan, said, said.name, (first, second), tied)
    if plan.kind == "scores":
        both = (cells[one] for one in ("left_score", "right_score"))
        one, other = (faults.read(column, score_of, float) for column in both)
        better = np.where(one > other, LEFT, RIGHT)
        return first, second, np.where(one == other, TIE, better)
    counts = [cells[one] for one in ("left_wins", "right_wins", "tie_count") if one in cells]
    number = np.stack([faults.read(one, count_of, np.int64) for one in counts], axis=1)
    if not plan.several:
        what = f"one of {listed(column.name for column in counts)} must be 1, the others 0"
        faults.where(number.sum(axis=1) != 1, counts[0].name, lambda _: what)
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
    words = list(dict.fromkeys(word for column in columns for word in column.words))
    places = {word: k for k, word in enumerate(words)}
    of_columns = [
        np.array([places[word] for word in one.words], np.int64)[one.codes] for one in columns
    ]
    said = Column("", np.stack(of_columns, axis=1)[rows, answers], words)
    of = np.array([column.name for column in columns])[answers]
    return first, second, _outcomes(reading, plan, said, of, (first, second))


def _outcomes(
    reading: Reading,
    plan: Plan,
    said: Column,
    at: str | np.ndarray,
    items: tuple[np.ndarray, np.ndarray],
    tied: Any = False,
) -> np.ndarray:
    """Outcomes that are ``said`` in words, or by the name of an item or a column; ``at`` are the columns of rows."""
    names, faults, (left, right) = reading.items, reading.faults, items
    spellings, known = {form(name) for name in names}, []
    for text in (word if isinstance(word, str) else "" for word in said.words):
        word, like = folded(text), form(text) in spellings
        outcome = -1 if like and word in _LETTERS else plan.words.get(word, -1)
        known.append((outcome, names.get(text, -1), like))
    word, item, like = np.array(known, np.int64).reshape(-1, 3)[said.codes].T
    by_item = np.where(item == left, LEFT, np.where(item == right, RIGHT, -1))
    found = np.where(by_item < 0, word, by_item)
    found = np.where(tied & said.among({""}), TIE, found)
    hint = f" does not say which item is preferred: write {plan.sides}; or give `words`, `blank` ones, a column `tie`"
    faults.where(found < 0, at, lambda row: said.quoted("{}", row) + hint)
    what = "{} names an item and is also a word for an outcome: rename the item in the whole file"
    clash = (like == 1) & (word >= 0) & (word != by_item)
    faults.where(clash, at, functools.partial(said.quoted, what))
    what = "{} is no tie, and another column marks one: correct one of them"
    faults.where(tied & (found != TIE), at, functools.partial(said.quoted, what))
    return found
