"""Win counts with given totals, for tests of noise on these."""

from __future__ import annotations

import numpy as np

from privrank_jax.comparisons import WinCounts


def wins_of(totals):
    """Each item has its wins from the next one; a single item gets another one, without any."""
    totals = np.asarray(totals)
    size = max(totals.size, 2)
    matrix = np.zeros((size, size), totals.dtype)
    for item, total in enumerate(totals):
        matrix[item, (item + 1) % size] = total
    return WinCounts(matrix)
