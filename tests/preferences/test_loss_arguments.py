"""Arguments of losses: which types they take; objectives are what TRL computes."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.preferences import (
    LOSSES,
    debiased_accuracy,
    dpo_loss,
    label_smoothing,
    reward_loss,
    square_loss,
)

S = jnp.array([1.0, -2.0, 0.5, 3.0])
LABELS, SIGNS = jnp.array([1, 0, 1, 0]), jnp.array([1, -1, 1, -1])
EPSILON = jnp.array([1.0, 2.0, 1.0, 2.0])


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.int8])
@pytest.mark.parametrize("name", LOSSES)
def test_labels_and_epsilon_of_few_bits_are_taken(name, dtype):
    """Eagerly, where they are checked: NumPy doesn't count bfloat16 among its floats."""
    loss = LOSSES[name]
    exact = loss(S, LABELS, EPSILON)
    np.testing.assert_array_equal(loss(S, LABELS, EPSILON.astype(dtype)), exact)
    np.testing.assert_array_equal(loss(S, LABELS.astype(dtype), EPSILON), exact)
    if dtype == jnp.bfloat16:  # scores that float32 takes from
        assert loss(S.astype(dtype), LABELS, EPSILON).dtype == jnp.float32
        slope = jax.grad(lambda s: jnp.sum(loss(s, LABELS, EPSILON)))(S.astype(dtype))
        assert slope.dtype == dtype
    np.testing.assert_array_equal(loss(S, SIGNS.astype(dtype), EPSILON, coding="-1/1"), exact)
    with pytest.raises(ValueError, match="reports"):
        loss(S, LABELS.astype(dtype) + 2, EPSILON)


COLUMN = S[:, None]


@pytest.mark.parametrize("name", LOSSES)
def test_shapes_that_do_not_grow_are_taken(name):
    """Columns throughout, several models on the same labels, one score, one answer against several, vmap."""
    loss, one_by_one = LOSSES[name], LOSSES[name](S, LABELS, EPSILON)
    columns = loss(COLUMN, LABELS[:, None], EPSILON[:, None])
    np.testing.assert_array_equal(columns[:, 0], one_by_one)
    models = loss(jnp.stack([S, -S, S]), LABELS, EPSILON)
    np.testing.assert_array_equal(models[2], one_by_one)
    np.testing.assert_array_equal(models[1], loss(-S, LABELS, EPSILON))
    np.testing.assert_array_equal(
        loss(S[0], LABELS, EPSILON), loss(jnp.full(4, S[0]), LABELS, EPSILON)
    )
    np.testing.assert_allclose(jax.vmap(loss)(S, LABELS, EPSILON), one_by_one, rtol=1e-6)
    several = reward_loss(COLUMN, jnp.zeros((4, 2)), EPSILON[:, None], loss=name)
    np.testing.assert_array_equal(several[:, 1], loss(S, 1, EPSILON))


def test_what_is_no_label_gives_nan_where_it_is_traced():
    wrong = jnp.array([2, 0.5, -0.5, -2, np.nan, np.inf])
    for loss in LOSSES.values():
        assert np.isnan(jax.jit(loss)(1.0, wrong, 1.0)).all()
    accuracy = jax.jit(debiased_accuracy)(S, LABELS, EPSILON.at[2].set(-1.0))
    assert np.all(np.isnan(jnp.stack(accuracy)))


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
