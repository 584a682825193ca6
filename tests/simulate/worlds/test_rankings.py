"""Mallows worlds against the exact distribution, their padding, and their refusals."""

import functools
import itertools

import jax
import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights, PositionHistograms
from privrank_jax.aggregation.footrule import footrule_costs
from privrank_jax.simulate.worlds import rankings

KEY = jax.random.key(11)


def exact(items, spread):
    """All ranks of ``items`` items with their probabilities, by Kendall's distance from 0, 1, ..., m-1."""
    orders = list(itertools.permutations(range(items)))
    distance = [sum(a > b for a, b in itertools.combinations(ranks, 2)) for ranks in orders]
    mass = np.exp(-spread * np.array(distance))
    return orders, mass / mass.sum()


@pytest.mark.parametrize("spread", [0.0, 0.3, 2.0])
def test_every_ranking_has_its_probability(spread):
    users = 40_000
    drawn = np.asarray(rankings.mallows_rankings(KEY, users, 4, spread))
    orders, mass = exact(4, spread)

    def misfit(probabilities):
        counts = np.array([(drawn == order).all(1).sum() for order in orders])
        expected = users * probabilities
        return np.sum((counts - expected) ** 2 / expected), len(orders) - 1

    statistic, freedom = misfit(mass)
    assert statistic < freedom + 5 * np.sqrt(2 * freedom)  # five standard deviations of chi-squared
    other, _ = misfit(exact(4, spread + 0.1)[1])
    assert other > freedom + 5 * np.sqrt(2 * freedom)


def test_weights_are_those_of_the_rankings():
    drawn = rankings.mallows_rankings(KEY, 1500, 5, 0.4)
    weights = rankings.mallows_weights(KEY, 1500, 5, 0.4)
    np.testing.assert_array_equal(weights.twice, PairWeights.from_ranks(drawn).twice)
    assert weights.num_users == 1500
    counts = functools.partial(rankings.mallows_counts, max_users=1500, max_items=5)
    part, histograms = jax.jit(lambda n: counts(KEY, n, 5, 0.4))(1100)
    assert part.num_users == histograms.num_users == 1100
    counted = PairWeights.from_ranks(drawn[:1100])
    np.testing.assert_allclose(part.matrix, counted.matrix, atol=1e-12)
    counted = PositionHistograms.from_ranks(drawn[:1100])
    np.testing.assert_array_equal(histograms.counts, counted.counts)


def test_padded_items_come_last_and_do_not_count():
    weights, histograms = rankings.mallows_counts(KEY, 3000, 3, 0.7, max_items=5)
    w, mask = np.asarray(weights.matrix), weights.mask
    footrule_costs(histograms)  # which checks them
    assert not np.any(np.asarray(histograms.counts)[3:])
    assert histograms.mask.tolist() == mask.tolist()
    assert mask.tolist() == [True] * 3 + [False] * 2
    assert not np.any(w[3:])
    assert not np.any(w[:, 3:])
    orders, mass = exact(3, 0.7)
    chance = sum(p for order, p in zip(orders, mass) if order[0] < order[2])
    assert abs(w[0, 2] - chance) < 5 * np.sqrt(chance * (1 - chance) / 3000)
    np.testing.assert_allclose(w + w.T, np.pad(1 - np.eye(3), (0, 2)), atol=1e-12)


def test_large_and_tiny_spreads():
    near, flat, last = (
        np.asarray(rankings.mallows_rankings(KEY, 4000, 30, spread)) for spread in (1e-9, 0.0, 1e3)
    )
    assert np.all(last == np.arange(30))
    np.testing.assert_array_equal(near, flat)
    assert np.abs(np.mean(flat, 0) - 14.5).max() < 5 * np.sqrt((30**2 - 1) / 12 / 4000)


@pytest.mark.parametrize(
    "arguments", [(0, 3, 1.0), (3, 0, 1.0), (3, 3, -1.0), (3, 3, float("nan")), (2, 40_000, 1.0)]
)
def test_bad_sizes_and_spreads_are_refused(arguments):
    with pytest.raises(ValueError, match="must be"):
        rankings.mallows_rankings(KEY, *arguments)
