"""Rows of comparisons."""

from __future__ import annotations

import numpy as np

ITEMS = 5


def random_rows(seed, count=60, items=ITEMS):
    generator = np.random.default_rng(seed)
    winners = generator.integers(0, items, count)
    losers = (winners + generator.integers(1, items, count)) % items
    weights = generator.integers(0, 4, count) / 2
    return winners, losers, weights, generator.random(count) < 0.3
