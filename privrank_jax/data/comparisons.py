"""Comparisons of pairs of items, and their reader; a faulty file is refused as a whole, with the place of the fault."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Integer, Shaped

from privrank_jax._counting import count_on_host
from privrank_jax.data.cells import count_of, mark_of, score_of, time_of, weight_of
from privrank_jax.data.columns import Column, Faults, Table
from privrank_jax.data.covariates import Covariates, read_covariates
from privrank_jax.data.errors import BadCell, DataError, listed
from privrank_jax.data.kinds import Answers, named_once
from privrank_jax.data.names import Names, check_names, form
from privrank_jax.data.outcomes import LEFT, RIGHT, TIE, Plan, folded, items_of, plan_of
from privrank_jax.data.reading import Reading
from privrank_jax.data.roles import ComparisonRoles, reader_of

if TYPE_CHECKING:
    from privrank_jax.comparisons import Comparisons as Arrays
    from privrank_jax.pairwise.covariates import CovariateTable

_LETTERS = frozenset("wldhx")  # words for an outcome, but where an item has this name


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Answers):
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
        check_names(self.item_names)
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
        """(m, m) symmetric, how many comparisons of each pair are ties. Private.

        >>> Comparisons([0, 0], [0, 1], [1, 0], [True, False], ("a", "b")).ties_of_pairs().tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
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


# --- reading -------------------------------------------------------------------------------------------


def read_comparisons(table: Table, roles: ComparisonRoles) -> Comparisons:
    """Read comparisons from an opened table."""
    return read_planned(table, plan_of(table.name, table.header, roles))


def read_planned(table: Table, plan: Plan) -> Comparisons:
    """Read the columns of a plan."""
    roles, columns = plan.roles, plan.columns
    reading = Reading(table, roles, columns)
    if plan.pairs and not reading.items.closed:
        reading.items = Names("item", items_of(plan.pairs), (), roles.blank)
    if not reading.items.closed:
        reading.items.columns = {form(column) for column in table.header}
    if plan.kind != "pairs":
        leave_out_blanks(reading, "left", "right", "outcome")
    faults, cells = reading.faults, reading.cells
    weights = faults.read(cells["weight"], weight_of, float) if "weight" in cells else None
    times = faults.read(cells["time"], time_of, "datetime64[us]") if "time" in cells else None
    rows, left, right, outcome, number = (_of_pairs if plan.pairs else _of_rows)(reading, plan)
    users = reading.read_users(rows if plan.several else None)
    reading.stop(rows.size, "answers" if plan.several else "rows")
    names, place = reading.items.in_order()
    left, right = np.array(place)[left], np.array(place)[right]
    covariates = read_covariates(reading, names, left, right)
    each: Any = slice(None)
    if number is not None or reading.number is not None:
        once = np.ones(rows.size, np.int64) if number is None else number
        once = once if reading.number is None else once * reading.number[rows]
        each = reading.repeated(once, users)
    rows, turned = rows[each], outcome == RIGHT
    weight = columns.get("weight", "")
    notes = [f"each row has the weight in column {weight!r}"] * bool(weight)
    return Comparisons(
        users=np.arange(rows.size) if users is None else users[each],
        winners=np.where(turned, right, left)[each],
        losers=np.where(turned, left, right)[each],
        tied=(outcome == TIE)[each],
        weights=None if weights is None else weights[rows],
        weight_column=weight,
        covariates=None if covariates is None else covariates.taken(each),
        times=None if times is None else times[rows],
        **reading.facts(
            names, *[plan.reading] * (plan.usual and plan.kind != "winners"), notes=notes
        ),
    )


def leave_out_blanks(reading: Reading, *roles: str) -> None:
    """Leave out rows with a cell of one of these roles that is one of the words that were said to be blank."""
    if blank := reading.items.blank:
        columns = [reading.cells[one] for one in roles if one in reading.cells]
        gone = np.any([_one_of(column, blank) for column in columns], axis=0)
        reading.take(np.flatnonzero(~gone))


def _one_of(column: Column, words: set[str]) -> np.ndarray:
    """Which cells are one of these words, however it is spelled; "" is a blank."""
    found = [not isinstance(one, tuple) and form(one or "") in words for one in column.words]
    return np.array(found, bool)[column.codes]


_Met = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]
"""Rows, the codes of the items that met, LEFT, RIGHT or TIE, and how often that counts (None: once)."""


def _of_rows(reading: Reading, plan: Plan) -> _Met:
    """Comparisons of the two items that each row names."""
    faults, cells = reading.faults, reading.cells
    first, second = faults.named([cells["left"], cells["right"]], reading.items)
    what = "an item is compared with itself: correct or remove the row"
    faults.where(first == second, cells["right"].name, lambda _: what)
    rows, tied = np.arange(first.size), np.zeros(first.size, bool)
    if "tie" in cells:
        tied = faults.read(cells["tie"], mark_of).astype(bool)
    if plan.kind == "winners":
        return rows, first, second, np.where(tied, TIE, LEFT), None
    if plan.kind == "battles":
        meaning, pair = _meanings(plan, reading.items), (first, second)
        return rows, *pair, _said(faults, plan, meaning, cells["outcome"], pair, tied), None
    if plan.kind == "scores":
        both = (cells[one] for one in ("left_score", "right_score"))
        one, other = (faults.read(column, score_of, float) for column in both)
        better = np.where(one > other, LEFT, RIGHT)
        return rows, first, second, np.where(one == other, TIE, better), None
    one_hot = plan.kind == "one-hot"
    counts = [cells[one] for one in ("left_wins", "right_wins", "tie_count") if one in cells]
    columns = reading.several("outcome") or counts
    reader = functools.partial(mark_of, what="this is the outcome") if one_hot else count_of
    number = np.stack([faults.read(column, reader, np.int64) for column in columns], axis=1)
    if one_hot:
        what = f"one of {listed(column.name for column in columns)} must be 1, the others 0"
        faults.where(number.sum(axis=1) != 1, columns[0].name, lambda _: what)
        return rows, first, second, np.minimum(np.argmax(number, axis=1), TIE), None
    at, outcome = np.nonzero(number)
    return rows[at], first[at], second[at], outcome, number[at, outcome]


def _of_pairs(reading: Reading, plan: Plan) -> _Met:
    """A comparison for each column with an answer: a blank is none, nor is a word that was said to be blank."""
    columns, names, faults = reading.several("pair"), reading.items, reading.faults
    faults.some_key(columns)
    rows, answers = np.nonzero(~np.stack([_one_of(one, {"", *names.blank}) for one in columns], 1))
    try:
        codes = np.array([[names[item] for item in pair] for pair in plan.pairs])
    except BadCell as error:
        raise DataError(f"{reading.table.name}: {error}") from None
    first, second = codes[answers].T
    outcome, meaning = np.zeros(rows.size, np.int64), _meanings(plan, names)
    for k, column in enumerate(columns):
        mine = np.flatnonzero(answers == k)
        part = faults.part(rows[mine])
        cells, pair = column.take(rows[mine]), (first[mine], second[mine])
        outcome[mine] = _said(part, plan, meaning, cells, pair)
        faults.join(part)
    return rows, first, second, outcome, None


def _meanings(plan: Plan, items: Names) -> Callable[[Any], tuple[int, int, bool]]:
    """From a word: the outcome that it is for, the item that it names, -1: none, whether it is like an item's name."""
    spellings = {form(name) for name in items}

    def of(word: Any) -> tuple[int, int, bool]:
        word = word if isinstance(word, str) else ""
        said, like = folded(word), form(word) in spellings
        outcome = -1 if like and said in _LETTERS else plan.words.get(said, -1)
        return outcome, items.get(word, -1), like

    return of


def _said(
    faults: Faults,
    plan: Plan,
    meaning: Callable[[Any], tuple[int, int, bool]],
    column: Column,
    pair: tuple[np.ndarray, np.ndarray],
    tied: np.ndarray | bool = False,
) -> np.ndarray:
    """Outcomes that are said in words, or by the name of an item or a column."""
    known = np.array([meaning(word) for word in column.words], np.int64).reshape(-1, 3)
    word, item, like = known[column.codes].T
    by_item = np.where(item == pair[0], LEFT, np.where(item == pair[1], RIGHT, -1))
    said = np.where(by_item < 0, word, by_item)
    said = np.where(tied & _one_of(column, {""}), TIE, said)

    def unknown(row: int) -> str:
        cell = column.quoted("{}", row)
        return (
            f"{cell} does not say which of the two items is preferred: write {plan.sides}; give other words by `words`, "
            f"say blank=[{cell}] if it gives no answer, or name the column that marks ties by `tie`, or those of counts "
            "of wins by `left_wins` and `right_wins`"
        )

    faults.where(said < 0, column.name, unknown)
    what = "{} is the name of an item and also a word for an outcome: rename the item in the whole file"
    clash = (like == 1) & (word >= 0) & (word != by_item)
    faults.where(clash, column.name, functools.partial(column.quoted, what))
    what = "{} is no tie, and another column marks one: correct one of them"
    faults.where(tied & (said != TIE), column.name, functools.partial(column.quoted, what))
    return said
