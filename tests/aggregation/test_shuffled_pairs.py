"""One shuffled answer per user: unbiased where a pair has reports, within its error bound, at the largest budget."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import bounds
from privrank_jax.aggregation.shuffled_pairs import shuffled_pair_variance
from privrank_jax.privacy import shuffled_local_epsilon
from tests.promises import user

RNG = np.random.default_rng(5)
RANKS = np.array([RNG.permutation(4) for _ in range(32)])
RANKS[:6, 2] = RANKS[:6, 1]  # ties


def test_float32_budgets_are_rounded_down(key):
    with jax.enable_x64(False):
        found = aggregation.shuffled_pair_weights(key, RANKS, user(0.7, delta=1e-4))
    local = float(found.diagnostics.local_epsilon)
    exact = shuffled_local_epsilon(32, float(np.float32(0.7)), float(np.float32(1e-4)))
    assert exact * (1 - 1e-6) <= local <= exact


def test_the_variance_bound_against_sums():
    """E[1/g; g > 0] by a sum over the binomial law: above it, and at most 2 % above with many reports."""
    from scipy import stats

    for items, users in ((2, 5), (4, 40), (10, 10_000)):
        pairs = items * (items - 1) // 2
        law = stats.binom(users, 1 / pairs)
        counts = np.arange(1, users + 1)
        inverse = np.sum(law.pmf(counts) / counts)
        none = (items - 1) / 4 * law.pmf(0)
        least = users / (users - 1) * inverse / 4 + none
        bound = float(shuffled_pair_variance(items, users, np.inf))
        assert least <= bound
        if users == 10_000:
            assert bound < 1.02 * least


def test_bounds_and_the_choice_of_a_method():
    local = shuffled_local_epsilon(5_000, 1.0, 1e-8)
    promise, told = user(1.0, 1e-8), {"trust": "shuffled"}
    borda = bounds.bound("borda", 10, 5_000, promise, **told)
    variance = float(shuffled_pair_variance(10, 5_000, local))
    assert float(borda.additive) == pytest.approx(20 * (9 * variance) ** 0.5)
    every = bounds.bound("noise-all", 10, 5_000, promise, **told)
    assert float(every.additive) == pytest.approx(90 * variance**0.5)
    for users, chosen in ((100_000, "noise-all"), (1_000, "borda")):
        found = aggregation.auto.choose_method(10, users, user(1.0, delta=1e-8), trust="shuffled")
        assert found == chosen
