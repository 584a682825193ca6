"""Sums over items, with a problem along each lane of a trailing axis, in the order that a CPU computes fastest.

Arrays are ``(m,)`` and ``(m, m)`` of one problem, ``(m, lanes)`` and ``(m, m, lanes)`` of many.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._backend import on_cpu, product


def item_sum(vector: Array) -> Array:
    """Σ_i of ``(m,)``; of ``(m, lanes)`` one sum per lane."""
    return vector.sum(0) if vector.ndim == 1 else add_rows(lambda row: row, vector)


def column_sums(matrix: Array) -> Array:
    """Column sums of ``(m, m)`` or ``(m, m, lanes)``, in the order that a CPU computes fastest: over rows, or with many
    items by a matrix product."""
    if matrix.ndim == 3:
        return add_rows(lambda row: row, matrix)
    if matrix.shape[-1] < 64:
        return matrix.sum(0)
    ones = jnp.ones(matrix.shape[-1], matrix.dtype)
    return jnp.matmul(ones, matrix, precision=jax.lax.Precision.HIGHEST)


def dot(left: Array, right: Array) -> Array:
    """Σ_i ``left[i] * right[i]`` of ``(m,)`` or ``(m, lanes)``."""
    return jnp.sum(left * right, 0) if left.ndim == 1 else add_rows(jnp.multiply, left, right)


def times(symmetric: Array, vector: Array) -> Array:
    """A symmetric matrix, ``(m, m)`` or ``(m, m, lanes)``, times a vector, ``(m,)`` or ``(m, lanes)``."""
    if vector.ndim == 1:
        return product(symmetric, vector)
    return add_rows(jnp.multiply, symmetric, vector)


def add_rows(term: Callable[..., Array], *arrays: Array) -> Array:
    """Σ_i ``term`` of the i-th rows of ``arrays``, with problems along their trailing axis.

    On a CPU, XLA sums over a leading axis without vectorizing, so rows are added one after another, all in one kernel.
    """
    rows = jax.vmap(term)
    if not on_cpu():
        return rows(*arrays).sum(0)
    size = arrays[0].shape[0]
    group = math.isqrt(size)

    def add(first: int, last: int, step: int) -> Array:
        parts = [rows(*(x[at : at + step] for x in arrays)) for at in range(first, last, step)]
        return functools.reduce(jnp.add, parts)

    # As few operations as possible: a group of rows at a time, then the rows of their sum.
    groups = add(0, size // group * group, group)
    total = functools.reduce(jnp.add, [groups[row] for row in range(group)])
    return total + add(size // group * group, size, 1)[0] if size % group else total
