"""Naive twins of intervals: sandwiches, tails, ranks."""

from __future__ import annotations

import math

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats


def sandwich(information, gamma, variance):
    """H⁻¹ (I + variance) H⁻¹ on the vectors of sum 0, H = I + gamma."""
    size = len(information)
    project = np.eye(size) - 1 / size
    inverse = np.linalg.pinv(information + gamma * project, rcond=1e-12)
    return inverse @ (information + variance * project) @ inverse


def gaussian_laplace_tail(x, share):
    """P(|√(1-s) Z + √s L| > x), L Laplace of variance 1, by quadrature over the Gaussian part."""
    scale, width = math.sqrt(share / 2), math.sqrt(1 - share)

    def upper(z):  # P(√s L > z)
        return 0.5 * math.exp(-z / scale) if z > 0 else 1 - 0.5 * math.exp(z / scale)

    def integrand(z):
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * upper(x - width * z)

    kink, tight = min(x / width, 12.0), {"epsabs": 1e-13, "epsrel": 1e-10, "limit": 500}
    below, above = (
        scipy.integrate.quad(integrand, *ends, **tight)[0] for ends in ((-12, kink), (kink, 12))
    )
    return 2 * (below + above)


def rank_interval(center, reach):
    """Best and worst rank of each item when only differences beyond ``reach`` are sure."""
    size = len(center)
    low = [
        sum(center[j] - center[i] > reach[i][j] for j in range(size) if j != i) for i in range(size)
    ]
    high = [
        size - 1 - sum(center[i] - center[j] > reach[i][j] for j in range(size) if j != i)
        for i in range(size)
    ]
    return low, high
