"""Noise for simulation: fast JAX samplers in floating point. Real releases draw exact integer noise instead."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

Array = jax.Array


def laplace(key: Array, shape: tuple[int, ...], scale: Any, dtype: Any) -> Array:
    """Laplace noise of density exp(-|x|/scale)/(2 scale); scale 0 gives exact zeros."""
    return jnp.asarray(scale, dtype) * jax.random.laplace(key, shape, dtype)


def gaussian(key: Array, shape: tuple[int, ...], scale: Any, dtype: Any) -> Array:
    """Gaussian noise of standard deviation ``scale``."""
    return jnp.asarray(scale, dtype) * jax.random.normal(key, shape, dtype)


def gumbel(key: Array, shape: tuple[int, ...], scale: Any, dtype: Any) -> Array:
    """Gumbel noise; the argmax of scores + Gumbel(1/a) samples item i with odds exp(a score_i)."""
    return jnp.asarray(scale, dtype) * jax.random.gumbel(key, shape, dtype)
