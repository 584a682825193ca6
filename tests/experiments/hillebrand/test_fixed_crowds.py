"""The crowds are what they are said to be, and what is known of them is what slow twins find."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights
from privrank_jax.experiments.hillebrand import fixed_crowds as crowds
from tests.reference.aggregation import kemeny_score, least_kemeny_score

MADE = tuple(name for name in crowds.NAMES if name != crowds.SUSHI)


@pytest.mark.parametrize("name", MADE)
def test_costs_are_those_of_all_orders(name):
    crowd = crowds.crowd(name, 5)
    weights = np.asarray(crowd.weights, float)
    assert crowd.optimum == pytest.approx(least_kemeny_score(weights), abs=1e-5)
    for ranks in itertools.permutations(range(5)):
        ranks = np.array(ranks)
        assert crowds.score(ranks, weights) == pytest.approx(kemeny_score(ranks, weights))
    assert 1 - 1e-6 <= crowd.footrule <= 2
    assert 1 - 1e-6 <= crowd.borda <= 5
    assert crowd.histograms.sum() == 4 * 5 * crowds.VOTERS


@pytest.mark.parametrize("items", [10, 30])
def test_borda_is_far_off_where_it_is_said_to_be(items):
    for name in crowds.WRONG:
        assert crowds.crowd(name, items).borda > 1.04
    for name in MADE[len(crowds.WRONG) :]:
        assert crowds.crowd(name, items).borda < 1.01
    for name in (crowds.GRUDGE, crowds.TURNED):  # most users hold one ranking, which is the best
        assert crowds.crowd(name, items).footrule == pytest.approx(1)


def test_groups_have_the_stated_shares_and_orders():
    order = np.arange(6)
    grudge = crowds.rankings(crowds.GRUDGE, 6)
    assert np.all(grudge == order, axis=1).sum() == 0.7 * crowds.VOTERS
    np.testing.assert_array_equal(np.unique(grudge, axis=0), [order, [5, 0, 1, 2, 3, 4]])
    turned = crowds.rankings(crowds.TURNED, 6)
    np.testing.assert_array_equal(np.unique(turned, axis=0), [order, [3, 4, 5, 0, 1, 2]])
    camps, sizes = np.unique(crowds.rankings(crowds.CAMPS, 6), axis=0, return_counts=True)
    np.testing.assert_array_equal(camps, [order, [2, 3, 4, 5, 0, 1], [4, 5, 0, 1, 2, 3]])
    assert set(sizes) == {crowds.VOTERS // 3}
    for name in MADE:
        assert np.all(np.sort(crowds.rankings(name, 6), axis=1) == order)


def test_random_crowds_follow_their_laws():
    """Adjacent pairs of Plackett and Luce, and Kendall's distance of Mallows rankings, within 4 standard errors."""
    m, n = 10, crowds.VOTERS
    luce = crowds.rankings(crowds.LUCE, m)
    chance = 1 / (1 + np.exp(-3.0))
    ahead = np.mean(luce[:, 0] < luce[:, -1])
    assert abs(ahead - chance) < 4 * np.sqrt(chance * (1 - chance) / n)
    ranks = crowds.rankings(crowds.MALLOWS, m)
    first, second = np.triu_indices(m, 1)
    far = np.sum(ranks[:, first] > ranks[:, second], axis=1)
    mean = variance = 0.0
    for last in range(1, m):
        mass = np.exp(-0.5 * np.arange(last + 1))
        mass /= mass.sum()
        own = mass @ np.arange(last + 1)
        mean += own
        variance += mass @ np.arange(last + 1) ** 2 - own**2
    assert abs(far.mean() - mean) < 4 * np.sqrt(variance / n)


def test_a_crowd_of_data_has_their_number_of_items(data_folder):
    assert not crowds.exists(crowds.SUSHI, 9)
    with pytest.raises(ValueError, match="no crowd 'sushi' of 9 items"):
        crowds.crowd(crowds.SUSHI, 9)
    ranks = crowds.rankings(crowds.SUSHI, 10)
    assert ranks.shape == (crowds.VOTERS, 10)
    weights = PairWeights.from_ranks(ranks)
    assert (
        crowds.crowd(crowds.SUSHI, 10).optimum
        >= np.minimum(weights.matrix, weights.matrix.T).sum() / 2 - 1e-4
    )
