r"""Rankings of least Kemeny score: by a proven search, by dynamic programming, by local search.

**Proven, on the host** (:func:`kemeny`), by linear and integer programming (HiGHS, through SciPy). *Components*: where
no item of B has a majority over any item of A, an optimal ranking puts A before B. So the strongly connected components
of the majorities are ranked separately, and their scores and bounds add up.

*Programs*: a ranking costs Σ_{i<j}
min(w_ij, w_ji), and the lead |w_ij − w_ji| of each pair ranked against its majority: one variable y for each pair. With
x_ij = 1 where i is before j, which is 1 − y or y, they describe a ranking if and only if x_ij + x_jk + x_ki <= 2 for
all i, j, k. These triangles are added when violated: first to the linear program, until none is, then to the integer
program. Local search improves the ranking nearest to each solution.

*Bounds* of the linear program are computed from
the multipliers of its triangles, which prove them whatever the accuracy of the solver. From those of the integer
program the tolerances of HiGHS are subtracted; leads are scaled so that these are about 1e-11 of the largest lead.

**Dynamic programming** over subsets (:func:`exact_kemeny`). Let c_ij = max(w_ij − w_ji, 0) be what ranking j before i
costs above the better order of the two. The best order of a set S placed first ends with some j in S, so best(S) =
min_j best(S∖j) + Σ_{i∈S} c_ji. Costs are rounded to integers (int32; int64 for float64) that sum to about 2^28 (2^50):
for these the minimum is exact, whatever the order of summation.

**Local search** over insertions (:func:`local_search`). With d_ij = w_ij − w_ji, moving item i to the gap before
position g changes the score by C_gi − C_rank(i),i, where C_gi = Σ d_ij over the items j that stand before position g:
one table holds all moves, and a move changes only its rows between the two places, by one row of d. The weights are
rounded to integers first: the table never drifts. A move is made if it lowers the integer score by more than m units,
the most that rounding may contribute, so there is no cycle of apparent improvements.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

from privrank_jax._types import MaskLike, PairMatrixLike, Ranks, RanksLike
from privrank_jax._validate import (
    as_ranks,
    check_matrix,
    check_no_padding,
    check_nonnegative,
    check_positive,
    check_shape,
    in_floats,
    is_traced,
)
from privrank_jax.aggregation.borda import borda_scores
from privrank_jax.aggregation.weights import PairWeights, shares_of
from privrank_jax.rankings import order_to_ranks, ranks_from_scores, ranks_to_order

MAX_ITEMS = 20
_SOLVERS = ("local search", "linear program", "integer program")
_LARGEST_LEAD, _TOLERANCE = 1e4, 1e-7  # in HiGHS; it takes a lead to be met within the tolerance
_VIOLATED, _ROUNDING, _OPTIMAL = 1e-6, 1e-13, 1e-9


@dataclass(frozen=True)
class ProvenRanking:
    """A ranking with a lower bound on the Kemeny score of all rankings."""

    ranks: Int[np.ndarray, "items"]  #: int32, 0 = best
    cost: float  #: the Kemeny score of the ranking
    lower_bound: float  #: no ranking has a lower one
    solver: str  #: the most expensive solver that was needed

    @property
    def ratio(self) -> float:
        """The score is at most this times the least one: 1 for an optimum, to nine digits, infinite without proof."""
        if self.cost <= self.lower_bound * (1 + _OPTIMAL):
            return 1.0
        return self.cost / self.lower_bound if self.lower_bound > 0 else math.inf


def kemeny(
    weights: PairWeights | PairMatrixLike, xi: float = 0.0, *, time_limit: float | None = 60.0
) -> ProvenRanking:
    """Find a ranking whose Kemeny score is provably at most 1 + ξ times the minimum, on the host.

    Votes are mostly proved in a fraction of a second; weights without any order stay open from about 30 items on.

    Args:
        weights: :class:`~privrank_jax.aggregation.PairWeights` without padding, or a plain ``(m, m)`` matrix, >= 0.
        xi: how far from the optimum the ranking may be, >= 0; 0 asks for an optimum.
        time_limit: in seconds; at the limit ``ratio`` says what is proved of the best ranking so far. None: no limit.

    Returns:
        :class:`ProvenRanking`.

    Raises:
        ValueError: weights that are not a square matrix of finite numbers >= 0, ξ < 0, a limit that is not positive.

    >>> best = kemeny([[0.0, 0.6, 0.3], [0.4, 0.0, 0.9], [0.7, 0.1, 0.0]])
    >>> best.ranks.tolist(), best.ratio, best.solver
    ([2, 0, 1], 1.0, 'linear program')
    """
    matrix = _checked(weights)
    check_nonnegative("xi", xi)
    if time_limit is not None:
        check_positive("time_limit", time_limit)
    deadline = time.monotonic() + (math.inf if time_limit is None else time_limit)
    members = _components(matrix)
    parts = [_Component(matrix[np.ix_(part, part)], deadline) for part in members]
    across = np.minimum(matrix, matrix.T).sum() / 2 - sum(part.apart for part in parts)
    needed = 0
    while True:
        order = np.concatenate([items[part.order] for items, part in zip(members, parts)])
        ranks = np.argsort(order).astype(np.int32)
        cost = float(matrix.T[ranks[:, None] < ranks].sum())
        bound = float(min(cost, across + sum(part.apart + part.bound for part in parts)))
        best = ProvenRanking(ranks, cost, bound, _SOLVERS[needed])
        left = [part for part in parts if part.open]
        if best.ratio <= 1 + xi or not left or time.monotonic() >= deadline:
            return best
        part = max(left, key=lambda part: part.excess - part.bound)
        # The gap that this component may keep: with it, those of the others are small enough.
        spare = (1 + xi) * bound - (cost - (part.excess - part.bound))
        needed = max(needed, part.advance(max(spare, 0.0)))


def _checked(weights: PairWeights | PairMatrixLike) -> np.ndarray:
    """The weights in float64, diagonal 0."""
    check_no_padding(weights, "this solver runs on the host without padding")
    given: Any = weights.matrix if isinstance(weights, PairWeights) else weights
    if is_traced(given):
        raise ValueError(
            "the weights are traced: this solver runs on the host; inside jit use "
            "aggregation.kemeny_rule.exact_kemeny (m <= 20) or aggregation.local_search"
        )
    given = in_floats("the weights", given)
    check_matrix("the weights", given)
    matrix = np.array(given, float)
    if not np.all((matrix >= 0) & (matrix < np.inf)):
        raise ValueError(
            "weights must be finite and at least 0, for a ratio of costs to be meaningful. For debiased or noised "
            "weights w pass w - w.min(), which has the same best rankings."
        )
    np.fill_diagonal(matrix, 0)
    return matrix


def _components(weights: np.ndarray) -> list[np.ndarray]:
    """Strongly connected components of the majorities, in topological order."""
    from scipy.sparse.csgraph import connected_components

    beats = weights > weights.T
    count, label = connected_components(beats, directed=True, connection="strong")
    between = np.zeros((count, count), bool)
    np.logical_or.at(between, (label[:, None], label), beats)
    np.fill_diagonal(between, False)
    parts, waiting = [], np.ones(count, bool)
    while waiting.any():
        free = np.flatnonzero(waiting & ~between[waiting].any(0))
        parts += [np.flatnonzero(label == number) for number in free]
        waiting[free] = False
    return parts


class _Component:
    """The best order of some items and a bound on all of their orders, both above ``apart``, Σ min(w_ij, w_ji)."""

    def __init__(self, weights: np.ndarray, deadline: float) -> None:
        self.lead, self.deadline = weights - weights.T, deadline
        self.apart = float(np.minimum(weights, weights.T).sum() / 2)
        first, second = np.triu_indices(len(weights), 1)
        self.column = np.zeros(weights.shape, int)
        self.column[first, second] = self.column[second, first] = np.arange(len(first))
        self.agrees = np.triu(self.lead >= 0, 1) | np.tril(self.lead > 0)  # i is before j if y = 0
        self.scale = float(self.lead.max(initial=0)) / _LARGEST_LEAD
        self.price = np.abs(self.lead[first, second]) / (self.scale or 1.0)
        self.order, self.excess, self.bound = np.arange(len(weights)), math.inf, 0.0
        self.cuts, self.relaxed = np.zeros((0, 3), int), False
        self.open = self._violates(np.zeros(len(first)))  # ranks items as Copeland does

    def advance(self, spare: float) -> int:
        """Solve one more program, an integer one up to a gap of ``spare``; return which of the solvers it is."""
        from scipy.optimize import LinearConstraint, linprog, milp
        from scipy.sparse import csr_matrix

        left = self.deadline - time.monotonic()
        options: dict[str, Any] = {} if math.isinf(left) else {"time_limit": max(left, 0.0)}
        ends = np.roll(self.cuts, -1, axis=1)
        agrees = self.agrees[self.cuts, ends]
        values, columns = np.where(agrees, -1.0, 1.0).ravel(), self.column[self.cuts, ends].ravel()
        rows = np.repeat(np.arange(len(agrees)), 3)
        matrix = csr_matrix((values, (rows, columns)), shape=(len(agrees), len(self.price)))
        right = 2.0 - agrees.sum(1)
        if not self.relaxed:
            found = linprog(self.price, matrix, right, bounds=(0, 1), options=options)
            if found.success:
                multipliers = np.maximum(-found.ineqlin.marginals, 0)
                reduced = self.price + matrix.T @ multipliers
                self._bounded(np.minimum(reduced, 0).sum() - right @ multipliers)
                self.relaxed = not self._violates(found.x)
            self.open = found.success
            return _SOLVERS.index("linear program")
        options["mip_rel_gap"] = 0.99 * spare / self.excess  # even if HiGHS knows a worse ranking
        limits: Any = LinearConstraint(matrix, ub=right)
        ones = np.ones_like(self.price)
        found = milp(
            self.price, integrality=ones, bounds=(0, 1), constraints=limits, options=options
        )
        if found.mip_dual_bound is not None:
            self._bounded(found.mip_dual_bound - _TOLERANCE * (10 + len(ones)))
        self.open = found.x is not None and self._violates(found.x.round()) and found.success
        return _SOLVERS.index("integer program")

    def _bounded(self, value: float) -> None:
        """Take a bound of HiGHS, less the rounding of its sum, if it is better."""
        value = self.scale * (float(value) - _ROUNDING * float(self.price.sum()))
        if math.isfinite(value):
            self.bound = min(max(self.bound, value), self.excess)

    def _violates(self, solution: np.ndarray) -> bool:
        """Try the ranking nearest to a solution, and add the triangles that it violates: of each i, j the worst k."""
        y = np.append(solution, 0.0)[self.column]  # one item has no pair
        before = np.where(self.agrees, 1 - y, y)
        np.fill_diagonal(before, 0)
        self._try(np.argsort(-before.sum(1), kind="stable"))
        known = len(self.cuts)
        for i in range(len(before) - 2):
            rest = slice(i + 1, None)
            total = before[i, rest, None] + before[rest, rest] + before[rest, i]
            worst = total.argmax(1)
            j = np.flatnonzero(total[np.arange(len(worst)), worst] > 2 + _VIOLATED)
            found = np.stack([np.full_like(j, i), i + 1 + j, i + 1 + worst[j]], 1)
            self.cuts = np.concatenate([self.cuts, found])
        return len(self.cuts) > known

    def _try(self, order: np.ndarray) -> None:
        """Improve an order by local search over insertions, and take it if it is better."""
        least, improved = _ROUNDING * float(np.abs(self.lead).sum()), True
        while improved:
            improved = False
            for item in order.copy():
                place = int(np.flatnonzero(order == item)[0])
                others = np.delete(order, place)
                costs = np.concatenate([[0.0], np.cumsum(self.lead[item, others])])
                best = int(costs.argmin())
                if costs[best] < costs[place] - least:
                    order, improved = np.insert(others, best, item), True
        excess = float(np.maximum(np.tril(self.lead[np.ix_(order, order)]), 0).sum())
        if excess < self.excess:
            self.order, self.excess = order, excess


# --- dynamic programming ---------------------------------------------------------------------------


def exact_kemeny(weights: PairWeights | PairMatrixLike, *, mask: MaskLike | None = None) -> Ranks:
    """A ranking of least Kemeny score, for m <= 20 items; time O(m² 2^m), memory O(√m 2^m).

    Args:
        weights, mask: as for :func:`local_search`.

    Returns:
        Ranks ``(m,)``, int32, 0 = best; one of the optimal rankings, always the same.

    Raises:
        ValueError: shapes that don't fit, m > 20.

    >>> w = [[0.0, 0.6, 0.3], [0.4, 0.0, 0.9], [0.7, 0.1, 0.0]]
    >>> exact_kemeny(w).tolist()
    [2, 0, 1]
    """
    w, mask = shares_of(weights, mask)
    items = w.shape[0]
    if items > MAX_ITEMS:
        raise ValueError(
            f"{items} items have too many subsets for dynamic programming (at most {MAX_ITEMS} items): use "
            "aggregation.kemeny"
        )
    return _exact_kemeny(w, jnp.ones(items, bool) if mask is None else mask)


@jax.jit
def _exact_kemeny(w: Array, keep: Array) -> Array:
    cost = jnp.maximum(_integer_lead(w, keep, total=True), 0)
    items, bits = len(cost), item_bits(len(cost))
    # A cost above all others, of which two don't overflow.
    largest = jnp.iinfo(cost.dtype).max // 4
    least = over_orders(cost, functools.partial(jnp.min, axis=1), largest)

    def last(subset: Array, _: None) -> tuple[Array, Array]:
        inside = (subset & bits) > 0
        behind = least[subset & ~bits] + jnp.sum(jnp.where(inside, cost, 0), axis=1)
        item = jnp.argmin(jnp.where(inside, behind, largest))
        return subset & ~bits[item], item

    _, backwards = jax.lax.scan(last, jnp.asarray((1 << items) - 1), length=items)
    return ranks_from_scores(-order_to_ranks(backwards[::-1]), keep)


def over_orders(
    costs: Shaped[Array, "items items"], fold: Callable[[Array], Array], most: float
) -> Shaped[Array, " subsets"]:
    """f(S) = fold over j of f(S∖j) + Σ_{i∈S} costs_ji, f(∅) = 0, for all subsets.

    Those of k items are found in round k. A round computes as many as there are of the most frequent size: what it
    finds of other sizes is right as well or found again in their own round.

    ``fold`` takes ``(subsets, m)``, where it sees ``most``, which no cost reaches, for j that are not in S.
    """
    items = len(costs)
    half = items // 2
    upper, lower = (_subset_sums(costs.T[part]) for part in (np.s_[:half], np.s_[half:]))
    by_size, first = _by_size(items)
    subsets, first, bits = jnp.asarray(by_size), jnp.asarray(first), item_bits(items)

    def grow(size: Int[Array, ""], found: Array) -> Array:
        start = first[size]
        these = jax.lax.dynamic_slice_in_dim(subsets, start, math.comb(items, half))
        behind = upper[these // len(lower)] + lower[these % len(lower)]
        smaller = these[:, None] & ~bits
        terms = jnp.where(smaller < these[:, None], found[smaller] + behind, most)
        return found.at[these].set(fold(terms))

    none = jnp.full(1 << items, most, costs.dtype).at[0].set(0)
    return jax.lax.fori_loop(1, items + 1, grow, none)


@functools.lru_cache(maxsize=8)
def _by_size(items: int) -> tuple[Int[np.ndarray, " subsets"], Int[np.ndarray, " sizes"]]:
    """All subsets as bits, those of fewer items first; the place of the first one of each size."""
    sizes = np.sum((np.arange(1 << items)[:, None] >> np.arange(items)) & 1, axis=1)
    order = np.argsort(sizes, kind="stable")
    return order.astype(np.int32), np.searchsorted(sizes[order], np.arange(items + 1))


def item_bits(items: int) -> Int[Array, " items"]:
    """The bit of each item in a subset; item 0 has the highest."""
    return jnp.asarray(1 << np.arange(items, dtype=np.int32)[::-1])


def _subset_sums(terms: Array) -> Array:
    """Σ of ``terms[i]`` over the items of each subset, in the order of bit patterns."""
    sums = jnp.zeros_like(terms, shape=(1, *terms.shape[1:]))
    for term in terms[::-1]:
        sums = jnp.concatenate([sums, sums + term])
    return sums


# --- local search ----------------------------------------------------------------------------------


def local_search(
    weights: PairWeights | PairMatrixLike,
    ranks: RanksLike | None = None,
    *,
    mask: MaskLike | None = None,
) -> Ranks:
    """Find an insertion-optimal ranking by steepest descent of the Kemeny score.

    Args:
        weights: :class:`~privrank_jax.aggregation.PairWeights`, or any finite ``(m, m)`` matrix, w_ij of i before j.
        ranks: where to start, ``(m,)``, integers, 0 = best; None starts from the Borda ranking.
        mask: ``(m,)`` bool, of a plain matrix; items with False get the last ranks, in index order. None keeps all.

    Returns:
        Ranks ``(m,)``, int32, 0 = best, of a score at most the start's, up to the precision of the weights' dtype.

    Raises:
        ValueError: shapes that don't fit.

    >>> w = [[0.0, 0.6, 0.7], [0.4, 0.0, 0.9], [0.3, 0.1, 0.0]]
    >>> local_search(w, [2, 1, 0]).tolist()
    [0, 1, 2]
    """
    w, mask = shares_of(weights, mask)
    keep = jnp.ones(w.shape[:1], bool) if mask is None else mask
    start = -borda_scores(w, keep) if ranks is None else as_ranks(ranks)
    check_shape("ranks", start, w.shape[:1])
    return _local_search(w, start, keep)


@jax.jit
def _local_search(w: Array, ranks: Array, keep: Array) -> Array:
    lead, items = _integer_lead(w, keep, total=False), ranks.shape[0]
    ranks = ranks_from_scores(-ranks, keep)
    # Gaps are rows, so that a step reads and writes whole rows: column i holds the moves of item i.
    table = jnp.cumsum(lead.T[ranks_to_order(ranks)], axis=0, dtype=lead.dtype)
    table = jnp.pad(table, ((1, 0), (0, 0)))
    own = jnp.take_along_axis(table, ranks[None, :], axis=0)[0]

    def step(carry):
        state, (_, item, gap) = carry
        state = _insert(state, lead, item, gap)
        return state, _best_move(*state[:2])

    carry = (table, own, ranks), _best_move(table, own)
    (_, _, ranks), _ = jax.lax.while_loop(lambda carry: carry[1][0] < -items, step, carry)
    return ranks


def _best_move(table: Array, own: Array) -> tuple[Array, Array, Array]:
    """The largest decrease of the score, and its item and gap."""
    falls = jnp.min(table, axis=0) - own
    lowest = jnp.min(falls)
    item = jnp.argmax(falls == lowest)
    return lowest, item, jnp.argmin(table[:, item])


def _insert(state, lead: Array, item: Array, gap: Array):
    """Table, own entries and ranks after ``item`` has moved to the gap before position ``gap``."""
    table, own, ranks = state
    place = ranks[item]
    sign = jnp.where(gap <= place, 1, -1).astype(lead.dtype)  # the passed items move by this
    low, high = jnp.minimum(gap, place), jnp.maximum(gap - 1, place)
    rows = jnp.arange(table.shape[0])
    moved = (low < rows) & (rows <= high)
    column = -sign * lead[item]
    new_own = table[gap, item]
    table = table[rows - jnp.where(moved, sign, 0)] + jnp.where(moved[:, None], column, 0)
    passed = (low <= ranks) & (ranks <= high) & (ranks != place)
    own = jnp.where(passed, own + column, own).at[item].set(new_own)
    ranks = jnp.where(passed, ranks + sign.astype(ranks.dtype), ranks)
    return table, own, ranks.at[item].set(jnp.where(sign > 0, gap, gap - 1).astype(ranks.dtype))


def _integer_lead(w: Array, keep: Array, *, total: bool) -> Array:
    """w − wᵀ as integers, antisymmetric, 0 where not both items are kept or w is not finite.

    The unit is a power of two such that the absolute values of a row, or of the matrix if ``total``, sum to at most
    2^30 (int32) or 2^52 (int64, for float64).
    """
    integer, bits = (jnp.int64, 52) if w.dtype == jnp.float64 else (jnp.int32, 30)
    lead = jnp.where(keep[:, None] & keep, w - w.T, 0)
    lead = jnp.where(jnp.isfinite(lead), lead, 0)
    rows = jnp.sum(jnp.abs(lead), axis=1)
    largest = 2 * jnp.sum(rows) if total else jnp.max(rows)
    unit = jnp.exp2(bits - jnp.ceil(jnp.log2(jnp.where(largest > 0, largest, 1))))
    upper = jnp.triu(jnp.round(lead * unit).astype(integer))
    return upper - upper.T
