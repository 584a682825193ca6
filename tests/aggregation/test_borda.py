from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.borda import (
    ldp_borda_report,
    score_radius,
    user_scores,
)
from privrank_jax.privacy.vectors import report_covariance, report_norm
from tests.promises import user
from tests.reference import borda as reference_borda

W = np.array([[0, 0.9, 0.7, 0.8], [0.1, 0, 0.6, 0.5], [0.3, 0.4, 0, 0.9], [0.2, 0.5, 0.1, 0]])
USERS = np.array([[0, 1, 2, 3], [1, 1, 0, -1], [-1, 2, -1, 0], [3, 0, 0, 0]])


@pytest.mark.parametrize("missing", ["last", "unknown"])
def test_scores_are_those_of_the_pairs(missing):
    want = np.array([reference_borda.pair_shares(user, missing).sum(1) for user in USERS])
    np.testing.assert_allclose(user_scores(USERS, missing=missing), want)
    w = PairWeights.from_ranks(USERS, missing=missing)
    np.testing.assert_allclose(aggregation.borda_scores(w), want.mean(0))
    np.testing.assert_allclose(user_scores(USERS[1], missing=missing), want[1])


def test_the_largest_rank_of_a_byte_is_not_a_gap():
    ranks = np.array([127, 0, -1], np.int8)
    assert user_scores(ranks).tolist() == [1.0, 2.0, 0.0]
    w = aggregation.local_weights(jax.random.key(0), ranks[None], user(jnp.inf)).value
    np.testing.assert_allclose(w, PairWeights.from_ranks(ranks[None].astype(int)).matrix)


def test_weights_that_are_no_numbers_are_refused(key):
    w = np.array([[0.0, np.nan], [0.5, 0.0]])
    with pytest.raises(ValueError, match="the weights must be finite"):
        aggregation.dp_borda(key, PairWeights(w, 5), user(1.0))
    padded = np.pad(np.array([[0.0, 0.9], [0.1, 0.0]]), (0, 1), constant_values=np.nan)
    mask = np.array([True, True, False])
    value = aggregation.dp_borda(key, PairWeights(padded, 5, mask), user(jnp.inf)).value
    np.testing.assert_allclose(value, [0.9, 0.1, 0.0])


def test_masked_items_do_not_count():
    mask = np.array([True, False, True, True])
    want = np.zeros(4)
    want[mask] = W[np.ix_(mask, mask)].sum(1)
    np.testing.assert_allclose(aggregation.borda_scores(W, mask), want)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_users": 0}, "num_users must be"),
        ({"num_users": 0.5}, "num_users must be at least 1"),
        ({"matrix": np.zeros((2, 3))}, "square"),
        ({"matrix": np.zeros((2, 4, 4))}, "jax.vmap"),
        ({"matrix": 50 * W}, "shares of users"),
        ({"matrix": 0.5 * W}, "summing to 1"),
        ({"mask": np.array([True])}, "mask must have shape"),
    ],
)
def test_bad_arguments_are_refused(settings, message, key):
    weights = PairWeights(**({"matrix": W, "num_users": 10} | settings))
    for private in (aggregation.dp_borda, aggregation.noise_all):
        with pytest.raises(ValueError, match=message):
            private(key, weights, user(1.0))


@pytest.mark.parametrize("mechanism", ["duchi", "privunit"])
def test_local_scores_are_unbiased_with_the_stated_variance(mechanism, key):
    """20,000 users with one ranking: each mean within 5 standard errors, each variance within 5 (of its
    estimate); reports sum to 0; a scale that is 10 % off would be seen."""
    for ranks in ([2, 0, 3, 1], [0, 0, -1, 1]):
        users = np.tile(ranks, (20_000, 1))
        reports = ldp_borda_report(key, users, 1.5, mechanism=mechanism)
        truth = reference_borda.pair_shares(ranks).sum(1) - 1.5
        covariance = np.asarray(
            report_covariance(mechanism, truth, 1.5, score_radius(4), zero_sum=True)
        )
        variance = np.diag(covariance)
        reports = np.asarray(reports)
        np.testing.assert_allclose(reports.sum(1), 0, atol=1e-9)
        assert np.all(np.abs(reports.mean(0) - truth) < 5 * np.sqrt(variance / len(users)))
        norm = float(report_norm(mechanism, 3, 1.5, score_radius(4)))
        np.testing.assert_allclose(np.linalg.norm(reports, axis=1), norm)
        spread = np.cov(reports.T) - covariance
        assert np.abs(spread).max() < 5 * norm**2 / math.sqrt(len(users))
        assert norm**2 == pytest.approx(variance.sum() + truth @ truth)
        # The tolerance on means detects a wrong scale: 10 % more would be seen.
        assert np.abs(1.1 * truth - truth).max() > 5 * np.sqrt(variance / len(users)).min()
    estimate = aggregation.ldp_borda(key, users, user(1.5), mechanism=mechanism)
    np.testing.assert_allclose(estimate.value, reports.mean(0) + 1.5)
    assert float(estimate.diagnostics.report_norm) == pytest.approx(norm)
    assert (estimate.guarantee.trust, estimate.guarantee.unit) == ("local", "user")
    np.testing.assert_allclose(
        aggregation.ldp_borda(key, users, user(np.inf), mechanism=mechanism).value,
        truth + 1.5,
        atol=1e-9,
    )


def test_local_scores_refuse_bad_input(key):
    for ranks, settings, message in [
        (USERS.astype(float), {}, "ranks must be integers"),
        (USERS[0], {}, "users, items"),
        (USERS[:, :1], {}, "fewer than 2 items"),
        (USERS, {"mechanism": "laplace"}, "mechanism must be one of"),
        (USERS, {"missing": "first"}, "missing must be one of"),
    ]:
        with pytest.raises(ValueError, match=message):
            aggregation.ldp_borda(key, ranks, user(1.0), **settings)
