"""What a pair adds to the gradient and the Hessian of a likelihood, while no score is far from 0.

A link's own functions hold at any gap, and evaluate several forms for that; these take one exponential and one division
for both directions of a pair, under the Laplace link no exponential but those of its items.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax.links import Link, laplace, normal

NEAR = 6.0
"""Largest absolute score: gaps are twice that at most, and no tail is below what float32 can hold."""

# Mills ratio (1 - Φ(x))/φ(x) = P(x)/Q(x) for 0 <= x <= 2 NEAR, coefficients from the lowest degree up: the rational
# functions of these degrees with the least relative error, 7e-17 and 3e-7, by Remez' exchange in 60 digits.
_MILLS_FLOAT64 = (
    (
        1.25331413731550033, 1.70008469848573437, 1.14611786986300312, 0.485265286044893589, 0.139380649539177414,
        0.027670729920570429, 0.00370844359018550034, 0.000308213064565246747, 0.0000122942784236171719,
    ),
    (
        1.0, 2.15435589378184002, 2.13339705934674448, 1.27817382872546276, 0.512322071306458832, 0.143064347379147226,
        0.0279789505004144045, 0.00372073761430655992, 0.000308213069976831868, 0.0000122942783693383806,
    ),
)  # fmt: skip
_MILLS_FLOAT32 = (
    (1.25331376336483322, 0.896788948625242396, 0.293605355238609744, 0.0413153411112284976),
    (1.0, 1.51340348115562858, 0.941907191590347217, 0.293363263846284507, 0.0413217996905379984),
)

Item = Any
"""What a pair needs of one of its items: an array, or a tuple of arrays."""


def near_items(link: Link, theta: Float[Array, "*shape"]) -> Item:
    """Each item's share in :func:`near_pull` and :func:`near_bend`."""
    return (jnp.exp(theta), jnp.exp(-theta)) if link == laplace else theta


def near_pull(link: Link, won: Array, lost: Array, one: Item, other: Item) -> Array:
    """``won`` s(x) - ``lost`` s(-x), s = F'/F, for x the score of ``one`` less that of ``other``, \\|x\\| <= 2 NEAR."""
    if link == laplace:
        behind = one[0] < other[0]
        steep, flat = jnp.where(behind, won, -lost), jnp.where(behind, -lost, won)
        return steep + _laplace_ratio(one, other) * flat
    gap = one - other
    if link == normal:
        # Written so that nothing dear is used by two kernels of XLA.
        top, bottom = _mills(jnp.abs(gap))
        tail = _normal_density(gap) * top
        rest = bottom - tail
        behind = gap < 0
        steep, flat = jnp.where(behind, won, -lost), jnp.where(behind, -lost, won)
        return bottom * (steep * rest + flat * tail) / (top * rest)
    return won * link.score(gap) - lost * link.score(-gap)


def near_bend(link: Link, won: Array, lost: Array, one: Item, other: Item) -> Array:
    """``won`` c(x) + ``lost`` c(-x), c = -(log F)'', for x as above, never negative; to a few digits in float32."""
    if link == laplace:
        ratio = _laplace_ratio(one, other)
        ahead, behind = one[0] >= other[0], one[0] <= other[0]
        return ratio * (1 + ratio) * (jnp.where(ahead, won, 0) + jnp.where(behind, lost, 0))
    gap = one - other
    if link == normal:
        size = jnp.abs(gap)
        top, bottom = _mills(size)
        density = _normal_density(gap)
        rest = bottom - density * top
        steep, flat = jnp.where(gap < 0, won, lost), jnp.where(gap < 0, lost, won)
        far = steep * jnp.maximum(bottom - size * top, 0) * jnp.square(rest)
        close = flat * density * (density * bottom + size * rest) * jnp.square(top)
        return bottom * (far + close) / jnp.square(top * rest)
    return won * link.curvature(gap) + lost * link.curvature(-gap)


def mills_ratio(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """(1 - Φ(x))/φ(x) for 0 <= x <= 2 NEAR."""
    top, bottom = _mills(x)
    return top / bottom


def _laplace_ratio(one: Item, other: Item) -> Array:
    """F'/F at \\|x\\|."""
    half = 0.5 * jnp.minimum(one[0] * other[1], one[1] * other[0])
    return half / (1 - half)


def _normal_density(gap: Array) -> Array:
    return jnp.exp(-0.5 * gap * gap) * (1 / math.sqrt(2 * math.pi))


def _mills(size: Array) -> tuple[Array, Array]:
    """P and Q."""
    top, bottom = _MILLS_FLOAT64 if size.dtype == jnp.float64 else _MILLS_FLOAT32
    return _polynomial(top, size), _polynomial(bottom, size)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    value = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value
