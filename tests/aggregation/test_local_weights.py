from __future__ import annotations

import importlib
import math

import jax
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation.weight_reports import (
    LOCAL_MECHANISMS,
    local_weight_variance,
    local_weights_aggregate,
    local_weights_report,
)
from tests.promises import user
from tests.reference import borda as reference_borda

module = importlib.import_module("privrank_jax.aggregation.weight_reports")
MECHANISMS = LOCAL_MECHANISMS
EPSILON = 3.0
USERS = np.array([[0, 1, 2], [2, 1, 0], [1, 0, 2], [-1, 0, -1], [0, 0, 1]])
every = pytest.mark.parametrize("mechanism", MECHANISMS)


@every
def test_reports_are_unbiased_with_the_stated_variance(mechanism, key):
    """20,000 users: means within 5 standard errors, and a scale 10 % off would be seen; the variance of full
    rankings within 6 standard errors of the stated one at each pair, that of others on average."""
    number = 20_000
    variance = float(local_weight_variance(3, 1, EPSILON, mechanism))
    for ranks in ([2, 0, 1], [0, 0, -1]):
        users = np.tile(ranks, (number, 1))
        reports = np.asarray(local_weights_report(key, users, EPSILON, mechanism=mechanism))
        truth = 2 * reference_borda.pair_shares(ranks)[np.triu_indices(3, 1)] - 1
        error = math.sqrt(4 * (variance + 0.25) / number)
        assert np.abs(reports.mean(0) - truth).max() < 5 * error
        assert 5 * error < 0.1
        shares = reports / 2
        fourth = ((shares - shares.mean(0)) ** 4).mean(0)
        slack = 6 * np.sqrt((fourth - shares.var(0) ** 2) / number) + 1e-9
        if truth.all():
            assert np.all(np.abs(shares.var(0) - variance) < slack)
        spare = 0.25 * (1 - (truth**2).mean())
        assert abs(shares.var(0).mean() - variance - spare) < slack.mean()


@pytest.mark.parametrize(
    ("mechanism", "missing"),
    [("duchi", "last"), ("randomized-response", "unknown")],
)
def test_all_users_at_once_are_unbiased(mechanism, missing, key, monkeypatch):
    """Mean of 2,000 simulations of 5 users, in blocks of two: 5 standard errors, variance too."""
    monkeypatch.setattr(module, "_BLOCK", 6)
    values = jax.vmap(
        lambda k: (
            aggregation.local_weights(
                k, USERS, user(EPSILON), mechanism=mechanism, missing=missing
            ).value
        )
    )(jax.random.split(key, 2000))
    values = np.asarray(values)
    w = reference_borda.weights(USERS, missing)
    signs = np.array([2 * reference_borda.pair_shares(user, missing) - 1 for user in USERS])
    spare = 0.05 * (1 - (signs[:, *np.triu_indices(3, 1)] ** 2).mean())
    variance = float(local_weight_variance(3, 5, EPSILON, mechanism)) + spare
    assert np.abs(values.mean(0) - w).max() < 5 * math.sqrt(1.5 * variance / 2000)
    seen = values.var(0)[np.triu_indices(3, 1)].mean()
    assert abs(seen / variance - 1) < 5 * math.sqrt(2 / (3 * 2000))  # a sixth report would add 20 %
    both = values + values.transpose(0, 2, 1)
    np.testing.assert_allclose(both, np.broadcast_to(1 - np.eye(3), values.shape))


@every
def test_pieces_make_the_whole(mechanism, key):
    """The reports of one block, aggregated, are what the simulation returns; ε = ∞ gives the weights themselves."""
    estimate = aggregation.local_weights(key, USERS, user(EPSILON), mechanism=mechanism)
    block_key = jax.random.split(key, 1)[0]
    reports = local_weights_report(block_key, USERS, EPSILON, mechanism=mechanism)
    np.testing.assert_allclose(
        local_weights_aggregate(reports), estimate.value, rtol=1e-12, atol=1e-12
    )
    guarantee = estimate.guarantee
    assert (float(guarantee.epsilon), guarantee.delta) == (EPSILON, 0.0)
    assert (guarantee.unit, guarantee.adjacency, guarantee.trust) == ("user", "replace", "local")
    deviation = math.sqrt(float(local_weight_variance(3, 5, EPSILON, mechanism)))
    assert float(estimate.diagnostics.noise_scale) == pytest.approx(deviation)
    exact = aggregation.local_weights(key, USERS, user(np.inf), mechanism=mechanism).value
    np.testing.assert_allclose(exact, reference_borda.weights(USERS), atol=1e-12)


@pytest.mark.parametrize(
    ("ranks", "settings", "message"),
    [
        (USERS.astype(float), {}, "ranks must be integers"),
        (USERS[0], {}, "users, items"),
        (USERS[:0], {}, "users, items"),
        (USERS[:, :1], {}, "fewer than 2 items"),
        (USERS, {"mechanism": "laplace"}, "mechanism must be one of"),
        (USERS, {"missing": "first"}, "missing must be one of"),
    ],
)
def test_bad_arguments_are_refused(ranks, settings, message, key):
    with pytest.raises(ValueError, match=message):
        aggregation.local_weights(key, ranks, user(1.0), **settings)


@pytest.mark.parametrize("shape", [(3,), (4, 4), (0, 3), (2, 0)])
def test_reports_of_no_shape_are_refused(shape):
    with pytest.raises(ValueError, match="reports must have shape"):
        local_weights_aggregate(np.zeros(shape))
