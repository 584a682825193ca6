r"""KwikSort with exact discrete noise, for real releases of a consensus.

Twice the number of users who rank i before j is an integer, which one user changes by at most 2. There are at most q
queries. Each is such an integer with integer Laplace noise that is ε₁/q-DP, that quotient rounded down; so the
transcript is ε₁-DP by adaptive composition, and composes like noise on q numbers that change by 2. Or it has rounded
Gaussian noise: Gaussian mechanisms compose adaptively as one on all of their answers (Dong, Roth and Su 2022), so σ is
that of a sensitivity of 2√q at (ε₁, δ). If a round would exceed q, the ranking comes from counts with noise at ε₂,
where ε₁ + ε₂ ≤ ε, the sum taken exactly. Pivots come from the operating system's entropy and do not depend on the data.
"""

from __future__ import annotations

import dataclasses
import math
import secrets
from collections.abc import Callable
from fractions import Fraction

import jax
import numpy as np

from privrank_jax._quickly import quickly
from privrank_jax.aggregation.diagnostics import SortDiagnostics
from privrank_jax.aggregation.local_moves import local_search
from privrank_jax.aggregation.noisy_weights import noise_all
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budgets import check_max_queries, check_split, query_budget
from privrank_jax.aggregation.weights import PairWeights, whole_counts
from privrank_jax.estimate import Estimate
from privrank_jax.exact.integer_noise import (
    concentrated,
    exact_estimate,
    exact_promise,
    integer_noise,
    largest_below,
)
from privrank_jax.privacy.privacy import Privacy

CHANGE = 2
"""c: what one user changes of twice a count, and of twice the scores in zonotopes of all pairs."""


def exact_kwiksort(
    weights: PairWeights,
    privacy: Privacy,
    *,
    noise: str = "laplace",
    max_queries: int | None = None,
    split: float = 0.5,
) -> Estimate:
    """KwikSort on noisy answers with exact discrete noise; the twin of :func:`~privrank_jax.aggregation.dp_kwiksort`.

    **Guarantee.** As for the twin, the fallback included; proof at the head of this module.

    Arguments and errors: as for the twin and all exact releases (:mod:`privrank_jax.release`); the fallback has K-norm
    noise.

    Returns:
        ``value``: ranks, ``(m,)`` int32 NumPy array, 0 = best. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.SortDiagnostics`.

    >>> from privrank_jax.aggregation.weights import counted_weights
    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> exact_kwiksort(counted_weights([[2, 0, 1]] * 1000), privacy).value.tolist()
    [2, 0, 1]
    """
    attained = exact_promise(of_rankings(privacy, "exact_kwiksort", noise))
    counts, users, items = whole_counts(weights), int(weights.num_users), weights.num_items
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

    def before(asked: list[tuple[int, int]]) -> list[bool]:
        """Whether more than half of the users rank the first item of each pair ahead, up to noise."""
        return (add_noise(counts[tuple(np.transpose(asked))]) > users).tolist()

    order, queries = _sort(items, before, budget)
    exceeded = order is None
    if order is None:
        rest = dataclasses.replace(attained, epsilon=of_fallback, delta=0.0)
        noisy = noise_all.release(weights, rest)
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
