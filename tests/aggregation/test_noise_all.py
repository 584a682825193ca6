from __future__ import annotations

import inspect
import math
import re
import sys

import jax
import numpy as np
import pytest
import scipy.stats

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.noisy_weights import noise_all_deviation, noise_all_scale
from tests.promises import noise_of, user
from tests.reference import borda as reference_borda
from tests.reference import calibration as reference_calibration

W = np.array([[0, 0.6, 0.5, 0.4], [0.4, 0, 0.55, 0.5], [0.5, 0.45, 0, 0.6], [0.6, 0.5, 0.4, 0]])
ABOVE = np.triu_indices(4, 1)


@pytest.mark.parametrize("items", [2, 3, 4])
def test_sensitivity_is_attained_and_never_exceeded(items):
    """Over all pairs of rankings, ties and gaps of both rules included; so the exact loss is ε."""
    users = reference_borda.incomplete_rankings(items)
    shares = np.array([reference_borda.pair_shares(*user) for user in users])
    entries = np.unique(shares[:, *np.triu_indices(items, 1)], axis=0)
    change = entries[:, None] - entries[None]
    for noise, order in (("k-norm", np.inf), ("laplace", 1)):
        scale = noise_all_scale(items, 10, user(0.7), noise=noise)
        loss = np.linalg.norm(change, order, axis=-1).max() / 10 / scale
        assert loss == pytest.approx(0.7)
    euclidean = np.linalg.norm(change, axis=-1).max() / 10
    scale = float(noise_all_scale(items, 10, user(0.7, 1e-5), noise="gaussian"))
    assert scale == pytest.approx(
        reference_calibration.gaussian_scale(euclidean, 0.7, 1e-5), rel=1e-6
    )


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_noise_has_the_stated_distribution(delta, key):
    """KS test of 60,000 values away from the clipping, false-alarm rate 1e-6; a scale 10 % off is rejected."""
    estimate = jax.vmap(
        lambda k: aggregation.noise_all(
            k, PairWeights(W, 1000), user(0.8, delta), noise=noise_of(delta)
        )
    )(jax.random.split(key, 10_000))
    value = np.asarray(estimate.value)
    noise = (value - W)[:, *ABOVE].ravel()
    pairs = 6
    if delta:
        scale = reference_calibration.gaussian_scale(math.sqrt(pairs) / 1000, 0.8, delta)
    else:
        scale = pairs / (1000 * 0.8)
    family = scipy.stats.norm if delta else scipy.stats.laplace
    assert scipy.stats.kstest(noise, family(scale=scale).cdf).pvalue > 1e-6
    for wrong in (0.9, 1.1):
        assert scipy.stats.kstest(noise, family(scale=wrong * scale).cdf).pvalue < 1e-6
    correlation = np.corrcoef(noise.reshape(-1, pairs).T) - np.eye(pairs)
    assert np.abs(correlation).max() < 6 / math.sqrt(len(value))
    np.testing.assert_allclose(
        value + value.transpose(0, 2, 1), np.broadcast_to(1 - np.eye(4), value.shape)
    )


def test_k_norm_noise_has_the_stated_distribution(key):
    """The largest of all pairs is Gamma(6), each of them uniform within it; KS tests with false-alarm rate 1e-6."""
    draws = jax.vmap(lambda k: aggregation.noise_all(k, PairWeights(W, 1000), user(0.8)))(
        jax.random.split(key, 10_000)
    )
    noise = (np.asarray(draws.value) - W)[:, *ABOVE]
    largest = np.abs(noise).max(axis=1)
    for factor, agrees in ((1, True), (0.9, False), (1.1, False)):
        law = scipy.stats.gamma(6, scale=factor / (1000 * 0.8))
        assert (scipy.stats.kstest(largest, law.cdf).pvalue > 1e-6) == agrees
    share = noise / largest[:, None]
    inside = share[np.abs(share) < 1]
    assert inside.size == 5 * len(noise)
    assert scipy.stats.kstest(inside, scipy.stats.uniform(-1, 2).cdf).pvalue > 1e-6
    np.testing.assert_allclose(draws.diagnostics.noise_scale, 1 / 800)


@pytest.mark.parametrize(("noise", "delta"), [("k-norm", 0), ("laplace", 0), ("gaussian", 1e-4)])
def test_the_deviation_is_that_of_the_noise(noise, delta, key):
    """Of 60,000 values away from the clipping, within 3 %."""
    draws = jax.vmap(
        lambda k: aggregation.noise_all(k, PairWeights(W, 1000), user(0.8, delta), noise=noise)
    )(jax.random.split(key, 10_000))
    found = (np.asarray(draws.value) - W)[:, *ABOVE].std()
    assert found == pytest.approx(
        noise_all_deviation(4, 1000, user(0.8, delta), noise=noise), rel=0.03
    )


def test_value_is_clipped_mirrored_and_reads_only_the_upper_half(key):
    other = np.triu(W) + 7 * np.tril(np.ones((4, 4)), -1)
    run = jax.jit(lambda w: aggregation.noise_all(key, PairWeights(w, 1), user(0.5)).value)
    noisy = np.asarray(run(other))
    np.testing.assert_array_equal(noisy, run(W))
    assert {0.0, 1.0} & set(noisy[ABOVE])
    assert noisy.min() == 0
    assert noisy.max() <= 1
    np.testing.assert_array_equal(noisy + noisy.T, 1 - np.eye(4))


def test_masked_items_do_not_count(key):
    """Noise is for the pairs of real items alone, whether their number is traced or not."""
    mask = np.array([True, False, True, True])
    for noise, scale in (("k-norm", 1 / 50), ("laplace", 3 / 50)):
        estimate = aggregation.noise_all(key, PairWeights(W, 100, mask), user(0.5), noise=noise)
        assert float(estimate.diagnostics.noise_scale) == pytest.approx(scale)
        value = np.asarray(estimate.value)
        assert not value[1].any()
        assert not value[:, 1].any()
        np.testing.assert_allclose((value + value.T)[0, 2:], 1)
    alone = aggregation.noise_all(key, PairWeights(W, 100, mask), user(np.inf)).value
    np.testing.assert_allclose(alone[0, 2:], W[0, 2:])
    lonely = aggregation.noise_all(key, PairWeights(W, 100, np.arange(4) == 0), user(1.0))
    assert not np.asarray(lonely.value).any()


def test_help_says_how_to_read_the_proof_at_the_head_of_the_module():
    """The function has the name of its module, so that ``help`` shows the function wherever it is asked."""
    (call,) = re.findall(r"``help\((.*)\)``", inspect.getdoc(aggregation.noise_all) or "")
    shown = eval(call, {"sys": sys, "noise_all": aggregation.noise_all})
    assert shown.__name__ == "privrank_jax.aggregation.noisy_weights"
    assert "**Sensitivity.**" in inspect.getdoc(shown)
