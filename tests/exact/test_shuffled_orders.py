"""Shuffled reports, drawn exactly: pairs are drawn one by one, and bits at the local budget."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from privrank_jax.aggregation import shuffled_pair_weights
from privrank_jax.privacy import shuffled_local_epsilon
from tests.exact.laws import RATE
from tests.promises import user


def test_bits_are_flipped_at_the_local_budget():
    users = 100_000
    local = shuffled_local_epsilon(users, 0.1, 1e-6)
    value = shuffled_pair_weights.release(np.tile([0, 1], (users, 1)), user(0.1, 1e-6)).value
    found = float(value[0, 1])
    kept = ((found - 0.5) * np.tanh(local / 2) + 0.5) * users
    assert kept == pytest.approx(round(kept), abs=1e-3)
    assert stats.binomtest(round(kept), users, 1 / (1 + np.exp(-local))).pvalue > RATE


def test_pairs_are_drawn_one_by_one():
    """190 users of 190 pairs at almost no noise: as many pairs without a report as independent draws leave."""
    items = 20
    pairs = items * (items - 1) // 2
    ranks = np.tile(np.arange(items), (pairs, 1))
    above, empty = np.triu_indices(items, 1), []
    for _ in range(20):
        found = shuffled_pair_weights.release(ranks, user(40.0, 1e-6)).value
        empty.append(np.sum(found[above] == 0.5))
    mean = pairs * (1 - 1 / pairs) ** pairs
    spread = (pairs * (np.exp(-1) - 2 * np.exp(-2)) / 20) ** 0.5
    assert abs(np.mean(empty) - mean) < stats.norm.isf(RATE / 2) * spread
