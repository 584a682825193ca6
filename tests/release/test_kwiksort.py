"""Exact sorts by noisy answers: the shares of ε, what the budget leaves, and the sort itself."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from privrank_jax import aggregation
from privrank_jax.aggregation import dp_sorting
from privrank_jax.aggregation.weights import counted_weights
from privrank_jax.exact import integer_noise
from privrank_jax.exact.sorting import partitioned, shuffled
from privrank_jax.mechanism.data import Facts
from tests.promises import user

ALARM = 1e-4  # false-alarm rate of each test on fresh noise; the noise can't be seeded


def test_a_budget_that_is_exceeded_falls_back_on_noise_for_all_pairs():
    ranks = np.tile([3, 0, 2, 1], (500, 1))
    # One query can't sort four items, so every run falls back, at half of ε.
    estimate = aggregation.dp_kwiksort.release(counted_weights(ranks), user(400.0), max_queries=1)
    assert estimate.diagnostics.exceeded is True
    assert estimate.diagnostics.queries == 0
    assert estimate.value.tolist() == [3, 0, 2, 1]
    assert estimate.guarantee.epsilon == 400.0


def test_the_two_shares_never_exceed_epsilon(monkeypatch):
    spent = []

    def discrete_laplace(change, each):
        spent.append(each)
        return (lambda values: values), 1.0

    def release(weights, privacy):
        spent.append(privacy.epsilon)
        return SimpleNamespace(value=weights.matrix)

    monkeypatch.setattr(integer_noise, "discrete_laplace", discrete_laplace)
    monkeypatch.setattr(dp_sorting, "noise_all", SimpleNamespace(release=release))
    given = counted_weights(np.tile(np.arange(5), (9, 1)))
    for epsilon, split in itertools.product((0.1, 0.3, 1 / 3, 0.7, 1.0, 2.9), (0.5, 0.9, 1 / 3)):
        spent.clear()
        aggregation.dp_kwiksort.release(given, user(epsilon), max_queries=3, split=split)
        total = 3 * Fraction(spent[0]) + Fraction(spent[1])
        assert Fraction(epsilon) * (1 - Fraction(1, 2**50)) < total <= Fraction(epsilon)


@pytest.mark.parametrize("items", [2, 3, 9, 40])
def test_the_sort_sorts_and_asks_each_pair_once(items):
    seen = []
    value = np.random.default_rng(items).permutation(items)

    def before(asked):
        seen.extend(asked)
        return [value[i] < value[j] for i, j in asked]

    segments, queries = partitioned(items, before, items * items)
    assert [one for (one,) in segments] == np.argsort(value).tolist()
    assert queries == len(seen) == len({frozenset(pair) for pair in seen})
    assert partitioned(items, before, 0) == ([list(range(items))], 0)


def test_what_the_budget_leaves_is_shuffled(monkeypatch):
    """Four items and three queries: one round, after which its two sides come in random order."""
    calibrated = functools.cache(integer_noise.discrete_laplace)
    monkeypatch.setattr(integer_noise, "discrete_laplace", calibrated)
    weights, sort = counted_weights(np.tile(np.arange(4), (50, 1))), dp_sorting.hay_kwiksort
    drawn = [sort.release(weights, user(100.0), max_queries=3).value for _ in range(600)]
    orders = [tuple(np.argsort(ranks).tolist()) for ranks in drawn]
    law = Counter()
    for pivot in range(4):
        sides = [itertools.permutations(side) for side in (range(pivot), range(pivot + 1, 4))]
        ends = [(*left, pivot, *right) for left, right in itertools.product(*sides)]
        law.update(dict.fromkeys(ends, 0.25 / len(ends)))
    seen = [orders.count(end) for end in law]
    assert sum(seen) == 600
    assert stats.chisquare(seen, [600 * chance for chance in law.values()]).pvalue > ALARM
    found = sort.release(weights, user(2.0), max_queries=3).diagnostics
    assert found.noise_scale == pytest.approx(3 / (50 * 2.0))
    scale = sort.scale(user(2.0), Facts(4, 50), max_queries=3)
    assert found.noise_scale == pytest.approx(scale)
    assert (found.queries, found.exceeded) == (3, True)
    assert sorted(shuffled([4, 4, 1])) == [1, 4, 4]
