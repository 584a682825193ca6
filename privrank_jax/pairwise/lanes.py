"""Sums over items, with a problem along each lane of a trailing axis.

Arrays are ``(m,)`` and ``(m, m)`` of one problem, ``(m, lanes)`` and ``(m, m, lanes)`` of many.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._backend import on_cpu, product


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


def row_sums(matrix: Array) -> Array:
    """Row sums of ``(k, m)`` or ``(k, m, lanes)``."""
    return matrix.sum(1) if matrix.ndim == 2 else column_sums(matrix.swapaxes(0, 1))


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
    if not on_cpu():
        return jax.vmap(term)(*arrays).sum(0)
    rows = (term(*(array[row] for array in arrays)) for row in range(len(arrays[0])))
    return functools.reduce(jnp.add, rows)
