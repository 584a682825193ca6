"""Distances between rankings, and errors of estimates.

Every function takes *one* pair (``jax.vmap`` for batches). Rankings are integer ranks, 0 = best; scores are refused.
``mask`` leaves out the items where it is False; :func:`~privrank_jax.rankings.ranks_from_scores` with the same mask
gives ranks that fit.
"""

from __future__ import annotations

import functools
import math
import operator

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, Real

from privrank_jax._types import Count, Mask, MaskLike, Ranks, RanksLike, ScoresLike
from privrank_jax._validate import as_ranks, check_shape

# The largest distance, about m²/2, must fit an int32: the widest integer without x64.
_MAX_ITEMS_INT32 = 65_535


def kendall_distance(
    a: RanksLike, b: RanksLike, normalized: bool = False, mask: MaskLike | None = None
) -> Real[Array, ""]:
    """Kendall's distance: the number of item pairs that the two rankings order differently.

    A pair tied in either ranking is not discordant. Time O(m²).

    Args:
        a, b: ranks, ``(m,)`` integers.
        normalized: divide by the number of pairs, m(m-1)/2; with fewer than two items the distance is 0.
        mask: ``(m,)`` bool, items that count; None for all.

    Returns:
        Scalar: int32 count, or the share in [0, 1] in JAX's default float when ``normalized``.

    Raises:
        ValueError: shapes that differ, ranks that are no integers; m > 65,535 where not ``normalized`` (the count
            would not fit an int32).

    >>> int(kendall_distance([0, 1, 2], [2, 1, 0]))
    3
    >>> float(kendall_distance([0, 1, 2], [0, 2, 1], normalized=True))  # doctest: +ELLIPSIS
    0.333...
    """
    return _kendall_distance(*_check_pair(a, b, mask), normalized=normalized)


@functools.partial(jax.jit, static_argnames="normalized")
def _kendall_distance(a: Ranks, b: Ranks, mask: Mask, normalized: bool) -> Real[Array, ""]:
    # Nothing is behind an item that does not count, in either ranking.
    a, b = (jnp.where(mask, ranks, np.iinfo(np.int32).max) for ranks in (a, b))
    kind = np.min_scalar_type(len(a))  # of the least bytes: a batch moves fewer of them

    def compare(item: Count, behind: Array) -> Array:
        return behind + ((a[item] < a) & (b[item] > b)).astype(kind)

    behind = jax.lax.fori_loop(0, len(a), compare, jnp.zeros(a.shape, kind), unroll=10)
    count = mask.sum(dtype=jnp.result_type(float))
    return _total(behind.astype(jnp.int32), 0.5 * count * (count - 1), normalized)


def spearman_footrule(
    a: RanksLike, b: RanksLike, normalized: bool = False, mask: MaskLike | None = None
) -> Real[Array, ""]:
    """Spearman's footrule: ``Σ |a_i − b_i|``.

    Arguments, results and errors are as of :func:`kendall_distance`. ``normalized`` divides by the largest value,
    ⌊m²/2⌋. (Xu, Sun and Cheng, Rate-optimal rank aggregation, section 4.3, divide by m²/2: 1 - 1/m² times this for odd
    m.) Items that count have ranks from 0 to their number less one.

    >>> int(spearman_footrule([0, 1, 2], [2, 1, 0]))
    4
    """
    a, b, mask = _check_pair(a, b, mask)
    count = mask.sum(dtype=jnp.result_type(float))
    return _total(jnp.where(mask, abs(a - b), 0), jnp.floor(0.5 * count * count), normalized)


def mean_rank_difference(
    a: RanksLike, b: RanksLike, mask: MaskLike | None = None
) -> Float[Array, ""]:
    """Mean absolute difference in rank per item, ``Σ |a_i − b_i| / m``, the measure of Cai et al.'s Figure 8.

    Arguments, results and errors are as of :func:`kendall_distance` when ``normalized``; with no item at all it is 0.

    >>> float(mean_rank_difference([0, 1, 2, 3], [1, 0, 2, 3]))
    0.5
    """
    a, b, mask = _check_pair(a, b, mask)
    return _total(jnp.where(mask, abs(a - b), 0), mask.sum(), normalized=True)


def top_k_error(
    a: RanksLike, b: RanksLike, k: Count, mask: MaskLike | None = None
) -> Float[Array, ""]:
    """Share of the top k that the two rankings do not have in common: ``1 − |overlap| / k``.

    ``k`` may be traced. A k above the number of items asks for all of them, and the error is 0.

    Args:
        a, b: ranks, ``(m,)`` integers.
        k: how many items count as the top, a whole number, at least 1. A traced k below 1 gives NaN.
        mask: ``(m,)`` bool, items that count; None for all.

    Returns:
        Scalar in [0, 1] in JAX's default float.

    Raises:
        ValueError: k that is no whole number of at least 1, shapes that differ, ranks that are no integers.

    >>> float(top_k_error([0, 1, 2, 3], [0, 3, 1, 2], k=2))
    0.5
    """
    if jnp.ndim(k) != 0 or not jnp.issubdtype(jnp.result_type(k), jnp.integer):
        raise ValueError(f"k must be one whole number, got {k!r}: use jax.vmap for several")
    if not isinstance(k, Tracer):
        size = operator.index(np.asarray(k).item())
        if size < 1:
            raise ValueError(f"k must be at least 1, got {size}: the top 0 has no error")
        k = min(size, np.iinfo(np.int32).max)
    a, b, mask = _check_pair(a, b, mask)
    size = jnp.minimum(k, mask.sum())
    overlap = jnp.sum((a < k) & (b < k) & mask)
    # Not 1 - overlap / size, which fused programs round to a little below 0.
    error = (size - overlap) / jnp.maximum(size, 1)
    # With no item left in the mask there is nothing to miss.
    return jnp.where(k < 1, jnp.nan, jnp.where(size < 1, 0.0, error))


def relative_error(
    estimate: ScoresLike,
    truth: ScoresLike,
    order: int | float = 2,
    mask: MaskLike | None = None,
) -> Float[Array, ""]:
    """Relative error ‖estimate − truth‖ / ‖truth‖ in the ℓ₂ or ℓ∞ norm.

    With ‖truth‖ = 0 (always so for one item, whose centered score is 0) it is 0 for an exact
    estimate and infinite otherwise. Center both first if only differences of scores are identified.
    Gradients are finite wherever ‖truth‖ > 0, and 0 at an exact estimate.

    Args:
        estimate, truth: ``(m,)``.
        order: 2 or ``jnp.inf``.
        mask: ``(m,)`` bool, items that count; None for all. The others have no influence, even where they are NaN.

    Returns:
        Scalar, in the float dtype that the two arrays promote to.

    Raises:
        ValueError: another ``order``, shapes that differ.

    >>> round(float(relative_error([3.0, 5.0], [3.0, 4.0], order=2)), 6)
    0.2
    >>> float(relative_error([3.0, 5.0], [3.0, 4.0], order=float("inf")))
    0.25
    """
    if order not in (2, math.inf):
        raise ValueError(f"order must be 2 or jnp.inf, got {order!r}")
    estimate, truth = jnp.asarray(estimate), jnp.asarray(truth)
    mask = _check_shapes(estimate, truth, mask)
    dtype = jnp.result_type(estimate, truth, float)
    zero = jnp.zeros((), dtype)
    error = _norm(jnp.where(mask, estimate.astype(dtype) - truth.astype(dtype), zero), order)
    size = _norm(jnp.where(mask, truth.astype(dtype), zero), order)
    positive = size > 0
    degenerate = jnp.where(error == 0, zero, jnp.full((), jnp.inf, dtype))
    return jnp.where(positive, error / jnp.where(positive, size, 1), degenerate)


def _norm(x: Float[Array, "items"], order: int | float) -> Float[Array, ""]:
    # At x = 0 the gradient is to be 0: take it from the constant branch, and keep the other, which
    # is differentiated too, away from the root's pole.
    if order == math.inf:
        largest = jnp.max(jnp.abs(x), initial=0)
        return jnp.where(largest > 0, largest, 0)
    square = jnp.sum(x * x)
    positive = square > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1)), 0)


def _total(
    terms: Int[Array, "items"], largest: Real[Array, ""], normalized: bool
) -> Real[Array, ""]:
    """Sum int32 terms exactly, or as a share of ``largest`` (0 where that is 0)."""
    if normalized:
        dtype = jnp.result_type(float)
        return jnp.sum(terms, dtype=dtype) / jnp.maximum(largest, 1).astype(dtype)
    if terms.shape[0] > _MAX_ITEMS_INT32:
        raise ValueError(
            f"{terms.shape[0]} items: the distance may not fit an int32, use normalized=True"
        )
    return jnp.sum(terms, dtype=jnp.int32)


def _check_pair(a: RanksLike, b: RanksLike, mask: MaskLike | None) -> tuple[Ranks, Ranks, Mask]:
    a, b = as_ranks(a, "a"), as_ranks(b, "b")
    mask = _check_shapes(a, b, mask)
    for ranks in (a, b):
        if not jnp.issubdtype(ranks.dtype, jnp.integer):
            raise ValueError(
                f"ranks must be integers, got {ranks.dtype}: turn scores into ranks with "
                "rankings.ranks_from_scores"
            )
    return a.astype(jnp.int32), b.astype(jnp.int32), mask


def _check_shapes(a: Real[Array, "items"], b: Real[Array, "items"], mask: MaskLike | None) -> Mask:
    """Check two vectors of one length; return the mask, all True if None."""
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            f"both must have one shape (m,), got {a.shape} and {b.shape}: use jax.vmap for a batch"
        )
    mask = jnp.ones(a.shape, bool) if mask is None else jnp.asarray(mask, dtype=bool)
    check_shape("mask", mask, a.shape)
    return mask
