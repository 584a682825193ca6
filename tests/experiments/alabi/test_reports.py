"""Local methods on the first users of padded rankings: against the library on these users alone."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import (
    PairWeights,
    borda_scores,
    ldp_borda,
    local_weights_privunit,
    local_weights_rr,
)
from privrank_jax.aggregation.vector_reports import local_weight_variance
from privrank_jax.experiments.alabi import reports
from privrank_jax.experiments.alabi.common import Search
from privrank_jax.experiments.alabi.crowds import World
from tests.experiments.alabi.shared import KEY
from tests.quick import quick_jit

ITEMS, MOST, BLOCK = 4, 50, 16
RANKS = np.argsort(np.random.default_rng(1).random((MOST, ITEMS)), axis=1).astype(np.int32)
USERS = (37, 16)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(reports, "_MOST", BLOCK)


def world(users, ranks=RANKS):
    shape = (ITEMS, ITEMS)
    empty = PairWeights(jnp.zeros(shape), jnp.int32(users), jnp.ones(ITEMS, bool))
    return reports.weighed(World(empty, None, ranks=jnp.asarray(ranks)))


def test_without_noise_only_the_first_users_count():
    @quick_jit
    def run(users):
        given = world(users)
        found = (
            reports.borda(ldp_borda)(KEY, given, jnp.asarray(jnp.inf)),
            reports.weights(local_weights_privunit)(KEY, given, jnp.asarray(jnp.inf)).weights,
            reports.weights(local_weights_rr)(KEY, given, jnp.asarray(jnp.inf)).weights,
        )
        return given.weights.matrix, found

    for users in USERS:
        counted, (scores, *weights) = run(users)
        expected = PairWeights.from_ranks(RANKS[:users])
        np.testing.assert_allclose(counted, expected.matrix, atol=1e-6)
        np.testing.assert_allclose(scores, borda_scores(expected), atol=1e-5)
        for one in weights:
            np.testing.assert_allclose(one, expected.matrix, atol=1e-5)


def test_ties_and_gaps_count_as_in_weights():
    ranks = np.array([[0, 0, 1, -1], [-1, 2, -1, 0], [3, 2, 1, 0]], np.int32)
    expected = PairWeights.from_ranks(ranks[:2]).matrix
    np.testing.assert_allclose(world(2, ranks).weights.matrix, expected, atol=1e-6)


def test_blocks_have_noise_of_their_own_and_padding_has_none():
    """Over 400 keys the variance of weights is within 15 % (5 standard errors) of that for the users that count."""
    users, epsilon = USERS[0], 1.0

    @jax.jit
    @jax.vmap
    def run(key):
        mean = reports._mean(
            lambda key, ranks: reports.local_weights.report(key, ranks, epsilon),
            *(key, world(users), users, ITEMS * (ITEMS - 1) // 2),
        )
        return 0.5 * mean

    seen = np.var(np.asarray(run(jax.random.split(KEY, 400))), axis=0).mean()
    assert seen == pytest.approx(float(local_weight_variance(ITEMS, users, epsilon)), rel=0.15)
    for wrong in (MOST, BLOCK):
        assert seen != pytest.approx(float(local_weight_variance(ITEMS, wrong, epsilon)), rel=0.15)


def test_a_sort_that_is_refused_a_query_takes_weights_of_reports(monkeypatch):
    planned = functools.partial(reports.local_plan, max_queries=5)
    monkeypatch.setattr(reports, "local_plan", planned)
    truth = np.array([2, 0, 3, 1], np.int32)
    ranks = np.concatenate([np.tile(truth, (30, 1)), np.tile(3 - truth, (20, 1))])

    @quick_jit
    @jax.vmap
    def run(key):
        every, found = reports.weights_and_sort()(
            jax.random.split(key), world(30, ranks), jnp.asarray(jnp.inf)
        )
        assert isinstance(every, Search)
        assert isinstance(found, Search)
        return every.weights, found.weights, found.start

    every, weights, start = run(jax.random.split(KEY, 40))
    exact = (truth[:, None] < truth).astype(float)
    np.testing.assert_allclose(every, np.tile(exact, (40, 1, 1)), atol=1e-5)
    refused = np.any(weights, axis=(1, 2))
    assert 0 < refused.sum() < 40
    np.testing.assert_allclose(weights[refused], np.tile(exact, (refused.sum(), 1, 1)), atol=1e-5)
    np.testing.assert_array_equal(np.argsort(-start, axis=1), np.tile(np.argsort(truth), (40, 1)))
