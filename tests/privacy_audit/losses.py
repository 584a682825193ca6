"""The density of the perturbed MLE that audits use."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from privrank_jax.comparisons import WinCounts
from privrank_jax.privacy_audit import minimizers


def counts(size, *rows):
    """``(m, m)`` wins from ``(winner, loser, times)``."""
    matrix = np.zeros((size, size))
    for winner, loser, times in rows:
        matrix[winner, loser] += times
    return WinCounts.from_matrix(matrix)


def perturbed_mle_log_density(theta, wins, *, noise_scale, gamma, link="logistic", noise="laplace"):
    """Of the exact, uncentered minimizer for win counts."""
    theta = jnp.asarray(theta, wins.matrix.dtype)
    loss = minimizers.of_wins(link)
    return minimizers.log_density(loss, theta, wins.matrix, gamma, noise_scale, noise)
