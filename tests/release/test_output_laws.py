"""The exact samplers' own output against the laws of their proofs: χ², scale, tails.

Each comparison fails by chance once in 10⁹ runs (``RATE``). Noise that is 5 % smaller than it must be fails that of
scale with probability 99 % and more, which ``power`` computes from the law before anything is drawn.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from scipy import stats

from privrank_jax.aggregation import PairWeights, dp_kwiksort
from privrank_jax.exact import integer_noise as exact
from privrank_jax.exact import sorting
from privrank_jax.exact.randomized_response import flipped_bits, kept_below
from privrank_jax.pairwise import noisy_counts
from privrank_jax.release import exact_bound
from tests.exact import laws
from tests.exact.laws import LESS, RATE, assert_mean, assert_shares, power
from tests.promises import promise, user
from tests.totals import wins_of

PMF = {"laplace": laws.laplace_pmf, "gaussian": laws.gaussian_pmf}


def size_of_noise(noise, scale):
    """Mean and standard deviation of \\|X\\| for Laplace, X² for Gaussian noise."""
    grid = np.arange(-math.ceil(60 * scale), math.ceil(60 * scale) + 1)
    pmf = PMF[noise](grid, scale)
    size = np.abs(grid) if noise == "laplace" else grid**2
    mean = np.sum(pmf * size)
    return mean, math.sqrt(np.sum(pmf * size**2) - mean**2)


def assert_noise(draws, noise, scale):
    """Integers that are noise of this law: cells, tails on both sides, scale."""
    assert np.all(draws == np.round(draws))
    draws = np.asarray(np.round(draws), int).ravel()
    right, less = (size_of_noise(noise, factor * scale) for factor in (1, LESS))
    assert power(draws.size, right, less) > 0.99
    assert_mean(np.abs(draws) if noise == "laplace" else draws**2, *right)
    reach = math.ceil(20 * scale)
    assert np.abs(draws).max() < 2 * reach
    inside = np.arange(-2 * reach, 2 * reach + 1)
    assert_shares(np.bincount(draws + 2 * reach, minlength=inside.size), PMF[noise](inside, scale))
    far = math.floor((6 if noise == "laplace" else 3) * scale)
    beyond = PMF[noise](inside[inside > far], scale).sum()
    for tail in (draws > far, draws < -far):
        assert stats.binomtest(int(tail.sum()), draws.size, beyond).pvalue > RATE


@pytest.mark.parametrize(
    ("noise", "calls", "delta"), [("laplace", 4500, 0.0), ("gaussian", 2400, 1e-5)]
)
def test_noise_on_totals_has_its_law(monkeypatch, noise, calls, delta):
    """Of eight totals a call, on twice the totals, where it is of integers."""
    for name in ("discrete_laplace", "discrete_gaussian"):
        monkeypatch.setattr(exact, name, functools.cache(getattr(exact, name)))
    given, asked = wins_of(np.arange(8.0)), promise(1.0, delta=delta)
    told = {"sensitivity": 1.5, "noise": noise}
    found = [noisy_counts.release(given, asked, **told) for _ in range(calls)]
    draws = 2 * (np.stack([one.value for one in found]) - np.arange(8))
    scale = 2 * found[0].diagnostics.noise_scale
    if noise == "laplace":
        assert scale == pytest.approx(3.0)  # 2·1.5/ε
    assert_noise(draws, noise, scale)


def assert_coin(hits, draws, chance, less):
    """A binomial count; ``less``: its chance with 5 % less noise."""
    right, wrong = ((p, math.sqrt(p * (1 - p))) for p in (chance, less))
    assert power(draws, right, wrong) > 0.99
    assert stats.binomtest(hits, draws, chance).pvalue > RATE


def test_answers_to_queries_have_their_law(monkeypatch):
    """A stand-in for the sort asks one pair repeatedly, as often as the budget allows."""
    queries, users = 100_000, 1000
    twice = np.array([[0, users - 32], [users + 32, 0]])
    heard = []

    def ask(items, before, budget):
        heard.extend(before([(0, 1)] * queries))
        return [[0], [1]], queries

    monkeypatch.setattr(sorting, "partitioned", ask)
    found = dp_kwiksort.release(PairWeights.from_counts(twice, users), user(0.1))
    scale = 2 * users * found.diagnostics.noise_scale
    assert scale == pytest.approx(20.0)

    def chance(scale):  # P(X > 32)
        return math.exp(-33 / scale) / (1 + math.exp(-1 / scale))

    assert_coin(sum(heard), queries, chance(scale), chance(LESS * scale))


def test_every_position_of_a_call_is_flipped_alike():
    for size, calls in ((1, 200), (13, 200), (64, 200)):
        bits = np.arange(size) % 3 == 0
        flips = np.zeros(size, int)
        for _ in range(calls):
            flips += flipped_bits(bits, math.log(3)) != bits
        chance = 1 - kept_below(math.log(3)) / 2**64
        assert 2 * (1 - chance) ** calls < RATE / size  # one that is never flipped is seen
        for count in flips:
            assert stats.binomtest(int(count), calls, chance).pvalue > RATE / size


def test_flips_have_their_rate_and_neighbors_are_independent():
    for epsilon, size in ((1.0, 160_000), (0.1, 60_000), (2.5, 420_000)):
        bits = np.arange(size) % 2 == 0
        flips = flipped_bits(bits, epsilon) != bits
        chance = 1 - kept_below(epsilon) / 2**64
        assert_coin(int(flips.sum()), size, chance, LESS * chance)
        both = np.outer([1 - chance, chance], [1 - chance, chance]).ravel()
        for apart in (1, 2, 8, 64):  # bits, bytes and words
            pair = 2 * flips[:-apart] + flips[apart:]
            assert_shares(np.bincount(pair, minlength=4), both)


def test_rows_that_stay_are_any_and_users_independent():
    users = np.tile([0, 1], 4)
    calls = 20_000
    kept = np.array([exact_bound(users, 2) for _ in range(calls)])
    codes = [kept[:, users == user] @ (1 << np.arange(4)) for user in (0, 1)]
    pairs = [first + second for first, second in itertools.combinations(1 << np.arange(4), 2)]
    places = [np.searchsorted(np.sort(pairs), code) for code in codes]
    np.testing.assert_array_equal(np.sort(pairs)[places[0]], codes[0])
    assert_shares(np.bincount(places[0] * 6 + places[1], minlength=36), np.full(36, 1 / 36))
    for row in kept.T:
        assert stats.binomtest(int(row.sum()), calls, 0.5).pvalue > RATE
