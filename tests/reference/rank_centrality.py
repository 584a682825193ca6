"""Naive twin of rank centrality."""

from __future__ import annotations

import numpy as np


def rank_centrality(matrix, smoothing=0.0, steps=20000):
    """Average of the last two of many steps of the walk i -> j with probability W_ji / (M_ij d_max)."""
    size = len(matrix)
    met = [[matrix[i][j] + matrix[j][i] > 0 for j in range(size)] for i in range(size)]
    opponents = max(sum(row) for row in met)
    walk = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            if met[i][j]:
                games = matrix[i][j] + matrix[j][i] + 2 * smoothing
                walk[i, j] = (matrix[j][i] + smoothing) / games / opponents
        walk[i, i] = 1 - walk[i].sum()
    weights = np.full(size, 1 / size)
    for _ in range(steps):
        weights = weights @ walk
    return weights
