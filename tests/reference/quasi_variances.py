"""Naive twin of quasi-variances: least squares of log ratios over a list of pairs, by SciPy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy.optimize


def quasi_variances(covariance):
    """The q with the least Σ (log(q_i + q_j) - log V_ij)², and the worst |√((q_i + q_j)/V_ij) - 1|."""
    size = len(covariance)
    pairs = list(itertools.combinations(range(size), 2))
    wanted = [covariance[i][i] + covariance[j][j] - 2 * covariance[i][j] for i, j in pairs]
    mean = sum(wanted) / len(wanted)

    def residuals(quasi):
        return [
            math.log(max(quasi[i] + quasi[j], 1e-300) / (v / mean))
            for (i, j), v in zip(pairs, wanted, strict=True)
        ]

    found = scipy.optimize.least_squares(
        residuals, np.full(size, 0.5), xtol=1e-15, ftol=1e-15, gtol=1e-14, max_nfev=2000
    )
    worst = max(abs(math.exp(0.5 * one) - 1) for one in residuals(found.x))
    return found.x * mean, worst
