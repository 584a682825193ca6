"""Debiased accuracy: unbiased, and its intervals cover."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest

from privrank_jax.preferences import debiased_accuracy
from tests.quick import thorough
from tests.reference import label_losses as twin


def test_it_is_the_naive_formula_ties_included():
    s, reports, epsilon = np.array([1.0, -2.0, 0.0, 3.0]), [1, 1, 0, 0], [0.3, 1.0, 2.0, 5.0]
    found = debiased_accuracy(s, reports, np.array(epsilon))
    assert float(found.value) == pytest.approx(twin.accuracy(s, reports, epsilon), rel=1e-12)
    assert float(found.information) == pytest.approx(sum(math.tanh(e / 2) ** 2 for e in epsilon))
    minus = debiased_accuracy(s, 2 * np.array(reports) - 1, np.array(epsilon), coding="-1/1")
    assert float(minus.value) == float(found.value)


def test_its_mean_over_all_flips_is_the_weighted_accuracy_of_the_labels():
    s, labels, epsilon = np.array([1.0, -2.0, 0.5]), np.array([1, 1, 0]), np.array([0.4, 1.0, 2.0])
    estimate = jax.jit(lambda reports: debiased_accuracy(s, reports, epsilon).value)
    mean = 0.0
    for flips in itertools.product((0, 1), repeat=3):
        flips = np.array(flips)
        q = 1 / (1 + np.exp(epsilon))
        mean += np.prod(np.where(flips, q, 1 - q)) * float(estimate(labels ^ flips))
    weights = np.tanh(epsilon / 2) ** 2
    assert mean == pytest.approx(float(weights[0] / weights.sum()), rel=1e-12)  # the first alone


@pytest.mark.parametrize("interval", ["score", thorough("hoeffding")])
def test_intervals_cover(interval, key):
    """4,000 test sets of 150 examples with personal ε and accuracies between 0.6 and 1. The score interval covers at
    least 95 % to within five standard errors (0.0172) and an approximation; Hoeffding's covers at least as often."""
    rng = np.random.default_rng(0)
    epsilon, accuracy = rng.uniform(0.5, 3.0, 150), rng.uniform(0.6, 1.0, 150)
    weights = np.tanh(epsilon / 2) ** 2
    truth = np.sum(weights * accuracy) / np.sum(weights)

    @jax.jit
    @jax.vmap
    def covers(key):
        right, kept = jax.random.uniform(key, (2, 150))
        agrees = (right < accuracy) == (kept < 1 / (1 + np.exp(-epsilon)))
        found = debiased_accuracy(np.ones(150), agrees, epsilon, interval=interval)
        return (found.low <= truth) & (truth <= found.high), found.high - found.low

    inside, width = map(np.asarray, covers(jax.random.split(key, 4000)))
    assert np.mean(inside) > 0.95 - 0.0172
    if interval == "score":
        assert np.mean(inside) < 0.99  # so the interval is not merely wide
        assert np.mean(width) < 2 * math.sqrt(math.log(40) / 2 / np.sum(weights))


def test_the_score_interval_is_wilsons_without_randomization():
    agreed, number, z = 7, 9, 1.959963984540054
    reports = np.arange(number) < agreed
    found = debiased_accuracy(np.ones(number), reports, math.inf)
    share = agreed / number
    center = (share + z**2 / (2 * number)) / (1 + z**2 / number)
    half = z * math.sqrt(share * (1 - share) / number + z**2 / (4 * number**2))
    half /= 1 + z**2 / number
    np.testing.assert_allclose([found.low, found.high], [center - half, center + half], rtol=1e-9)


def test_an_estimate_beyond_one_keeps_an_interval_that_is_not_empty():
    found = debiased_accuracy(np.ones(5), np.ones(5, int), 0.2)
    assert float(found.value) > 1
    assert 0 <= float(found.low) < float(found.high) == 1
