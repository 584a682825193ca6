"""Unbiased losses from privatized labels: exact expectations over the flip, and stability."""

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
    debiased_loss,
    label_smoothing,
    likelihood_loss,
    soft_label_loss,
    square_loss,
)
from privrank_jax.privacy.local import debias
from tests.reference import label_losses as twin

DIFFERENCES = np.array([-1e4, -60.0, -7.5, -1.0, -1e-3, 0.0, 1e-6, 0.3, 2.0, 15.0, 80.0, 3e3])
EPSILONS = [0.01, 0.1, 0.7, 1.0, 3.0, 10.0, 50.0, math.inf]


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
    s, epsilon = jnp.asarray(DIFFERENCES, dtype), jnp.asarray(EPSILONS, dtype)[:, None]
    slack = 8 * np.finfo(dtype).eps

    @jax.jit
    def value_and_slope(s, report):
        value, back = jax.vjp(lambda s: loss(s, report, epsilon), s)
        return value, back(jnp.ones_like(value))[0]

    full = jnp.broadcast_to(s, (8, 12))
    for label in (0, 1):
        flip = label_smoothing(epsilon)
        both = [value_and_slope(full, report) for report in (label, 1 - label)]
        for kept, flipped, exact in zip(*both, clean(np.asarray(s, np.float64), label)):
            mean = (1 - flip) * kept + flip * flipped
            size = (1 - flip) * jnp.abs(kept) + flip * jnp.abs(flipped)
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
            found = compiled(jnp.asarray(moderate, dtype), report, dtype(epsilon))
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
        found = np.asarray(slope(jnp.asarray(DIFFERENCES, dtype), 1, dtype(epsilon)))
        with np.errstate(over="ignore"):
            odds = (1 - q) * np.exp(DIFFERENCES) + q * np.exp(-DIFFERENCES)
        exact = -math.tanh(epsilon / 2) / (1 + odds)
        tiny = np.finfo(dtype).tiny
        near = np.abs(DIFFERENCES) < 20  # beyond, float32 keeps fewer digits of e^s
        np.testing.assert_allclose(found[near], exact[near], rtol=100 * np.finfo(dtype).eps)
        np.testing.assert_allclose(found, exact, atol=20 * np.finfo(dtype).eps, rtol=0.01)
        assert np.all(np.abs(found) <= math.tanh(epsilon / 4) * (1 + 1e-6) + tiny)
        values = np.asarray(likelihood_loss(jnp.asarray(DIFFERENCES, dtype), 1, dtype(epsilon)))
        assert np.all(values >= 0)
        assert np.all(values <= np.logaddexp(0, epsilon) * (1 + 1e-6))
    without = slope(jnp.asarray(DIFFERENCES, dtype), 1, dtype(math.inf))
    clean = -scipy.special.expit(-DIFFERENCES)
    np.testing.assert_allclose(without, clean, rtol=1e-5, atol=np.finfo(dtype).tiny)


def test_soft_labels_are_linear_and_include_debiased_reports():
    s = jnp.asarray(DIFFERENCES)
    ends = [np.array([twin.clean_loss(x, label) for x in DIFFERENCES]) for label in (0, 1)]
    np.testing.assert_allclose(soft_label_loss(s, 0.3), 0.7 * ends[0] + 0.3 * ends[1], rtol=1e-12)
    for report in (0, 1):
        estimate = debias(jnp.array(report), 0.4)
        np.testing.assert_allclose(
            soft_label_loss(s, estimate), debiased_loss(s, report, 0.4), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("name", LOSSES)
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


@pytest.mark.parametrize("name", LOSSES)
def test_labels_of_either_coding_mean_the_same_traced_or_not(name):
    loss, s, ones = LOSSES[name], np.array([1.5, 1.5, -6.0, 0.2, 9.0]), [1, 0, 1, 0, 0]
    exact = [getattr(twin, f"{name}_loss")(x, y, 0.7) for x, y in zip(s, ones)]
    signs = 2 * np.array(ones) - 1
    for labels in (
        *(np.array(ones, dtype) for dtype in (bool, int, np.uint8, np.float32)),
        *(signs.astype(dtype) for dtype in (np.int8, float)),
    ):
        each = jax.vmap(loss, (0, 0, None))
        for found in (loss, jax.jit(loss), jax.jit(each)):
            np.testing.assert_allclose(found(s, labels, 0.7), exact, rtol=1e-12)
