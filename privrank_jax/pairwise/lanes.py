"""Sums over items, with a problem along each lane of a trailing axis, in the order that a CPU computes fastest.

Arrays are ``(m,)`` and ``(m, m)`` of one problem, ``(m, lanes)`` and ``(m, m, lanes)`` of many.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from privrank_jax._backend import on_cpu, product

# Blocks of rows of a matrix whose other half is known; fewer items than this are one block.
_BLOCKS, _FEWEST = 3, 6


def item_sum(vector: Array) -> Array:
    """Σ_i of ``(m,)``; of ``(m, lanes)`` one sum per lane."""
    return vector.sum(0) if vector.ndim == 1 else add_rows(lambda row: row, vector)


def column_sums(matrix: Array) -> Array:
    """Column sums of ``(k, m)`` or ``(k, m, lanes)``, in the order that a CPU computes fastest: over rows, or with many
    items by a matrix product."""
    if matrix.ndim == 3:
        return add_rows(lambda row: row, matrix)
    if matrix.shape[-1] < 64:
        return matrix.sum(0)
    ones = jnp.ones(matrix.shape[0], matrix.dtype)
    return jnp.matmul(ones, matrix, precision=jax.lax.Precision.HIGHEST)


def dot(left: Array, right: Array) -> Array:
    """Σ_i ``left[i] * right[i]`` of ``(m,)`` or ``(m, lanes)``."""
    return jnp.sum(left * right, 0) if left.ndim == 1 else add_rows(jnp.multiply, left, right)


def times(symmetric: Array, vector: Array) -> Array:
    """A symmetric matrix, ``(m, m)`` or ``(m, m, lanes)``, times a vector, ``(m,)`` or ``(m, lanes)``."""
    if vector.ndim == 1:
        return product(symmetric, vector)
    return add_rows(jnp.multiply, symmetric, vector)


def opposed_sums(
    term: Callable[..., Array], pairs: tuple[Array, ...], items: PyTree[Array]
) -> Array:
    """Σ_i t_ij of terms that change sign where i and j change places, ``(m,)`` or ``(m, lanes)``.

    On a CPU, two thirds of the terms of many problems are computed: blocks of rows, each without what a block above it
    holds.

    Args:
        term: a function of entries of ``pairs``, and of those of ``items`` for i and for j.
        pairs: arrays ``(m, m)`` or ``(m, m, lanes)``.
        items: an array, or a tree of them, ``(m,)`` or ``(m, lanes)``.
    """
    size = pairs[0].shape[0]
    in_blocks = on_cpu() and pairs[0].ndim == 3 and size >= _FEWEST
    step = -(-size // _BLOCKS) if in_blocks else size
    starts = range(0, size, step)
    sums = [jnp.zeros((), pairs[0].dtype) for _ in starts]
    for block, first in enumerate(starts):
        rows = slice(first, first + step)
        found = term(
            *(x[rows, first:] for x in pairs),
            jax.tree.map(lambda x, at=rows: x[at, None], items),
            jax.tree.map(lambda x, at=first: x[None, at:], items),
        )
        down = column_sums(found)
        for later, start in enumerate(starts[block:], block):
            sums[later] += down[start - first :][:step]
        if block + 1 < len(starts):
            sums[block] -= row_sums(found[:, step:])
    return jnp.concatenate(sums)


def row_sums(matrix: Array) -> Array:
    """Row sums of ``(k, m)`` or ``(k, m, lanes)``."""
    if matrix.ndim == 2 or not on_cpu():
        return matrix.sum(1)
    return functools.reduce(jnp.add, [matrix[:, column] for column in range(matrix.shape[1])])


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
