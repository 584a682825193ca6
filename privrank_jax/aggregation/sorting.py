r"""KwikSort: quicksort by the users' majorities, partitioning all segments at once.

A sort starts from one segment, all items. In every round each segment of two or more items draws a pivot uniformly;
each of its other items is compared with the pivot and goes to its left or right; the two sides are the next
segments. The segments stay side by side in one array, so a round is a handful of vectorized passes over m positions,
and O(log m) rounds complete the sort: there is no recursion, and replicates under ``vmap`` share the rounds.

**Each pair is asked at most once.** A comparison has its segment's pivot on one side, and a pivot is in no later
segment. So a run never gets two answers on one pair, noise needs no consistency between w̃_ij and w̃_ji, and noise
drawn at the moment of the question (m draws a round) has the distribution of noise drawn in advance for all pairs.

**Queries** are counted exactly, and a round is refused as a whole when it would exceed the budget: no query beyond
the budget is ever answered. Given pivots and answers the recursive sort asks the same queries in another order,
so it exceeds a budget exactly when this one does.

Source: Ailon, Charikar and Newman (2008): a 5-approximation in expectation for weights with w_ij + w_ji = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree

from privrank_jax._types import Count, Key, Mask, MaskLike, PairMatrix, PairMatrixLike, Ranks
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.weights import PairWeights, shares_of
from privrank_jax.rankings import order_to_ranks


class Round(NamedTuple):
    """Queries of one round, position by position; each array is ``(m,)``.

    Attributes:
        items: item at the position.
        pivots: the pivot of its segment.
        asked: whether the pair is a query; False for pivots and items that are in place.
    """

    items: Ranks
    pivots: Ranks
    asked: Mask


class Sorting(NamedTuple):
    """The state of a sort: items in segments side by side, the better segments first.

    Attributes:
        order: item at each position, ``(m,)`` int32.
        start: first position of the segment that a position belongs to.
        length: items of that segment.
        queries: queries answered so far, int32.
        stopped: True where the sort ended early: budget exceeded, or a query refused.
        state: what ``answer`` carries from round to round.
    """

    order: Ranks
    start: Ranks
    length: Ranks
    queries: Int[Array, ""]
    stopped: Bool[Array, ""]
    state: PyTree


Answer = Callable[[Key, Round, PyTree], tuple[Bool[Array, " items"], PyTree, Bool[Array, ""]]]


def partition_sort(
    key: Key, num_items: int, answer: Answer, state: PyTree, max_queries: Count, mask: Mask | None
) -> Sorting:
    """Sort by parallel partitions; shared by all KwikSort variants.

    Args:
        key: PRNG key, of pivots and of what ``answer`` draws.
        num_items: m, static.
        answer: ``(key, round, state) -> (left, state, refused)``: for each position, whether its item goes before its
            pivot (read where asked); its own new state; a scalar bool, True to stop before the round is answered.
        state: the first state of ``answer``, a pytree of arrays.
        max_queries: budget q, may be traced.
        mask: ``(m,)`` bool; False items take the last positions, in index order, and are never asked for.

    Returns:
        :class:`Sorting`. Where ``stopped``, segments hold the items not yet sorted, and ``state`` is that of the last
        round answered.
    """
    position = jnp.arange(num_items, dtype=jnp.int32)
    if mask is None:
        order, start = position, jnp.zeros_like(position)
        length = jnp.full_like(position, num_items)
    else:
        order = jnp.argsort(~mask, stable=True).astype(jnp.int32)
        real = jnp.sum(mask, dtype=jnp.int32)
        start = jnp.where(position < real, 0, position)
        length = jnp.where(position < real, real, 1)
    sorting = Sorting(order, start, length, jnp.int32(0), jnp.bool_(False), state)

    def unsorted(carry: tuple[Array, Sorting]) -> Array:
        sorting = carry[1]
        return jnp.any(sorting.length > 1) & ~sorting.stopped

    def one_round(carry: tuple[Array, Sorting]) -> tuple[Array, Sorting]:
        key, sorting = carry
        key, pivot_key, answer_key = jax.random.split(key, 3)
        pivot = _draw_pivots(pivot_key, sorting)
        asked = (position != pivot) & (sorting.length > 1)
        queries = sorting.queries + jnp.sum(asked, dtype=jnp.int32)
        asking = Round(sorting.order, sorting.order[pivot], asked)
        left, state, refused = answer(answer_key, asking, sorting.state)
        stopped = (queries > max_queries) | refused
        order, start, length = _partition(sorting, pivot, left & asked)
        after = Sorting(order, start, length, queries, stopped, state)
        kept = sorting._replace(stopped=stopped)
        return key, jax.tree.map(lambda old, new: jnp.where(stopped, old, new), kept, after)

    return jax.lax.while_loop(unsorted, one_round, (fused(key), sorting))[1]


def _draw_pivots(key: Key, sorting: Sorting) -> Array:
    """Position of each segment's pivot, from the uniform number at the segment's start.

    Uniform up to the 2^-23 resolution of the number: the odds of two items differ by less than m 2^-23.
    """
    draw = jax.random.uniform(key, sorting.order.shape, jnp.float32)[sorting.start]
    offset = (draw * sorting.length).astype(jnp.int32)
    return sorting.start + jnp.minimum(offset, sorting.length - 1)


def _partition(sorting: Sorting, pivot: Array, left: Array) -> tuple[Array, Array, Array]:
    """Move the left items before their pivot and the others behind it, stably: (order, start, length)."""
    order, start, length = sorting[:3]
    position = jnp.arange(order.shape[0], dtype=jnp.int32)
    upto = jnp.cumsum(left, dtype=jnp.int32)
    first = (upto - left)[start]
    left_before = upto - left - first
    lefts = upto[start + length - 1] - first
    right_before = position - start - left_before - (position > pivot)
    middle = start + lefts
    right = middle + 1 + right_before
    target = jnp.where(left, start + left_before, jnp.where(position == pivot, middle, right))
    order = (
        jnp.zeros_like(order).at[target].set(order, unique_indices=True, mode="promise_in_bounds")
    )
    new_start = jnp.where(
        position < middle, start, jnp.where(position == middle, middle, middle + 1)
    )
    new_length = jnp.where(
        position < middle, lefts, jnp.where(position == middle, 1, length - lefts - 1)
    )
    return order, new_start, new_length


def replace_where(
    needed: Bool[Array, ""],
    ranks: Ranks,
    compute: Callable[..., Array],
    *arguments: Array,
) -> Ranks:
    """``compute(*arguments)`` where ``needed``, else ``ranks``; under ``vmap`` only those replicates compute it.

    A ``cond`` under ``vmap`` would compute the fallback for all replicates. Here the replicates that need it are
    handled one by one, so that a rare fallback costs almost no time or memory.
    """

    @jax.custom_batching.custom_vmap
    def choose(needed: Array, ranks: Array, *arguments: Array) -> Array:
        return jax.lax.cond(needed, lambda: compute(*arguments), lambda: ranks)

    @choose.def_vmap
    def batched(
        size: int, in_batched: Sequence[bool], needed: Array, ranks: Array, *arguments: Array
    ) -> tuple[Array, bool]:
        if not in_batched[0]:
            needed = jnp.broadcast_to(needed, (size,))
        if not in_batched[1]:
            ranks = jnp.broadcast_to(ranks, (size, *ranks.shape))
        in_need_first = jnp.argsort(~needed, stable=True)

        def one(number: Array, ranks: Array) -> Array:
            which = in_need_first[number]
            own = [x[which] if own else x for x, own in zip(arguments, in_batched[2:])]
            return ranks.at[which].set(choose(jnp.bool_(True), ranks[which], *own))

        return jax.lax.fori_loop(0, jnp.sum(needed), one, ranks), True

    return choose(needed, ranks, *arguments)


def kwiksort(
    key: Key,
    weights: PairWeights | PairMatrixLike,
    *,
    mask: MaskLike | None = None,
) -> Ranks:
    """Sort the items by pairwise majorities, with random pivots.

    Args:
        key: PRNG key; the ranking depends on it wherever majorities are not transitive.
        weights: :class:`~privrank_jax.aggregation.PairWeights`, or a plain ``(m, m)`` matrix, noisy ones too: an item
            goes before the pivot if w_item,pivot > w_pivot,item, which is w_item,pivot > 1/2 where the two add up to 1.
        mask: ``(m,)`` bool, of a plain matrix; items with False get the last ranks, in index order.

    Returns:
        Ranks ``(m,)``, int32, 0 = best. Transitive majorities without ties are sorted exactly. For weights with
        w_ij + w_ji = 1 the expected Kemeny score is at most 5 times the smallest.

    Raises:
        ValueError: weights that are not square or not finite, a mask of another shape.

    >>> w = [[0.0, 0.4, 0.1], [0.6, 0.0, 0.3], [0.9, 0.7, 0.0]]
    >>> kwiksort(jax.random.key(0), w).tolist()
    [2, 1, 0]
    """
    return _kwiksort(key, *shares_of(weights, mask))


@jax.jit
def _kwiksort(key: Key, w: PairMatrix, mask: Mask | None) -> Ranks:
    def answer(
        _: Key, asking: Round, state: PyTree
    ) -> tuple[Bool[Array, " items"], PyTree, Bool[Array, ""]]:
        ahead = w[asking.items, asking.pivots] > w[asking.pivots, asking.items]
        return ahead, state, jnp.bool_(False)

    items = w.shape[0]
    return order_to_ranks(partition_sort(key, items, answer, (), items * items, mask).order)
