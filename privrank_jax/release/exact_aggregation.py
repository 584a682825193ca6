r"""Private aggregation of rankings with exact discrete noise, for real releases of a consensus.

n times the Borda scores, and how many users rank one item before another, are sums over users of multiples of 1/2. So
twice these are integers, on which integer noise is drawn exactly (:mod:`~privrank_jax.exact.integer_noise`). Dividing
by 2n is post-processing.

**Changes.** A user orders each pair i < j by σ_ij: 1 for i first, -1 for j first, 0 where the pair is tied or unknown,
under either rule for items not ranked. Twice the user's count of the pair is 1 + σ_ij, and twice the scores are (m -
1)(1, ..., 1) + Σ_{i<j} σ_ij(e_i - e_j). So replacing the user changes twice the counts by a vector with entries in
{-2, ..., 2}, and twice the scores by Σ_{i<j} t_ij(e_i - e_j) with t_ij in {-2, ..., 2}. These are lattice points of
2[-1, 1]^d, d = m(m-1)/2, and of 2Z(K_m), the lattice there being the integer vectors that sum to 0: the sum of twice
the scores is nm(m-1) for any votes of n users, and n is public. Hence c = 2 in the proof at the head of
:mod:`~privrank_jax.exact.k_norm`, and both are attained: all t_ij = ±2 where a ranking is replaced by its reversal.
For Laplace and Gaussian noise, sensitivities are those of the simulated twins: ⌊m²/2⌋ in ℓ₁ and √(m(m²-1)/3) in ℓ₂ for
Borda, one per pair for counts; proofs at the heads of :mod:`privrank_jax.aggregation.borda`, ``noise_all`` and
``dp_kwiksort``.

*Laplace noise* also composes by how a change spreads (:attr:`Guarantee.changes <privrank_jax.privacy.Guarantee>`). For
counts each pair changes by at most 2. For scores, take k items, p of which gain and k - p lose. All that p items gain
is at most 2p(m - p), by the pairs with the others, so the k change by at most 2(p(m - p) + (k - p)(m - k + p)), which
is largest for p = ⌊k/2⌋: what the k most moved items change when a ranking is reversed, by 2\|m - 1 - 2i\| at place i.

Under add-remove the number of users is not public, so twice the *centered* scores, Σ σ_ij(e_i - e_j) summed over users,
are released. One user more or less changes them by such a vector with σ_ij in {-1, 0, 1}: c = 1, on the same lattice,
and half of the sensitivities.

**KwikSort.** There are at most q queries. Each is an integer of sensitivity 2 with integer Laplace noise that is
ε₁/q-DP, that quotient rounded down; so the transcript is ε₁-DP by adaptive composition, and composes like noise on q
numbers that change by 2. Or it has rounded Gaussian noise: Gaussian mechanisms compose adaptively as one on all of
their answers (Dong, Roth and Su 2022), so σ is that of a sensitivity of 2√q at (ε₁, δ). If a round would exceed q, the
ranking comes from counts with noise at ε₂, where ε₁ + ε₂ ≤ ε, the sum taken exactly. Pivots come from the operating
system's entropy and do not depend on the data.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import secrets
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from privrank_jax._quickly import quickly
from privrank_jax._types import Rankings, RankingsLike
from privrank_jax._validate import check_choice, check_no_padding
from privrank_jax.aggregation.borda import borda_sensitivity, user_scores
from privrank_jax.aggregation.diagnostics import SortDiagnostics
from privrank_jax.aggregation.local_moves import local_search
from privrank_jax.aggregation.promise import ADDED, of_rankings
from privrank_jax.aggregation.query_budgets import check_max_queries, check_split, query_budget
from privrank_jax.aggregation.weights import MISSING, PairWeights, checked_ranks
from privrank_jax.estimate import Estimate
from privrank_jax.exact.integer_noise import (
    UNPADDED,
    concentrated,
    exact_estimate,
    exact_promise,
    integer_noise,
    largest_below,
)
from privrank_jax.exact.spanning_trees import Graph
from privrank_jax.privacy.noise import SHAPED_NOISES, NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy

CHANGE = 2
"""c: what one user changes of twice a count, and of twice the scores in zonotopes of all pairs."""


def unit_of(promise: Privacy, num_users: int) -> tuple[int, int]:
    """c, and what noisy sums are divided by: the number of users, or 1 where that is private.

    Args:
        promise: whose adjacency counts.
        num_users: n.

    >>> unit_of(Privacy(1.0, unit="user", adjacency="add-remove"), 100)
    (1, 1)
    """
    return (CHANGE // 2, 1) if promise.adjacency == "add-remove" else (CHANGE, num_users)


UserRankings = RankingsLike | PairWeights
"""Ranks, or weights with their number of users, which a plain matrix lacks."""


def exact_borda(
    data: UserRankings, privacy: Privacy, *, noise: str = "k-norm", missing: str = "last"
) -> Estimate:
    """Borda scores plus exact discrete noise; the twin of :func:`~privrank_jax.aggregation.dp_borda`.

    **Guarantee.** As for the twin; proof at the head of this module.

    Args:
        data: ranks ``(n, m)``, integers, 0 = best, m >= 2; equal ranks are ties, negative ones items not ranked. Or
            :class:`~privrank_jax.aggregation.PairWeights` without padding, with no more users than their float type can
            count exactly.
        privacy: as for the twin, ε finite.
        noise: as for the twin.
        missing: ``"last"`` or ``"unknown"``, as for :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`; of ranks.

    Returns:
        ``value``: noisy scores, ``(m,)`` float64 NumPy array, in items beaten, high = preferred; n times them are
        multiples of 1/2, or of a smaller power of 1/2 for K-norm noise at ε > 8. Under add-remove they are summed over
        users and centered, as those of the twin. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, in items beaten; 1/(nε) for K-norm noise.

    Raises:
        ValueError: as for the twin and all exact releases (:mod:`privrank_jax.release`); fewer than 2
            items, no users, ranks that are no integers, weights that hold no exact counts.

    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> exact_borda([[2, 0, 1]] * 1000, privacy).value.argmax().item()
    1
    """
    attained = exact_promise(of_rankings(privacy, "exact_borda", noise, SHAPED_NOISES, ADDED))
    users, items = checked_rankings(data, missing)
    if isinstance(data, PairWeights):
        totals = data.twice.sum(axis=1)
    else:
        with jax.enable_x64(True):
            scores = np.asarray(quickly(functools.partial(user_scores, missing=missing), data))
        totals = np.rint(2 * scores.sum(axis=0)).astype(np.int64)
    change, divisor = unit_of(attained, users)
    if attained.adjacency == "add-remove":
        totals = totals - users * (items - 1)
    rho = None
    if noise == "k-norm":
        add_noise, scale = integer_noise(noise, attained, change, Graph.of_all_pairs(items))
    else:
        farthest = change * float(borda_sensitivity(items, 1 if noise == "laplace" else 2))
        add_noise, scale = integer_noise(noise, attained, farthest)
        rho = concentrated(noise, farthest, scale)
    about = NoiseDiagnostics(scale / 2 / divisor)
    spread = (abs(items - 1 - 2 * place) for place in range(items))
    changes = tuple(change * one for one in spread if one) if noise == "laplace" else ()
    value = add_noise(totals) / 2 / divisor
    return exact_estimate(value, privacy, attained, about, changes=changes, rho=rho)


def exact_noise_all(
    data: UserRankings, privacy: Privacy, *, noise: str = "k-norm", missing: str = "last"
) -> Estimate:
    """Pairwise weights with exact discrete noise; the twin of :func:`~privrank_jax.aggregation.noise_all`.

    **Guarantee**, arguments and errors: as :func:`exact_borda`.

    Returns:
        ``value``: ``(m, m)`` float64 NumPy array: entries in [0, 1], w̃_ij + w̃_ji = 1, diagonal 0. ``guarantee``.
        ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, in shares of users.

    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> exact_noise_all([[0, 1]] * 1000, privacy).value.round(1).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    attained = exact_promise(of_rankings(privacy, "exact_noise_all", noise, SHAPED_NOISES))
    users, items = checked_rankings(data, missing)
    above = np.triu_indices(items, 1)
    pairs = len(above[0])
    change = CHANGE * {"k-norm": 1, "laplace": pairs, "gaussian": math.sqrt(pairs)}[noise]
    body = pairs if noise == "k-norm" else None
    add_noise, scale = integer_noise(noise, attained, change, body)
    weights = np.zeros((items, items))
    weights[above] = np.clip(add_noise(twice_counts(data, missing)[above]) / 2 / users, 0, 1)
    weights.T[above] = 1 - weights[above]
    changes = (CHANGE,) * pairs if noise == "laplace" else ()
    about = NoiseDiagnostics(scale / 2 / users)
    rho = concentrated(noise, change, scale)
    return exact_estimate(weights, privacy, attained, about, changes=changes, rho=rho)


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

    **Guarantee.** As for the twin, the fallback included; proof at the head of this module.

    Arguments: ``data``, ``missing`` as for :func:`exact_borda`, others as for the twin; the fallback has K-norm noise.
    Errors: as for :func:`exact_borda`; q or split out of range.

    Returns:
        ``value``: ranks, ``(m,)`` int32 NumPy array, 0 = best. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.SortDiagnostics`.

    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> exact_kwiksort([[2, 0, 1]] * 1000, privacy).value.tolist()
    [2, 0, 1]
    """
    attained = exact_promise(of_rankings(privacy, "exact_kwiksort", noise))
    users, items = checked_rankings(data, missing)
    check_split(split)
    pairs = items * (items - 1) // 2
    if max_queries is not None:
        check_max_queries(max_queries)
    budget = min(pairs, int(query_budget(items) if max_queries is None else max_queries))
    of_queries, of_fallback = attained.epsilon, 0.0
    if budget < pairs:
        of_queries = float(split * attained.epsilon)
        of_fallback = largest_below(Fraction(attained.epsilon) - Fraction(of_queries))
    change, spent = CHANGE * math.sqrt(budget), of_queries
    if noise == "laplace":
        change, spent = CHANGE, largest_below(Fraction(of_queries) / budget)
    add_noise, scale = integer_noise(noise, dataclasses.replace(attained, epsilon=spent), change)
    counts = twice_counts(data, missing)

    def before(asked: list[tuple[int, int]]) -> list[bool]:
        """Whether more than half of the users rank the first item of each pair ahead, up to noise."""
        return (add_noise(counts[tuple(np.transpose(asked))]) > users).tolist()

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
    about = SortDiagnostics(queries, exceeded, scale / (2 * users), budget)
    changes, rho = (), None
    if budget == pairs:
        changes = (CHANGE,) * budget if noise == "laplace" else ()
        rho = concentrated(noise, change, scale)
    return exact_estimate(value, privacy, attained, about, changes=changes, rho=rho)


def _sort(
    items: int, before: Callable[[list[tuple[int, int]]], list[bool]], budget: int
) -> tuple[list[int] | None, int]:
    """The order of the items, or None if a round would exceed the budget, and the number of queries answered.

    As :func:`privrank_jax.aggregation.sorting.partition_sort`: all segments of two or more items are split around a
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


def checked_rankings(data: UserRankings, missing: str) -> tuple[int, int]:
    """The numbers of users and items; ``ValueError`` unless the data are rankings of at least two items."""
    check_choice("missing", missing, MISSING)
    if isinstance(data, PairWeights):
        check_no_padding(data, UNPADDED)
        shape = int(data.num_users), data.num_items
    else:
        on_host = isinstance(data, np.ndarray)
        shape = checked_ranks(jax.device_put(data) if on_host else data).shape
    if len(shape) != 2 or not shape[0] or shape[1] < 2:
        raise ValueError(
            f"ranks must have shape (users, items), one user and two items at least, got {shape}."
        )
    return shape
