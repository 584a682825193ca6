"""Randomized labels: shares of ε, soft labels, and that the losses are unbiased for both."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.preferences import debiased_loss, randomized_labels, soft_label_loss
from tests.promises import promise

COMPARISON, USER = promise(1.0, "comparison", "flip"), promise(1.2, "user", "flip")


def test_a_user_shares_epsilon_among_labels(key):
    users = np.array([4, 2, 4, 4, 9, 2])
    randomized = jax.jit(randomized_labels)
    found = randomized(key, np.ones(6, int), USER, users=users)
    np.testing.assert_allclose(found.diagnostics.epsilon, [0.4, 0.6, 0.4, 0.4, 1.2, 0.6])
    assert (found.guarantee.unit, found.guarantee.trust) == ("user", "local")
    assert float(found.guarantee.epsilon) == 1.2
    alone = randomized(key, np.ones(6, int), COMPARISON).diagnostics.epsilon
    np.testing.assert_array_equal(alone, np.ones(6))
    bounded = promise(1.0, "user", "flip", contributions=1)  # no bound is needed
    found = randomized(key, np.array([1, 0]), bounded, users=np.array([0, 0]))
    assert found.guarantee.attained.contributions is None
    assert found.diagnostics.epsilon.tolist() == [0.5, 0.5]
    users = np.array([[0, 0, 0], [0, 1, 1]])  # of each problem of a batch
    run = jax.vmap(lambda key, users: randomized_labels(key, np.ones(3, int), USER, users=users))
    found = jax.jit(run)(jax.random.split(key, 2), users)
    np.testing.assert_allclose(found.diagnostics.epsilon, [[0.4] * 3, [1.2, 0.6, 0.6]])


def test_labels_are_flipped_and_soft_ones_rounded_as_often_as_stated(key):
    """Shares of 40,000 reports: 5 standard errors are 0.0125; the law without rounding, or at 2ε, is 0.05 off."""
    labels = np.repeat([0.0, 0.3, 1.0], 40_000)
    found = randomized_labels(key, labels, COMPARISON).value
    assert found.dtype == bool
    flip = 1 / (1 + np.e)
    expected = flip + (1 - 2 * flip) * np.array([0.0, 0.3, 1.0])
    np.testing.assert_allclose(np.reshape(found, (3, -1)).mean(1), expected, atol=0.0125)


def test_losses_of_soft_reports_are_unbiased_for_the_soft_label():
    """In exact terms, over the rounding and the flip."""
    s, p, epsilon = np.linspace(-3, 3, 7), 0.3, 0.9
    flip = 1 / (1 + np.exp(epsilon))
    chance = flip + (1 - 2 * flip) * p
    one, zero = (np.asarray(debiased_loss(s, report, epsilon)) for report in (1, 0))
    mean = chance * one + (1 - chance) * zero
    np.testing.assert_allclose(mean, soft_label_loss(s, p), rtol=1e-12)


def test_traced_nonsense_is_protected(key):
    free = promise(jnp.inf, "comparison", "flip")
    traced = jax.jit(lambda labels: randomized_labels(key, labels, free).value)
    assert traced(np.array([-1.0, np.nan, 2.0, 0.0, 1.0])).tolist() == [0, 0, 1, 0, 1]
    assert traced(np.array([5, 1, 0])).tolist() == [0, 1, 0]


def test_the_scale_is_the_chance_of_a_flip(key):
    """40,000 labels of users with four each: 6 standard errors are 0.012."""
    privacy, users = promise(2.0, "user", "flip"), np.arange(40_000) // 4
    kept = np.asarray(randomized_labels(key, np.ones(40_000, int), privacy, users=users).value)
    chance = float(randomized_labels.scale(privacy, 4))
    assert abs(1 - kept.mean() - chance) < 0.012
    alone = randomized_labels.scale(promise(2.0, "comparison", "flip"), 4)
    assert float(alone) == pytest.approx(1 / (1 + np.exp(2.0)))
