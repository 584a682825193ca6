"""Ranks, orders, and the one convention of this library: 0 = best.

*Ranks*: ``ranks[i]`` is the position of item ``i``. *Order*: ``order[p]`` is the item at position ``p``, the inverse
permutation. Both are ``(m,)`` int32; functions take one ranking, batches come from ``jax.vmap``.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, ArrayLike, Int, Integer, Shaped

from privrank_jax._types import Key, Mask, MaskLike, Order, OrderLike, Ranks, RanksLike
from privrank_jax._validate import as_array, check_shape
from privrank_jax._workarounds.threefry import fused
from privrank_jax._workarounds.xla import materialized

# Up to so many items counting who is ahead takes a tenth of the time of sorting, or less.
_COUNTED = 32


def order_to_ranks(order: OrderLike) -> Ranks:
    """Turn an order (items from best to worst) into ranks.

    Args:
        order: permutation of 0..m-1, ``(m,)`` integers; see :func:`validate_ranks` for data from outside.

    Returns:
        Ranks, ``(m,)`` int32: ``ranks[order[p]] = p``.

    Raises:
        ValueError: more axes than one, no integers.

    >>> order_to_ranks([2, 0, 1]).tolist()
    [1, 2, 0]
    """
    return _invert(order, "order")


def ranks_to_order(ranks: RanksLike) -> Order:
    """Turn ranks into an order (items from best to worst).

    Arguments and errors as of :func:`order_to_ranks`.

    Returns:
        Order, ``(m,)`` int32: ``order[ranks[i]] = i``.

    >>> ranks_to_order([1, 2, 0]).tolist()
    [2, 0, 1]
    """
    return _invert(ranks, "ranks")


def ranks_from_scores(
    scores: Shaped[ArrayLike, "items"] | Sequence[float],
    mask: MaskLike | None = None,
    key: Key | None = None,
) -> Ranks:
    """Rank items by score, the highest first.

    Equal scores (0.0 and −0.0 are equal) are ranked by item index, or at random with a ``key``. Where the truth is in
    index order, as in many simulations, ties broken by index flatter the estimator. NaN comes after every number.

    Args:
        scores: ``(m,)``, any real dtype, high = best.
        mask: ``(m,)`` bool; items with False get the last ranks, in index order. None keeps all.
        key: PRNG key for random tie-breaking; None breaks ties by item index.

    Returns:
        Ranks, ``(m,)`` int32, 0 = best.

    Raises:
        ValueError: more axes than one, complex scores, a mask of another shape.

    >>> ranks_from_scores([0.1, 3.0, 0.1]).tolist()
    [1, 0, 2]
    >>> ranks_from_scores([0.1, 3.0, 0.1], mask=[True, False, True]).tolist()
    [0, 2, 1]
    """
    scores = as_array("scores", scores)
    check_shape("scores", scores, ("m",))
    if jnp.issubdtype(scores.dtype, jnp.complexfloating):
        raise ValueError(f"scores must be real, got {scores.dtype}: rank by real part or modulus")
    keep = jnp.ones(scores.shape, bool) if mask is None else jnp.asarray(mask, dtype=bool)
    check_shape("mask", keep, scores.shape)
    return _ranks_from_scores(scores, keep, key)


@jax.jit
def _ranks_from_scores(scores: Shaped[Array, "items"], mask: Mask, key: Key | None) -> Ranks:
    if scores.dtype == bool:
        scores = scores.astype(jnp.int8)
    size = scores.shape[0]
    if size <= _COUNTED:
        scores = materialized(scores)  # all pairs of items read them
    # For integers ~s = −s − 1 reverses the order without overflow.
    real = jnp.issubdtype(scores.dtype, jnp.floating)
    worst_first = -scores if real else ~scores
    index = jnp.arange(size, dtype=jnp.int32)
    tie_break = index if key is None else jax.random.permutation(fused(key), index)
    # Last of all numbers, and there behind whoever is last by its own score: NaN first, then what is masked.
    last = jnp.inf if real else jnp.iinfo(scores.dtype).max
    worst_first = jnp.where(mask & ~jnp.isnan(scores), worst_first, last)
    tie_break = jnp.where(mask, tie_break + size * jnp.isnan(scores), index + 2 * size)
    if size > _COUNTED:
        return _invert_core(jnp.lexsort((tie_break, worst_first)))
    level = worst_first[:, None] == worst_first
    ahead = (worst_first[:, None] < worst_first) | (level & (tie_break[:, None] < tie_break))
    return jnp.sum(ahead, axis=0, dtype=jnp.int32)


def validate_ranks(
    ranks: Integer[ArrayLike, "*batch items"] | Sequence[int] | Sequence[Sequence[int]],
) -> Integer[np.ndarray, "*batch items"] | Int[Array, "*batch items"]:
    """Check on the host that data from outside are rankings; call it before any jitted function.

    Args:
        ranks: one ranking ``(m,)``, or a batch ``(..., m)``, integers. Of traced values only the dtype is checked.

    Returns:
        The ranks as int32, same shape.

    Raises:
        ValueError: a row is not a permutation of 0..m-1; the message names the first one, the fault and the remedy.

    >>> validate_ranks([2, 0, 1]).tolist()
    [2, 0, 1]
    >>> validate_ranks([1, 2, 3])
    Traceback (most recent call last):
    ...
    ValueError: ranks run from 1 to 3: ranks are 0 = best here, subtract 1
    """
    if isinstance(ranks, Tracer):
        traced = jnp.asarray(ranks)
        _check_integers(traced, "ranks")
        return traced.astype(jnp.int32)
    try:
        array = np.asarray(ranks)
    except ValueError as error:
        raise ValueError(
            "ranks have rows of different lengths: complete every ranking to all m items first"
        ) from error
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"ranks must have shape (m,) or (n, m) with m >= 1, got {array.shape}")
    _check_integers(array, "ranks")
    num_items = array.shape[-1]
    rows = array.reshape(-1, num_items)
    bad = np.flatnonzero((np.sort(rows, axis=-1) != np.arange(num_items)).any(axis=-1))
    if bad.size:
        row = int(bad[0])
        where = f"ranks[{', '.join(map(str, np.unravel_index(row, array.shape[:-1])))}]"
        raise ValueError(f"{where if array.ndim > 1 else 'ranks'} {_fault(rows[row])}")
    return array.astype(np.int32)


def _fault(row: Integer[np.ndarray, "items"]) -> str:
    """Say what keeps one row of integers from being a permutation of 0..m-1."""
    num_items = len(row)
    if np.array_equal(np.sort(row), np.arange(1, num_items + 1)):
        return f"run from 1 to {num_items}: ranks are 0 = best here, subtract 1"
    outside = row[(row < 0) | (row >= num_items)]
    if outside.size:
        return f"hold {outside[0]}, outside 0..{num_items - 1}: each item needs a rank, 0 = best"
    values, counts = np.unique(row, return_counts=True)
    twice = values[counts > 1][0]
    items = ", ".join(map(str, np.flatnonzero(row == twice)))
    return (
        f"give rank {twice} to items {items}: ranks must be a permutation, break ties first "
        "(ranks_from_scores(-ranks) does it by item index)"
    )


def _check_integers(array: Array | np.ndarray, name: str) -> None:
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise ValueError(
            f"{name} must be integers, got {array.dtype}: cast whole numbers with .astype('int32'), rank scores with "
            "ranks_from_scores, drop rankings with NaN for missing items"
        )


def _invert(permutation: OrderLike, name: str) -> Int[Array, "items"]:
    permutation = as_array(name, permutation)
    check_shape(name, permutation, ("m",))
    _check_integers(permutation, name)
    return _invert_core(permutation)


@jax.jit
def _invert_core(permutation: Integer[Array, "items"]) -> Int[Array, "items"]:
    positions = jnp.arange(permutation.shape[0], dtype=jnp.int32)
    return jnp.zeros_like(positions).at[permutation].set(positions)
