from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise import standard_errors
from privrank_jax.pairwise.intervals import quasi_variances
from privrank_jax.pairwise.uncertainty import totals_standard_errors
from tests.reference.quasi_variances import quasi_variances as naive

SIZE = 6
THETA = np.linspace(1.0, -1.0, SIZE)


def design(seed=0, size=SIZE):
    met = np.triu(np.random.default_rng(seed).integers(5, 200, (size, size)), 1)
    return (met + met.T).astype(float)


def of_differences(covariance):
    own = np.diag(covariance)
    return own[:, None] + own[None, :] - 2 * np.asarray(covariance)


@pytest.mark.parametrize("seed", range(3))
def test_they_are_the_least_squares_of_log_ratios(seed):
    errors = standard_errors(THETA, design(seed), noise=2.0, gamma=3.0)
    found = quasi_variances(errors)
    wanted, worst = naive(np.asarray(errors.covariance))
    np.testing.assert_allclose(found.variances, wanted, rtol=1e-6)
    np.testing.assert_allclose(found.worst_relative_error, worst, rtol=1e-5)
    assert 0 < worst < 0.1
    np.testing.assert_allclose(found.standard_errors, np.sqrt(wanted), rtol=1e-6)


def test_independent_values_keep_their_variances_whatever_the_reference_item():
    """Firth (2003): a covariance diag(d) + u1ᵀ + 1uᵀ, as with one item as the reference, is served exactly by d."""
    own = np.array([0.3, 0.01, 2.0, 0.7, 0.2, 1.1])
    errors = standard_errors(THETA, design())
    against_first = (
        np.diag(own) - own[0] * np.eye(SIZE)[[0]] - own[0] * np.eye(SIZE)[:, [0]] + own[0]
    )
    assert np.allclose(against_first[0], 0)
    found = quasi_variances(dataclasses.replace(errors, covariance=jnp.asarray(against_first)))
    np.testing.assert_allclose(found.variances, own, rtol=1e-6)
    assert found.worst_relative_error < 1e-7


def test_three_items_fit_exactly_and_one_may_be_negative():
    """q_1 = (V_12 + V_13 - V_23) / 2, negative where the difference of the other two varies most."""
    errors = standard_errors(THETA[:3], design(size=3))
    wide = np.array([[0.02, 0.0, 0.0], [0.0, 1.0, -0.9], [0.0, -0.9, 1.0]])
    v = of_differences(wide)
    wanted = [(v[i, j] + v[i, k] - v[j, k]) / 2 for i, j, k in ((0, 1, 2), (1, 0, 2), (2, 0, 1))]
    assert wanted[0] < 0
    found = quasi_variances(dataclasses.replace(errors, covariance=jnp.asarray(wide)))
    np.testing.assert_allclose(found.variances, wanted, rtol=1e-6)
    assert np.isnan(found.standard_errors[0])


def test_two_items_share_the_variance_of_their_difference():
    found = quasi_variances(standard_errors([0.0, 0.0], [[0, 100], [100, 0]]))
    np.testing.assert_allclose(found.variances, [0.02, 0.02], rtol=1e-5)


def test_components_are_served_apart_and_an_item_alone_has_no_bar():
    comparisons = design(1)
    comparisons[:3, 3:] = comparisons[3:, :3] = 0
    comparisons[5] = comparisons[:, 5] = 0
    errors = standard_errors(THETA, comparisons)
    found = quasi_variances(errors)
    first = quasi_variances(standard_errors(THETA[:3], comparisons[:3, :3]))
    np.testing.assert_allclose(found.variances[:3], first.variances, rtol=1e-5)
    halves = 0.5 * of_differences(np.asarray(errors.covariance))[3, 4]
    np.testing.assert_allclose(found.variances[3:5], halves, rtol=1e-5)
    assert np.isinf(found.variances[5])
    assert found.worst_relative_error < 1e-5


def test_masked_items_change_nothing():
    comparisons, mask = design(2), np.array([True] * 5 + [False])
    found = quasi_variances(standard_errors(THETA, comparisons, mask=mask))
    alone = quasi_variances(standard_errors(THETA[:5], comparisons[:5, :5]))
    np.testing.assert_allclose(found.variances[:5], alone.variances, rtol=1e-6)
    assert found.variances[5] == 0


def test_totals_keep_their_own_variance_as_noise_grows():
    errors = totals_standard_errors(np.zeros(SIZE), design(), noise=1e3)
    np.testing.assert_allclose(quasi_variances(errors).variances, 2e6, rtol=1e-3)


def test_differences_without_variance_are_refused():
    errors = standard_errors(THETA, design())
    for covariance in (jnp.zeros((SIZE, SIZE)), jnp.full((SIZE, SIZE), jnp.nan)):
        with pytest.raises(ValueError, match="finite positive variance"):
            quasi_variances(dataclasses.replace(errors, covariance=covariance))
