r"""The Kemeny optimum of up to 20 items, by dynamic programming over their subsets.

The best order of a set S placed first ends with some j in S, so best(S) = min_j best(S∖j) + Σ_{i∈S} c_ji, where
c_ij = max(w_ij − w_ji, 0) is what ranking j before i costs above the better order of the two. Costs are rounded to
integers (int32; int64 for float64) that sum to about 2^28 (2^50): for these the minimum is exact, whatever the order of
summation.

A batch of problems runs through the subsets in the order of their bit patterns; each step is one vector over the batch.

A single problem keeps a table, one row for each subset H of the first items and one column for each subset L of the
others. Rows are sorted by the size of H and computed in blocks of one size, from the rows with one item removed. An
entry leaves out Σ c_hl over h ∈ H, l ∈ L, so that adding h to H costs the same in every column; less a further Σ d_lh,
d = w − wᵀ, adding to L costs the same in every row. So a step only adds rows or columns and takes minima.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike

from privrank_jax._types import MaskLike, PairMatrixLike, Ranks
from privrank_jax.aggregation.weights import PairWeights, integer_lead, shares_of
from privrank_jax.rankings import order_to_ranks, ranks_from_scores

MAX_ITEMS = 20
_COLUMN_ITEMS, _BLOCKS = 6, 64
_FEW, _MAX_ITEMS_MANY = 32, 16


def exact_kemeny(weights: PairWeights | PairMatrixLike, *, mask: MaskLike | None = None) -> Ranks:
    """A ranking of least Kemeny score, for m <= 20 items; time O(m 2^m), memory 4·2^m bytes (8·2^m in float64).

    Args:
        weights: :class:`~privrank_jax.aggregation.PairWeights`, or a plain ``(m, m)`` matrix, w_ij the weight of i
            before j; any finite matrix works, consistent or not.
        mask: ``(m,)`` bool, of a plain matrix; items with False get the last ranks, in index order. None keeps all.

    Returns:
        Ranks ``(m,)``, int32, 0 = best; one of the optimal rankings, always the same.

    Raises:
        ValueError: shapes that don't fit, m > 20.

    >>> w = [[0.0, 0.6, 0.3], [0.4, 0.0, 0.9], [0.7, 0.1, 0.0]]
    >>> exact_kemeny(w).tolist()
    [2, 0, 1]
    """
    w, mask = shares_of(weights, mask)
    items = w.shape[0]
    if items > MAX_ITEMS:
        raise ValueError(
            f"{items} items have too many subsets for dynamic programming (at most {MAX_ITEMS} items): use "
            "aggregation.kemeny_rule"
        )
    keep = jnp.ones(w.shape[:1], bool) if mask is None else mask
    return _exact_kemeny(w, keep)


@jax.jit
def _exact_kemeny(w: Array, keep: Array) -> Array:
    ranks = order_to_ranks(_best_order(integer_lead(w, keep, total=True)))
    return ranks_from_scores(-ranks, keep)


@jax.custom_batching.custom_vmap
def _best_order(lead: Array) -> Array:
    """The order of least cost, ``(m,)``, from integers ``lead``, (m, m) and antisymmetric."""
    cost, split = jnp.maximum(lead, 0), _split(len(lead))
    table, place = _least_costs(lead), jnp.asarray(_rows(split).place)
    columns = 2 ** (len(lead) - split)
    across = cost.at[:split, :split].set(0).at[split:, :].set(0)

    def least_without(members: Array) -> Array:
        # The sum between H and L that the table leaves out, relative to that of all the members.
        missing = jnp.sum(jnp.where(members, across + across.T, 0), axis=1)
        smaller = _pattern(members) & ~_bits(len(lead))
        return table[place[smaller // columns], smaller % columns] - missing

    return _trace_back(least_without, cost)


@_best_order.def_vmap
def _best_orders(size: int, in_batched: list[bool], lead: Array) -> tuple[Array, bool]:
    if not in_batched[0]:
        return _best_order(lead), False
    if size < _FEW or lead.shape[-1] > _MAX_ITEMS_MANY:
        return jax.lax.map(_best_order, lead), True
    cost = jnp.maximum(lead, 0)
    # The batch runs along the last axis, where a step reads and writes it whole; the barrier keeps XLA from transposing
    # again in each step.
    least = _least_costs_of_many(jax.lax.optimization_barrier(jnp.moveaxis(cost, 0, -1)))

    def trace_back(least: Array, cost: Array) -> Array:
        def least_without(members: Array) -> Array:
            return least[_pattern(members) & ~_bits(len(cost))]

        return _trace_back(least_without, cost)

    return jax.vmap(trace_back, in_axes=(-1, 0))(least, cost), True


def _bits(items: int) -> Array:
    """The bit of each item; item 0 has the highest."""
    return jnp.asarray(1 << np.arange(items)[::-1])


def _pattern(members: Array) -> Array:
    return jnp.sum(jnp.where(members, _bits(len(members)), 0))


def _trace_back(least_without: Callable[[Array], Array], cost: Array) -> Array:
    """Find the order of least cost, from its last item to its first.

    ``least_without`` maps the members of a set, (m,) bool, to the least costs of the sets with one item less, (m,).
    """
    items = len(cost)

    def last(members: Array, _) -> tuple[Array, Array]:
        least = least_without(members) + jnp.sum(jnp.where(members, cost, 0), axis=1)
        item = jnp.argmin(jnp.where(members, least, jnp.iinfo(least.dtype).max))
        return members & (jnp.arange(items) != item), item

    _, backwards = jax.lax.scan(last, jnp.ones(items, bool), length=items)
    return backwards[::-1]


class Rows(NamedTuple):
    """All subsets H of k items as rows of the table, sorted by size, in blocks of subsets of one size."""

    place: np.ndarray  #: (2^k,) the row of each subset, as bit pattern
    sizes: np.ndarray  #: (blocks,)
    starts: np.ndarray  #: (blocks,) first rows
    patterns: np.ndarray  #: (blocks, block size) the subsets; padded with copies of the last
    items: np.ndarray  #: (blocks, k, block size) the items of each subset; padded with zeros
    parents: np.ndarray  #: (blocks, k, block size) the row of the subset without that item


@functools.cache
def _rows(items: int) -> Rows:
    bits = 1 << np.arange(items)[::-1]
    members = (np.arange(2**items)[:, None] & bits) > 0
    counts = members.sum(1)
    block = max(items, 2**items // _BLOCKS)
    place, row, patterns, sizes = np.zeros(2**items, np.int32), 1, [], []
    for size in range(1, items + 1):
        layer = np.flatnonzero(counts == size)
        place[layer] = row + np.arange(len(layer))
        layer = np.pad(layer, (0, -len(layer) % block), mode="edge").reshape(-1, block)
        patterns.append(layer)
        sizes += [size] * len(layer)
        row += layer.size
    patterns = np.concatenate(patterns)
    # Items of the subset come first, in increasing order.
    inside = np.argsort(~members, axis=1, kind="stable")[patterns].swapaxes(1, 2)
    parents = place[patterns[:, None, :] & ~bits[inside]]
    starts = 1 + block * np.arange(len(patterns))
    return Rows(place, np.array(sizes), starts, patterns, inside, parents)


def _split(items: int) -> int:
    """How many of the items make up the rows of the table."""
    return items - min(_COLUMN_ITEMS, items // 2)


def _subset_sums(terms: Array) -> Array:
    """Σ of ``terms[i]`` over the items of each subset, in the order of bit patterns."""
    sums = jnp.zeros_like(terms, shape=(1, *terms.shape[1:]))
    for term in terms[::-1]:
        sums = jnp.concatenate([sums, sums + term])
    return sums


def _least_costs(lead: Array) -> Array:
    """The table: the least cost of each subset, less Σ c_hl over h ∈ H, l ∈ L."""
    split = _split(lead.shape[0])
    rows, cost = _rows(split), jnp.maximum(lead, 0)
    sums = _subset_sums(jnp.concatenate([cost[:split, :split].T, lead[split:, :split].T], axis=1))
    added = sums[rows.patterns[:, None, :], rows.items]
    shifts = _subset_sums(sums[:, split:].T).T[rows.patterns]
    closure = _closure(cost[split:, split:])
    table = jnp.zeros((1 + rows.patterns.size, len(closure)), lead.dtype).at[0].set(closure[0])

    def block(table: Array, now):
        size, start, parents, added, shift = now

        def slot(number, grown):
            return jnp.minimum(grown, table[parents[number]] + added[number][:, None])

        grown = jax.lax.fori_loop(0, size, slot, jnp.full_like(shift, _infinity(lead.dtype)))
        grown = grown - shift
        options = (grown[:, column, None] + reached for column, reached in enumerate(closure))
        least = functools.reduce(jnp.minimum, options)
        return jax.lax.dynamic_update_slice_in_dim(table, least + shift, start, axis=0), None

    blocks = rows.sizes, rows.starts, rows.parents, added, shifts
    return jax.lax.scan(block, table, jax.tree.map(jnp.asarray, blocks))[0]


def _closure(cost: Array) -> Array:
    """Least cost of growing one subset into another, (2^k, 2^k); infinite where the other lacks one of its items."""
    size = 2 ** len(cost)
    reached = (
        jnp.full((size, size), _infinity(cost.dtype)).at[np.arange(size), np.arange(size)].set(0)
    )
    return _grow_in_order(reached, cost[:, :, None]).T


def _least_costs_of_many(cost: Array) -> Array:
    """Least costs of all subsets, (2^m, batch), from (m, m, batch)."""
    empty = jnp.full((2 ** len(cost), cost.shape[-1]), _infinity(cost.dtype)).at[0].set(0)
    return _grow_in_order(empty, cost)


def _grow_in_order(least: Array, cost: Array) -> Array:
    """Relax each row S by the rows of S without one item, (2^m, batch), in the order of bit patterns."""
    items, patterns = len(cost), np.arange(len(least))
    half = items // 2
    upper, lower = (
        _subset_sums(cost.swapaxes(0, 1)[part]) for part in (np.s_[:half], np.s_[half:])
    )
    # The pattern itself where it lacks the item: nothing is better for costs >= 0.
    parents = jnp.asarray(patterns[:, None] & ~(1 << np.arange(items)[::-1]))

    def grow(pattern, least):
        added = upper[pattern // len(lower)] + lower[pattern % len(lower)]
        return least.at[pattern].min(jnp.min(least[parents[pattern]] + added, axis=0))

    return jax.lax.fori_loop(1, len(least), grow, least) if items else least


def _infinity(dtype: DTypeLike) -> int:
    """A cost above all others; two of them don't overflow."""
    return np.iinfo(dtype).max // 4
