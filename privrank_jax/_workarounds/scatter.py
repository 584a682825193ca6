"""Sums into the entries of a matrix by one index each.

Upstream: none known. To reproduce: on a CPU, XLA joins two arrays of indices into one of pairs before it adds, which
takes two thirds as long again (``python -m tests.benchmarks counting``). Remove when: ``matrix.at[rows, columns].add``
takes as long.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer, Real

from privrank_jax._backend import on_cpu


def add_at(
    matrix: Real[Array, "rows columns"],
    rows: Integer[Array, "*places"],
    columns: Integer[Array, "*places"],
    values: Real[Array, "*places"],
) -> Real[Array, "rows columns"]:
    """``matrix.at[rows, columns].add(values)``.

    Args:
        matrix: ``(k, m)``.
        rows, columns: indices; those below 0 count from the end, and what lies outside adds nothing.
        values: what is added at each place, any shape that broadcasts to that of the places.

    Returns:
        The sums, dtype of ``matrix``.

    >>> add_at(jnp.zeros((2, 2), int), jnp.array([0, 0, -1]), jnp.array([1, 1, 0]), jnp.ones(3, int)).tolist()
    [[0, 2], [1, 0]]
    """
    high, wide = matrix.shape
    if not on_cpu() or matrix.size >= np.iinfo(np.int32).max:
        return matrix.at[rows, columns].add(values)
    rows, columns = jnp.broadcast_arrays(rows, columns)
    rows, columns = (
        jnp.where(rows < 0, rows + high, rows),
        jnp.where(columns < 0, columns + wide, columns),
    )
    inside = (rows >= 0) & (rows < high) & (columns >= 0) & (columns < wide)
    place = jnp.where(
        inside, rows.astype(jnp.int32) * wide + columns.astype(jnp.int32), matrix.size
    )
    return matrix.ravel().at[place].add(values, mode="drop").reshape(matrix.shape)
