"""Logarithms near 1 to all digits.

XLA's ``log1p`` on a CPU loses digits of float64 around -0.41, where its series ends: up to 129 units in the last place.

Upstream: https://github.com/jax-ml/jax/issues/39707.
Remove when: that issue is closed in the lowest JAX that the package allows; ``jnp.log1p(-jnp.square(x))`` then does.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def log_one_minus_square(value: Float[Array, "..."]) -> Float[Array, "..."]:
    """log(1 - x²) for 0 <= x <= 1, by ``log1p`` below 1/2, by a product of exact factors above."""
    near = jnp.log1p(-jnp.square(value))
    return jnp.where(value < 0.5, near, jnp.log((1 - value) * (1 + value)))
