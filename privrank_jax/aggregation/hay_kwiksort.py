r"""A baseline without fallback: KwikSort on noisy answers that shuffles what its budget left unsorted.

Hay, Elagina and Miklau (2017) spend all of ε on at most q comparisons and, when a sort would need more, publish what is
sorted so far with the rest in random order. **What is theirs and what is ours here**: the variant is built from its
description in Alabi et al. (2022), section 1; the paper itself was not at hand. Budget and order of work are ours: q
defaults to ⌈m log₂ m⌉ (a little above the mean number of comparisons), segments are worked on side by side, and a
round that would exceed q is not begun, so that every open segment is left coarsely right and shuffled inside.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from privrank_jax._validate import check_epsilon, check_users
from privrank_jax.aggregation.borda import checked_weights
from privrank_jax.aggregation.dp_kwiksort import check_max_queries
from privrank_jax.aggregation.kwiksort import Round, partition_sort
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.calibration import laplace_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import laplace
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import order_to_ranks

Array = jax.Array


def hay_kwiksort(
    key: Array,
    w: Any,
    num_users: Any,
    epsilon: Any = 1.0,
    max_queries: int | None = None,
    *,
    mask: Any = None,
) -> Estimate:
    """A private ranking from at most q noisy comparisons, in random order where they don't reach.

    **Guarantee.** ε-DP, unit user, adjacency replace: at most q answers with Laplace noise of scale q/(nε), each of
    sensitivity 1/n, compose to ε; shuffling looks at nothing. (Proof as in
    :mod:`~privrank_jax.aggregation.dp_kwiksort`, without a fallback.)

    Args:
        key: PRNG key.
        w: ``(m, m)`` weights, see :func:`~privrank_jax.aggregation.pairwise_weights`.
        num_users: n >= 1, public, may be traced.
        epsilon: ε > 0, may be traced; ∞ adds no noise.
        max_queries: q >= 1, an int, at most all pairs; None for ⌈m log₂ m⌉.
        mask: ``(m,)`` bool, real items, public; the others get the last ranks, in index order, but count for q.

    Returns: ``value``: ranks ``(m,)``, int32, 0 = best. ``guarantee``. ``diagnostics``: ``queries`` answered and
        ``exceeded`` (True where something was shuffled), private values; ``noise_scale``, ``max_queries``, public.

    Raises:
        ValueError: ε <= 0, n or q out of range, w not square.

    Source: Hay, Elagina and Miklau (2017), as Alabi et al. (2022) describe it.
    """
    w, mask = checked_weights(w, mask)
    check_epsilon(epsilon)
    check_users(num_users)
    items = w.shape[0]
    if max_queries is None:
        max_queries = max(1, math.ceil(items * math.log2(items)))
    check_max_queries(max_queries)
    budget = max(1, min(max_queries, items * (items - 1) // 2))
    scale = laplace_scale(budget / num_users, epsilon)
    ranks, queries, exceeded = _hay_kwiksort(key, w, scale, budget, mask)
    facts = {"queries": queries, "exceeded": exceeded, "noise_scale": scale, "max_queries": budget}
    return Estimate(ranks, Guarantee(Privacy(epsilon, unit="user", adjacency="replace")), facts)


@jax.jit
def _hay_kwiksort(
    key: Array, w: Array, scale: Any, budget: Any, mask: Array | None
) -> tuple[Array, Array, Array]:
    sort_key, shuffle_key = jax.random.split(key)

    def answer(key: Array, asking: Round, state: Any) -> tuple[Array, Any, Array]:
        weights = w[asking.items, asking.pivots]
        return weights + laplace(key, weights.shape, scale, w.dtype) > 0.5, state, jnp.bool_(False)

    sorting = partition_sort(sort_key, w.shape[0], answer, (), budget, mask)
    draw = jax.random.uniform(shuffle_key, sorting.order.shape, jnp.float32)
    shuffled = sorting.order[jnp.lexsort((draw, sorting.start))]
    return order_to_ranks(shuffled), sorting.queries, sorting.stopped
