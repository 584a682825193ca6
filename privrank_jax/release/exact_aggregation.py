r"""Private aggregation of rankings with exact discrete noise, by OpenDP: what real releases of a consensus use.

n times the Borda scores, and how many users rank one item before another, are sums over users of multiples of 1/2. So
twice these are integers; integer noise on them is drawn exactly, as in :mod:`~privrank_jax.release.noisy_totals`,
and dividing by n is post-processing. Sensitivities are those of the simulated twins (replacing one user): ⌊m²/2⌋ in ℓ₁
and √(m(m²-1)/3) in ℓ₂ for Borda, one per pair for counts; proofs at the heads of :mod:`privrank_jax.aggregation.borda`,
``noise_all`` and ``dp_kwiksort``.

**KwikSort.** Of q queries at most, each is an integer of sensitivity 2 with discrete Laplace noise that OpenDP proves
to be ε₁/q-DP, that quotient rounded down; so the transcript is ε₁-DP by adaptive composition. Or it has discrete
Gaussian noise of σ such that q queries, of 4/(2σ²)-zCDP each, which adds up over adaptive queries, are (ε₁, δ)-DP
by OpenDP's conversion. Where a round would exceed q the ranking comes from counts noised at ε₂ with ε₁ + ε₂ ≤ ε, the
sum taken exactly. Pivots come from the operating system's entropy and do not look at the data.
"""

from __future__ import annotations

import dataclasses
import math
import secrets
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from privrank_jax._validate import check_choice, check_delta, check_epsilon, check_positive
from privrank_jax.aggregation.borda import borda_sensitivity, checked_ranks, user_scores
from privrank_jax.aggregation.dp_kwiksort import check_max_queries, check_split
from privrank_jax.aggregation.local_search import local_search
from privrank_jax.aggregation.query_budget import query_budget
from privrank_jax.aggregation.weights import MISSING, PairCounts, pairwise_weights
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.discrete_noise import discrete_gaussian, discrete_laplace
from privrank_jax.release.noisy_totals import exact_noisy_totals


def exact_borda(
    ranks: Any, *, epsilon: float, delta: float = 0.0, missing: str = "last", note: str = ""
) -> Estimate:
    """Borda scores plus exact discrete noise; the twin of :func:`~privrank_jax.aggregation.dp_borda`.

    **Guarantee.** ε-DP at ``delta=0``, else (ε, δ)-DP; unit user, adjacency replace. Runs on the host.

    Args:
        ranks: ``(n, m)`` integers, 0 = best, m >= 2; equal ranks are ties, negative ones items not ranked. Or their
            counts (:class:`~privrank_jax.aggregation.PairCounts`), made under a rule for items not ranked.
        epsilon: ε, finite.
        delta: 0 for Laplace noise, δ in (0, 1) for Gaussian noise.
        missing: ``"last"`` or ``"unknown"``, as for :func:`~privrank_jax.aggregation.pairwise_weights`; of ranks.
        note: recorded in the guarantee.

    Returns:
        ``value``: noisy scores, ``(m,)`` float64 NumPy array, in items beaten, high = preferred; n times them are
        multiples of 1/2. ``guarantee`` with ``numerics="exact"``. ``diagnostics``: ``{"noise_scale": λ or σ, in items
        beaten}``, public.

    Raises:
        ValueError: ε or δ out of range, fewer than 2 items, no users, ranks that are no integers.
        ImportError: OpenDP is not installed, or unsound.

    >>> exact_borda([[2, 0, 1]] * 1000, epsilon=20.0).value.argmax().item()
    1
    """
    ranks, noise = checked_rankings(ranks, epsilon, delta, missing)
    if isinstance(ranks, PairCounts):
        totals = ranks.twice.sum(axis=1) / 2
    else:
        with jax.enable_x64(True):
            totals = np.asarray(user_scores(ranks, missing=missing)).sum(axis=0)
    users, items = ranks.shape
    noisy = exact_noisy_totals(
        totals,
        Privacy(epsilon, unit="user", adjacency="replace", delta=delta),
        sensitivity=borda_sensitivity(items, 1 if noise == "laplace" else 2),
        noise=noise,
    )
    assert noisy.guarantee is not None
    guarantee = dataclasses.replace(noisy.guarantee, note=note)
    scale = noisy.diagnostics.noise_scale / users
    return Estimate(noisy.value / users, guarantee, {"noise_scale": scale})


def exact_noise_all(
    ranks: Any, *, epsilon: float, delta: float = 0.0, missing: str = "last", note: str = ""
) -> Estimate:
    """Pairwise weights with exact discrete noise; the twin of :func:`~privrank_jax.aggregation.noise_all`.

    **Guarantee**, arguments and errors: as :func:`exact_borda`.

    Returns:
        ``value``: ``(m, m)`` float64 NumPy array: entries in [0, 1], w̃_ij + w̃_ji = 1, diagonal 0. ``guarantee`` with
        ``numerics="exact"``. ``diagnostics``: ``{"noise_scale": λ or σ, in shares of users}``, public.

    >>> exact_noise_all([[0, 1]] * 1000, epsilon=20.0).value.round(1).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    ranks, noise = checked_rankings(ranks, epsilon, delta, missing)
    users, items = ranks.shape
    above = np.triu_indices(items, 1)
    pairs = float(len(above[0]))
    noisy = exact_noisy_totals(
        twice_counts(ranks, missing)[above] / 2,
        Privacy(epsilon, unit="user", adjacency="replace", delta=delta),
        sensitivity=pairs if noise == "laplace" else math.sqrt(pairs),
        noise=noise,
    )
    assert noisy.guarantee is not None
    guarantee = dataclasses.replace(noisy.guarantee, note=note)
    weights = np.zeros((items, items))
    weights[above] = np.clip(noisy.value / users, 0, 1)
    weights.T[above] = 1 - weights[above]
    scale = noisy.diagnostics.noise_scale / users
    return Estimate(weights, guarantee, {"noise_scale": scale})


def exact_kwiksort(
    ranks: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    max_queries: int | None = None,
    split: float = 0.5,
    missing: str = "last",
    note: str = "",
) -> Estimate:
    """KwikSort on noisy answers with exact discrete noise; the twin of :func:`~privrank_jax.aggregation.dp_kwiksort`.

    **Guarantee.** As :func:`exact_borda`, the fallback included; proof at the head of this module.

    Args:
        ranks, epsilon, delta, missing, note: as :func:`exact_borda`.
        max_queries: q >= 1; None for :func:`~privrank_jax.aggregation.query_budget`.
        split: share of ε for the queries, in (0, 1); not used where q reaches all pairs and no fallback is needed.

    Returns:
        ``value``: ranks, ``(m,)`` int32 NumPy array, 0 = best. ``guarantee`` with ``numerics="exact"``.
        ``diagnostics``: ``queries``, ``exceeded`` (private values); ``noise_scale`` (of a weight), ``max_queries``,
        public.

    Raises:
        ValueError, ImportError: as :func:`exact_borda`; q or split out of range.

    >>> exact_kwiksort([[2, 0, 1]] * 1000, epsilon=20.0).value.tolist()
    [2, 0, 1]
    """
    ranks, noise = checked_rankings(ranks, epsilon, delta, missing)
    check_split(split)
    users, items = ranks.shape
    pairs = items * (items - 1) // 2
    if max_queries is not None:
        check_max_queries(max_queries)
    budget = min(pairs, int(query_budget(items) if max_queries is None else max_queries))
    of_queries, of_fallback = float(epsilon), 0.0
    if budget < pairs:
        of_queries = float(split * epsilon)
        of_fallback = _largest_below(Fraction(epsilon) - Fraction(of_queries))
    if noise == "laplace":
        each = _largest_below(Fraction(of_queries) / budget)
        mechanism, scale = discrete_laplace(2, each)
    else:
        mechanism, scale = discrete_gaussian(2 * math.sqrt(budget), of_queries, float(delta))
    counts = twice_counts(ranks, missing)

    def before(asked: list[tuple[int, int]]) -> list[bool]:
        """Whether more than half of the users rank the first item of each pair ahead, as far as noise lets see."""
        noisy = mechanism([int(counts[pair]) for pair in asked])
        return [count > users for count in noisy]

    order, queries = _sort(items, before, budget)
    exceeded = order is None
    if order is None:
        noisy = exact_noise_all(ranks, epsilon=of_fallback, missing=missing)
        with jax.enable_x64(True):
            value = np.asarray(local_search(noisy.value), np.int32)
    else:
        value = np.empty(items, np.int32)
        value[order] = np.arange(items)
    guarantee = Guarantee(
        Privacy(float(epsilon), unit="user", adjacency="replace", delta=float(delta)),
        numerics="exact",
        note=note,
    )
    facts = {
        "queries": queries,
        "exceeded": exceeded,
        "noise_scale": scale / (2 * users),
        "max_queries": budget,
    }
    return Estimate(value, guarantee, facts)


def _sort(
    items: int, before: Callable[[list[tuple[int, int]]], list[bool]], budget: int
) -> tuple[list[int] | None, int]:
    """Order of the items, or None where a round would exceed the budget; and the queries answered.

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


def twice_counts(ranks: np.ndarray | PairCounts, missing: str) -> np.ndarray:
    """Twice the number of users who rank i before j, ties half: ``(m, m)`` int64, exact."""
    if isinstance(ranks, PairCounts):
        return ranks.twice
    with jax.enable_x64(True):
        weights = np.asarray(pairwise_weights(ranks, missing=missing))
    return np.rint(2.0 * len(ranks) * weights).astype(np.int64)


def _largest_below(bound: Fraction) -> float:
    """The largest double that is at most ``bound``."""
    value = float(bound)
    while Fraction(value) > bound:
        value = math.nextafter(value, -math.inf)
    return value


def check_budget(epsilon: Any) -> None:
    """Raise ``ValueError`` unless ε is one positive, finite number."""
    check_epsilon(epsilon)
    check_positive("epsilon", epsilon, infinite=False)
    if np.ndim(epsilon):
        raise ValueError(f"epsilon must be one number, got shape {np.shape(epsilon)}.")


def checked_rankings(
    ranks: Any, epsilon: Any, delta: Any, missing: str
) -> tuple[np.ndarray | PairCounts, str]:
    """Ranks ``(n, m)``, or their counts, and the name of the noise."""
    check_budget(epsilon)
    check_delta(delta)
    check_choice("missing", missing, MISSING)
    if not isinstance(ranks, PairCounts):
        ranks = np.asarray(checked_ranks(ranks))
    if len(ranks.shape) != 2 or not ranks.shape[0] or ranks.shape[1] < 2:
        raise ValueError(
            f"ranks must have shape (users, items), one user and two items at least, got {ranks.shape}."
        )
    return ranks, "gaussian" if delta > 0 else "laplace"
