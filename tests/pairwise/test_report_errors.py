"""Standard errors of scores from randomized reports: formula, coverage, limits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.links import get_link
from privrank_jax.pairwise import standard_errors
from privrank_jax.pairwise.debiased_fit import DebiasedSums, report_standard_errors

THETA = np.array([1.4, 0.3, -0.2, -1.5])
FIRST, SECOND = np.triu_indices(4, 1)


def symmetric(pairs):
    full = np.zeros((4, 4))
    full[FIRST, SECOND] = pairs
    return full + full.T


def naive(theta, weights, fourth, link):
    """The sandwich, pair by pair, by a pseudo-inverse."""
    size = theta.size
    bread, meat = np.zeros((size, size)), np.zeros((size, size))
    for i in range(size):
        for j in range(i):
            gap = theta[i] - theta[j]
            chance = float(link.cdf(gap))
            density = float(jax.grad(link.cdf)(gap))
            direction = np.zeros(size)
            direction[i], direction[j] = 1, -1
            outer = np.outer(direction, direction)
            bread += weights[i, j] * density**2 / (chance * (1 - chance)) * outer
            variance = weights[i, j] / 4 - fourth[i, j] * (chance - 0.5) ** 2
            meat += variance * (density / (chance * (1 - chance))) ** 2 * outer
    inverse = np.linalg.pinv(bread)
    return inverse @ meat @ inverse


@pytest.mark.parametrize("link", ["logistic", "normal", "laplace"])
def test_the_covariance_is_the_sandwich(link):
    weights = symmetric([30.0, 20.0, 55.0, 41.0, 0.0, 12.0])
    fourth = weights * symmetric([0.9, 0.2, 0.5, 0.7, 0.0, 0.1])
    sums = DebiasedSums(jnp.zeros((4, 4)), jnp.asarray(weights))
    found = report_standard_errors(THETA, sums, fourth, link=link)
    expected = naive(THETA, weights, fourth, get_link(link))
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-8, atol=1e-12)
    safe = report_standard_errors(THETA, sums, link=link).standard_errors
    assert np.all(safe > found.standard_errors)


def test_answers_in_the_clear_have_the_standard_errors_of_the_ordinary_fit():
    counts = symmetric([30.0, 20.0, 55.0, 41.0, 7.0, 12.0])
    sums = DebiasedSums(jnp.zeros((4, 4)), jnp.asarray(counts))
    found = report_standard_errors(THETA, sums, counts, gamma=1.4)
    expected = standard_errors(THETA, counts, gamma=1.4)  # c‖θ‖² is γ‖θ‖²/2 at γ = 2c
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(found.center, expected.center, rtol=1e-9)


def test_unlinked_items_are_told_and_bad_sums_refused():
    sums = DebiasedSums(jnp.zeros((4, 4)), jnp.asarray(symmetric([5.0, 0, 0, 0, 0, 5.0])))
    assert np.all(np.isinf(report_standard_errors(THETA, sums).standard_errors))
    with pytest.raises(ValueError, match="symmetric"):
        report_standard_errors(THETA, DebiasedSums(sums.margins, jnp.triu(sums.weights)))
    with pytest.raises(ValueError, match="gamma"):
        report_standard_errors(THETA, sums, gamma=-1.0)
