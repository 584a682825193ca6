"""Sums over items, and scores of which some items are masked: of one problem, or of one along each lane of a last axis.

Arrays are ``(m,)`` and ``(m, m)`` of one problem, ``(m, lanes)`` and ``(m, m, lanes)`` of many. Without a mask, the
compiled program has no masking arithmetic.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._backend import on_cpu, product
from privrank_jax._types import Mask, Scalar, Scores


def add_rows(term: Callable[..., Array], *arrays: Array) -> Array:
    """Σ_i ``term`` of the i-th rows of ``arrays``, the last of which is ``(m,)``, or ``(m, lanes)`` of many problems.

    On a CPU, XLA sums many problems over a leading axis without vectorizing, so rows are added one after another, all
    in one kernel. Such a program grows with the number of items, which is small where there are lanes.
    """
    if arrays[-1].ndim == 1 or not on_cpu():
        return jax.vmap(term)(*arrays).sum(0)
    rows = (term(*(array[row] for array in arrays)) for row in range(len(arrays[0])))
    return functools.reduce(jnp.add, rows)


def item_sum(vector: Array) -> Array:
    """Σ_i of ``(m,)``; of ``(m, lanes)`` one sum per lane."""
    return vector.sum(0) if vector.ndim == 1 else add_rows(lambda row: row, vector)


def column_sums(matrix: Array) -> Array:
    """Column sums of ``(k, m)`` or ``(k, m, lanes)``, of many items by a matrix product."""
    if matrix.ndim == 3:
        return add_rows(lambda row: row, matrix)
    if matrix.shape[-1] < 64:
        return matrix.sum(0)
    return product(jnp.ones(matrix.shape[0], matrix.dtype), matrix)


def dot(left: Array, right: Array) -> Array:
    """Σ_i ``left[i] * right[i]`` of ``(m,)`` or ``(m, lanes)``."""
    return jnp.sum(left * right, 0) if left.ndim == 1 else add_rows(jnp.multiply, left, right)


def real(
    theta: Float[Array, "items"], mask: Mask | None, padding: Scalar | Float[Array, "items"] = 0.0
) -> Float[Array, "items"]:
    """``padding`` where an item is masked."""
    return theta if mask is None else jnp.where(mask, theta, padding)


def count_items(theta: Scores, mask: Mask | None) -> int | Float[Array, ""]:
    """Number of items that are not masked, at least 1."""
    return theta.shape[0] if mask is None else jnp.maximum(jnp.sum(mask, 0), 1).astype(theta.dtype)


def center(theta: Scores, mask: Mask | None) -> Array:
    """Subtract the mean over the mask; masked entries become 0."""
    mean = item_sum(real(theta, mask)) / count_items(theta, mask)
    return real(theta - mean, mask)
