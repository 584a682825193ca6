"""Sums into the entries of a matrix by one index each.

Upstream: none known. To reproduce: on a CPU, XLA joins two arrays of indices into one of pairs before it adds, which
takes two thirds as long again (``python -m tests.benchmarks counting``). Remove when: ``matrix.at[rows, columns].add``
takes as long.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Real, Shaped

from privrank_jax._backend import on_cpu


def add_at(
    matrix: Real[Array, "rows columns"],
    rows: Shaped[Array, "*#places"],
    columns: Shaped[Array, "*#places"],
    values: Real[Array, "*#places"],
) -> Real[Array, "rows columns"]:
    """``matrix.at[rows, columns].add(values)``.

    Args:
        matrix: ``(k, m)``.
        rows, columns: integers of any type; those below 0 count from the end, and what lies outside adds nothing.
        values: what is added at each place; all three broadcast.

    Returns:
        The sums, dtype of ``matrix``.

    Raises:
        TypeError: indices that are not integers.

    >>> add_at(jnp.zeros((2, 2), int), jnp.array([0, 0, -1]), jnp.array([1, 1, 0]), jnp.ones(3, int)).tolist()
    [[0, 2], [1, 0]]
    """
    high, wide = matrix.shape
    rows, columns = (_wide_enough(index) for index in jnp.broadcast_arrays(rows, columns))
    whole = jnp.issubdtype(rows.dtype, jnp.integer) and jnp.issubdtype(columns.dtype, jnp.integer)
    if not on_cpu() or not whole or matrix.size >= np.iinfo(np.int32).max:
        return matrix.at[rows, columns].add(values)  # which refuses what is no index
    rows = jnp.where(rows < 0, rows + high, rows)
    columns = jnp.where(columns < 0, columns + wide, columns)
    inside = (rows >= 0) & (rows < high) & (columns >= 0) & (columns < wide)
    place = jnp.where(
        inside, rows.astype(jnp.int32) * wide + columns.astype(jnp.int32), matrix.size
    )
    return matrix.ravel().at[place].add(values, mode="drop").reshape(matrix.shape)


def _wide_enough(index: Array) -> Array:
    """Integers of at least 32 bits, in which sizes of tables are added to them and compared with them."""
    small = jnp.issubdtype(index.dtype, jnp.integer) and index.dtype.itemsize < 4
    return index.astype(jnp.int32) if small else index
