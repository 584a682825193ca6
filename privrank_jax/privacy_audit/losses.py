r"""Densities and probabilities of outputs, from which audits compute exact privacy losses without sampling.

**Perturbed MLE.** θ̃ minimizes L(θ; y) + γ‖θ‖²/2 + wᵀθ, so for γ > 0 it is a one-to-one image of the noise,
w(θ; y) = -∇L(θ; y) - γθ, and by the change of variables its log density at θ is

.. math:: \log p_w(w(θ; y)) + \log\det(∇²L(θ; y) + γI).

θ̃ is the minimizer before it is centered; the centered estimate is a function of it, so its loss is no larger.

**Top item of two.** Item 0 comes out on top if D < N_0 - N_1, where D, the difference of two independent
Laplace(λ), has P(D > g) = (1 + g/(2λ)) e^{-g/λ}/2 for g ≥ 0.

All functions compute in the dtype of their arguments; differences of log densities need float64.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Numbers, Scalar, Scores, ScoresLike
from privrank_jax._validate import check_choice, check_positive
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import Link, get_link


def perturbed_mle_log_density(
    theta: ScoresLike,
    wins: WinCounts,
    *,
    noise_scale: Scalar,
    gamma: Scalar,
    link: str | Link = "logistic",
    noise: str = "laplace",
) -> Float[Array, ""]:
    """Log density at ``theta`` of the exact, uncentered minimizer of the perturbed likelihood.

    Args:
        theta: ``(m,)``, the output; not centered. Entries of masked items are ignored.
        wins: the data.
        noise_scale: λ (Laplace) or σ (Gaussian) of each coordinate of w, > 0.
        gamma: ridge γ > 0.
        link: ``"logistic"``, ``"laplace"`` or ``"normal"``.
        noise: ``"laplace"`` or ``"gaussian"``.

    Returns:
        ``()``. The Laplace link has a kink where two items tie; there, on a set of measure 0, the curvature from the
        right is used (see :mod:`privrank_jax.links`).

    Raises:
        ValueError: γ or the scale not positive and finite, unknown names.

    >>> wins = WinCounts.from_matrix([[0.0]])  # no comparison: θ̃ = -w/γ
    >>> round(float(perturbed_mle_log_density([0.5], wins, noise_scale=1.0, gamma=2.0)), 4)
    -1.0
    """
    check_choice("noise", noise, ("laplace", "gaussian"))
    check_positive("noise_scale", noise_scale, infinite=False)
    check_positive("gamma", gamma, infinite=False)
    theta = jnp.asarray(theta, wins.matrix.dtype)
    return _log_density(theta, wins, noise_scale, gamma, get_link(link), noise)


def top_item_log_probability(gap: Numbers, noise_scale: Scalar) -> Float[Array, "..."]:
    """Log probability that the first of two items has the larger total after Laplace noise.

    Args:
        gap: N_0 - N_1, any shape.
        noise_scale: λ of the noise on each total.

    Returns:
        The log probability, shape of ``gap``.

    >>> float(jnp.exp(top_item_log_probability(0.0, 1.0)))
    0.5
    """
    check_positive("noise_scale", noise_scale, infinite=False)
    ratio = jnp.asarray(gap) / noise_scale
    distance = jnp.abs(ratio)
    log_tail = jnp.log1p(0.5 * distance) - distance - math.log(2.0)
    return jnp.where(ratio < 0, log_tail, jnp.log1p(-jnp.exp(log_tail)))


@functools.partial(jax.jit, static_argnames=("link", "noise"))
def _log_density(
    theta: Scores, wins: WinCounts, scale: Scalar, gamma: Scalar, link: Link, noise: str
) -> Float[Array, ""]:
    mask = wins.item_mask
    gaps = theta[:, None] - theta[None, :]
    pull = wins.matrix * link.score(gaps)
    tilt = jnp.where(mask, pull.sum(1) - pull.sum(0) - gamma * theta, 0.0)
    bend = wins.matrix * link.curvature(gaps)
    bend = bend + bend.T
    hessian = jnp.diag(jnp.where(mask, bend.sum(1) + gamma, 1.0)) - bend
    # Positive definite: the log determinant is twice that of the Cholesky factor.
    log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(jnp.linalg.cholesky(hessian))))
    size = jnp.sum(mask)
    if noise == "laplace":
        log_noise = -jnp.sum(jnp.abs(tilt)) / scale - size * jnp.log(2 * scale)
    else:
        log_noise = -0.5 * jnp.sum(jnp.square(tilt / scale)) - size * (
            jnp.log(scale) + 0.5 * math.log(2 * math.pi)
        )
    return log_noise + log_det
