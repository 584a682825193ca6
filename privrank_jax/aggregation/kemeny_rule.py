r"""A ranking of low Kemeny score with a proven bound, by linear and integer programming (HiGHS, through SciPy).

**Components**: where no item of B has a majority over any item of A, an optimal ranking puts A before B. So the
strongly connected components of the majorities are ranked separately, and their scores and bounds add up.

**Programs**: a ranking costs Σ_{i<j} min(w_ij, w_ji), and the lead |w_ij − w_ji| of each pair ranked against its
majority: one variable y for each pair. With x_ij = 1 where i is before j, which is 1 − y or y, they describe a ranking
if and only if x_ij + x_jk + x_ki <= 2 for all i, j, k. Few of these triangles matter, so they are added when violated:
first to the linear program, until none is, then to the integer program. Each solution is rounded to a ranking, which
local search improves.

**Bounds** of the linear program are computed from the multipliers of its triangles, which prove them whatever the
accuracy of the solver. From those of the integer program the tolerances of HiGHS are subtracted; leads are scaled so
that these are about 1e-11 of the largest lead for each pair.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from privrank_jax._types import PairMatrixLike
from privrank_jax._validate import (
    check_nonnegative,
    check_positive,
    check_square,
    in_floats,
    is_traced,
)
from privrank_jax.aggregation.weights import PairWeights

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
    """Find a ranking whose Kemeny score is provably at most 1 + ξ times the minimum.

    Runs on the host, one problem at a time; under ``jit`` and ``vmap`` use
    :func:`~privrank_jax.aggregation.dynamic_program.exact_kemeny` or :func:`local_search`. Votes are mostly proved in a
    fraction of a second; weights without any order stay open from about 30 items on.

    Args:
        weights: :class:`~privrank_jax.aggregation.PairWeights` without padding, or a plain ``(m, m)`` matrix, >= 0.
        xi: how far from the optimum the ranking may be, >= 0; 0 asks for an optimum.
        time_limit: in seconds; at the limit ``ratio`` says what is proved of the best ranking so far. None: no limit.

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
        cost = _score(ranks, matrix)
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
    """The weights in float64, diagonal 0; ``ValueError`` if they are traced, not square, not finite or negative."""
    given: Any = weights
    if isinstance(weights, PairWeights):
        if weights.mask is not None and not np.all(np.asarray(weights.mask)):
            raise ValueError(
                "this solver runs on the host without padding: leave padded items out of the weights."
            )
        given = weights.matrix
    if is_traced(given):
        raise ValueError(
            "the weights are traced: this solver runs on the host; inside jit use "
            "aggregation.dynamic_program.exact_kemeny (m <= 20) or aggregation.local_search"
        )
    given = in_floats("the weights", given)
    check_square("the weights", given)
    matrix = np.array(given, float)
    if matrix.ndim != 2:
        raise ValueError(
            f"the weights must have shape (m, m), got {matrix.shape}: solve one problem at a time"
        )
    if not np.all((matrix >= 0) & (matrix < np.inf)):
        raise ValueError(
            "weights must be finite and at least 0, for a ratio of costs to be meaningful. For debiased or noised "
            "weights w pass w - w.min(), which has the same best rankings."
        )
    np.fill_diagonal(matrix, 0)
    return matrix


def _score(ranks: np.ndarray, weights: np.ndarray) -> float:
    """The Kemeny score in double precision."""
    return float(weights.T[ranks[:, None] < ranks].sum())


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
