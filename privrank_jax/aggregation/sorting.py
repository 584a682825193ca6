r"""KwikSort: quicksort by the users' majorities, partitioning all segments at once.

A sort starts from one segment, all items. In every round each segment of two or more items draws a pivot uniformly;
its other items are compared with the pivot and go to its left or right; the two sides are the next segments. Segments
stay side by side in one array, so a round is a few vectorized passes over m positions, and O(log m) rounds complete the
sort, for replicates under ``vmap`` together.

**Each pair is asked at most once.** A comparison has its segment's pivot on one side, and a pivot is in no later
segment. So noise needs no consistency between w̃_ij and w̃_ji, and noise drawn at the moment of the question has the
distribution of noise drawn in advance for all pairs.

**Queries** are counted exactly, and a round that would exceed the budget is refused as a whole. Given pivots and
answers the recursive sort asks the same queries in another order, so it exceeds a budget exactly when this one does.

Source: Ailon, Charikar and Newman (2008): a 5-approximation in expectation for weights with w_ij + w_ji = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree

from privrank_jax._types import Count, Key, Mask, MaskLike, PairMatrix, PairMatrixLike, Ranks
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.weights import PairWeights, shares_of
from privrank_jax.rankings import order_to_ranks


class Round(NamedTuple):
    """Of each position: its item, the pivot of its segment, and whether that pair is a query."""

    items: Ranks
    pivots: Ranks
    asked: Mask


class Sorting(NamedTuple):
    """The state of a sort: items in segments side by side, the better segments first.

    Attributes:
        order: item at each position.
        start: first position of the segment that a position belongs to.
        length: items of that segment.
        queries: answered so far.
        stopped: whether the sort ended early: budget exceeded, or a query refused.
        state: what ``answer`` carries from round to round.
    """

    order: Ranks
    start: Ranks
    length: Ranks
    queries: Int[Array, ""]
    stopped: Bool[Array, ""]
    state: PyTree


class Sorted(NamedTuple):
    """Ranks, queries answered, whether the sort was stopped before its end, and a PRNG key that it has not used."""

    ranks: Ranks
    queries: Int[Array, ""]
    stopped: Bool[Array, ""]
    left_key: Key

    def or_else(self, compute: Callable[..., Ranks], *arguments: PyTree) -> Sorted:
        """With ranks ``compute(left_key, *arguments)`` if it was stopped; under ``vmap`` those in need take turns."""

        @jax.custom_batching.sequential_vmap  # or all replicates would compute it
        def ranks(found: Sorted, *arguments: PyTree) -> Ranks:
            return jax.lax.cond(
                found.stopped, lambda: compute(found.left_key, *arguments), lambda: found.ranks
            )

        return self._replace(ranks=ranks(self, *arguments))


Answer = Callable[[Key, Round, PyTree], tuple[Mask, PyTree, Bool[Array, ""]]]


def partition_sort(
    key: Key, num_items: int, answer: Answer, state: PyTree, max_queries: Count, mask: Mask | None
) -> Sorting:
    """Sort by parallel partitions; masked items take the last positions, in index order, and are never asked for.

    ``answer(key, round, state)`` gives, for each position, whether its item goes before its pivot (read where asked);
    its next state, first ``state``; and True to stop before the round is answered. Where the sort has stopped, segments
    hold the items not yet sorted, and the state is that of the last round answered.
    """
    position = order = jnp.arange(num_items, dtype=jnp.int32)
    real = jnp.int32(num_items)
    if mask is not None:
        order = jnp.argsort(~mask, stable=True).astype(jnp.int32)
        real = jnp.sum(mask, dtype=jnp.int32)
    start = jnp.where(position < real, 0, position)
    length = jnp.where(position < real, real, 1)
    sorting = Sorting(order, start, length, jnp.int32(0), jnp.bool_(False), state)

    def unsorted(carry: tuple[Array, Sorting]) -> Array:
        return jnp.any(carry[1].length > 1) & ~carry[1].stopped

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
    """Position of each segment's pivot; the odds of two items differ by less than m 2^-23, the grid of the draw."""
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
    middle = start + lefts
    right = middle + 1 + position - start - left_before - (position > pivot)
    target = jnp.where(left, start + left_before, jnp.where(position == pivot, middle, right))
    moved = jnp.zeros_like(order).at[target]
    order = moved.set(order, unique_indices=True, mode="promise_in_bounds")
    sides = [position < middle, position == middle]
    new_start = jnp.select(sides, [start, middle], middle + 1)
    new_length = jnp.select(sides, [lefts, jnp.ones_like(lefts)], length - lefts - 1)
    return order, new_start, new_length


def kwiksort(
    key: Key, weights: PairWeights | PairMatrixLike, *, mask: MaskLike | None = None
) -> Ranks:
    """Sort the items by pairwise majorities, with random pivots.

    Args:
        key: PRNG key; the ranking depends on it wherever majorities are not transitive.
        weights: :class:`~privrank_jax.aggregation.PairWeights`, or a plain ``(m, m)`` matrix; an item goes before the
            pivot if w_item,pivot > w_pivot,item.
        mask: ``(m,)`` bool, of a plain matrix; items with False get the last ranks, in index order.

    Returns:
        Ranks ``(m,)``, int32, 0 = best; exact where majorities are transitive and not tied.

    Raises:
        ValueError: weights that are not square or not finite, a mask of another shape.

    >>> w = [[0.0, 0.4, 0.1], [0.6, 0.0, 0.3], [0.9, 0.7, 0.0]]
    >>> kwiksort(jax.random.key(0), w).tolist()
    [2, 1, 0]
    """
    return _kwiksort(key, *shares_of(weights, mask))


@jax.jit
def _kwiksort(key: Key, w: PairMatrix, mask: Mask | None) -> Ranks:
    def answer(_: Key, asking: Round, state: PyTree) -> tuple[Mask, PyTree, Bool[Array, ""]]:
        ahead = w[asking.items, asking.pivots] > w[asking.pivots, asking.items]
        return ahead, state, jnp.bool_(False)

    items = w.shape[0]
    return order_to_ranks(partition_sort(key, items, answer, (), items * items, mask).order)
