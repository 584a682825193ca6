"""Naive twin of the score attack."""

from __future__ import annotations

import numpy as np

from tests.reference.links import link


def score_attack(estimate, scores, matrix, name):
    """Sum over the comparisons of k of (M_k - θ_k) (y - F) F' / (F (1 - F)), k's own wins as y = 1."""
    size = len(scores)
    totals = np.zeros(size)
    for k in range(size):
        for j in range(size):
            if j == k:
                continue
            cdf, _, score, _ = link(name, scores[k] - scores[j])
            slope = score * cdf / (cdf * (1 - cdf))
            residual = matrix[k][j] * (1 - cdf) - matrix[j][k] * cdf
            totals[k] += (estimate[k] - scores[k]) * residual * slope
    return totals
