r"""Exact privacy losses, computed from densities and probabilities without sampling.

**Perturbed MLE.** θ̃ minimizes L(θ; y) + γ‖θ‖²/2 + wᵀθ, so for γ > 0 it is a one-to-one image of the noise,
w(θ; y) = -∇L(θ; y) - γθ, and by the change of variables its log density at θ is

.. math:: \log p_w(w(θ; y)) + \log\det(∇²L(θ; y) + γI).

θ̃ is the minimizer before it is centered; the centered estimate is a function of it, so its loss is no larger.

**Noisy totals.** N + Laplace(λ)^m has the loss (‖z - N'‖₁ - ‖z - N‖₁)/λ at z, at most ‖N - N'‖₁/λ, attained at
z = N.

**Top item of two.** Item 0 comes out on top if D < N_0 - N_1, where D, the difference of two independent
Laplace(λ), has P(D > g) = (1 + g/(2λ)) e^{-g/λ}/2 for g ≥ 0. A user who moves the totals by (L, -L) moves the
gap by 2L, and the log ratio tends to 2L/λ far from a tie: 2ε at λ = L/ε, the scale printed in Cai, Algorithm 3.

All functions compute in the dtype of their arguments; differences of log densities need float64.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from privrank_jax._types import Numbers, PairMatrix, Scalar, Scores, ScoresLike
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


def perturbed_mle_privacy_loss(
    theta: ScoresLike, wins: WinCounts, neighbor: WinCounts, **mechanism: Any
) -> Float[Array, ""]:
    """Log ratio of the densities of the perturbed MLE at ``theta`` under ``wins`` and under ``neighbor``.

    Args:
        theta: ``(m,)``, the output.
        wins: the data.
        neighbor: other data on the same items.
        **mechanism: as in :func:`perturbed_mle_log_density`; the same for both, so γ must not depend on
            anything in which the two differ.

    Returns:
        ``()``, positive where ``wins`` is the likelier data set.

    >>> one, other = WinCounts.from_matrix([[0, 1], [0, 0]]), WinCounts.from_matrix([[0, 0], [1, 0]])
    >>> loss = perturbed_mle_privacy_loss([0.5, -0.5], one, other, noise_scale=2.0, gamma=1.0)
    >>> 0 < float(loss) <= 1  # at most 2/λ
    True
    """
    first = perturbed_mle_log_density(theta, wins, **mechanism)
    return first - perturbed_mle_log_density(theta, neighbor, **mechanism)


def largest_loss(
    thetas: Real[ArrayLike, "outputs items"],
    wins: WinCounts,
    neighbors: Real[ArrayLike, "neighbors items items"],
    **mechanism: Any,
) -> Float[Array, ""]:
    """Largest \\|privacy loss\\| of the perturbed MLE over outputs and neighbors.

    Args:
        thetas: ``(T, m)`` outputs to search.
        wins: the data.
        neighbors: ``(K, m, m)`` win counts of its neighbors.
        **mechanism: as in :func:`perturbed_mle_log_density`.

    Returns:
        ``()``; at most ε (exactly, not statistically) if the mechanism is ε-DP.

    >>> wins = WinCounts.from_matrix([[0, 1], [0, 0]])
    >>> flipped, outputs = jnp.array([[[0.0, 0.0], [1.0, 0.0]]]), jnp.array([[0.5, -0.5], [3.0, -3.0]])
    >>> round(float(largest_loss(outputs, wins, flipped, noise_scale=2.0, gamma=1.0)), 3)
    1.0
    """

    def densities(matrix: PairMatrix) -> Float[Array, "outputs"]:
        data = WinCounts(matrix, wins.mask)
        return jax.vmap(lambda theta: perturbed_mle_log_density(theta, data, **mechanism))(
            jnp.asarray(thetas)
        )

    here = densities(wins.matrix)
    return jnp.max(jnp.abs(jax.vmap(densities)(jnp.asarray(neighbors)) - here))


def noisy_totals_loss(
    wins: WinCounts, neighbor: WinCounts, *, noise_scale: Scalar
) -> Float[Array, ""]:
    """Largest privacy loss of the noisy win totals over all outputs, ‖N - N'‖₁/λ, Laplace noise.

    Args:
        wins: one data set.
        neighbor: another, over the same items.
        noise_scale: λ.

    Returns:
        ``()`` float.

    >>> one, other = WinCounts.from_matrix([[0, 1], [0, 0]]), WinCounts.from_matrix([[0, 0], [1, 0]])
    >>> float(noisy_totals_loss(one, other, noise_scale=2.0))
    1.0
    """
    check_positive("noise_scale", noise_scale, infinite=False)
    gap = jnp.where(wins.item_mask, wins.totals - neighbor.totals, 0.0)
    return jnp.sum(jnp.abs(gap)) / noise_scale


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


def top_item_loss(gap: Numbers, neighbor_gap: Numbers, noise_scale: Scalar) -> Float[Array, "..."]:
    """Largest \\|log ratio\\| of the two outcomes of "which of two items is on top?" between neighbors.

    Args:
        gap: N_0 - N_1 in the data, any shape.
        neighbor_gap: the same in the neighboring data.
        noise_scale: λ of the noise on each total.

    Returns:
        The loss, broadcast shape of the gaps.

    >>> round(float(top_item_loss(-500.0, -502.0, 2.0)), 2)  # one user, L = 1, ε = 1/2: 2ε is near
    1.0
    """
    gap, other = jnp.asarray(gap), jnp.asarray(neighbor_gap)

    def loss(sign: int) -> Array:
        first = top_item_log_probability(sign * gap, noise_scale)
        return jnp.abs(first - top_item_log_probability(sign * other, noise_scale))

    return jnp.maximum(loss(1), loss(-1))


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
