r"""The Kemeny optimum of any number of items by linear and integer programming (HiGHS, through SciPy), on the host.

One variable for each pair, x_ij = 1 if i is ranked before j (x_ji = 1 − x_ij); they describe a ranking if and only if
x_ij + x_jk + x_ki <= 2 for all i, j, k. Few of these m³/3 inequalities matter, so they are added when violated: first
to the linear program, until none is, then to the integer program. The linear bound is computed from the multipliers of
the inequalities, which prove it whatever the accuracy of the solver.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from privrank_jax._host.evaluate import evaluate
from privrank_jax._types import MaskLike, PairMatrixLike, Ranks, RanksLike
from privrank_jax._validate import (
    check_nonnegative,
    check_positive,
    check_square,
    in_floats,
    is_traced,
)
from privrank_jax.aggregation.local_moves import local_search
from privrank_jax.aggregation.weights import PairWeights

_MOST_ON_HOST = 32  # items
_VIOLATED, _ROUNDING = 1e-6, 1e-12


@dataclass(frozen=True)
class ProvenRanking:
    """A ranking with a lower bound on the Kemeny score of all rankings.

    The bound holds to double precision; where ``solver`` is ``"integer program"``, to the tolerance of HiGHS, about
    1e-6 of the score.
    """

    ranks: Int[np.ndarray, "items"]  #: int32, 0 = best
    cost: float  #: the Kemeny score of the ranking
    lower_bound: float  #: no ranking has a lower one
    solver: str  #: the last solver that was needed

    @property
    def ratio(self) -> float:
        """The score is at most this times the least one: 1 for an optimum, infinite if nothing is proven."""
        if self.cost <= self.lower_bound:
            return 1.0
        return self.cost / self.lower_bound if self.lower_bound > 0 else math.inf


def integer_program(
    weights: PairWeights | PairMatrixLike, *, time_limit: float | None = None
) -> ProvenRanking:
    """Find a ranking of least Kemeny score, or the best ranking and bound found within the time limit.

    Args:
        weights: :class:`~privrank_jax.aggregation.PairWeights` without padding, or a plain ``(m, m)`` matrix, finite
            and >= 0, w_ij the weight of i before j.
        time_limit: seconds after which to stop; None sets no limit, and hard instances of 50 items may take hours.

    Returns:
        :class:`ProvenRanking`, ``solver`` ``"linear program"`` or ``"integer program"``; ``ratio`` is 1 if the time
        sufficed.

    Raises:
        ValueError: weights that are not a square matrix of finite numbers >= 0, a time limit that is not positive.

    >>> integer_program([[0.0, 0.6, 0.3], [0.4, 0.0, 0.9], [0.7, 0.1, 0.0]]).ranks.tolist()
    [2, 0, 1]
    """
    given = checked_host_weights(weights)
    if time_limit is not None:
        check_positive("time_limit", time_limit)
    program = PairProgram(given, time.monotonic() + (time_limit or math.inf))
    program.relax()
    solver = "linear program"
    if not program.solved:
        program.branch()
        solver = "integer program"
    return ProvenRanking(program.ranks, program.cost, program.lower_bound, solver)


def checked_host_weights(weights: PairWeights | PairMatrixLike) -> np.ndarray:
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
            "the weights are traced: this solver runs on the host; inside jit use aggregation.exact_kemeny (m <= 20) "
            "or aggregation.local_search"
        )
    given = in_floats("the weights", given)
    check_square("the weights", given)
    if np.all(np.isfinite(np.asarray(given))) and np.any(np.asarray(given) < 0):
        raise ValueError(
            "weights must be finite and at least 0, for a ratio of costs to be meaningful. For debiased or noised "
            "weights w pass w - w.min(), which has the same best rankings."
        )
    check_nonnegative("the weights", given)
    matrix = np.array(given, float)
    if matrix.ndim != 2:
        raise ValueError(
            f"the weights must have shape (m, m), got {matrix.shape}: solve one problem at a time"
        )
    np.fill_diagonal(matrix, 0)
    return matrix


def host_score(ranks: np.ndarray, weights: np.ndarray) -> float:
    """The Kemeny score in double precision."""
    return float(weights.T[ranks[:, None] < ranks].sum())


def descend(ranks: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
    """Run local search in double precision, with sizes padded to powers of two, so that few programs are compiled.

    Few items need no program.
    """
    items = len(weights)
    if items == 1:
        return np.zeros(1, np.int32)
    size = 1 << max(items - 1, 0).bit_length()
    padded = np.zeros((size, size))
    padded[:items, :items] = weights
    start = None if ranks is None else np.concatenate([ranks, np.arange(items, size)])
    real = np.arange(size) < items

    run = _search if size > _MOST_ON_HOST else functools.partial(evaluate, _search)
    with jax.enable_x64(True):
        return np.asarray(run(padded, start, real))[:items]


def _search(matrix: PairMatrixLike, first: RanksLike | None, mask: MaskLike) -> Ranks:
    return local_search(matrix, first, mask=mask)


@dataclass
class PairProgram:
    """One weight matrix: its best ranking and bound so far, and solvers that improve them until ``deadline``."""

    weights: np.ndarray
    deadline: float = math.inf
    ranks: np.ndarray = field(init=False)
    cost: float = field(init=False)
    lower_bound: float = field(init=False)
    solved: bool = False
    enough: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        w, items = self.weights, len(self.weights)
        self.ranks = descend(None, w)
        self.cost = host_score(self.ranks, w)
        self.lower_bound = float(np.minimum(w, w.T).sum() / 2)
        self.first, self.second = np.triu_indices(items, 1)
        self.column = np.zeros((items, items), int)
        self.column[self.first, self.second] = np.arange(len(self.first))
        self.price = (w.T - w)[self.first, self.second]
        self.base = float(w[self.first, self.second].sum())
        self.scale = float(np.abs(self.price).max(initial=0)) or 1.0
        self.cuts = np.zeros((0, 3), int)
        self.relaxed = (self.price < 0).astype(float)

    def relax(self) -> None:
        """Solve the linear program; ``solved`` if its solution is a ranking."""
        import scipy.optimize

        solution = self.relaxed
        while len(found := self._violated(solution)):
            self.cuts = np.concatenate([self.cuts, found])
            matrix, right = self._inequalities()
            result = scipy.optimize.linprog(
                self.price / self.scale, A_ub=matrix, b_ub=right, bounds=(0, 1), method="highs",
                options=self._time_left(),
            )  # fmt: skip
            if result.x is None or not result.success:
                return
            multipliers = np.maximum(-result.ineqlin.marginals, 0)
            reduced = self.price / self.scale + matrix.T @ multipliers
            bound = self.base + self.scale * float(
                np.minimum(reduced, 0).sum() - right @ multipliers
            )
            if (
                bound > self.lower_bound + 1e-9 * self.scale
            ):  # the bound rises, so dropped cuts can't return forever
                self.cuts = self.cuts[(multipliers > 0) | (right - matrix @ result.x < _VIOLATED)]
            self.lower_bound = max(self.lower_bound, bound)
            self.relaxed = solution = result.x
            self._try(solution)
            if self.check():
                return
        if np.all(np.abs(solution - solution.round()) < _VIOLATED):
            self._try(solution)
            self.settle()

    def branch(self) -> None:
        """Solve the integer program, first with the inequalities that the linear one has left or nearly violates."""
        import scipy.optimize

        self.cuts = np.unique(np.concatenate([self.cuts, self._undecided()]), axis=0)
        while True:
            matrix, right = self._inequalities()
            result = scipy.optimize.milp(
                self.price / self.scale, integrality=np.ones_like(self.price), bounds=(0, 1),
                constraints=scipy.optimize.LinearConstraint(matrix, ub=right),  # type: ignore[arg-type]
                options={"mip_rel_gap": 0.0, **self._time_left()},
            )  # fmt: skip
            if result.mip_dual_bound is not None and np.isfinite(result.mip_dual_bound):
                bound = self.base + self.scale * result.mip_dual_bound
                self.lower_bound = min(max(self.lower_bound, bound), self.cost)
            if result.x is None:
                return
            self._try(result.x)
            if not result.success or self.check():
                return
            found = self._violated(result.x.round())
            if not len(found):
                self.settle()
                return
            self.cuts = np.concatenate([self.cuts, found])

    def _time_left(self) -> dict[str, float]:
        left = self.deadline - time.monotonic()
        return {} if math.isinf(left) else {"time_limit": max(left, 0.0)}

    def check(self) -> bool:
        """Whether to stop: the bound is attained, or the caller needs nothing better."""
        if self.cost <= self.lower_bound * (1 + _ROUNDING):
            self.settle()
        return self.solved or self.enough()

    def settle(self, ranks: np.ndarray | None = None) -> None:
        """Record that the ranking found, or given, is an optimum: the bound differs from its cost by rounding only."""
        if ranks is not None:
            self.offer(ranks)
        self.lower_bound, self.solved = self.cost, True

    def offer(self, ranks: np.ndarray) -> None:
        """Take a ranking if it is better than the best so far."""
        cost = host_score(ranks, self.weights)
        if cost < self.cost:
            self.ranks, self.cost = ranks, cost

    def _try(self, solution: np.ndarray) -> None:
        """Offer the ranking nearest to a solution, and its improvement by local search."""
        order = np.argsort(-self._square(solution).sum(1), kind="stable")
        ranks = np.argsort(order).astype(np.int32)
        self.offer(ranks)
        self.offer(descend(ranks, self.weights))

    def _square(self, solution: np.ndarray) -> np.ndarray:
        before = np.zeros_like(self.weights)
        before[self.first, self.second] = solution
        before[self.second, self.first] = 1 - solution
        return before

    def _violated(self, solution: np.ndarray) -> np.ndarray:
        """Triples (i, j, k), i the lowest, with x_ij + x_jk + x_ki > 2; for each i, j the worst k."""
        before, found = self._square(solution), [np.zeros((0, 3), int)]
        for i in range(len(before) - 2):
            rest = slice(i + 1, None)
            excess = before[i, rest, None] + before[rest, rest] + before[rest, i]
            np.fill_diagonal(excess, 0)
            worst = excess.argmax(1)
            j = np.flatnonzero(excess[np.arange(len(worst)), worst] > 2 + _VIOLATED)
            found.append(np.stack([np.full_like(j, i), i + 1 + j, i + 1 + worst[j]], 1))
        return np.concatenate(found)

    def _undecided(self) -> np.ndarray:
        """Triples (i, j, k), i the lowest, with x_ij + x_jk + x_ki > 1.75 and one of them fractional in the linear
        program: without these cuts, the integer program would restart for a few of them at a time."""
        before, found = self._square(self.relaxed), [np.zeros((0, 3), int)]
        fractional = np.abs(before - before.round()) > _VIOLATED
        for i in range(len(before) - 2):
            rest = slice(i + 1, None)
            total = before[i, rest, None] + before[rest, rest] + before[rest, i]
            open_ = fractional[i, rest, None] | fractional[rest, rest] | fractional[rest, i]
            j, k = np.nonzero(open_ & (total > 1.75) & ~np.eye(len(total), dtype=bool))
            found.append(np.stack([np.full_like(j, i), i + 1 + j, i + 1 + k], 1))
        return np.concatenate(found)

    def _inequalities(self) -> tuple[Any, np.ndarray]:
        """Sparse matrix and right-hand side of the cuts, where x_ji stands for 1 − x_ij if i < j."""
        import scipy.sparse

        start, end = self.cuts, np.roll(self.cuts, -1, axis=1)
        forward = start < end
        columns = self.column[np.minimum(start, end), np.maximum(start, end)]
        rows = np.repeat(np.arange(len(self.cuts)), 3)
        values = np.where(forward, 1.0, -1.0)
        shape = len(self.cuts), len(self.price)
        matrix = scipy.sparse.csr_matrix((values.ravel(), (rows, columns.ravel())), shape=shape)
        return matrix, 2.0 - (~forward).sum(1)
