"""Naive twin of counting comparisons."""

from __future__ import annotations

import numpy as np


def win_counts(winners, losers, num_items, weights=None, tied=None):
    """Win matrix, row by row; a tie is half a win for both."""
    wins = np.zeros((num_items, num_items))
    for row in range(len(winners)):
        weight = 1.0 if weights is None else float(weights[row])
        i, j = winners[row], losers[row]
        if tied is not None and tied[row]:
            wins[i, j] += weight / 2
            wins[j, i] += weight / 2
        else:
            wins[i, j] += weight
    return wins
