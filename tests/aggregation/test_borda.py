from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.borda import (
    borda_sensitivity,
    dp_borda_scale,
    ldp_borda_report,
    score_radius,
    user_scores,
)
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.vectors import report_covariance, report_norm
from tests.promises import guarantee_of, noise_of, user
from tests.reference import borda as reference_borda
from tests.reference import calibration as reference_calibration

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


@pytest.mark.parametrize("items", [2, 3, 4, 5])
def test_sensitivity_is_attained_and_never_exceeded(items):
    """Over all pairs of rankings, ties and gaps of both rules included; exact loss at Laplace noise: ε."""
    users = reference_borda.incomplete_rankings(items) if items < 5 else [
        (ranks, missing)
        for ranks in np.random.default_rng(0).integers(-1, 5, (800, 5)).tolist()
        + reference_borda.orders(5).tolist()
        for missing in ("last", "unknown")
    ]  # fmt: skip
    scores = np.array([reference_borda.pair_shares(*user).sum(1) for user in users])
    scores = np.unique(scores, axis=0)
    change = scores[:, None] - scores[None]
    for order in (1, 2):
        largest = np.linalg.norm(change, order, axis=-1).max()
        assert largest == pytest.approx(borda_sensitivity(items, order))
    scale = dp_borda_scale(items, 10, user(0.7), noise="laplace")
    assert np.abs(change).sum(-1).max() / 10 / scale == pytest.approx(0.7)
    euclidean = np.linalg.norm(change, axis=-1).max() / 10
    scale = float(dp_borda_scale(items, 10, user(0.7, 1e-5), noise="gaussian"))
    assert scale == pytest.approx(
        reference_calibration.gaussian_scale(euclidean, 0.7, 1e-5), rel=1e-6
    )
    assert np.linalg.norm(scores - (items - 1) / 2, axis=1).max() == pytest.approx(
        score_radius(items)
    )


@pytest.mark.parametrize("items", [1, 2, 3, 4])
@pytest.mark.parametrize("noise", ["k-norm", "laplace", "gaussian"])
def test_one_user_more_moves_centered_sums_by_half_of_what_another_does(noise, items):
    """Over all rankings, ties and gaps of both rules included; those of all orders attain the bound."""
    users = reference_borda.incomplete_rankings(items)
    scores = np.array([reference_borda.pair_shares(*user).sum(1) for user in users])
    moved = scores - (items - 1) / 2
    if (
        noise == "k-norm"
    ):  # the least r with moved in rZ(K_m): its largest k entries are at most rk(m - k)
        ordered, sizes = -np.sort(-moved, axis=1).cumsum(axis=1)[:, :-1], np.arange(1, items)
        largest, delta = (ordered / (sizes * (items - sizes))).max(initial=0.0), 0.0
    else:
        delta = 1e-5 if noise == "gaussian" else 0.0
        largest = np.linalg.norm(moved, 2 if delta else 1, axis=1).max()
    privacy = Privacy(0.7, unit="user", adjacency="add-remove", delta=delta)
    scale = float(dp_borda_scale(items, 10, privacy, noise=noise))
    assert scale == dp_borda_scale(items, 1000, privacy, noise=noise)
    if items > 1:
        wanted = (
            reference_calibration.gaussian_scale(largest, 0.7, delta) if delta else largest / 0.7
        )
        assert scale == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("private", [aggregation.dp_borda, aggregation.private_weights])
def test_sums_of_a_private_number_of_users(private, key):
    """Without noise they are those of the users one by one; masked items have none."""
    privacy = Privacy(jnp.inf, unit="user", adjacency="add-remove")
    shares = np.array([reference_borda.pair_shares(user) for user in USERS])
    margins = np.where(np.eye(4), 0, shares - 0.5).sum(0)
    for mask in (None, np.array([True, False, True, True])):
        keep = np.ones(4, bool) if mask is None else mask
        wanted = np.where(keep[:, None] & keep, margins, 0)
        found = private(key, PairWeights(PairWeights.from_ranks(USERS).matrix, 4, mask), privacy)
        if private is aggregation.dp_borda:
            wanted = wanted.sum(1)
        np.testing.assert_allclose(found.value, wanted, atol=1e-6)
        assert found.guarantee.adjacency == "add-remove"


def test_k_norm_noise_has_the_stated_distribution(key):
    """KS test of 10,000 norms, false-alarm rate 1e-6; a scale 10 % off, either way, is rejected."""
    items = 5
    w = np.where(np.eye(items), 0, 0.5)
    run = functools.partial(
        aggregation.dp_borda, weights=PairWeights(w, 50), privacy=user(0.8, 1e-6)
    )
    draws = jax.vmap(run)(jax.random.split(key, 10_000))
    noise = np.asarray(draws.value) - (items - 1) / 2
    np.testing.assert_allclose(noise.sum(axis=1), 0, atol=1e-12)
    ordered = -np.sort(-noise, axis=1).cumsum(axis=1)[:, :-1]
    sizes = np.arange(1, items)
    norms = (ordered / (sizes * (items - sizes))).max(axis=1)
    for factor, agrees in ((1, True), (0.9, False), (1.1, False)):
        law = scipy.stats.gamma(items - 1, scale=factor / (50 * 0.8))
        assert (scipy.stats.kstest(norms, law.cdf).pvalue > 1e-6) == agrees
    assert float(draws.diagnostics.noise_scale[0]) == pytest.approx(1 / (50 * 0.8))
    guarantee = guarantee_of(run, key)
    assert (guarantee.epsilon, guarantee.delta) == (0.8, 0.0)


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_one_item_counts_as_two_and_more_as_what_they_are(delta):
    """Two items move by 2/n in ℓ₁ and √2/n in ℓ₂, three by 4/n and √8/n; the same where their number is traced."""
    moved = [math.sqrt(2), math.sqrt(2), math.sqrt(8)] if delta else [2, 2, 4]

    def scale(items):
        return dp_borda_scale(items, 10, user(0.7, delta), noise=noise_of(delta))

    traced = jax.jit(scale)
    for items, change in zip((1, 2, 3), moved):
        if delta:
            expected = reference_calibration.gaussian_scale(change / 10, 0.7, delta)
        else:
            expected = change / 7
        assert float(scale(items)) == pytest.approx(expected, rel=1e-6)
        assert float(traced(items)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_noise_has_the_stated_distribution(delta, key):
    """KS test of 40,000 values, false-alarm rate 1e-6; a scale 10 % off, either way, is rejected."""
    run = functools.partial(
        aggregation.dp_borda,
        weights=PairWeights(W, 50),
        privacy=user(0.8, delta),
        noise=noise_of(delta),
    )
    draws = jax.vmap(run)(jax.random.split(key, 10_000))
    noise = (np.asarray(draws.value) - W.sum(1)).ravel()
    if delta:
        scale = reference_calibration.gaussian_scale(math.sqrt(20) / 50, 0.8, delta)
    else:
        scale = 8 / (50 * 0.8)
    family = scipy.stats.norm if delta else scipy.stats.laplace
    assert scipy.stats.kstest(noise, family(scale=scale).cdf).pvalue > 1e-6
    for wrong in (0.9, 1.1):
        assert scipy.stats.kstest(noise, family(scale=wrong * scale).cdf).pvalue < 1e-6
    assert float(draws.diagnostics.noise_scale[0]) == pytest.approx(scale, rel=1e-6)
    guarantee = guarantee_of(run, key)
    assert (guarantee.epsilon, guarantee.delta, guarantee.unit) == (0.8, delta, "user")
    assert (guarantee.adjacency, guarantee.trust) == ("replace", "central")


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
