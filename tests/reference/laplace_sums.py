"""Naive twin of the law of sums of discrete Laplace noise: convolutions of probabilities, one term after another."""

from __future__ import annotations

import math

import numpy as np


def reach(terms: int, scale: float, numbers: int, level: float, far: int) -> int:
    """The least t with P(|S| <= t) ** numbers >= level; ``far`` is farther than any term is."""
    one = np.array([math.exp(-abs(x) / scale) for x in range(-far, far + 1)])
    one /= one.sum()
    law = np.ones(1)
    for _ in range(terms):
        law = np.convolve(law, one)
    middle = len(law) // 2
    t = 0
    while sum(law[middle - t : middle + t + 1]) ** numbers < level:
        t += 1
    return t
