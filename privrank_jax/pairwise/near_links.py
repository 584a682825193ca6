"""Derivatives of log F in both directions of a pair at once, while no score is far from 0.

A link's own functions hold at any gap, and evaluate two forms for that; these take one exponential, and for the normal
link one tail, for x and -x together.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax.links import Link, laplace, normal

NEAR = 6.0
"""Largest absolute score: gaps are twice that at most, and no tail is below what float32 can hold."""


def near_scores(
    link: Link, gap: Float[Array, "*shape"]
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """F'/F at x and at -x, |x| <= 2 NEAR, from one value of the smaller tail."""
    if link == laplace:
        half = 0.5 * jnp.exp(-jnp.abs(gap))
        ratio = half / (1 - half)
        return jnp.where(gap < 0, 1, ratio), jnp.where(gap > 0, 1, ratio)
    if link == normal:
        tail = 0.5 * jax.lax.erfc(jnp.abs(gap) * math.sqrt(0.5))
        density = jnp.exp(-0.5 * gap * gap) * (1 / math.sqrt(2 * math.pi))
        small, large = density / tail, density / (1 - tail)
        return jnp.where(gap < 0, small, large), jnp.where(gap > 0, small, large)
    return link.score(gap), link.score(-gap)


def near_curvatures(
    link: Link, gap: Float[Array, "*shape"]
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """-(log F)'' at x and at -x, |x| <= 2 NEAR, never negative; to a few digits in float32."""
    if link not in (laplace, normal):
        return link.curvature(gap), link.curvature(-gap)
    ahead, behind = near_scores(link, gap)
    if link == normal:
        return ahead * jnp.maximum(ahead + gap, 0), behind * jnp.maximum(behind - gap, 0)
    return jnp.where(gap < 0, 0, ahead * (1 + ahead)), jnp.where(gap > 0, 0, behind * (1 + behind))
