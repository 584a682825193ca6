"""Scores and pairs of items of which some may be masked: ``(m,)`` and ``(m, m)``, or many along a trailing axis.

Without a mask, the compiled program has no masking arithmetic.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Mask, Scalar, Scores
from privrank_jax.pairwise.lanes import item_sum


def real(
    theta: Float[Array, "items"], mask: Mask | None, padding: Scalar | Float[Array, "items"] = 0.0
) -> Float[Array, "items"]:
    """``padding`` where an item is masked."""
    return theta if mask is None else jnp.where(mask, theta, padding)


def between_real(pairs: Array, mask: Mask | None) -> Array:
    """0 where an item is masked."""
    return pairs if mask is None else jnp.where(mask[:, None] & mask[None, :], pairs, 0)


def count_items(theta: Scores, mask: Mask | None) -> int | Float[Array, ""]:
    """Number of items that are not masked, at least 1."""
    return theta.shape[0] if mask is None else jnp.maximum(jnp.sum(mask, 0), 1).astype(theta.dtype)


def center(theta: Scores, mask: Mask | None) -> Array:
    """Subtract the mean over the mask; masked entries become 0."""
    mean = item_sum(real(theta, mask)) / count_items(theta, mask)
    return real(theta - mean, mask)


def mean_degree(degrees: Array, mask: Mask | None) -> Array:
    """Mean number of comparisons of an item, at least 1."""
    return jnp.maximum(item_sum(degrees) / count_items(degrees, mask), 1.0)
