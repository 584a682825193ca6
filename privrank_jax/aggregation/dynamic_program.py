r"""The Kemeny optimum of up to 20 items, by dynamic programming over their subsets.

The best order of a set S placed first ends with some j in S, so best(S) = min_j best(S∖j) + Σ_{i∈S} c_ji, where
c_ij = max(w_ij − w_ji, 0) is what ranking j before i costs above the better order of the two. Costs are rounded to
integers (int32; int64 for float64) that sum to about 2^28 (2^50): for these the minimum is exact, whatever the order of
summation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

from privrank_jax._types import MaskLike, PairMatrixLike, Ranks
from privrank_jax.aggregation.weights import PairWeights, integer_lead, shares_of
from privrank_jax.rankings import order_to_ranks, ranks_from_scores

MAX_ITEMS = 20


def exact_kemeny(weights: PairWeights | PairMatrixLike, *, mask: MaskLike | None = None) -> Ranks:
    """A ranking of least Kemeny score, for m <= 20 items; time O(m² 2^m), memory O(2^m).

    Args:
        weights: :class:`~privrank_jax.aggregation.PairWeights`, or any finite ``(m, m)`` matrix, w_ij of i before j.
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
    return _exact_kemeny(w, jnp.ones(items, bool) if mask is None else mask)


@jax.jit
def _exact_kemeny(w: Array, keep: Array) -> Array:
    cost = jnp.maximum(integer_lead(w, keep, total=True), 0)
    items, bits = len(cost), item_bits(len(cost))
    # A cost above all others, of which two don't overflow.
    largest = jnp.iinfo(cost.dtype).max // 4
    least = over_orders(cost, functools.partial(jnp.min, axis=1), largest)

    def last(subset: Array, _: None) -> tuple[Array, Array]:
        inside = (subset & bits) > 0
        behind = least[subset & ~bits] + jnp.sum(jnp.where(inside, cost, 0), axis=1)
        item = jnp.argmin(jnp.where(inside, behind, largest))
        return subset & ~bits[item], item

    _, backwards = jax.lax.scan(last, jnp.asarray((1 << items) - 1), length=items)
    return ranks_from_scores(-order_to_ranks(backwards[::-1]), keep)


def over_orders(
    costs: Shaped[Array, "items items"], fold: Callable[[Array], Array], most: float
) -> Shaped[Array, " subsets"]:
    """f(S) = fold over j of f(S∖j) + Σ_{i∈S} costs_ji, f(∅) = 0, for all subsets.

    Those of k items are found in round k. A round computes as many as there are of the most frequent size: what it
    finds of other sizes is right as well or found again in their own round.

    Args:
        costs: ``(m, m)``, diagonal 0.
        fold: of ``(subsets, m)`` over items; where j is not in S it sees ``most``.
        most: what no cost reaches.
    """
    items = len(costs)
    half = items // 2
    upper, lower = (_subset_sums(costs.T[part]) for part in (np.s_[:half], np.s_[half:]))
    by_size, first = _by_size(items)
    subsets, first, bits = jnp.asarray(by_size), jnp.asarray(first), item_bits(items)

    def grow(size: Int[Array, ""], found: Array) -> Array:
        start = first[size]
        these = jax.lax.dynamic_slice_in_dim(subsets, start, math.comb(items, half))
        behind = upper[these // len(lower)] + lower[these % len(lower)]
        smaller = these[:, None] & ~bits
        terms = jnp.where(smaller < these[:, None], found[smaller] + behind, most)
        return found.at[these].set(fold(terms))

    none = jnp.full(1 << items, most, costs.dtype).at[0].set(0)
    return jax.lax.fori_loop(1, items + 1, grow, none)


@functools.lru_cache(maxsize=8)
def _by_size(items: int) -> tuple[Int[np.ndarray, " subsets"], Int[np.ndarray, " sizes"]]:
    """All subsets as bits, those of fewer items first; the place of the first one of each size."""
    sizes = np.sum((np.arange(1 << items)[:, None] >> np.arange(items)) & 1, axis=1)
    order = np.argsort(sizes, kind="stable")
    return order.astype(np.int32), np.searchsorted(sizes[order], np.arange(items + 1))


def item_bits(items: int) -> Int[Array, " items"]:
    """The bit of each item in a subset; item 0 has the highest."""
    return jnp.asarray(1 << np.arange(items, dtype=np.int32)[::-1])


def _subset_sums(terms: Array) -> Array:
    """Σ of ``terms[i]`` over the items of each subset, in the order of bit patterns."""
    sums = jnp.zeros_like(terms, shape=(1, *terms.shape[1:]))
    for term in terms[::-1]:
        sums = jnp.concatenate([sums, sums + term])
    return sums
