r"""Private aggregation of rankings with exact discrete noise, for real releases of a consensus.

n times the Borda scores, and how many users rank one item before another, are sums over users of multiples of 1/2. So
twice these are integers, on which integer noise is drawn exactly: Laplace and Gaussian noise by OpenDP, as in
:mod:`~privrank_jax.release.noisy_totals`, K-norm noise by :mod:`~privrank_jax.release.k_norm`. Dividing by 2n is
post-processing.

**Changes.** A user orders each pair i < j by σ_ij: 1 for i first, -1 for j first, 0 where the pair is tied or unknown,
under either rule for items not ranked. Twice the user's count of the pair is 1 + σ_ij, and twice the scores are (m -
1)(1, ..., 1) + Σ_{i<j} σ_ij(e_i - e_j). So replacing the user changes twice the counts by a vector with entries in
{-2, ..., 2}, and twice the scores by Σ_{i<j} t_ij(e_i - e_j) with t_ij in {-2, ..., 2}. These are lattice points of
2[-1, 1]^d, d = m(m-1)/2, and of 2Z(K_m), the lattice there being the integer vectors that sum to 0: the sum of twice
the scores is nm(m-1) for any votes of n users, and n is public. Hence c = 2 in the proof at the head of
:mod:`~privrank_jax.release.k_norm`, and both are attained: all t_ij = ±2 where a ranking is replaced by its reversal.
For Laplace and Gaussian noise, sensitivities are those of the simulated twins: ⌊m²/2⌋ in ℓ₁ and √(m(m²-1)/3) in ℓ₂ for
Borda, one per pair for counts; proofs at the heads of :mod:`privrank_jax.aggregation.borda`, ``noise_all`` and
``dp_kwiksort``.

**KwikSort.** There are at most q queries. Each is an integer of sensitivity 2 with discrete Laplace noise that OpenDP
proves to be ε₁/q-DP, that quotient rounded down; so the transcript is ε₁-DP by adaptive composition. Or it has discrete
Gaussian noise of σ such that q queries, of 4/(2σ²)-zCDP each, which adds up over adaptive queries, are (ε₁, δ)-DP by
OpenDP's conversion. If a round would exceed q, the ranking comes from counts with noise at ε₂, where ε₁ + ε₂ ≤ ε, the
sum taken exactly. Pivots come from the operating system's entropy and do not depend on the data.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from privrank_jax._host.evaluate import quickly
from privrank_jax._types import Numbers, Rankings, RankingsLike
from privrank_jax._validate import check_choice, check_epsilon, check_positive
from privrank_jax.aggregation.borda import borda_sensitivity, user_scores
from privrank_jax.aggregation.diagnostics import SortDiagnostics
from privrank_jax.aggregation.local_search import local_search
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budget import check_max_queries, check_split, query_budget
from privrank_jax.aggregation.weights import MISSING, PairWeights, checked_ranks
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NOISES, SHAPED_NOISES, NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.discrete_noise import discrete_gaussian, discrete_laplace
from privrank_jax.release.k_norm import discrete_cube, discrete_zonotope
from privrank_jax.release.spanning_trees import Graph

CHANGE = 2
"""c: what one user changes of twice a count, and of twice the scores in zonotopes of all pairs."""

UserRankings = RankingsLike | PairWeights
"""Ranks, or weights with their number of users, which a plain matrix lacks."""


def exact_borda(
    data: UserRankings, privacy: Privacy, *, noise: str = "k-norm", missing: str = "last"
) -> Estimate:
    """Borda scores plus exact discrete noise; the twin of :func:`~privrank_jax.aggregation.dp_borda`.

    **Guarantee.** ε-DP with K-norm or Laplace noise, (ε, δ)-DP with Gaussian noise; unit user, adjacency replace, and
    whatever these cover; proof at the head of this module. Runs on the host: no tracing, no key.

    Args:
        data: ranks ``(n, m)``, integers, 0 = best, m >= 2; equal ranks are ties, negative ones items not ranked. Or
            :class:`~privrank_jax.aggregation.PairWeights` without padding, with no more users than their float type can
            count exactly.
        privacy: what is promised: unit user, adjacency replace; ε finite.
        noise: ``"k-norm"``, in the shape of what a user can change; ``"laplace"``; or ``"gaussian"`` for a promise with
            δ > 0.
        missing: ``"last"`` or ``"unknown"``, as for :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`; of ranks.

    Returns:
        ``value``: noisy scores, ``(m,)`` float64 NumPy array, in items beaten, high = preferred; n times them are
        multiples of 1/2, or of a smaller power of 1/2 for K-norm noise at ε > 8. ``guarantee`` with
        ``numerics="exact"``. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, in items beaten;
        1/(nε) for K-norm noise.

    Raises:
        ValueError: a promise that this can't keep, ε infinite, fewer than 2 items, no users, ranks that are no
            integers, weights that hold no exact counts.
        ImportError: Laplace or Gaussian noise, and OpenDP is not installed, or unsound.

    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> exact_borda([[2, 0, 1]] * 1000, privacy).value.argmax().item()
    1
    """
    attained = exact_promise(privacy, "exact_borda", noise, SHAPED_NOISES)
    users, items = checked_rankings(data, missing)
    if isinstance(data, PairWeights):
        totals = data.twice.sum(axis=1)
    else:
        with jax.enable_x64(True):
            scores = np.asarray(quickly(functools.partial(user_scores, missing=missing), data))
        totals = np.rint(2 * scores.sum(axis=0)).astype(np.int64)
    if noise == "k-norm":
        graph = Graph.of_all_pairs(items)
        add_noise, scale = discrete_zonotope(graph, CHANGE, attained.epsilon)
    else:
        change = 2 * float(borda_sensitivity(items, 1 if noise == "laplace" else 2))
        add_noise, scale = _independent_noise(change, attained, noise)
    noisy, scale = np.asarray(add_noise(totals.tolist()), np.float64) / 2, scale / 2
    guarantee = Guarantee(privacy, attained, numerics="exact")
    return Estimate(noisy / users, guarantee, NoiseDiagnostics(scale / users))


def exact_noise_all(
    data: UserRankings, privacy: Privacy, *, noise: str = "k-norm", missing: str = "last"
) -> Estimate:
    """Pairwise weights with exact discrete noise; the twin of :func:`~privrank_jax.aggregation.noise_all`.

    **Guarantee**, arguments and errors: as :func:`exact_borda`.

    Returns:
        ``value``: ``(m, m)`` float64 NumPy array: entries in [0, 1], w̃_ij + w̃_ji = 1, diagonal 0. ``guarantee`` with
        ``numerics="exact"``. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, in shares of
        users.

    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> exact_noise_all([[0, 1]] * 1000, privacy).value.round(1).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    attained = exact_promise(privacy, "exact_noise_all", noise, SHAPED_NOISES)
    users, items = checked_rankings(data, missing)
    above = np.triu_indices(items, 1)
    pairs = len(above[0])
    if noise == "k-norm":
        add_noise, scale = discrete_cube(pairs, CHANGE, attained.epsilon)
    else:
        change = CHANGE * (pairs if noise == "laplace" else math.sqrt(pairs))
        add_noise, scale = _independent_noise(change, attained, noise)
    twice = add_noise(twice_counts(data, missing)[above].tolist())
    noisy, scale = np.asarray(twice, np.float64) / 2, scale / 2
    weights = np.zeros((items, items))
    weights[above] = np.clip(noisy / users, 0, 1)
    weights.T[above] = 1 - weights[above]
    guarantee = Guarantee(privacy, attained, numerics="exact")
    return Estimate(weights, guarantee, NoiseDiagnostics(scale / users))


def _independent_noise(change: float, attained: Privacy, noise: str) -> tuple[Any, float]:
    """OpenDP's mechanism for integers of that sensitivity, and its scale."""
    if noise == "laplace":
        return discrete_laplace(change, attained.epsilon)
    return discrete_gaussian(change, attained.epsilon, attained.delta)


def exact_kwiksort(
    data: UserRankings,
    privacy: Privacy,
    *,
    noise: str = "laplace",
    max_queries: int | None = None,
    split: float = 0.5,
    missing: str = "last",
) -> Estimate:
    """KwikSort on noisy answers with exact discrete noise; the twin of :func:`~privrank_jax.aggregation.dp_kwiksort`.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise; unit user, adjacency replace, and whatever
    these cover, the fallback included; proof at the head of this module.

    Args:
        data, privacy, missing: as :func:`exact_borda`.
        noise: noise of the answers, ``"laplace"`` or ``"gaussian"``; the fallback has K-norm noise.
        max_queries: q >= 1; None takes :func:`~privrank_jax.aggregation.query_budget.query_budget`.
        split: share of ε for the queries, in (0, 1); unused if q covers all pairs, so that no fallback is needed.

    Returns:
        ``value``: ranks, ``(m,)`` int32 NumPy array, 0 = best. ``guarantee`` with ``numerics="exact"``.
        ``diagnostics``: :class:`~privrank_jax.aggregation.diagnostics.SortDiagnostics`.

    Raises:
        ValueError, ImportError: as :func:`exact_borda`; q or split out of range.

    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> exact_kwiksort([[2, 0, 1]] * 1000, privacy).value.tolist()
    [2, 0, 1]
    """
    attained = exact_promise(privacy, "exact_kwiksort", noise)
    users, items = checked_rankings(data, missing)
    check_split(split)
    pairs = items * (items - 1) // 2
    if max_queries is not None:
        check_max_queries(max_queries)
    budget = min(pairs, int(query_budget(items) if max_queries is None else max_queries))
    of_queries, of_fallback = attained.epsilon, 0.0
    if budget < pairs:
        of_queries = float(split * attained.epsilon)
        of_fallback = _largest_below(Fraction(attained.epsilon) - Fraction(of_queries))
    if noise == "laplace":
        each = _largest_below(Fraction(of_queries) / budget)
        mechanism, scale = discrete_laplace(2, each)
    else:
        mechanism, scale = discrete_gaussian(2 * math.sqrt(budget), of_queries, attained.delta)
    counts = twice_counts(data, missing)

    def before(asked: list[tuple[int, int]]) -> list[bool]:
        """Whether more than half of the users rank the first item of each pair ahead, up to noise."""
        noisy = mechanism([int(counts[pair]) for pair in asked])
        return [count > users for count in noisy]

    order, queries = _sort(items, before, budget)
    exceeded = order is None
    if order is None:
        rest = dataclasses.replace(attained, epsilon=of_fallback, delta=0.0)
        noisy = exact_noise_all(PairWeights.from_counts(counts, users), rest)
        with jax.enable_x64(True):
            value = np.asarray(quickly(local_search, noisy.value), np.int32)
    else:
        value = np.empty(items, np.int32)
        value[order] = np.arange(items)
    return Estimate(
        value,
        Guarantee(privacy, attained, numerics="exact"),
        SortDiagnostics(queries, exceeded, scale / (2 * users), budget),
    )


def _sort(
    items: int, before: Callable[[list[tuple[int, int]]], list[bool]], budget: int
) -> tuple[list[int] | None, int]:
    """The order of the items, or None if a round would exceed the budget, and the number of queries answered.

    As :func:`privrank_jax.aggregation.kwiksort.partition_sort`: all segments of two or more items are split around a
    random pivot in one round.
    """
    segments, queries = [list(range(items))], 0
    while any(len(segment) > 1 for segment in segments):
        pivots = [segment[secrets.randbelow(len(segment))] for segment in segments]
        asked = [
            (item, pivot)
            for segment, pivot in zip(segments, pivots)
            for item in segment
            if item != pivot
        ]
        if queries + len(asked) > budget:
            return None, queries
        queries += len(asked)
        left = {pair for pair, first in zip(asked, before(asked)) if first}
        parts = []
        for segment, pivot in zip(segments, pivots):
            ahead = [item for item in segment if (item, pivot) in left]
            behind = [item for item in segment if item != pivot and (item, pivot) not in left]
            parts += [part for part in (ahead, [pivot], behind) if part]
        segments = parts
    return [segment[0] for segment in segments], queries


def twice_counts(data: UserRankings, missing: str) -> np.ndarray:
    """Twice the number of users who rank i before j, ties counting half: ``(m, m)`` int64, exact."""
    if isinstance(data, PairWeights):
        return data.twice
    with jax.enable_x64(True):
        return counted_weights(data, missing).twice


def counted_weights(ranks: RankingsLike, missing: str) -> PairWeights:
    """:meth:`PairWeights.from_ranks <privrank_jax.aggregation.PairWeights.from_ranks>`, for small data by NumPy.

    Args:
        ranks: ``(n, m)`` integers, as there.
        missing: as there.

    Raises:
        ValueError: as there.
    """
    given = np.asarray(ranks)
    if given.dtype.kind != "i" or not given.size or given.max() >= np.iinfo(np.int8).max:
        return PairWeights.from_ranks(ranks, missing=missing)

    count = functools.partial(_counted_matrix, missing=missing)
    return PairWeights(quickly(count, np.maximum(given, -1).astype(np.int8)), len(given))


def _counted_matrix(ranks: Rankings, missing: str) -> Any:
    return PairWeights.from_ranks(ranks, missing=missing).matrix


def _largest_below(bound: Fraction) -> float:
    """The largest double that is at most ``bound``."""
    value = float(bound)
    while Fraction(value) > bound:
        value = math.nextafter(value, -math.inf)
    return value


def check_budget(epsilon: Numbers) -> None:
    """Raise ``ValueError`` unless ε is one positive, finite number."""
    check_epsilon(epsilon)
    check_positive("epsilon", epsilon, infinite=False)
    if np.ndim(epsilon):
        raise ValueError(f"epsilon must be one number, got shape {np.shape(epsilon)}.")


def exact_promise(
    privacy: Privacy, by: str, noise: str = "laplace", noises: Sequence[str] = NOISES
) -> Privacy:
    """Like :func:`~privrank_jax.aggregation.promise.of_rankings`, for one finite ε; ε and δ as doubles."""
    attained = of_rankings(privacy, by, noise, noises)
    check_budget(attained.epsilon)
    return dataclasses.replace(
        attained, epsilon=float(attained.epsilon), delta=float(attained.delta)
    )


def checked_rankings(data: UserRankings, missing: str) -> tuple[int, int]:
    """The numbers of users and items; ``ValueError`` unless the data are rankings of at least two items."""
    check_choice("missing", missing, MISSING)
    if isinstance(data, PairWeights):
        if data.mask is not None and not np.all(np.asarray(data.mask)):
            raise ValueError(
                "exact releases take no padding: leave padded items out of the weights."
            )
        shape = int(data.num_users), data.num_items
    else:
        on_host = isinstance(data, np.ndarray)
        shape = checked_ranks(jax.device_put(data) if on_host else data).shape
    if len(shape) != 2 or not shape[0] or shape[1] < 2:
        raise ValueError(
            f"ranks must have shape (users, items), one user and two items at least, got {shape}."
        )
    return shape
