"""The order of a few items of each user: its law, unbiased weights within their variance, the size of least error."""

from __future__ import annotations

import importlib
import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.sub_rankings import (
    best_size,
    one_pair_variance,
    sub_ranking_variance,
    weights_of_leads,
)
from privrank_jax.aggregation.vector_reports import local_weight_variance
from tests.promises import user
from tests.reference import borda as reference_borda
from tests.reference import local_pairs as naive

module = importlib.import_module("privrank_jax.aggregation.sub_rankings")
local = importlib.import_module("privrank_jax.mechanism.local")
RNG = np.random.default_rng(4)
RANKS = np.array([RNG.permutation(4) for _ in range(32)])
RANKS[:6, 2] = RANKS[:6, 1]  # ties
PAIRS = np.triu_indices(4, 1)
STRICT, TIED, GAPS = (2, 0, 3, 1), (0, 1, 0, 2), (1, -1, 0, -1)


def signs(ranks, missing):
    return 2 * reference_borda.pair_shares(ranks, missing)[np.triu_indices(len(ranks), 1)] - 1


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("missing", ["last", "unknown"])
def test_the_law_of_orders_is_private_and_unbiased(missing, epsilon):
    """By enumeration for every size: ε is attained, the mean is v, and the mean square at each pair is ‖z‖²/N."""
    for size in (2, 3, 4):
        found = {
            ranks: naive.sub_ranking_law(ranks, size, epsilon, missing)
            for ranks in (STRICT, STRICT[::-1], (3, 1, 0, 2), TIED, GAPS)
        }
        for ranks, law in found.items():
            told = list(law)
            chances = np.array([law[one] for one in told])
            vectors = np.array([naive.sub_ranking_vector(one, 4, epsilon) for one in told])
            assert chances.sum() == pytest.approx(1)
            np.testing.assert_allclose(chances @ vectors, signs(ranks, missing), atol=1e-12)
            square = naive.sub_ranking_square(4, size, epsilon)
            np.testing.assert_allclose(chances @ vectors**2, np.full(6, square / 6))
        losses = [
            np.log(one[told] / other[told])
            for one in found.values() for other in found.values() for told in one
        ]  # fmt: skip
        assert max(losses) == pytest.approx(epsilon)


@pytest.mark.parametrize("missing", ["last", "unknown"])
@pytest.mark.parametrize(
    "users",
    [(STRICT, TIED, GAPS, (3, 1, 0, 2), (0, 1, 2, 3), (-1, 0, 0, 1)), [(0, 0, 0, 0)] * 6,
     [(0, 1, 2, 3), (3, 2, 1, 0)] * 3],
)  # fmt: skip
def test_weights_are_unbiased_and_of_bounded_variance(users, missing):
    """Over all deals of six pairs to six users, all items beside them and all orders told."""
    for epsilon in (0.5, 5.0):
        for size in (2, 3, 4):
            mean, variance = naive.law_of_weights(users, size, epsilon, missing)
            truth = reference_borda.weights(np.array(users), missing)[PAIRS]
            np.testing.assert_allclose(mean, truth, atol=1e-12)
            bound = naive.variance_bound(4, 6, size, epsilon)
            assert variance.max() <= bound * (1 + 1e-12)
            if (
                size != 3
            ):  # with ties, or where users halve and few are asked, it is nearly attained
                assert variance.max() > 0.8 * bound or epsilon > 1


@pytest.mark.parametrize(
    ("ranks", "asked", "size", "missing", "epsilon"),
    [(STRICT, 0, 4, "last", 3.0), (TIED, 4, 2, "last", 2.5), (GAPS, 3, 3, "unknown", 2.5)],
)  # fmt: skip
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


@pytest.mark.slow
def test_items_are_those_of_the_pair_and_any_others(key):
    asked = jnp.arange(60_000) % 10
    found = np.asarray(module._sets(key, asked, 5, 4))
    first, second = np.triu_indices(5, 1)
    assert np.array_equal(found[:, :2], np.stack([first, second], 1)[np.asarray(asked)])
    assert np.all(np.diff(np.sort(found, axis=1), axis=1) > 0)
    for place in (2, 3):
        counts = np.bincount(np.asarray(asked) * 5 + found[:, place], minlength=50)
        assert stats.chisquare(counts[counts > 0]).pvalue > 1e-4
        assert np.sum(counts > 0) == 30


@pytest.mark.parametrize("items", [3, 10])
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


@pytest.mark.parametrize(
    ("items", "epsilon", "excess"),
    [(3, 0.5, 1.083), (3, 2.0, 1.039), (3, 3.0, 1.0001), (4, 1.0, 1.153), (4, 3.0, 1.186),
     (4, 5.0, 1.0001)],
)  # fmt: skip
def test_orders_have_nearly_the_least_error_of_any_mechanism(items, epsilon, excess):
    low, high = naive.least_square(items, epsilon, number=20)
    pairs = math.comb(items, 2)
    found = min(naive.sub_ranking_square(items, k, epsilon) for k in range(2, items + 1))
    assert high == pytest.approx(low, rel=1e-4)
    assert low * (1 - 1e-9) <= found
    assert excess - 2e-3 < (found - pairs) / (low - pairs) < excess


def test_weights_of_leads_are_the_naive_ones():
    told = [tuple(RNG.permutation(4)[:3].tolist()) for _ in range(9)]
    asked, ahead = np.zeros((2, 4, 4), int)
    for order in told:
        for place, one in enumerate(order):
            asked[one, list(order)] += 1
            ahead[one, list(order[place + 1 :])] += 1
    found = weights_of_leads(ahead[PAIRS], asked[PAIRS], naive.told_share(3, 1.3), num_items=4)
    np.testing.assert_allclose(found, naive.weights_of_orders(told, 4, 3, 1.3), atol=1e-12)


@pytest.mark.parametrize(
    ("ranks", "epsilon", "size", "message"),
    [
        (RANKS[:5], 1.0, 3, "5 users are too few"),
        (RANKS, 0.0, None, "epsilon must be positive"),
        (RANKS[:, :1], 1.0, None, "fewer than 2 items"),
        (RANKS * 0.5, 1.0, None, "integers"),
        (RANKS, 1.0, 5, "size must be a number of items from 2 to 4"),
    ],
)
def test_refusals(ranks, epsilon, size, message, key):
    for call in (
        lambda: aggregation.sub_ranking_weights(key, ranks, user(epsilon), size=size),
        lambda: aggregation.sub_ranking_weights.release(ranks, user(epsilon), size=size),
    ):
        with pytest.raises(ValueError, match=message):
            call()
