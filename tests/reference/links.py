"""Naive twin of the links, in double precision."""

from __future__ import annotations

import math

import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats


def link(name, x):
    """``(cdf, log_cdf, score, curvature)`` of one link at one float, in double precision."""
    x = float(x)
    if name == "logistic":
        small = math.exp(-abs(x)) / (1 + math.exp(-abs(x)))
        cdf, other = (1 - small, small) if x > 0 else (small, 1 - small)
        log_cdf = math.log1p(-other) if x > 0 else x - math.log1p(math.exp(x))
        return cdf, log_cdf, other, cdf * other
    if name == "laplace":
        half = math.exp(-abs(x)) / 2
        if x < 0:
            return half, x - math.log(2), 1.0, 0.0
        score = half / (1 - half)
        return 1 - half, math.log1p(-half), score, score + score**2
    score = math.sqrt(2 / math.pi) / scipy.special.erfcx(-x / math.sqrt(2))
    excess = score + x
    if x < -3:  # the same number by Gauss's continued fraction, without the cancellation
        tail = 0.0
        for j in range(2000, 1, -1):
            tail = j / (-x + tail)
        excess = 1 / (-x + tail)
    if x > 40:  # erfcx overflows; the density has underflowed
        return 1.0, 0.0, 0.0, 0.0
    return scipy.special.ndtr(x), scipy.special.log_ndtr(x), score, score * excess
