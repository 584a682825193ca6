"""Exact noise for the aggregation of rankings: laws compared with enumeration and with the simulated twins."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from scipy import stats

from privrank_jax import aggregation
from privrank_jax.aggregation import dp_sorting
from privrank_jax.aggregation.weights import PairWeights, counted_weights
from privrank_jax.exact import integer_noise
from privrank_jax.exact.sorting import partitioned, shuffled
from privrank_jax.mechanism import Facts
from tests.promises import noise_of, user

ALARM = 1e-4  # false-alarm rate of each test on fresh noise; the noise can't be seeded
RANKS = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [0, 1, -1], [0, 0, 1]])


def laplace_tail(k, scale):
    """P(X > k) of the discrete Laplace law, k an integer."""
    alpha = math.exp(-1 / scale)
    if k < 0:
        return 1 - laplace_tail(-k - 1, scale)
    return alpha ** (k + 1) / (1 + alpha)


def kwiksort_law(counts, users, scale):
    """Law of the order of three items: pivots enumerated, answers independent, no budget."""
    items, law = range(len(counts)), {}

    def sort(segment, chance):
        """All ways to sort a list of segments, the first that is unsorted first."""
        unsorted = next((k for k, s in enumerate(segment) if len(s) > 1), None)
        if unsorted is None:
            order = tuple(s[0] for s in segment)
            law[order] = law.get(order, 0.0) + chance
            return
        part = segment[unsorted]
        for pivot in part:
            others = [i for i in part if i != pivot]
            for answers in itertools.product([True, False], repeat=len(others)):
                p = chance / len(part)
                for item, ahead in zip(others, answers):
                    yes = laplace_tail(users - counts[item][pivot], scale)
                    p *= yes if ahead else 1 - yes
                left = [i for i, ahead in zip(others, answers) if ahead]
                right = [i for i, ahead in zip(others, answers) if not ahead]
                split = [s for s in (left, [pivot], right) if s]
                sort([*segment[:unsorted], *split, *segment[unsorted + 1 :]], p)

    sort([list(items)], 1.0)
    return law


@pytest.fixture
def prepare_once(monkeypatch):
    """Calibrate once for all draws."""
    for name in ("discrete_laplace", "discrete_gaussian"):
        kept = functools.cache(getattr(integer_noise, name))
        monkeypatch.setattr(integer_noise, name, kept)


def test_kwiksort_has_the_enumerated_law_and_no_other_scale(prepare_once):
    draws = 1000
    weights = counted_weights(RANKS)
    counts = weights.twice
    orders = [
        tuple(np.argsort(aggregation.dp_kwiksort.release(weights, user(4.0)).value).tolist())
        for _ in range(draws)
    ]
    every = list(itertools.permutations(range(3)))
    observed = [orders.count(order) for order in every]

    def p_value(scale):
        law = kwiksort_law(counts.tolist(), len(RANKS), scale)
        assert sum(law.values()) == pytest.approx(1)
        return stats.chisquare(observed, [draws * law[order] for order in every]).pvalue

    def noncentrality(other):
        law, right = (kwiksort_law(counts.tolist(), len(RANKS), s) for s in (other, scale))
        return draws * sum((law[order] - right[order]) ** 2 / law[order] for order in every)

    scale = 2 * 3 / 4.0  # 2q/ε on twice the counts, q = 3
    assert p_value(scale) > ALARM
    assert noncentrality(scale / 3) > 90
    assert noncentrality(scale * 3) > 90
    # At 5 degrees of freedom these p-values exceed the alarm with probability below 1e-6.
    assert p_value(scale / 3) < ALARM
    assert p_value(scale * 3) < ALARM


def test_many_users_give_the_law_of_the_simulated_twin(key, prepare_once):
    """With 400 users the grid of 1/2 is invisible in noise of scale 100 and more; one order against the others."""
    draws, epsilon, delta = 400, 0.06, 1e-5
    ranks = np.repeat(RANKS[:4], 100, axis=0)
    weights, privacy = PairWeights.from_ranks(ranks), user(epsilon, delta)
    noise = noise_of(delta)
    twin = jax.vmap(
        lambda key: aggregation.dp_kwiksort(key, weights, privacy, noise=noise).value
    )(jax.random.split(key, 20_000))  # fmt: skip
    chance = float(np.mean(np.all(np.asarray(twin) == [0, 1, 2], axis=1)))
    assert 0.2 < chance < 0.8
    exact = counted_weights(ranks)
    found = sum(
        aggregation.dp_kwiksort.release(exact, privacy, noise=noise).value.tolist() == [0, 1, 2]
        for _ in range(draws)
    )
    # 5 standard deviations, and what rounding may change.
    slack = 5 * math.sqrt(chance * (1 - chance) / draws) + 0.02
    assert abs(found / draws - chance) < slack


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
    monkeypatch.setattr(
        integer_noise,
        "discrete_laplace",
        lambda change, each: (spent.append(each), (lambda values: values, 1.0))[1],
    )
    monkeypatch.setattr(
        dp_sorting,
        "noise_all",
        SimpleNamespace(
            release=lambda weights, privacy: (
                spent.append(privacy.epsilon),
                SimpleNamespace(value=weights.matrix),
            )[1]
        ),
    )
    ranks = np.tile(np.arange(5), (9, 1))
    for epsilon in (0.1, 0.3, 1 / 3, 0.7, 1.0, 2.9):
        for split in (0.5, 0.9, 1 / 3):
            spent.clear()
            aggregation.dp_kwiksort.release(
                counted_weights(ranks), user(epsilon), max_queries=3, split=split
            )
            each, fallback = spent
            total = 3 * Fraction(each) + Fraction(fallback)
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


def test_what_the_budget_leaves_is_shuffled(prepare_once):
    """Four items and three queries: one round, after which its two sides come in random order."""
    weights = counted_weights(np.tile(np.arange(4), (50, 1)))
    orders = [
        tuple(
            np.argsort(aggregation.hay_kwiksort.release(weights, user(100.0), max_queries=3).value)
        )
        for _ in range(600)
    ]
    law = dict.fromkeys(itertools.permutations(range(4)), 0.0)
    for pivot in range(4):
        sides = [itertools.permutations(side) for side in (range(pivot), range(pivot + 1, 4))]
        ends = [(*left, pivot, *right) for left, right in itertools.product(*sides)]
        for end in ends:
            law[end] += 0.25 / len(ends)
    possible = [end for end, chance in law.items() if chance]
    seen = [orders.count(end) for end in possible]
    assert sum(seen) == 600
    assert stats.chisquare(seen, [600 * law[end] for end in possible]).pvalue > ALARM
    found = aggregation.hay_kwiksort.release(weights, user(2.0), max_queries=3)
    assert found.diagnostics.noise_scale == pytest.approx(3 / (50 * 2.0))
    assert found.diagnostics.noise_scale == pytest.approx(
        aggregation.hay_kwiksort.scale(user(2.0), Facts(4, 50), max_queries=3)
    )
    assert (found.diagnostics.queries, found.diagnostics.exceeded) == (3, True)
    assert sorted(shuffled([4, 4, 1])) == [1, 4, 4]
