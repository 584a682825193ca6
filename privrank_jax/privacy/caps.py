r"""PrivUnit's cap of the sphere with the least error, and draws of points on it or off it.

In the notation of :mod:`privrank_jax.privacy.vectors`, γ is the height of a cap, q its share of the sphere, M the first
moment of one coordinate on it, and c(γ) = (e^ε-1)M/(1 + (e^ε-1)q) the mean of a report of norm 1.

**The best cap**: q' = -f and M' = -γf, so c' = (f c/M)(c - γ): c grows while it exceeds γ and falls after, hence is
largest at the one point where c(γ) = γ. It is the root of c(γ) - γ, which falls through 0 once. q/M comes
from Gauss-Legendre quadrature along the angle, in logarithms, so that nothing under- or overflows at d = 5,000 in
float32.

**In floating point.** Integers decide whether a report leaves the cap: it does if 64 random bits, read as a number, are
below k. k is rounded up, from odds at ε less an allowance for rounding (1e-5 of ε in float32, 1e-4 in 5,000 dimensions;
1e-13 in float64), so that for the γ that is drawn with, and k' = k/2^64, the loss log((1-k')/k') - log(q/(1-q)) never
exceeds ε; however large ε, it stays below log(1/q) + 45. For ε < 0.01 in float32, or 5e-7 in float64, γ = 0 replaces
the best cap: then q = 1/2 exactly, and the error grows by a share of at most ε²/2π.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32

from privrank_jax._roots import bracketed_root
from privrank_jax._types import Epsilon, Key
from privrank_jax._validate import check_epsilon
from privrank_jax._workarounds.log1p import log_one_minus_square
from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy.local import flip_threshold

_ROUNDINGS = (
    24  # of a logarithm of q, in units of the last place of its terms: ten times what was seen
)
_PANELS, _REACH = 64, 9.0  # exp(-9²/2) of the mass, 3e-18, lies beyond the reach
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


class Cap(NamedTuple):
    """PrivUnit's cap of least error; all fields are scalars.

    Attributes:
        height: γ, cosine of the angle at which the cap ends.
        probability: p, with which the report comes from the cap.
        share: q, the part of the sphere that the cap takes.
        square: τ, the mean of ⟨z, û⟩²/B².
        mean: c, the mean of ⟨z, û⟩/B: γ, up to rounding, unless ε is tiny.
        off: ``(2,)`` uint32, the high and the low word of k: the report comes from off the cap with probability
            k/2^64, which is 1 - p before rounding.
    """

    height: Float[Array, ""]
    probability: Float[Array, ""]
    share: Float[Array, ""]
    square: Float[Array, ""]
    mean: Float[Array, ""]
    off: UInt32[Array, "2"]


def privunit_cap(dimension: int, epsilon: Epsilon) -> Cap:
    """The cap of PrivUnit with the least error, where γ = c(γ); the derivation heads this module.

    Args:
        dimension: d >= 2, static.
        epsilon: ε > 0, may be traced.
    """
    epsilon = check_epsilon(epsilon)
    if dimension < 2:
        raise ValueError(f"a cap needs at least two dimensions, got {dimension}.")
    epsilon = jnp.asarray(epsilon, jnp.result_type(float))
    return cap_at(dimension, epsilon)


@functools.partial(jax.jit, static_argnames=("dimension",))
def cap_at(dimension: int, epsilon: Float[Array, ""]) -> Cap:
    """:func:`privunit_cap` for checked arguments, compiled."""

    def mean(height: Array) -> tuple[Array, Array, Array]:
        log_first = _log_first(dimension, height)
        ratio = _share_over_first(dimension, height)
        gain = -jnp.expm1(-epsilon)
        return gain / (jnp.exp(-epsilon - log_first) + gain * ratio), log_first, ratio

    zero = jnp.zeros_like(epsilon)
    machine = float(jnp.finfo(epsilon.dtype).eps)
    edge = bracketed_root(lambda height: mean(height)[0] - height, zero, zero + 1 - machine)
    small = epsilon < 32 * math.sqrt(machine)
    height = jnp.where(small, 0, edge)
    _, log_first, ratio = mean(height)
    log_share = jnp.where(small, math.log(0.5), log_first + jnp.log(ratio))
    share = jnp.exp(log_share)
    odds = epsilon + log_share - jnp.log1p(-share)
    chance = jax.nn.sigmoid(odds)
    inside = ((dimension - 1) * height / ratio + 1) / dimension  # S/q, free of underflow
    off_cap = jax.nn.sigmoid(-odds) / (1 - share)
    square = chance * inside + off_cap * (1 / dimension - share * inside)
    # The mean at the fixed point is the edge itself; computed, it may round to 1, which has no cap.
    half = half_sphere_mean(dimension) * jnp.tanh(0.5 * epsilon)
    terms = 1 + epsilon + jnp.abs(log_share) - dimension * jnp.log1p(-height)
    off = _words(jax.nn.sigmoid(-(odds - _ROUNDINGS * machine * terms)) * (1 + 8 * machine))
    near_half = jnp.stack([flip_threshold(epsilon), jnp.uint32(0)])
    mean_height = jnp.where(small, half, height)
    return Cap(height, chance, share, square, mean_height, jnp.where(small, near_half, off))


def _words(chance: Array) -> Array:
    """k, uint32 high and low word, at least 1: the least with k/2^64 >= ``chance``, which is at most 1/2."""
    scaled = chance * 2.0**32
    high = jnp.floor(scaled)
    low = jnp.ceil((scaled - high) * 2.0**32)
    carry = low >= 2.0**32
    low = jnp.where(carry, 0, jnp.maximum(low, jnp.where(high == 0, 1, 0)))
    return jnp.stack([high + carry, low]).astype(jnp.uint32)


@functools.cache
def half_sphere_mean(dimension: int) -> float:
    """Mean height of a point of the unit half sphere, Γ(d/2)/(√π Γ((d+1)/2)); in float64, since d is static.

    Computed by its recurrence h(d+2) = h(d) d/(d+1), since differences of log Γ lose digits.
    """
    steps = math.fsum(math.log1p(-1 / k) for k in range(dimension - 1, 1, -2))
    return math.exp(steps) * (1 if dimension % 2 else 2 / math.pi)


def _log_first(dimension: int, height: Array) -> Array:
    """log M."""
    # (d-1) Beta(1/2, (d-1)/2) = 2√π Γ((d+1)/2)/Γ(d/2): twice the inverse of the half sphere's mean.
    constant = math.log(half_sphere_mean(dimension) / 2)
    return constant + 0.5 * (dimension - 1) * log_one_minus_square(height)


def _angle(height: Array) -> Array:
    """arccos to full precision, also for heights near 1."""
    return 2 * jnp.arcsin(jnp.sqrt(0.5 * (1 - height)))


def _reaches(dimension: int, height: Array) -> tuple[Array, Array]:
    """Angles from the cap's edge, on its side and on the other, within which the density sin^{d-2} matters."""
    angle = _angle(height)
    bell = _REACH / math.sqrt(max(dimension - 2, 1))
    slope = max(dimension - 2, 1) * height / jnp.sqrt((1 - height) * (1 + height))
    inside = jnp.minimum(angle, jnp.minimum(bell, 0.5 * _REACH**2 / jnp.maximum(slope, 1e-6)))
    return inside, jnp.minimum(jnp.pi - angle, jnp.pi / 2 - angle + bell)


def _log_density(dimension: int, height: Array, offset: Array) -> Array:
    """(d-2) log(sin(angle + offset)/sin(angle)), where ``angle`` is that of the cap's edge."""
    cotangent = height / jnp.sqrt((1 - height) * (1 + height))
    change = cotangent * jnp.sin(offset) - 2 * jnp.square(jnp.sin(0.5 * offset))
    return (dimension - 2) * jnp.log1p(jnp.maximum(change, -1.0)) if dimension > 2 else 0 * offset


def _share_over_first(dimension: int, height: Array) -> Array:
    """q/M = (d-1)/sin(angle) · ∫ (sin(angle - x)/sin(angle))^{d-2} dx over the cap."""
    inside, _ = _reaches(dimension, height)
    edges = -inside * jnp.arange(17, dtype=height.dtype) / 16
    integral = jnp.sum(_integrals(dimension, height, edges[1:], edges[:-1]))
    return (dimension - 1) * integral / jnp.sqrt((1 - height) * (1 + height))


def _integrals(
    dimension: int, height: Array, low: Array, high: Array, shift: Array | float = 0.0
) -> Array:
    """∫ exp(log density + shift) from low to high, elementwise, by Gauss-Legendre quadrature."""
    nodes, weights = jnp.asarray(_NODES, low.dtype), jnp.asarray(_WEIGHTS, low.dtype)
    half = 0.5 * (high - low)[..., None]
    at = 0.5 * (high + low)[..., None] + half * nodes
    shift = jnp.asarray(shift)[..., None]
    return jnp.sum(half * weights * jnp.exp(_log_density(dimension, height, at) + shift), axis=-1)


def draw_angles(
    key: Key, dimension: int, cap: Cap, shape: tuple[int, ...]
) -> Float[Array, "*users"]:
    """Angles between report and axis: sin^{d-2} on the cap with probability p, off it otherwise; inverse CDF.

    The CDF is tabulated on panels either side of the edge; a panel is drawn, then the place in it by Newton's method.
    """
    height = cap.height
    inside, outside = _reaches(dimension, height)
    grid = jnp.arange(_PANELS + 1, dtype=height.dtype) / _PANELS
    edges = jnp.concatenate([inside * (grid - 1), outside * grid[1:]])
    # On the far side the density is largest at the equator, by far larger than at the edge; so scale it there.
    peak = (dimension - 2) * 0.5 * log_one_minus_square(height)
    shift = jnp.where(jnp.arange(2 * _PANELS) < _PANELS, 0.0, peak).astype(height.dtype)
    mass = _integrals(dimension, height, edges[:-1], edges[1:], shift)
    side_key, panel_key, place_key = jax.random.split(fused(key), 3)
    high_word, low_word = jax.random.bits(side_key, (2, *shape), jnp.uint32)
    k_high, k_low = cap.off
    off = (high_word < k_high) | ((high_word == k_high) & (low_word < k_low))
    # Shares of the panels of the cap add up to 1, those of the rest to 1 again.
    shares = [jnp.cumsum(side) / jnp.sum(side) for side in (mass[:_PANELS], mass[_PANELS:])]
    draw = jax.random.uniform(panel_key, shape, height.dtype) + off
    panel = jnp.searchsorted(jnp.concatenate([shares[0], 1 + shares[1]]), draw, side="right")
    first = jnp.where(off, _PANELS, 0)
    panel = jnp.clip(panel, first, first + _PANELS - 1)
    wanted = jax.random.uniform(place_key, shape, height.dtype) * mass[panel]
    low, high, shift = edges[panel], edges[panel + 1], shift[panel]

    def improve(_: Array, at: Array) -> Array:
        missing = wanted - _integrals(dimension, height, low, at, shift)
        slope = jnp.exp(_log_density(dimension, height, at) + shift)
        return jnp.clip(at + missing / jnp.maximum(slope, jnp.finfo(slope.dtype).tiny), low, high)

    start = low + (high - low) * (wanted / mass[panel])
    return _angle(height) + jax.lax.fori_loop(0, 6, improve, start)
