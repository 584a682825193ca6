"""Naive twin of the covariance of a gradient whose parts belong to users."""

from __future__ import annotations

import numpy as np

from tests.reference.likelihood import fisher_information
from tests.reference.links import link


def clustered_covariance(name, theta, users, winners, losers, weights, tied):
    """Σ ssᵀ over users + max(1, φ) Σ min(1, tr I⁻¹H) H, one user after another."""
    size = len(theta)
    met = np.zeros((size, size))
    for winner, loser, weight in zip(winners, losers, weights, strict=True):
        met[winner, loser] += weight
        met[loser, winner] += weight
    inverse = np.linalg.pinv(fisher_information(name, theta, met), rcond=1e-12)
    squares, missing = np.zeros((size, size)), np.zeros((size, size))
    for user in set(users):
        gradient, bend = np.zeros(size), np.zeros((size, size))
        for row in np.flatnonzero(np.asarray(users) == user):
            winner, loser = winners[row], losers[row]
            step = np.eye(size)[winner] - np.eye(size)[loser]
            ahead = link(name, theta[winner] - theta[loser])[2]
            behind = link(name, theta[loser] - theta[winner])[2]
            slope = (ahead - behind) / 2 if tied[row] else ahead
            gradient += weights[row] * slope * step
            bend += weights[row] * ahead * behind * np.outer(step, step)
        squares += np.outer(gradient, gradient)
        missing += min(1.0, float(np.trace(inverse @ bend))) * bend
    rank = np.linalg.matrix_rank(inverse, tol=1e-9)
    return squares + max(1.0, float(np.trace(inverse @ squares)) / rank) * missing
