r"""Local privacy of a vector: two unbiased mechanisms that report it once, with the least error known.

A user holds v in ℝᵈ, ‖v‖ ≤ r. Both mechanisms first round v to the sphere of radius r, to r·û with û = v/‖v‖ or its
opposite, with probabilities (1 ± ‖v‖/r)/2, so that the mean is v. Then they report a point z of a larger sphere of
radius B, drawn evenly from the cap {z : ⟨z, û⟩ ≥ Bγ} with probability p and evenly from the rest otherwise. With q the
share of the sphere that the cap takes, the density is p/q on the cap and (1-p)/(1-q) off it, whatever û is.

**Theorem (privacy).** At p/(1-p) = e^ε q/(1-q) the two densities differ by the factor e^ε exactly. So a report is ε-DP
in the local model under any change of v, and the loss ε is attained where caps don't coincide.

**Theorem (no bias, error).** With M = ∫_γ^1 t f(t) dt, f the density of one coordinate of an even point of the unit
sphere, E⟨z, û⟩/B = M(p/q - (1-p)/(1-q)) = (e^ε-1)M/(1 + (e^ε-1)q) =: c(γ); at B = r/c the mean of z is v, and
E‖z - v‖² = B² - ‖v‖² exactly. Here (1-t²)f' = -(d-3)tf gives M = (1-γ²)^{(d-1)/2}/((d-1)·Beta(1/2, (d-1)/2)).

*Duchi, Jordan and Wainwright (2018)*: γ = 0, the half sphere: c = tanh(ε/2)·Γ(d/2)/(√π Γ((d+1)/2)).
*PrivUnit (Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018)* leaves γ free; Asi, Feldman and Talwar (2022) show that
at the best γ no unbiased ε-local mechanism has a smaller error on the sphere. As q' = -f and M' = -γf, c' = (f c/M)(c -
γ): c grows while it exceeds γ and falls after, hence is largest at the one point where c(γ) = γ, the root of c(γ) - γ.
q/M comes from Gauss-Legendre quadrature along the angle, in logarithms, so that nothing under- or overflows at d =
5,000 in float32.

**In floating point.** Duchi's flips are drawn with 32 bits, like those of
:func:`~privrank_jax.privacy.randomized_response`. A report of PrivUnit leaves the cap if 64 random bits, read as a
number, are below k, rounded up from odds at ε less an allowance for rounding (1e-5 of ε in float32, 1e-4 in 5,000
dimensions; 1e-13 in float64). So for the γ that is drawn with, and k' = k/2^64, the loss log((1-k')/k') - log(q/(1-q))
never exceeds ε. For ε < 0.01 in float32, or 5e-7 in float64, γ = 0 replaces the best cap: then q = 1/2 exactly.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real, UInt32

from privrank_jax._roots import bracketed_root
from privrank_jax._types import Epsilon, Key, Scalar
from privrank_jax._validate import check_choice, check_epsilon, check_positive
from privrank_jax._workarounds.log1p import log_one_minus_square
from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy.local import flip_threshold

Vectors: TypeAlias = Real[ArrayLike, "*users d"]
# Of a logarithm of q, in units of the last place of its terms: ten times what was seen.
_ROUNDINGS = 24
_PANELS, _REACH = 64, 9.0  # exp(-9²/2) of the mass, 3e-18, lies beyond the reach
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def duchi_vectors(
    key: Key, vectors: Vectors, epsilon: Epsilon, radius: Scalar = 1.0, *, zero_sum: bool = False
) -> Float[Array, "*users d"]:
    """Report vectors by the ℓ₂ mechanism of Duchi, Jordan and Wainwright, one report per user.

    **Guarantee.** ε-local DP for the vector of one user, under any change of it. Proofs head this module.

    Args:
        key: PRNG key.
        vectors: ``(..., d)``, one vector per user, norm at most ``radius`` (longer ones count as cut to it).
        epsilon: ε > 0, may be traced; ∞ reports the vectors themselves.
        radius: r > 0, public, may be traced.
        zero_sum: the vectors sum to 0, publicly: reports do too, and noise is needed in d - 1 dimensions only.

    Returns:
        Reports, shape of ``vectors``, float: unbiased, each of norm :func:`report_norm`.

    Raises:
        ValueError: ε <= 0 or NaN, radius not positive, no dimension left.

    Source: Duchi, Jordan and Wainwright (2018), section 4.2.3.

    >>> report = duchi_vectors(jax.random.key(0), jnp.array([0.6, 0.8]), epsilon=1.0)
    >>> bool(jnp.isclose(jnp.linalg.norm(report), report_norm("duchi", 2, 1.0)))
    True
    """
    return _duchi(key, *_checked(vectors, epsilon, radius, zero_sum), zero_sum)


def privunit_vectors(
    key: Key, vectors: Vectors, epsilon: Epsilon, radius: Scalar = 1.0, *, zero_sum: bool = False
) -> Float[Array, "*users d"]:
    """Report vectors by PrivUnit with the cap of least error, one report per user.

    Guarantee, arguments, results and errors are those of :func:`duchi_vectors`, which this is in one dimension.

    Source: Bhowmick et al. (2018); Asi, Feldman and Talwar (2022).

    >>> report = privunit_vectors(jax.random.key(0), jnp.array([0.6, 0.8]), epsilon=1.0)
    >>> bool(jnp.isclose(jnp.linalg.norm(report), report_norm("privunit", 2, 1.0)))
    True
    """
    vectors, *numbers = _checked(vectors, epsilon, radius, zero_sum)
    run = _duchi if vectors.shape[-1] - zero_sum == 1 else _privunit
    return run(key, vectors, *numbers, zero_sum)


VECTOR_MECHANISMS = {"duchi": duchi_vectors, "privunit": privunit_vectors}


def report_norm(
    mechanism: str, dimension: int, epsilon: Epsilon, radius: Scalar = 1.0
) -> Float[Array, ""]:
    """B, the norm of every report; the mean squared error of a report is B² - ‖v‖².

    Args:
        mechanism: ``"duchi"`` or ``"privunit"``.
        dimension: d >= 1, static (d - 1 for vectors that sum to 0).
        epsilon: ε > 0, may be traced.
        radius: r, may be traced.

    Returns:
        ``()`` float.

    Raises:
        ValueError: an unknown mechanism, ε <= 0, d < 1.

    >>> round(float(report_norm("duchi", 2, jnp.log(3.0))), 4)  # 2 · π/2
    3.1416
    """
    check_choice("mechanism", mechanism, tuple(VECTOR_MECHANISMS))
    epsilon = check_epsilon(epsilon)
    check_positive("radius", radius, infinite=False)
    if dimension < 1:
        raise ValueError(f"a vector needs at least one dimension, got {dimension}.")
    epsilon = jnp.asarray(epsilon, jnp.result_type(float))
    if mechanism == "duchi" or dimension == 1:
        norm = 1 / (half_sphere_mean(dimension) * jnp.tanh(0.5 * epsilon))
    else:
        norm = 1 / privunit_cap(dimension, epsilon).mean
    return jnp.where(jnp.isinf(epsilon), 1.0, norm) * radius


@functools.partial(jax.jit, static_argnames=("zero_sum",))
def _duchi(key: Array, vectors: Array, epsilon: Array, radius: Array, zero_sum: bool) -> Array:
    dimension = vectors.shape[-1] - zero_sum
    round_key, point_key, side_key = jax.random.split(fused(key), 3)
    axis = _rounded(round_key, vectors, radius, zero_sum)
    point = _unit(_normals(point_key, vectors, zero_sum))
    side = jnp.sign(jnp.sum(axis * point, axis=-1, keepdims=True))
    keep = jax.random.bits(side_key, side.shape, jnp.uint32) >= flip_threshold(epsilon)
    norm = radius / (half_sphere_mean(dimension) * jnp.tanh(0.5 * epsilon))
    report = point * jnp.where(side == 0, 1, side) * jnp.where(keep, norm, -norm)
    return jnp.where(jnp.isinf(epsilon), vectors, report)


@functools.partial(jax.jit, static_argnames=("zero_sum",))
def _privunit(key: Array, vectors: Array, epsilon: Array, radius: Array, zero_sum: bool) -> Array:
    dimension = vectors.shape[-1] - zero_sum
    round_key, point_key, angle_key = jax.random.split(fused(key), 3)
    finite = jnp.where(jnp.isinf(epsilon), 1.0, epsilon)
    cap = cap_at(dimension, finite)
    axis = _rounded(round_key, vectors, radius, zero_sum)
    point = _normals(point_key, vectors, zero_sum)
    aside = _beside(point, axis)
    aside = _beside(aside, axis)  # the first pass may cancel most digits
    angle = draw_angles(angle_key, dimension, cap, vectors.shape[:-1])[..., None]
    report = (jnp.cos(angle) * axis + jnp.sin(angle) * aside) * (radius / cap.mean)
    return jnp.where(jnp.isinf(epsilon), vectors, report)


def _rounded(key: Array, vectors: Array, radius: Array, zero_sum: bool) -> Array:
    """Random unit vectors ±v/‖v‖ with mean v/r; for v = 0, ± a fixed direction."""
    norm = jnp.linalg.norm(vectors, axis=-1, keepdims=True)
    spare = jnp.zeros_like(vectors).at[..., 0].set(1)
    if zero_sum:
        spare = (spare.at[..., 1].set(-1)) / math.sqrt(2)
    axis = jnp.where(norm > 0, vectors / jnp.where(norm > 0, norm, 1), spare)
    along = jax.random.bernoulli(key, 0.5 + 0.5 * jnp.minimum(norm / radius, 1), norm.shape)
    return jnp.where(along, axis, -axis)


def _normals(key: Array, vectors: Array, zero_sum: bool) -> Array:
    # With the draws in sight of the sums, XLA searches for a minute for how a GPU may take both at once.
    drawn = jax.lax.optimization_barrier(jax.random.normal(key, vectors.shape, vectors.dtype))
    return drawn - jnp.mean(drawn, axis=-1, keepdims=True) if zero_sum else drawn


def _beside(point: Array, axis: Array) -> Array:
    return _unit(point - jnp.sum(point * axis, axis=-1, keepdims=True) * axis)


def _unit(vectors: Array) -> Array:
    norm = jnp.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / jnp.where(norm > 0, norm, 1)


def _checked(
    vectors: Vectors, epsilon: Epsilon, radius: Scalar, zero_sum: bool
) -> tuple[Float[Array, "*users d"], Float[Array, ""], Float[Array, ""]]:
    epsilon = check_epsilon(epsilon)
    check_positive("radius", radius, infinite=False)
    vectors = jnp.asarray(vectors)
    vectors = vectors.astype(jnp.result_type(vectors, float))
    if vectors.ndim < 1 or vectors.shape[-1] - zero_sum < 1:
        raise ValueError(
            f"vectors need shape (..., d) and a dimension left to report, got {vectors.shape}."
        )
    return vectors, jnp.asarray(epsilon, vectors.dtype), jnp.asarray(radius, vectors.dtype)


class Cap(NamedTuple):
    """PrivUnit's cap of least error."""

    height: Float[Array, ""]  # γ, cosine of the angle at which the cap ends
    probability: Float[Array, ""]  # p, with which the report comes from the cap
    share: Float[Array, ""]  # q, the part of the sphere that the cap takes
    mean: Float[Array, ""]  # c, the mean of ⟨z, û⟩/B: γ, up to rounding, unless ε is tiny
    off: UInt32[Array, "2"]  # high and low word of k


def privunit_cap(dimension: int, epsilon: Epsilon) -> Cap:
    """The cap of PrivUnit with the least error in d >= 2 dimensions, where γ = c(γ)."""
    if dimension < 2:
        raise ValueError(f"a cap needs at least two dimensions, got {dimension}.")
    return cap_at(dimension, jnp.asarray(check_epsilon(epsilon), jnp.result_type(float)))


@functools.partial(jax.jit, static_argnames=("dimension",))
def cap_at(dimension: int, epsilon: Float[Array, ""]) -> Cap:
    """:func:`privunit_cap` for checked arguments."""

    def mean(height: Array) -> tuple[Array, Array, Array]:
        # (d-1) Beta(1/2, (d-1)/2) = 2√π Γ((d+1)/2)/Γ(d/2): twice the inverse of the half sphere's mean.
        log_first = math.log(half_sphere_mean(dimension) / 2)  # log M
        log_first += 0.5 * (dimension - 1) * log_one_minus_square(height)
        # q/M = (d-1)/sin(angle) · ∫ (sin(angle - x)/sin(angle))^{d-2} dx over the cap.
        edges = -_reaches(dimension, height)[0] * jnp.arange(17, dtype=height.dtype) / 16
        integral = jnp.sum(_integrals(dimension, height, edges[1:], edges[:-1]))
        ratio = (dimension - 1) * integral / jnp.sqrt((1 - height) * (1 + height))
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
    # The mean at the fixed point is the edge itself; computed, it may round to 1, which has no cap.
    half = half_sphere_mean(dimension) * jnp.tanh(0.5 * epsilon)
    terms = 1 + epsilon + jnp.abs(log_share) - dimension * jnp.log1p(-height)
    off = _words(jax.nn.sigmoid(-(odds - _ROUNDINGS * machine * terms)) * (1 + 8 * machine))
    near_half = jnp.stack([flip_threshold(epsilon), jnp.uint32(0)])
    mean_height = jnp.where(small, half, height)
    return Cap(height, chance, share, mean_height, jnp.where(small, near_half, off))


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
    """Mean height of the unit half sphere, Γ(d/2)/(√π Γ((d+1)/2)), by h(d+2) = h(d) d/(d+1), which loses no digits."""
    steps = math.fsum(math.log1p(-1 / k) for k in range(dimension - 1, 1, -2))
    return math.exp(steps) * (1 if dimension % 2 else 2 / math.pi)


def _angle(height: Array) -> Array:
    """arccos to full precision."""
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
    """Angles between report and axis: a panel of the density sin^{d-2}, then the place in it by Newton's method."""
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
