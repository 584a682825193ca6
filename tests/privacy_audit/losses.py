"""Largest privacy losses, by the densities that audits use."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from privrank_jax.comparisons import WinCounts
from privrank_jax.privacy_audit import minimizers


def perturbed_mle_log_density(theta, wins, *, noise_scale, gamma, link="logistic", noise="laplace"):
    """Of the exact, uncentered minimizer for win counts."""
    theta = jnp.asarray(theta, wins.matrix.dtype)
    loss = minimizers.of_wins(link)
    return minimizers.log_density(loss, theta, wins.matrix, gamma, noise_scale, noise)


def perturbed_mle_privacy_loss(theta, wins, neighbor, **mechanism):
    """Log ratio of the densities of the perturbed MLE at ``theta`` under ``wins`` and under ``neighbor``.

    ``mechanism`` is the same for both, so γ must not depend on anything in which the two differ.
    """
    first = perturbed_mle_log_density(theta, wins, **mechanism)
    return first - perturbed_mle_log_density(theta, neighbor, **mechanism)


def largest_loss(thetas, wins, neighbors, **mechanism):
    """Largest \\|privacy loss\\| of the perturbed MLE over outputs ``(T, m)`` and neighbors ``(K, m, m)``."""

    def densities(matrix):
        data = WinCounts(matrix, wins.mask)
        return jax.vmap(lambda theta: perturbed_mle_log_density(theta, data, **mechanism))(
            jnp.asarray(thetas)
        )

    here = densities(wins.matrix)
    return jnp.max(jnp.abs(jax.vmap(densities)(jnp.asarray(neighbors)) - here))
