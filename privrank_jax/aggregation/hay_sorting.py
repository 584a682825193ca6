r"""A baseline without fallback: KwikSort on noisy answers that shuffles the segments its budget leaves unsorted.

Hay, Elagina and Miklau (2017) spend all of ε on at most q comparisons and, when a sort would need more, publish what is
sorted so far with the rest in random order. **What is theirs and what is ours**: the variant follows its description in
Alabi et al. (2022), section 1; the paper itself was not available. The budget and the order of work are ours: q
defaults to ⌈m log₂ m⌉ (a little above the mean number of comparisons), segments are sorted side by side, and a round
that would exceed q is not started, so every open segment keeps its place and is shuffled inside.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from privrank_jax._types import Count, Key, Mask, Numbers, PairMatrix, Ranks
from privrank_jax.aggregation.diagnostics import SortDiagnostics
from privrank_jax.aggregation.noisy_sort import SortPlan, noisy_sort
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budgets import check_max_queries
from privrank_jax.aggregation.weights import PairWeights, shares_of_users
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.calibration import laplace_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy


def hay_kwiksort(
    key: Key,
    weights: PairWeights,
    privacy: Privacy,
    *,
    max_queries: int | None = None,
) -> Estimate:
    """A private ranking from at most q noisy comparisons; items left unsorted come in random order.

    **Guarantee.** ε-DP, unit user, adjacency replace, and whatever these cover: at most q answers with Laplace noise of
    scale q/(nε), each of sensitivity 1/n, compose to ε; shuffling does not read the data. (Proof as in
    :mod:`~privrank_jax.aggregation.dp_sorting`, without a fallback.)

    Args:
        key: PRNG key.
        weights: of n users; masked items get the last ranks, in index order.
        privacy: what is promised: unit user, adjacency replace. ε may be traced; ε = ∞ adds no noise.
        max_queries: q >= 1, an int, at most all pairs; None for ⌈m log₂ m⌉, m the real items.

    Returns:
        ``value``: ranks ``(m,)``, int32, 0 = best. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.SortDiagnostics`, ``exceeded`` where something was shuffled.

    Raises:
        TypeError: a plain matrix in place of weights.
        ValueError: a promise that this can't keep, q out of range, weights that don't fit.

    Source: Hay, Elagina and Miklau (2017), as Alabi et al. (2022) describe it.

    >>> weights = PairWeights.from_ranks([[2, 0, 1]] * 10_000)
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> hay_kwiksort(jax.random.key(0), weights, privacy, max_queries=3).value.tolist()
    [2, 0, 1]
    """
    attained = of_rankings(privacy, "hay_kwiksort")
    w, _, mask = shares_of_users(weights, "hay_kwiksort")
    plan = hay_plan(weights, privacy, max_queries=max_queries)
    ranks, queries, exceeded = _hay_kwiksort(key, w, plan.scale, plan.budget, mask)
    diagnostics = SortDiagnostics(queries, exceeded, plan.scale, plan.budget)
    return Estimate(ranks, Guarantee(privacy, attained), diagnostics)


def hay_plan(weights: PairWeights, privacy: Privacy, *, max_queries: int | None = None) -> SortPlan:
    """Noise and budget of :func:`hay_kwiksort`, which describes arguments and errors."""
    attained = of_rankings(privacy, "hay_kwiksort")
    w, users, mask = shares_of_users(weights, "hay_kwiksort")
    if max_queries is not None:
        check_max_queries(max_queries)
    sizes = np.arange(w.shape[0] + 1)
    asked = [max_queries or default_queries(max(size, 1)) for size in sizes.tolist()]
    budgets = np.maximum(np.minimum(asked, sizes * (sizes - 1) // 2), 1)
    budget = int(budgets[-1]) if mask is None else jnp.asarray(budgets)[jnp.sum(mask)]
    return SortPlan(laplace_scale(budget / users, attained.epsilon), False, budget, 0.0)


def default_queries(num_items: int) -> int:
    """⌈m log₂ m⌉, at least 1."""
    return max(1, math.ceil(num_items * math.log2(num_items)))


@jax.jit
def _hay_kwiksort(
    key: Key, w: PairMatrix, scale: Numbers, budget: Count, mask: Mask | None
) -> tuple[Ranks, Int[Array, ""], Bool[Array, ""]]:
    found = noisy_sort(key, w, SortPlan(scale, False, budget, 0.0), mask, shuffled=True)
    return found.ranks, found.queries, found.exceeded
