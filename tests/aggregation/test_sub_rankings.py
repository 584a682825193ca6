"""The order of a few items of each user: its law, and the size of least error."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.sub_rankings import best_size, one_pair_variance, sub_ranking_variance
from privrank_jax.aggregation.vector_reports import local_weight_variance
from tests.promises import user
from tests.quick import thorough
from tests.reference import local_pairs as naive

PAIRS = np.triu_indices(4, 1)
TIED, GAPS = (0, 1, 0, 2), (1, -1, 0, -1)


@pytest.mark.parametrize(
    ("ranks", "asked", "size", "missing", "epsilon"),
    [thorough(TIED, 4, 2, "last", 2.5), (GAPS, 3, 3, "unknown", 2.5)],
)
def test_orders_are_told_by_their_law(ranks, asked, size, missing, epsilon, key):
    """20,000 users with one ranking, all asked for one pair; those beside it are any."""
    number = 20_000
    users = np.tile(ranks, (number, 1))
    rules = {"size": size, "missing": missing, "asked": asked}
    held, told = aggregation.sub_ranking_weights.report(key, users, epsilon, **rules)
    orders = np.take_along_axis(np.asarray(held), np.argsort(-np.asarray(told), axis=1), axis=1)
    pair = [int(side[asked]) for side in PAIRS]
    sets = [{*pair, *more} for more in itertools.combinations(set(range(4)) - {*pair}, size - 2)]
    law = {
        one: chance / len(sets)
        for items in sets
        for one, chance in naive.told_law(ranks, tuple(items), epsilon, missing).items()
    }
    told, counts = np.unique(orders, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, told.tolist()), counts))
    expected = number * np.array([*law.values()])
    assert stats.chisquare([seen.get(one, 0) for one in law], expected).pvalue > 1e-4


@pytest.mark.parametrize("items", [thorough(3), 10])
def test_orders_are_of_the_size_of_least_error(items):
    users, pairs = 100_000, math.comb(items, 2)
    for epsilon in (0.01, 1.4, 1.5, 4.0, 9.0):
        bounds = [naive.variance_bound(items, users, k, epsilon) for k in range(2, items + 1)]
        assert int(best_size(items, users, epsilon)) == 2 + int(np.argmin(bounds))
        assert float(sub_ranking_variance(items, users, epsilon)) == pytest.approx(min(bounds))
        one = bounds[0] * users / (users - 1)
        assert float(one_pair_variance(items, users, epsilon)) == pytest.approx(one)
        square = min(naive.sub_ranking_square(items, k, epsilon) for k in range(2, items + 1))
        for other in ("duchi", "privunit", "randomized-response"):
            variance = float(local_weight_variance(items, 1, epsilon, other))
            assert variance > 1.05 * (square / pairs - 1) / 4


def test_with_fewer_users_than_pairs_all_items_are_ordered():
    orders = np.tile([2, 0, 1, 4, 3], (9, 1))
    found = aggregation.sub_ranking_weights.release(orders, user(30.0))
    assert (found.diagnostics.users_per_pair, found.diagnostics.items_per_user) == (9, 5)
    np.testing.assert_allclose(found.value, PairWeights.from_ranks(orders).matrix, atol=1e-9)
