"""Rankings whose costs are known."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from privrank_jax.aggregation.weights import counted_weights
from privrank_jax.exact import exponential

RANKS = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [0, 2, -1, 1], [0, 0, 1, 2], [3, 1, 2, 0]])
EVERY = list(itertools.permutations(range(4)))


def costs_and_rate(epsilon, missing="last"):
    items = RANKS.shape[1]
    costs = exponential.excess(counted_weights(RANKS, missing).twice)
    return costs, Fraction(epsilon) / (2 * items * (items - 1))
