"""The exact samplers' own output against the laws of their proofs: answers to queries, flips, rows that stay.

Each comparison fails by chance once in 10⁹ runs (``RATE``). Noise that is 5 % smaller than it must be fails that of
:func:`assert_coin` with probability 99 % and more, which ``power`` computes from the law before anything is drawn.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from privrank_jax.aggregation import PairWeights, dp_kwiksort
from privrank_jax.exact import sorting
from privrank_jax.exact.randomized_response import flipped_bits, kept_below
from privrank_jax.release import exact_bound
from tests.exact.laws import LESS, RATE, assert_shares, power
from tests.promises import user


def assert_coin(hits, draws, chance, less):
    """A binomial count; ``less``: its chance with 5 % less noise."""
    right, wrong = ((p, math.sqrt(p * (1 - p))) for p in (chance, less))
    assert power(draws, right, wrong) > 0.99
    assert stats.binomtest(hits, draws, chance).pvalue > RATE


@pytest.mark.parametrize(
    ("noise", "privacy"), [("laplace", user(0.1)), ("gaussian", user(0.5, 1e-5))]
)
def test_answers_to_queries_have_their_law(monkeypatch, noise, privacy):
    """A stand-in for the sort asks one pair repeatedly, as often as the budget allows."""
    queries, users = 100_000, 1000
    twice = np.array([[0, users - 32], [users + 32, 0]])
    heard = []

    def ask(items, before, budget):
        heard.extend(before([(0, 1)] * queries))
        return [[0], [1]], queries

    monkeypatch.setattr(sorting, "partitioned", ask)
    found = dp_kwiksort.release(PairWeights.from_counts(twice, users), privacy, noise=noise)
    scale = 2 * users * found.diagnostics.noise_scale
    assert noise == "gaussian" or scale == pytest.approx(20.0)

    def chance(scale):  # P(X > 32)
        if noise == "gaussian":
            return stats.norm.sf(32.5 / scale)
        return math.exp(-33 / scale) / (1 + math.exp(-1 / scale))

    assert_coin(sum(heard), queries, chance(scale), chance(LESS * scale))


def test_every_position_of_a_call_is_flipped_and_neighbors_are_independent():
    chance, calls = 1 - kept_below(1.0) / 2**64, 200
    for size in (1, 13, 64):
        bits = np.arange(size) % 3 == 0
        flips = sum((flipped_bits(bits, 1.0) != bits).astype(int) for _ in range(calls))
        assert 2 * (1 - chance) ** calls < RATE / size  # one that is never flipped is seen
        for count in flips:
            assert stats.binomtest(int(count), calls, chance).pvalue > RATE / size
    bits = np.arange(160_000) % 2 == 0
    flips = flipped_bits(bits, 1.0) != bits
    assert_coin(int(flips.sum()), bits.size, chance, LESS * chance)
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
