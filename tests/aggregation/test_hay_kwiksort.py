"""The baseline that shuffles what its budget leaves unsorted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights, hay_kwiksort
from tests.promises import user
from tests.reference import kwiksort as slow

W = slow.weights([(0, 1, 2), (0, 1, 2), (2, 0, 1)])


def test_budget_scale_and_guarantee(key):
    w = np.where(np.arange(9)[:, None] < np.arange(9), 0.9, 0.1) * (1 - np.eye(9))
    mask = np.arange(9) != 4
    estimate = hay_kwiksort(key, PairWeights(w, 10**6, mask), user(0.5))
    budget = math.ceil(8 * math.log2(8))  # of the real items
    assert estimate.diagnostics.max_queries == budget
    assert float(estimate.diagnostics.noise_scale) == pytest.approx(budget / (10**6 * 0.5))
    assert float(estimate.guarantee.epsilon) == 0.5
    if not estimate.diagnostics.exceeded:
        assert estimate.value.tolist() == [0, 1, 2, 3, 8, 4, 5, 6, 7]
    coarse = hay_kwiksort(key, PairWeights(w, 10**6, mask), user(0.5), max_queries=7)
    assert bool(coarse.diagnostics.exceeded)
    assert coarse.diagnostics.queries == 7
    assert sorted(coarse.value.tolist()) == list(range(9))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": PairWeights(W, 0)}, "num_users must be"),
        ({"max_queries": 0}, "max_queries must be an int of at least 1"),
    ],
)
def test_bad_arguments_are_refused(settings, message, key):
    with pytest.raises(ValueError, match=message):
        hay_kwiksort(key, **({"weights": PairWeights(W, 3), "privacy": user(1.0)} | settings))
