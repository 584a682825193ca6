from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.kemeny_rule import over_orders
from tests.promises import user
from tests.quick import thorough
from tests.reference import borda as reference_borda


def _weights(items, seed=0):
    upper = np.triu(np.random.default_rng(seed).uniform(size=(items, items)), 1)
    return upper + np.tril(1 - upper.T, -1)


def _log_law(w, users, epsilon):
    items = len(w)
    all_orders = reference_borda.orders(items)
    logits = -epsilon * users * reference_borda.kemeny_scores(w, all_orders) / (items * (items - 1))
    return np.argsort(all_orders, axis=1), logits - scipy.special.logsumexp(logits)


@pytest.mark.parametrize(("items", "users"), [(1, 5), thorough(2, 5), (4, 9), (6, 500)])
def test_the_weight_of_all_orders_is_that_of_enumeration(items, users):
    w, rate = _weights(items), 2.0 / (items * max(items - 1, 1))

    @jax.jit
    def best(w):
        return over_orders(w, lambda terms: -jax.nn.logsumexp(-terms, axis=1), jnp.inf)

    total = -np.asarray(best(rate * users * w))[-1]
    costs = reference_borda.kemeny_scores(w, reference_borda.orders(items))
    logits = -rate * users * costs
    assert float(total) == pytest.approx(scipy.special.logsumexp(logits), rel=1e-10, abs=1e-10)


def test_masked_items_come_last_and_do_not_count(key):
    """The law of the real items is that of the smaller problem (5 standard errors at 10,000 draws)."""
    mask = np.array([True, False, True, True])
    w = _weights(4, 2)
    given = PairWeights(w, 8, mask)
    draw = jax.jit(jax.vmap(lambda k: aggregation.exponential_kemeny(k, given, user(3.0)).value))
    draws = np.asarray(draw(jax.random.split(key, 10_000)))
    assert np.all(draws[:, 1] == 3)
    ranks, law = _log_law(w[np.ix_(mask, mask)], 8, 3.0)
    seen = (draws[:, mask][:, None] == ranks[None]).all(-1).mean(0)
    assert np.abs(seen - np.exp(law)).max() < 5 * 0.5 / math.sqrt(10_000)
