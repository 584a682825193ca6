"""Losses of privatized labels: exact expectations over the flip, stability, arguments, and the objective of TRL."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from privrank_jax.preferences import (
    LOSSES,
    debiased_accuracy,
    debiased_loss,
    dpo_loss,
    label_smoothing,
    likelihood_loss,
    reward_loss,
    soft_label_loss,
    square_loss,
)
from privrank_jax.privacy.local import debias
from tests.quick import thorough, thorough_but
from tests.reference import label_losses as twin

DIFFERENCES = np.array([-1e4, -60.0, -7.5, -1.0, -1e-3, 0.0, 1e-6, 0.3, 2.0, 15.0, 80.0, 3e3])
EPSILONS = [0.01, 0.1, 0.7, 1.0, 3.0, 10.0, 50.0, math.inf]
ONE = thorough_but(LOSSES, "debiased")  # all read their arguments alike


def clean_logistic(s, label):
    """The loss of the true label and its slope."""
    sign = 2 * label - 1
    return np.array([twin.clean_loss(x, label) for x in s]), -sign * scipy.special.expit(-sign * s)


def clean_square(s, label):
    sign = 2 * label - 1
    miss = scipy.special.expit(-sign * s)
    return miss**2, -2 * sign * miss**2 * scipy.special.expit(sign * s)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("loss", "clean"), [(debiased_loss, clean_logistic), (square_loss, clean_square)]
)
def test_the_mean_over_the_flip_is_the_clean_loss_and_so_is_its_gradient(loss, clean, dtype):
    """Every s, ε and true label at once; the tolerance allows for rounding of the summed terms."""
    s, epsilon = DIFFERENCES.astype(dtype), np.array(EPSILONS, dtype)[:, None]
    slack = 8 * np.finfo(dtype).eps

    @jax.jit
    def value_and_slope(s, report):
        value, back = jax.vjp(lambda s: loss(s, report, epsilon), s)
        return value, back(jnp.ones_like(value))[0]

    full, flip = np.broadcast_to(s, (8, 12)), np.asarray(label_smoothing(epsilon))
    for label in (0, 1):
        both = [map(np.asarray, value_and_slope(full, one)) for one in (label, 1 - label)]
        for kept, flipped, exact in zip(*both, clean(s.astype(np.float64), label)):
            mean = (1 - flip) * kept + flip * flipped
            size = (1 - flip) * np.abs(kept) + flip * np.abs(flipped)
            assert mean.dtype == dtype
            room = slack * (size + np.abs(exact)) + np.finfo(dtype).tiny
            assert np.all(np.abs(mean - exact) <= room)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["debiased", "square", "likelihood"])
def test_the_loss_is_the_naive_formula_and_keeps_its_digits(name, dtype):
    slack = 16 * np.finfo(dtype).eps
    naive = getattr(twin, f"{name}_loss")
    compiled = jax.jit(LOSSES[name])
    moderate = DIFFERENCES[np.abs(DIFFERENCES) < 700]  # e^-s of the naive formula is finite
    for epsilon in (0.01, 1.0, 8.0):
        odds = 1 / math.expm1(epsilon)
        for report in (0, 1):
            found = compiled(moderate.astype(dtype), report, dtype(epsilon))
            assert found.dtype == dtype
            exact = [naive(float(dtype(s)), report, float(dtype(epsilon))) for s in moderate]
            size = odds if name == "square" else 0  # whose two terms can nearly cancel
            np.testing.assert_allclose(found, exact, rtol=max(slack, 1e-11), atol=slack * size)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_likelihood_is_bounded_and_its_slope_keeps_its_digits(dtype):
    """Slopes against the formula in exact terms, -tanh(ε/2)/(1 + (1-q)e^t + qe^-t), also for tiny ε."""
    slope = jax.jit(jax.vmap(jax.grad(likelihood_loss), (0, None, None)))
    for epsilon in (1e-3, 0.1, 1.0, 8.0):
        q = 1 / (1 + math.exp(epsilon))
        found = np.asarray(slope(DIFFERENCES.astype(dtype), 1, dtype(epsilon)))
        with np.errstate(over="ignore"):
            odds = (1 - q) * np.exp(DIFFERENCES) + q * np.exp(-DIFFERENCES)
        exact = -math.tanh(epsilon / 2) / (1 + odds)
        tiny = np.finfo(dtype).tiny
        near = np.abs(DIFFERENCES) < 20  # beyond, float32 keeps fewer digits of e^s
        np.testing.assert_allclose(found[near], exact[near], rtol=100 * np.finfo(dtype).eps)
        np.testing.assert_allclose(found, exact, atol=20 * np.finfo(dtype).eps, rtol=0.01)
        assert np.all(np.abs(found) <= math.tanh(epsilon / 4) * (1 + 1e-6) + tiny)
        values = np.asarray(likelihood_loss(DIFFERENCES.astype(dtype), 1, dtype(epsilon)))
        assert np.all(values >= 0)
        assert np.all(values <= np.logaddexp(0, epsilon) * (1 + 1e-6))
    without = slope(DIFFERENCES.astype(dtype), 1, dtype(math.inf))
    clean = -scipy.special.expit(-DIFFERENCES)
    np.testing.assert_allclose(without, clean, rtol=1e-5, atol=np.finfo(dtype).tiny)


def test_soft_labels_are_linear_and_include_debiased_reports():
    s = DIFFERENCES
    ends = [np.array([twin.clean_loss(x, label) for x in DIFFERENCES]) for label in (0, 1)]
    np.testing.assert_allclose(soft_label_loss(s, 0.3), 0.7 * ends[0] + 0.3 * ends[1], rtol=1e-12)
    for report in (0, 1):
        estimate = debias(np.array(report), 0.4)
        np.testing.assert_allclose(
            soft_label_loss(s, estimate), debiased_loss(s, report, 0.4), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("name", ONE)
def test_a_coding_is_kept_to(name):
    loss, s = LOSSES[name], np.ones(2)
    np.testing.assert_array_equal(
        loss(s, [0, 1], 1.0, coding="0/1"), loss(s, [-1, 1], 1.0, coding="-1/1")
    )
    for coding, other in (("0/1", [-1, 1]), ("-1/1", [0, 1])):
        with pytest.raises(ValueError, match="reports"):
            loss(s, other, 1.0, coding=coding)
        traced = jax.jit(functools.partial(loss, coding=coding))(s, np.array(other), 1.0)
        assert np.isnan(traced).tolist() == [True, False]


@pytest.mark.parametrize("name", ONE)
def test_labels_of_either_coding_mean_the_same_traced_or_not(name):
    loss, s, ones = LOSSES[name], np.array([1.5, 1.5, -6.0, 0.2, 9.0]), [1, 0, 1, 0, 0]
    exact = [getattr(twin, f"{name}_loss")(x, y, 0.7) for x, y in zip(s, ones)]
    signs, each = 2 * np.array(ones) - 1, jax.jit(jax.vmap(loss, (0, 0, None)))
    for labels in (
        *(np.array(ones, dtype) for dtype in (bool, int, np.uint8, np.float32)),
        *(signs.astype(dtype) for dtype in (np.int8, float)),
    ):
        whole = (jax.jit(loss),) if labels.dtype in (bool, np.int8) else ()
        for found in (loss, each, *whole):
            np.testing.assert_allclose(found(s, labels, 0.7), exact, rtol=1e-12)


S = np.array([1.0, -2.0, 0.5, 3.0])
LABELS, SIGNS = np.array([1, 0, 1, 0]), np.array([1, -1, 1, -1])
EPSILON = np.array([1.0, 2.0, 1.0, 2.0])


@pytest.mark.parametrize("dtype", [jnp.bfloat16, *map(thorough, (jnp.float16, jnp.int8))])
@pytest.mark.parametrize("name", ONE)
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


@pytest.mark.parametrize("name", ONE)
def test_shapes_that_do_not_grow_are_taken(name):
    """Columns throughout, several models on the same labels, one score, one answer against several, vmap."""
    loss, one_by_one = LOSSES[name], LOSSES[name](S, LABELS, EPSILON)
    columns = loss(COLUMN, LABELS[:, None], EPSILON[:, None])
    np.testing.assert_array_equal(columns[:, 0], one_by_one)
    models = loss(np.stack([S, -S, S]), LABELS, EPSILON)
    np.testing.assert_array_equal(models[2], one_by_one)
    np.testing.assert_array_equal(models[1], loss(-S, LABELS, EPSILON))
    np.testing.assert_array_equal(
        loss(S[0], LABELS, EPSILON), loss(np.full(4, S[0]), LABELS, EPSILON)
    )
    mapped = jax.jit(jax.vmap(loss))(S, LABELS, EPSILON)
    np.testing.assert_allclose(mapped, one_by_one, rtol=1e-6)
    several = reward_loss(COLUMN, np.zeros((4, 2)), EPSILON[:, None], loss=name)
    np.testing.assert_array_equal(several[:, 1], loss(S, 1, EPSILON))


def test_what_is_no_label_gives_nan_where_it_is_traced():
    wrong = np.array([2, 0.5, -0.5, -2, np.nan, np.inf])
    for loss in LOSSES.values():
        assert np.isnan(jax.jit(loss)(1.0, wrong, 1.0)).all()
    accuracy = jax.jit(debiased_accuracy)(S, LABELS, np.where(np.arange(4) == 2, -1.0, EPSILON))
    assert np.all(np.isnan(np.stack(accuracy)))


LOG_PROBABILITIES = np.array(
    [[-120.0, -80.5, -3.0], [-118.0, -82.5, -9.0], [-121.0, -81.0, -4.0], [-119.0, -81.0, -4.0]]
)


def test_rewards_are_the_loss_of_their_difference():
    chosen, rejected = np.array([1.0, -2.0]), np.array([0.25, 3.0])
    epsilon = np.array([0.5, 2.0])
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
    kept, flipped = np.logaddexp(0, -0.3 * z), np.logaddexp(0, 0.3 * z)
    robust = (kept * (1 - q) - flipped * q) / (1 - 2 * q)
    np.testing.assert_allclose(
        dpo_loss(*LOG_PROBABILITIES, 0.8, beta=0.3, loss="debiased"), robust, rtol=1e-12
    )
    plain = dpo_loss(*LOG_PROBABILITIES, jnp.inf, beta=0.3)
    np.testing.assert_allclose(plain, kept, rtol=1e-12)


def test_half_precision_log_probabilities_are_subtracted_in_float32():
    half = jnp.asarray(LOG_PROBABILITIES, jnp.bfloat16)
    found = dpo_loss(*half, 0.8, beta=0.3)
    exact = dpo_loss(*half.astype(jnp.float32), 0.8, beta=0.3)
    assert found.dtype == jnp.float32
    np.testing.assert_array_equal(found, exact)
