r"""A ranking of low Kemeny score with a proven bound, by the cheapest solver whose proof suffices.

**Components**: where no item of B has a majority over any item of A, an optimal ranking puts A before B. So the
strongly connected components of the majorities are ranked separately, and their scores and bounds add up. **Bounds**:
the lower bound starts at Σ min(w_ij, w_ji), and each cycle of three majorities adds the smallest of their leads, as far
as other cycles have not used it. Then the solvers are tried on the component whose gap is largest, until the ratio of
score to bound is at most 1 + ξ: dynamic programming, the linear program, the integer program for a few seconds where
the linear one has left little, the dynamic program over prefixes that bounds cut short, and the integer program for the
rest of the time. This replaces the approximation scheme of Kenyon-Mathieu and Schudy (2007) in private aggregation.
"""

from __future__ import annotations

import math
import time
from typing import Any

import jax
import numpy as np

from privrank_jax._host.evaluate import evaluate
from privrank_jax._types import PairMatrixLike
from privrank_jax._validate import check_nonnegative, check_positive
from privrank_jax.aggregation.bounded_program import (
    MOST_ITEMS,
    bounded_program,
    integer_prices,
)
from privrank_jax.aggregation.dynamic_program import MAX_ITEMS, exact_kemeny
from privrank_jax.aggregation.integer_programs import (
    PairProgram,
    ProvenRanking,
    checked_host_weights,
    descend,
    host_score,
)
from privrank_jax.aggregation.weights import PairWeights

# Dynamic programming comes first where it takes a millisecond, and again where it can replace the integer program.
_SOLVERS = (
    "local search",
    "dynamic program",
    "linear program",
    "dynamic program",
    "integer program",
    "bounded dynamic program",
    "integer program",
)
_FAST_DYNAMIC = 12
_PADDED = (8, _FAST_DYNAMIC, 16, MAX_ITEMS)  # few sizes, so that few programs are traced
# Where the linear program leaves less than this share of the score, branching on pairs ends within seconds.
_SMALL_GAP, _FEW_SECONDS = 2e-3, 3.0


def kemeny(
    weights: PairWeights | PairMatrixLike, xi: float = 0.0, *, time_limit: float | None = 60.0
) -> ProvenRanking:
    """Find a ranking whose Kemeny score is provably at most 1 + ξ times the minimum.

    Runs on the host, one problem at a time; under ``jit`` and ``vmap`` use :func:`exact_kemeny` or
    :func:`local_search`. Votes, even random ones, are mostly proved by the linear program. Weights without any order
    take seconds for 30 items and about a minute for 40; random tournaments of zeros and ones stay open from about 35
    items on.

    Args:
        weights: :class:`~privrank_jax.aggregation.PairWeights` without padding, or a plain ``(m, m)`` matrix, finite
            and >= 0, w_ij the weight of i before j, consistent or not.
        xi: how far from the optimum the ranking may be, >= 0; 0 asks for an optimum.
        time_limit: in seconds; at the limit the best ranking and the best bound so far are returned, and ``ratio`` says
            what they prove. None sets no limit.

    Returns:
        :class:`ProvenRanking` with ``ranks``, ``cost``, ``lower_bound``, ``ratio`` and ``solver``: ``"local search"``,
        ``"dynamic program"``, ``"linear program"``, ``"bounded dynamic program"`` or ``"integer program"``, the most
        expensive one that was needed.

    Raises:
        ValueError: weights that are not a square matrix of finite numbers >= 0, xi < 0, a time limit that is not
            positive.

    >>> best = kemeny([[0.0, 0.6, 0.3], [0.4, 0.0, 0.9], [0.7, 0.1, 0.0]])
    >>> best.ranks.tolist(), best.ratio, best.solver
    ([2, 0, 1], 1.0, 'local search')
    """
    matrix = checked_host_weights(weights)
    check_nonnegative("xi", xi)
    if time_limit is not None:
        check_positive("time_limit", time_limit)
    deadline = time.monotonic() + (math.inf if time_limit is None else time_limit)

    parts = _components(matrix)
    programs = [PairProgram(matrix[np.ix_(part, part)], deadline) for part in parts]
    across = np.minimum(matrix, matrix.T).sum() / 2 - sum(p.lower_bound for p in programs)
    needed = 0  # the solver, an index into _SOLVERS

    def result() -> ProvenRanking:
        ranks = _joined(parts, programs)
        cost, bound = host_score(ranks, matrix), across + sum(p.lower_bound for p in programs)
        if all(program.solved for program in programs):
            bound = cost
        return ProvenRanking(ranks, cost, min(bound, cost), _SOLVERS[needed])

    def enough() -> bool:
        return result().ratio <= 1 + xi

    for program in programs:
        program.enough = enough
        program.offer(descend(_copeland(program.weights), program.weights))
        program.lower_bound += _cycle_bound(program.weights, deadline)
        program.check()
    tried = [0] * len(programs)
    while not enough() and time.monotonic() < deadline:
        left = [
            n
            for n, program in enumerate(programs)
            if not program.solved and tried[n] < len(_SOLVERS) - 1
        ]
        if not left:
            break
        worst = max(left, key=lambda n: programs[n].cost - programs[n].lower_bound)
        tried[worst] += 1
        if _advance(programs[worst], tried[worst]):
            needed = max(needed, tried[worst])
    return result()


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


def _joined(parts: list[np.ndarray], programs: list[PairProgram]) -> np.ndarray:
    """Ranks of all items, one component after the other."""
    ranks, first = np.zeros(sum(map(len, parts)), np.int32), 0
    for part, program in zip(parts, programs):
        ranks[part] = first + program.ranks
        first += len(part)
    return ranks


def _copeland(weights: np.ndarray) -> np.ndarray:
    """Copeland ranks in NumPy: ``aggregation.copeland`` would be compiled for each size of a component."""
    points = (weights > weights.T).sum(1) + 0.5 * (weights == weights.T).sum(1)
    return np.argsort(np.argsort(-points, kind="stable"))


def _cycle_bound(weights: np.ndarray, deadline: float) -> float:
    """A lower bound on what any ranking costs above Σ min(w_ij, w_ji).

    It packs cycles of three majorities: every ranking breaks each cycle at the cost of one of its leads, and no lead is
    used more than once. A packing cut short by the deadline is a valid bound, too.
    """
    left, bound = np.maximum(weights - weights.T, 0), 0.0
    for i, j in zip(*np.nonzero(left)):
        if time.monotonic() > deadline:
            break
        spent = np.minimum(left[j], left[:, i])
        spent = np.diff(np.minimum(np.cumsum(spent), left[i, j]), prepend=0.0)
        left[j] -= spent
        left[:, i] -= spent
        left[i, j] -= spent.sum()
        bound += float(spent.sum())
    return bound


def _exact_kemeny(weights: np.ndarray, mask: np.ndarray) -> Any:
    return exact_kemeny(weights, mask=mask)


def _advance(program: PairProgram, stage: int) -> bool:
    """Run one more solver on a component; False if the solver does not handle its size."""
    items = len(program.weights)
    if _SOLVERS[stage] == "dynamic program":
        if items > (_FAST_DYNAMIC if stage == 1 else MAX_ITEMS):
            return False
        size = next(size for size in _PADDED if size >= items)
        padded = np.zeros((size, size))
        padded[:items, :items] = program.weights
        real = np.arange(size) < items
        with jax.enable_x64(True):
            if size <= _FAST_DYNAMIC:
                ranks = evaluate(_exact_kemeny, padded, real)
            else:
                ranks = exact_kemeny(padded, mask=real)
        program.settle(np.asarray(ranks)[:items])
    elif _SOLVERS[stage] == "linear program":
        program.relax()
    elif _SOLVERS[stage] == "bounded dynamic program":
        if items > MOST_ITEMS:
            return False
        _bounded(program)
    elif stage == len(_SOLVERS) - 1:
        program.branch()
    else:
        return _branched_soon(program)
    return True


def _bounded(program: PairProgram) -> None:
    prices, unit = integer_prices(program.weights)
    found = bounded_program(prices, np.argsort(program.ranks), program.deadline)
    ranks = np.argsort(found.order).astype(np.int32)
    if found.bound == found.value:
        program.settle(ranks)
        return
    program.offer(ranks)
    pairs = np.triu_indices(len(prices), 1)
    weights = program.weights
    lost = np.abs((weights.T - weights) - prices * unit)[pairs].sum() / 2
    middle = (weights + weights.T)[pairs].sum() / 2
    bound = float(middle + found.bound * unit / 2 - lost)
    program.lower_bound = max(program.lower_bound, min(bound, program.cost))


def _branched_soon(program: PairProgram) -> bool:
    """Whether the integer program has closed a small gap in a few seconds; a bound that is not exact is not kept."""
    bound, deadline = program.lower_bound, program.deadline
    if program.cost - bound > _SMALL_GAP * program.cost:
        return False
    program.deadline = min(deadline, time.monotonic() + _FEW_SECONDS)
    program.branch()
    program.deadline = deadline
    if not program.solved:
        program.lower_bound = bound
    return program.solved
