"""The baseline that shuffles what its budget leaves unsorted."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest
import scipy.stats

from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.hay_kwiksort import hay_kwiksort
from tests.promises import user
from tests.reference import kwiksort as slow

W = slow.weights([(0, 1, 2), (0, 1, 2), (2, 0, 1)])


def exact_law(w, users, epsilon, max_queries):
    """Three items, two queries: the sort of the first round, and a shuffle where both items are on one side."""
    ahead = slow.laplace_exceeds(0.5 - w, max_queries / (users * epsilon))
    law = {}
    for pivot, answers in itertools.product(range(3), itertools.product((True, False), repeat=2)):
        others = [item for item in range(3) if item != pivot]
        chance = 1 / 3
        for item, yes in zip(others, answers):
            chance *= ahead[item, pivot] if yes else 1 - ahead[item, pivot]
        left = [item for item, yes in zip(others, answers) if yes]
        right = [item for item, yes in zip(others, answers) if not yes]
        ends = list(itertools.product(itertools.permutations(left), itertools.permutations(right)))
        for first, last in ends:
            order = (*first, pivot, *last)
            law[order] = law.get(order, 0.0) + chance / len(ends)
    return law


def test_sampler_has_the_exact_law(key):
    """Chi-squared of 40,000 runs: false-alarm rate 1e-6; noise 15 % off is rejected."""
    runs = 40_000
    run = jax.jit(jax.vmap(lambda k: hay_kwiksort(k, PairWeights(W, 3), user(2.0), max_queries=2)))
    estimate = run(jax.random.split(key, runs))
    found = list(map(tuple, np.argsort(np.asarray(estimate.value), axis=1).tolist()))

    def agrees(epsilon):
        law = exact_law(W, 3, epsilon, 2)
        counts = [found.count(order) for order in law]
        return scipy.stats.chisquare(counts, runs * np.array(list(law.values()))).pvalue > 1e-6

    assert agrees(2.0)
    assert not agrees(2.0 / 0.85)
    assert not agrees(2.0 / 1.15)
    assert np.asarray(estimate.diagnostics.queries).max() == 2


def test_loss_is_at_most_epsilon():
    for others in ([], [(0, 1, 2)], [(0, 1, 2), (2, 1, 0)]):
        laws = []
        for ranks in itertools.permutations(range(3)):
            law = exact_law(slow.weights([*others, ranks]), len(others) + 1, 1.0, 2)
            laws.append([law[order] for order in itertools.permutations(range(3))])
        losses = [slow.largest_log_ratio(a, b) for a, b in itertools.combinations(laws, 2)]
        assert 0.5 < max(losses) <= 1.0


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
        ({"max_queries": 0}, "max_queries must be at least 1"),
    ],
)
def test_bad_arguments_are_refused(settings, message, key):
    with pytest.raises(ValueError, match=message):
        hay_kwiksort(key, **({"weights": PairWeights(W, 3), "privacy": user(1.0)} | settings))
