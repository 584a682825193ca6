"""Comparison counts M_ij beside scores or totals: checked, of one dtype, 0 where an item is padding."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._types import (
    Count,
    Mask,
    MaskLike,
    PairMatrix,
    PairMatrixLike,
    Scores,
    ScoresLike,
)
from privrank_jax._validate import is_traced
from privrank_jax.comparisons import default_float


def uniform_design(
    num_comparisons: Count, num_items: int, mask: MaskLike | None = None
) -> PairMatrix:
    """Expected comparison counts where every pair of real items is equally likely to be asked.

    Args:
        num_comparisons: N, their public number, may be traced.
        num_items: m, padding included, static.
        mask: ``(m,)`` bool, real items.

    Returns:
        ``(m, m)`` float, symmetric, 0 on the diagonal and in rows and columns of padding.

    >>> uniform_design(30, 3).tolist()[0]
    [0.0, 10.0, 10.0]
    """
    real = jnp.ones(num_items, bool) if mask is None else jnp.asarray(mask)
    pairs = real[:, None] & real[None, :] & ~jnp.eye(num_items, dtype=bool)
    dtype = jnp.result_type(num_comparisons, default_float())
    return jnp.where(pairs, num_comparisons / jnp.maximum(jnp.sum(pairs) / 2, 1), 0).astype(dtype)


def as_design(
    value: ScoresLike, comparisons: PairMatrixLike, mask: MaskLike | None
) -> tuple[Scores, PairMatrix, Mask]:
    """Values ``(m,)``, comparison counts ``(m, m)`` of real items, mask ``(m,)``, of one dtype.

    Raises:
        ValueError: the shapes differ, a real item's value is not finite, counts are negative, not finite or
            not symmetric.
    """
    value = jnp.asarray(value)
    if not jnp.issubdtype(value.dtype, jnp.floating):
        value = value.astype(default_float())
    comparisons = jnp.asarray(comparisons, value.dtype)
    if value.ndim != 1 or comparisons.shape != (value.shape[0],) * 2:
        raise ValueError(
            f"values {value.shape} and comparison counts {comparisons.shape} must have shapes (m,) and "
            "(m, m); use jax.vmap for a batch."
        )
    mask = jnp.ones(value.shape, bool) if mask is None else jnp.asarray(mask)
    if mask.shape != value.shape or mask.dtype != bool:
        raise ValueError(
            f"mask must be bool of shape {value.shape}, got {mask.dtype} of shape {mask.shape}."
        )
    _check_content(value, comparisons, mask)
    return value, _of_real_pairs(comparisons, mask), mask


@functools.partial(jax.jit, inline=True)
def _of_real_pairs(comparisons: PairMatrix, mask: Mask) -> PairMatrix:
    real = mask[:, None] & mask[None, :] & ~jnp.eye(mask.shape[0], dtype=bool)
    return jnp.where(real, comparisons, 0.0)


def _check_content(value: Scores, comparisons: PairMatrix, mask: Mask) -> None:
    if is_traced(mask):
        return
    real = np.asarray(mask)
    if not is_traced(value) and not np.all(np.isfinite(np.asarray(value)[real])):
        raise ValueError("scores and totals must be finite; did the fit converge?")
    if not is_traced(comparisons):
        counts = np.asarray(comparisons)[np.ix_(real, real)]
        if not np.all(np.isfinite(counts) & (counts >= 0)) or not np.allclose(counts, counts.T):
            raise ValueError(
                "comparison counts must be finite, at least 0 and symmetric: M[i, j] = how often i and j were compared."
            )


def checked_ties(
    ties: PairMatrixLike | None, value: Scores, comparisons: PairMatrix, mask: Mask
) -> PairMatrix | None:
    """Ties ``(m, m)`` of real items, of the dtype of the values; ``None`` stays.

    Raises:
        ValueError: as :func:`as_design`; more ties than comparisons of a pair.
    """
    if ties is None:
        return None
    ties = as_design(value, ties, mask)[1]
    if not is_traced(ties, comparisons) and np.any(np.asarray(ties) > np.asarray(comparisons)):
        raise ValueError("a pair has more ties than comparisons, and ties are comparisons.")
    return ties
