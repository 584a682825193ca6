"""One sort on noisy answers for all private KwikSorts: their noise, budgets and splits are numbers, not programs.

So several of them, as :func:`jax.vmap` over plans, are one program: :mod:`~privrank_jax.aggregation.dp_sorting` and
:mod:`~privrank_jax.aggregation.hay_sorting` make the plans and prove what they promise.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, DTypeLike, Float, Int, PyTree

from privrank_jax._types import Count, Flags, Key, Mask, Numbers, PairMatrix, Ranks, Scalar
from privrank_jax._validate import is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.sorting import Round, partition_sort
from privrank_jax.privacy.noise import gaussian, laplace
from privrank_jax.rankings import order_to_ranks


class SortPlan(NamedTuple):
    """What a private sort may spend, and on what; a pytree, so that plans can be stacked.

    Attributes:
        scale: of the noise on an answer.
        is_gaussian: whether the noise is Gaussian, may be traced; Laplace noise otherwise.
        budget: q, the most queries that are answered.
        of_fallback: ε of the ranking that replaces a sort of more queries; 0 if none does.
    """

    scale: Numbers
    is_gaussian: Flags
    budget: Count
    of_fallback: Scalar


class NoisySort(NamedTuple):
    """What a private sort has found.

    Attributes:
        ranks: ``(m,)`` int32; items that the budget left unsorted are side by side.
        queries: queries answered.
        exceeded: whether more queries were needed.
        left_key: PRNG key that the sort has not used, unless it shuffled.
    """

    ranks: Ranks
    queries: Int[Array, ""]
    exceeded: Bool[Array, ""]
    left_key: Key


def noisy_sort(
    key: Key, w: PairMatrix, plan: SortPlan, mask: Mask | None, *, shuffled: bool
) -> NoisySort:
    """Sort items by noisy answers, within a budget of queries.

    Args:
        key: PRNG key.
        w: ``(m, m)`` shares of users; an item goes before its pivot where w_item,pivot plus noise exceeds 1/2.
        plan: scale of the noise and budget; may be traced.
        mask: ``(m,)``, real items; None keeps all.
        shuffled: put items that the budget leaves unsorted in random order, segment by segment.

    Returns:
        :class:`NoisySort`.
    """
    sort_key, left_key = jax.random.split(fused(key))

    def answer(
        key: Key, asking: Round, state: PyTree
    ) -> tuple[Bool[Array, " items"], PyTree, Bool[Array, ""]]:
        weights = w[asking.items, asking.pivots]
        noise = _noise(key, plan, weights.shape, w.dtype)
        return weights + noise > 0.5, state, jnp.bool_(False)

    sorting = partition_sort(sort_key, w.shape[0], answer, (), plan.budget, mask)
    order = sorting.order
    if shuffled:
        draw = jax.random.uniform(left_key, order.shape, jnp.float32)
        order = order[jnp.lexsort((draw, sorting.start))]
    return NoisySort(order_to_ranks(order), sorting.queries, sorting.stopped, left_key)


def _noise(
    key: Key, plan: SortPlan, shape: tuple[int, ...], dtype: DTypeLike
) -> Float[Array, "..."]:
    if not is_traced(plan.is_gaussian):
        return (gaussian if plan.is_gaussian else laplace)(key, shape, plan.scale, dtype)
    drawn = (draw(key, shape, plan.scale, dtype) for draw in (gaussian, laplace))
    return jnp.where(plan.is_gaussian, *drawn)
