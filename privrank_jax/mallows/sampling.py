"""Draws from the Mallows model around a ranking: the synthetic rankings of ranking differential privacy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from privrank_jax._validate import check_epsilon
from privrank_jax.mallows.distribution import MISSING, as_float, checked_ranks, decay

Array = jax.Array


def sample(key: Array, center_ranks: Any, epsilon: Any) -> Array:
    """One synthetic ranking, drawn from the Mallows model around the user's own.

    Args:
        key: PRNG key.
        center_ranks: ``(m,)`` integers, 0 = best, negative for items that the user did not rank (public).
        epsilon: ε > 0, may be traced; ∞ returns the ranking itself.

    Returns:
        ``(m,)`` int32 ranks, 0 = best; -1 for items not ranked.

    Raises:
        ValueError: ε <= 0 or NaN; ranks that are no ranking of the items that are ranked.
    """
    check_epsilon(epsilon)
    return _sample(key, checked_ranks(center_ranks), as_float(epsilon))


@jax.jit
def _sample(key: Array, center: Array, epsilon: Array) -> Array:
    size = center.shape[0]
    count = jnp.sum(center >= 0)
    uniform = jax.random.uniform(key, (size,), epsilon.dtype)
    items = jnp.arange(size)
    back = truncated_geometric(uniform, items, decay(epsilon, count))
    codes = (items - jnp.where(items < count, back, 0)).astype(jnp.int32)

    def insert(item: Array, places: Array) -> Array:
        place = codes[item]
        return (places + (places >= place)).at[item].set(place)

    places = jax.lax.fori_loop(0, size, insert, jnp.full(size, -1, jnp.int32))
    return jnp.where(center >= 0, places[jnp.maximum(center, 0)], MISSING)


def truncated_geometric(uniform: Array, most: Array, theta: Array) -> Array:
    """V on 0..most with P(v) ∝ e^(-θ v), by the inverse distribution function."""
    drawn = -jnp.log1p(uniform * jnp.expm1(-theta * (most + 1))) / theta
    return jnp.clip(jnp.floor(drawn), 0, most)
