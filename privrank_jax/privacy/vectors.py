r"""Local privacy of a vector: two unbiased mechanisms that report it once, with the least error known.

A user holds v in ℝᵈ, ‖v‖ ≤ r. Both mechanisms first round v to the sphere of radius r, to r·û with û = v/‖v‖ or its
opposite, with probabilities (1 ± ‖v‖/r)/2, so that the mean is v; then they report a point z of a larger sphere of
radius B, drawn evenly from the cap {z : ⟨z, û⟩ ≥ Bγ} with probability p and evenly from the rest otherwise. With q the
share of the sphere that the cap takes, the density is p/q on the cap and (1-p)/(1-q) off it, whatever û is.

**Theorem (privacy).** At p/(1-p) = e^ε q/(1-q) the two densities differ by the factor e^ε exactly, so a report is
ε-DP in the local model under any change of v, and the loss ε is attained by any two users whose caps don't coincide.

**Theorem (no bias, error).** With M = ∫_γ^1 t f(t) dt, f the density of one coordinate of an even point of the unit
sphere, E⟨z, û⟩/B = M(p/q - (1-p)/(1-q)) = (e^ε-1)M/(1 + (e^ε-1)q) =: c(γ); at B = r/c the mean of z is v, and
E‖z - v‖² = B² - ‖v‖² exactly. Here (1-t²)f' = -(d-3)tf gives M = (1-γ²)^{(d-1)/2}/((d-1)·Beta(1/2, (d-1)/2)).

*Duchi, Jordan and Wainwright (2018)*: γ = 0, the half sphere: c = tanh(ε/2)·Γ(d/2)/(√π Γ((d+1)/2)).

*PrivUnit (Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018)* leaves γ free; Asi, Feldman and Talwar (2022) show that
at the best γ no unbiased ε-local mechanism has a smaller error on the sphere. :mod:`privrank_jax.privacy.caps` derives
that cap and draws points on it.

Duchi's flips are drawn with 32 bits, like those of :func:`~privrank_jax.privacy.randomized_response`.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from privrank_jax._types import Epsilon, Key, Scalar
from privrank_jax._validate import check_choice, check_epsilon, check_positive
from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy.caps import cap_at, draw_angles, half_sphere_mean, privunit_cap
from privrank_jax.privacy.local import flip_threshold

VECTOR_MECHANISMS = ("duchi", "privunit")


def duchi_vectors(
    key: Key,
    vectors: Real[ArrayLike, "*users d"],
    epsilon: Epsilon,
    radius: Scalar = 1.0,
    *,
    zero_sum: bool = False,
) -> Float[Array, "*users d"]:
    """Report vectors by the ℓ₂ mechanism of Duchi, Jordan and Wainwright, one report per user.

    **Guarantee.** ε-local DP for each vector, under any change of it (unit: the vector of one user). Proofs, bias and
    error head this module.

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
    key: Key,
    vectors: Real[ArrayLike, "*users d"],
    epsilon: Epsilon,
    radius: Scalar = 1.0,
    *,
    zero_sum: bool = False,
) -> Float[Array, "*users d"]:
    """Report vectors by PrivUnit with the cap of least error, one report per user.

    In one dimension, where there is no cap, this is :func:`duchi_vectors`.

    **Guarantee.** The same as that of :func:`duchi_vectors`, whose arguments, results and errors it has.

    Source: Bhowmick et al. (2018); Asi, Feldman and Talwar (2022).

    >>> report = privunit_vectors(jax.random.key(0), jnp.array([0.6, 0.8]), epsilon=1.0)
    >>> bool(jnp.isclose(jnp.linalg.norm(report), report_norm("privunit", 2, 1.0)))
    True
    """
    vectors, *numbers = _checked(vectors, epsilon, radius, zero_sum)
    run = _duchi if vectors.shape[-1] - zero_sum == 1 else _privunit
    return run(key, vectors, *numbers, zero_sum)


def report_vectors(
    key: Key,
    vectors: Real[ArrayLike, "*users d"],
    epsilon: Epsilon,
    radius: Scalar = 1.0,
    *,
    mechanism: str = "duchi",
    zero_sum: bool = False,
) -> Float[Array, "*users d"]:
    """Apply :func:`duchi_vectors` or :func:`privunit_vectors`, by name."""
    check_choice("mechanism", mechanism, VECTOR_MECHANISMS)
    run = duchi_vectors if mechanism == "duchi" else privunit_vectors
    return run(key, vectors, epsilon, radius, zero_sum=zero_sum)


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
    check_choice("mechanism", mechanism, VECTOR_MECHANISMS)
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
    aside = _beside(
        _beside(point, axis), axis
    )  # twice, since the first pass may cancel most digits
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
    vectors: Real[ArrayLike, "*users d"], epsilon: Epsilon, radius: Scalar, zero_sum: bool
) -> tuple[Float[Array, "*users d"], Float[Array, ""], Float[Array, ""]]:
    epsilon = check_epsilon(epsilon)
    check_positive("radius", radius, infinite=False)
    vectors = jnp.asarray(vectors)
    if not jnp.issubdtype(vectors.dtype, jnp.floating):
        vectors = vectors.astype(jnp.result_type(float))
    if vectors.ndim < 1 or vectors.shape[-1] - zero_sum < 1:
        raise ValueError(
            f"vectors must have shape (..., d) with a dimension left to report, got {vectors.shape}."
        )
    return vectors, jnp.asarray(epsilon, vectors.dtype), jnp.asarray(radius, vectors.dtype)
