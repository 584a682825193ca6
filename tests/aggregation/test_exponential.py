from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights, bounds
from privrank_jax.aggregation.kemeny_rule import over_orders
from tests.promises import user
from tests.reference import borda as reference_borda


def _weights(items, seed=0):
    upper = np.triu(np.random.default_rng(seed).uniform(size=(items, items)), 1)
    return upper + np.tril(1 - upper.T, -1)


def _log_law(w, users, epsilon):
    items = len(w)
    all_orders = reference_borda.orders(items)
    logits = -epsilon * users * reference_borda.kemeny_scores(w, all_orders) / (items * (items - 1))
    return np.argsort(all_orders, axis=1), logits - scipy.special.logsumexp(logits)


@pytest.mark.parametrize(("items", "users"), [(1, 5), (2, 5), (4, 9), (6, 500)])
def test_the_weight_of_all_orders_is_that_of_enumeration(items, users):
    w, rate = _weights(items), 2.0 / (items * max(items - 1, 1))
    total = -over_orders(
        rate * users * jnp.asarray(w), lambda terms: -jax.nn.logsumexp(-terms, axis=1), jnp.inf
    )[-1]
    costs = reference_borda.kemeny_scores(w, reference_borda.orders(items))
    logits = -rate * users * costs
    assert float(total) == pytest.approx(scipy.special.logsumexp(logits), rel=1e-10, abs=1e-10)


def test_masked_items_come_last_and_do_not_count(key):
    """The law of the real items is that of the smaller problem (5 standard errors at 10,000 draws)."""
    mask = np.array([True, False, True, True])
    w = _weights(4, 2)
    draws = np.asarray(
        jax.vmap(
            lambda k: aggregation.exponential_kemeny(k, PairWeights(w, 8, mask), user(3.0)).value
        )(jax.random.split(key, 10_000))
    )
    assert np.all(draws[:, 1] == 3)
    ranks, law = _log_law(w[np.ix_(mask, mask)], 8, 3.0)
    seen = (draws[:, mask][:, None] == ranks[None]).all(-1).mean(0)
    assert np.abs(seen - np.exp(law)).max() < 5 * 0.5 / math.sqrt(10_000)


def test_error_is_below_its_bound():
    """E K from the exact law, at most OPT + 2N log(m!)/(nε)."""
    w = _weights(5, 3)
    costs = reference_borda.kemeny_scores(w, reference_borda.orders(5))
    for epsilon in (0.1, 1.0, 10.0):
        _, law = _log_law(w, 40, epsilon)
        mean = float(np.exp(law) @ costs)
        bound = bounds.bound("exponential", 5, 40, user(epsilon))
        assert mean <= bound.ratio * costs.min() + bound.additive


def test_best_ranking_guarantee_and_dtype(key):
    w = _weights(6, 4).astype(np.float32)
    all_orders = reference_borda.orders(6)
    best = all_orders[np.argmin(reference_borda.kemeny_scores(w, all_orders))]
    for epsilon in (np.inf, 1e6):
        estimate = aggregation.exponential_kemeny(key, PairWeights(w, 50), user(epsilon))
        np.testing.assert_array_equal(estimate.value, np.argsort(best))
    assert estimate.value.dtype == jnp.int32
    guarantee = aggregation.exponential_kemeny(key, PairWeights(w, 50), user(0.5)).guarantee
    assert (guarantee.epsilon, guarantee.delta) == (0.5, 0.0)
    assert (guarantee.unit, guarantee.adjacency, guarantee.trust) == ("user", "replace", "central")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (PairWeights(_weights(3), 0), "num_users must be"),
        (PairWeights(np.zeros((2, 3)), 5), "square"),
        (PairWeights(_weights(21), 5), "at most 20 items"),
    ],
)
def test_bad_arguments_are_refused(weights, message, key):
    with pytest.raises(ValueError, match=message):
        aggregation.exponential_kemeny(key, weights, user(1.0))
