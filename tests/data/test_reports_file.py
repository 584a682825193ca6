"""Sums of budgets in files of reports; the loader itself is held in tests/cli/rank and tests/fuzz."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from privrank_jax.data.randomized import largest_sum


def test_epsilons_of_a_user_are_added_as_decimals():
    """Ten times 0.1 is 1, not an ulp less; sums that no float has are rounded up."""
    users = np.array([0] * 10 + [1] * 3 + [2] * 2)
    assert largest_sum(users, np.array([0.1] * 10 + [0.3] * 3 + [0.2, 0.7])) == 1.0
    assert largest_sum(np.zeros(3, int), np.array([0.1, 0.1, 0.1])) == 0.3
    assert largest_sum(np.zeros(2, int), np.array([0.1, 0.2])) == 0.3
    rng = np.random.default_rng(0)
    for _ in range(200):
        users, levels = rng.integers(0, 4, 12), rng.choice(rng.random(5) * 3, 12)
        exact = max(
            sum((Decimal(repr(float(x))) for x in levels[users == user]), Decimal(0))
            for user in range(4)
        )
        found = largest_sum(users, levels)
        assert Decimal(repr(found)) >= exact
        assert found <= float(exact) * (1 + 1e-15)
