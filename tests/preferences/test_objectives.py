"""Objectives of reward models and DPO: what TRL computes, in any precision, for any loss."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.preferences import LOSSES, dpo_loss, label_smoothing, reward_loss, square_loss

LOG_PROBABILITIES = np.array(
    [[-120.0, -80.5, -3.0], [-118.0, -82.5, -9.0], [-121.0, -81.0, -4.0], [-119.0, -81.0, -4.0]]
)


def test_rewards_are_the_loss_of_their_difference():
    chosen, rejected = jnp.array([1.0, -2.0]), jnp.array([0.25, 3.0])
    epsilon = jnp.array([0.5, 2.0])
    for name, loss in LOSSES.items():
        np.testing.assert_array_equal(
            reward_loss(chosen, rejected, epsilon, loss=name), loss(chosen - rejected, 1, epsilon)
        )
    flat = functools.partial(square_loss, coding="0/1")
    np.testing.assert_array_equal(
        reward_loss(chosen, rejected, 1.0, loss=flat), flat(chosen - rejected, 1, 1.0)
    )


def test_dpo_is_trls_robust_loss_and_that_of_the_paper_without_randomization():
    """TRL: (-logsigmoid(β z)(1 - q) + logsigmoid(-β z) q)/(1 - 2q), z the difference of the two log-ratios."""
    policy, other, reference, other_reference = LOG_PROBABILITIES
    z = (policy - other) - (reference - other_reference)
    q = label_smoothing(0.8)
    log_sigmoid = jax.nn.log_sigmoid
    robust = (-log_sigmoid(0.3 * z) * (1 - q) + log_sigmoid(-0.3 * z) * q) / (1 - 2 * q)
    np.testing.assert_allclose(
        dpo_loss(*LOG_PROBABILITIES, 0.8, beta=0.3, loss="debiased"), robust, rtol=1e-12
    )
    plain = dpo_loss(*LOG_PROBABILITIES, jnp.inf, beta=0.3)
    np.testing.assert_allclose(plain, -log_sigmoid(0.3 * z), rtol=1e-12)


def test_half_precision_log_probabilities_are_subtracted_in_float32():
    half = jnp.asarray(LOG_PROBABILITIES, jnp.bfloat16)
    found = dpo_loss(*half, 0.8, beta=0.3)
    exact = dpo_loss(*half.astype(jnp.float32), 0.8, beta=0.3)
    assert found.dtype == jnp.float32
    np.testing.assert_array_equal(found, exact)
