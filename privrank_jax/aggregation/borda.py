r"""Borda: the order of the items by how many others each beats."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from privrank_jax._validate import check_square

Array = jax.Array


def borda_scores(w: Any, mask: Any = None) -> Array:
    """s_i = Σ_j w_ij: how many other items the users, on average, rank behind item i.

    Args:
        w: ``(m, m)`` weights, see :func:`~privrank_jax.aggregation.pairwise_weights`, noisy ones too.
        mask: ``(m,)`` bool, real items; pairs with others don't count.

    Returns:
        ``(m,)``, dtype of w, high = preferred; sort them with ``rankings.ranks_from_scores(scores, mask)``.

    Raises:
        ValueError: w not square, a mask of another shape.

    >>> borda_scores([[0.0, 1.0, 1.0], [0.0, 0.0, 0.5], [0.0, 0.5, 0.0]]).tolist()
    [2.0, 0.5, 0.5]
    """
    w, mask = checked_weights(w, mask)
    return _borda_scores(w, mask)


@jax.jit
def _borda_scores(w: Array, mask: Array | None) -> Array:
    keep = ~jnp.eye(w.shape[0], dtype=bool)
    if mask is not None:
        keep &= mask[:, None] & mask
    return jnp.sum(jnp.where(keep, w, 0), axis=1)


def checked_weights(w: Any, mask: Any = None) -> tuple[Array, Array | None]:
    """Weights as a float array, and the mask as booleans; ``ValueError`` where the shapes don't fit."""
    check_square("w", w)
    w = jnp.asarray(w)
    if w.ndim != 2:
        raise ValueError(f"w must have shape (m, m), got {w.shape}: use jax.vmap for a batch.")
    if not jnp.issubdtype(w.dtype, jnp.floating):
        w = w.astype(jnp.result_type(float))
    if mask is None:
        return w, None
    mask = jnp.asarray(mask, bool)
    if mask.shape != w.shape[:1]:
        raise ValueError(
            f"mask must have shape {w.shape[:1]}, one entry per item, got {mask.shape}."
        )
    return w, mask
