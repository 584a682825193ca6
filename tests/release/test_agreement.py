"""Exact samplers of releases and fast ones of simulations draw from one law, up to the grid of exact noise.

KwikSort is compared in test_exact_aggregation, the exponential mechanism, probability by probability, in
test_exponential.
"""

from __future__ import annotations

import functools
import itertools
import math

import jax
import numpy as np
import pytest
from scipy import stats

from privrank_jax import aggregation, mallows, pairwise
from privrank_jax.aggregation import PairWeights
from privrank_jax.comparisons import WinCounts
from privrank_jax.privacy import randomized_response
from privrank_jax.release import (
    exact_borda,
    exact_mallows,
    exact_noise_all,
    exact_noisy_counts,
    exact_randomized_response,
    exact_top_k,
    integer_noise,
)
from tests.promises import noise_of, promise, user
from tests.release.laws import gaussian_pmf, laplace_pmf

GAUSSIAN_IN_THE_SLOW_TIER = [0.0, pytest.param(1e-5, marks=pytest.mark.slow)]
ALARM = 1e-6  # false-alarm rate of each comparison; exact draws can't be seeded


@pytest.fixture
def calibrated_once(monkeypatch):
    """Keep OpenDP's mechanisms from one draw to the next."""
    for name in ("discrete_laplace", "discrete_gaussian"):
        monkeypatch.setattr(integer_noise, name, functools.cache(getattr(integer_noise, name)))


@pytest.mark.parametrize("scale", [0.5, 1.0, 7.3, 80.0])
@pytest.mark.parametrize(
    ("pmf", "continuous"), [(laplace_pmf, stats.laplace), (gaussian_pmf, stats.norm)]
)
def test_distribution_functions_differ_by_half_the_chance_of_no_noise(pmf, continuous, scale):
    """The distance that the tests below assume: it is attained at 0 and nowhere exceeded."""
    grid = np.arange(-math.ceil(40 * scale), math.ceil(40 * scale) + 1)
    steps = np.cumsum(pmf(grid, scale))
    apart = np.maximum(
        np.abs(steps - continuous.cdf(grid, scale=scale)),
        np.abs(steps - continuous.cdf(grid + 1, scale=scale)),
    )
    assert apart.max() == pytest.approx(pmf(0, scale) / 2, rel=1e-6)


def same_noise(exact_draws, fast_draws, grid):
    """Whether two samples of standardized noise have one law, up to a distance of ``grid``."""
    sizes = 1 / exact_draws.size + 1 / fast_draws.size
    slack = math.sqrt(-math.log(ALARM / 2) / 2 * sizes)
    return stats.ks_2samp(exact_draws, fast_draws).statistic < slack + grid


def assert_same_noise(exact_draws, fast_draws, doubled_scale):
    """``doubled_scale``: of the integers that the exact noise was added to; it is narrower than the Gaussian's."""
    grid = 0.5 * math.tanh(0.5 / doubled_scale)
    assert grid < 0.01
    assert same_noise(exact_draws, fast_draws, grid)
    for factor in (0.5, 2):  # the distance is then 1/8 and more, twice the slack at these sizes
        assert not same_noise(exact_draws, factor * fast_draws, grid)


@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 1e-5)])
def test_win_totals(key, noise, delta):
    items, runs, sensitivity = 100, 40, 50.0
    found = exact_noisy_counts(
        np.zeros(items * runs), promise(1.0, delta=delta), sensitivity=sensitivity, noise=noise
    )
    wins = WinCounts.from_matrix(np.zeros((items, items)))

    def fast(key):
        estimate = pairwise.noisy_counts(
            key, wins, promise(1.0, delta=delta), noise=noise, sensitivity=sensitivity
        )
        return estimate.value / estimate.diagnostics.noise_scale

    drawn = np.asarray(jax.vmap(fast)(jax.random.split(key, runs)))
    scale = found.diagnostics.noise_scale
    assert_same_noise(found.value / scale, drawn.ravel(), 2 * scale)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 1e-5)])
def test_many_win_totals_tell_a_fifth_more_noise(noise, delta):
    draws = 100_000
    found = exact_noisy_counts(
        np.zeros(draws), promise(1.0, delta=delta), sensitivity=50.0, noise=noise
    )
    scale = found.diagnostics.noise_scale
    continuous = stats.laplace if noise == "laplace" else stats.norm
    slack = math.sqrt(-math.log(ALARM / 2) / 2 / draws) + 0.5 * math.tanh(0.25 / scale)
    for factor, agrees in ((1, True), (1.2, False), (1 / 1.2, False)):
        distance = stats.kstest(found.value / scale, continuous(scale=factor).cdf).statistic
        assert (distance < slack) == agrees


@pytest.mark.parametrize("delta", GAUSSIAN_IN_THE_SLOW_TIER)
def test_borda(key, calibrated_once, delta):
    items, runs = 400, 10
    ranks = np.stack([np.arange(items), np.arange(items)[::-1]])
    weights = PairWeights.from_ranks(ranks)
    scores = np.full(items, (items - 1) / 2)
    privacy, noise = user(1.0, delta), noise_of(delta)
    found = [exact_borda(ranks, privacy, noise=noise) for _ in range(runs)]
    scale = found[0].diagnostics.noise_scale
    drawn = np.concatenate([estimate.value - scores for estimate in found]) / scale

    def fast(key):
        estimate = aggregation.dp_borda(key, weights, privacy, noise=noise)
        return (estimate.value - scores) / estimate.diagnostics.noise_scale

    twin = np.asarray(jax.vmap(fast)(jax.random.split(key, runs)))
    assert_same_noise(drawn, twin.ravel(), 2 * 2 * scale)


@pytest.mark.parametrize("delta", GAUSSIAN_IN_THE_SLOW_TIER)
def test_noise_on_all_pairs(key, delta):
    # Half of the users rank the other way round, so the weights are 1/2 and noise of scale 0.02 isn't clipped.
    items, users = 90, 1000
    ranks = np.tile(np.stack([np.arange(items), np.arange(items)[::-1]]), (users // 2, 1))
    pairs = items * (items - 1) // 2
    epsilon = 50 * (pairs if delta == 0 else 2 * math.sqrt(pairs)) / users
    privacy, noise = user(epsilon, delta), noise_of(delta)
    found = exact_noise_all(ranks, privacy, noise=noise)
    twin = aggregation.noise_all(key, PairWeights.from_ranks(ranks), privacy, noise=noise)
    above = np.triu_indices(items, 1)
    scale = found.diagnostics.noise_scale
    assert_same_noise(
        (found.value[above] - 0.5) / scale,
        (np.asarray(twin.value)[above] - 0.5) / float(twin.diagnostics.noise_scale),
        2 * users * scale,
    )


def same_counts(first, second):
    """p-value of the test that two samples of categories have one law."""
    every = np.unique(np.concatenate([first, second]))
    table = np.array([[np.sum(sample == one) for one in every] for sample in (first, second)])
    return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


def test_top_k(key, calibrated_once):
    totals, draws = np.array([80.0, 60.0, 50.0, 0.0]), 2000
    lists = [
        exact_top_k(totals, promise(1.0), 2, sensitivity=10.0, total_sensitivity=40.0).value
        for _ in range(draws)
    ]

    def fast(epsilon):
        def one(key):
            return pairwise.one_shot_top_k(key, totals, promise(epsilon), 2, sensitivity=10.0).value

        return np.asarray(jax.vmap(one)(jax.random.split(key, 20_000)))

    def code(found):
        return np.asarray(found) @ [4, 1]

    assert same_counts(code(lists), code(fast(1.0))) > ALARM
    assert same_counts(code(lists), code(fast(2.0))) < ALARM


def test_randomized_response(key):
    levels, draws = np.array([0.2, 1.0, 3.0]), 20_000
    epsilon = np.repeat(levels, draws)
    bits = np.ones(epsilon.size, bool)
    flips = np.flatnonzero(~exact_randomized_response(bits, epsilon)) // draws
    twin = np.flatnonzero(~np.asarray(randomized_response(key, bits, epsilon))) // draws
    other = np.flatnonzero(~np.asarray(randomized_response(key, bits, 1.2 * epsilon))) // draws

    def agrees(found):
        count = [np.bincount(one, minlength=3) for one in (flips, found)]
        tables = ([[a[k], draws - a[k]] for a in count] for k in range(3))
        return min(stats.chi2_contingency(table).pvalue for table in tables)

    assert agrees(twin) > ALARM
    assert agrees(other) < ALARM


def test_mallows(key):
    center, epsilon, draws = np.array([2, 0, 3, 1]), 2.0, 20_000
    drawn = exact_mallows(np.tile(center, (draws, 1)), epsilon)

    def fast(epsilon):
        def one(key):
            return mallows.sample(key, center, epsilon)

        return np.asarray(jax.vmap(one)(jax.random.split(key, draws)))

    def code(ranks):
        return ranks @ (4 ** np.arange(4))

    assert len(np.unique(code(drawn))) == len(list(itertools.permutations(range(4))))
    assert same_counts(code(drawn), code(fast(epsilon))) > ALARM
    assert same_counts(code(drawn), code(fast(1.25 * epsilon))) < ALARM
