"""Calibration: the scale of the noise from (sensitivity, budget), inside ``jit`` and ``vmap``.

Notation: Δ₁, Δ₂ sensitivities in ℓ₁, ℓ₂; λ Laplace scale; σ Gaussian standard deviation.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._quickly import quickly
from privrank_jax._roots import bracketed_root
from privrank_jax._types import Numbers
from privrank_jax._validate import check_delta, check_epsilon, check_positive
from privrank_jax.links import normal
from privrank_jax.privacy.privacy import Privacy


def laplace_scale(sensitivity: Numbers, epsilon: Numbers) -> Numbers:
    """Scale Δ₁/ε, at which the Laplace mechanism is ε-DP (Dwork, McSherry, Nissim, Smith 2006).

    Args:
        sensitivity: Δ₁, the ℓ₁ sensitivity.
        epsilon: ε > 0; ∞ gives scale 0.

    Returns:
        The scale, of the type of the arguments.

    >>> laplace_scale(2.0, 0.5)
    4.0
    """
    check_positive("sensitivity", sensitivity, infinite=False)
    epsilon = check_epsilon(epsilon)
    return sensitivity / epsilon


def additive_scale(noise: str, privacy: Privacy, first: Numbers, second: Numbers) -> Any:
    """λ for the ℓ₁ sensitivity ``first``, or the factor of a body, or σ for the ℓ₂ sensitivity ``second``."""
    if noise != "gaussian":
        return laplace_scale(first, privacy.epsilon)
    return gaussian_scale(second, privacy.epsilon, privacy.delta)


def _delta(ratio: Array, epsilon: Numbers) -> tuple[Array, Array, Array]:
    """δ = Φ(r/2 - ε/r) - e^ε Φ(-r/2 - ε/r) at r = Δ₂/σ (Balle and Wang 2018, Theorem 8), and logs of both Φ."""
    both = jnp.stack([ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio])
    upper, lower = normal.log_cdf(both)  # one copy of it in a program
    delta = jnp.exp(upper) * -jnp.expm1(jnp.minimum(epsilon + lower - upper, 0.0))
    return delta, upper, lower


def gaussian_scale(sensitivity: Numbers, epsilon: Numbers, delta: Numbers) -> Float[Array, "..."]:
    """Smallest σ at which the Gaussian mechanism is (ε, δ)-DP, by bisection, never rounded down.

    An allowance for rounding makes σ up to 3 % too large at ε = 3e-4 in float32, 0.1 % for ε >= 0.01; 1e-10 in float64.

    Args:
        sensitivity: Δ₂ > 0.
        epsilon: ε > 0, may be traced; ∞ gives 0.
        delta: δ in (0, 1), may be traced.

    Returns:
        σ; the arguments broadcast.

    Source: Balle and Wang (2018), "analytic Gaussian mechanism".

    >>> round(float(gaussian_scale(1.0, 1.0, 1e-5)), 3)
    3.731
    """
    check_positive("sensitivity", sensitivity, infinite=False)
    epsilon = check_epsilon(epsilon)
    delta = check_delta(delta, positive=True)
    return jax.device_put(quickly(_gaussian_scale, sensitivity, epsilon, delta))


def _gaussian_scale(sensitivity: Numbers, epsilon: Numbers, delta: Numbers) -> Any:
    epsilon = jnp.asarray(epsilon, jnp.result_type(float))
    finite = jnp.where(jnp.isinf(epsilon), 1.0, epsilon)
    machine = jnp.finfo(epsilon.dtype).eps
    # σ/Δ₂ solves c/r + 1/(2r²) ≤ ε for c = √(2 log 1/δ): an upper end that always suffices.
    reach = jnp.sqrt(2 * jnp.log(1 / jnp.asarray(delta, epsilon.dtype)))
    high = jnp.log((reach + jnp.sqrt(reach**2 + 2 * finite)) / (2 * finite))

    def excess(log_ratio: Array) -> Array:
        found, upper, lower = _delta(jnp.exp(-log_ratio), finite)
        rounding = 4 * machine * (1 - lower) * jnp.exp(upper)
        return found + rounding - delta

    ratio = jnp.exp(bracketed_root(excess, high - 12.0, high))
    return sensitivity * jnp.where(jnp.isinf(epsilon), 0.0, ratio) * (1 + 100 * machine)
