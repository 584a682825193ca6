"""Unbiased losses from privatized labels: exact expectations over the flip, stability, optax."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
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
from privrank_jax.privacy import debias
from tests.reference import label_losses as twin

DIFFERENCES = np.array([-1e4, -60.0, -7.5, -1.0, -1e-3, 0.0, 1e-6, 0.3, 2.0, 15.0, 80.0, 3e3])
LOSS = jax.jit(debiased_loss)
EPSILONS = [0.01, 0.1, 0.7, 1.0, 3.0, 10.0, 50.0, math.inf]


def over_the_flip(function, label, epsilon):
    """Mean of ``function(report)`` over both reports, and the magnitude of the summed terms."""
    flip = label_smoothing(epsilon)
    kept, flipped = (1 - flip) * function(label), flip * function(1 - label)
    return np.asarray(kept + flipped), np.asarray(abs(kept) + abs(flipped))


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


def test_derivatives_by_rule_are_those_of_the_value():
    """Central differences in s and ε."""
    s, step = jnp.linspace(-6, 6, 13), 1e-5
    for loss in map(jax.jit, (square_loss, likelihood_loss)):
        slope = jax.jit(jax.vmap(jax.grad(loss, (0, 2)), (0, None, None)))
        for report in (0, 1):
            slopes = slope(s, report, 0.9)
            in_s = (loss(s + step, report, 0.9) - loss(s - step, report, 0.9)) / (2 * step)
            in_epsilon = (loss(s, report, 0.9 + step) - loss(s, report, 0.9 - step)) / (2 * step)
            np.testing.assert_allclose(slopes[0], in_s, atol=1e-9)
            np.testing.assert_allclose(slopes[1], in_epsilon, atol=1e-9)


def test_the_expected_likelihood_is_least_at_the_true_difference():
    s, truth, epsilon = jnp.linspace(-3, 3, 601), 0.8, 0.7
    wins = jax.nn.sigmoid(truth)
    risk = sum(
        over_the_flip(lambda y: likelihood_loss(s, y, epsilon), label, epsilon)[0] * chance
        for label, chance in ((1, wins), (0, 1 - wins))
    )
    assert float(s[np.argmin(risk)]) == pytest.approx(truth, abs=0.011)


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
def test_half_precision_scores_give_losses_in_float32_and_gradients_in_half(name):
    s = jnp.array([-3.0, 0.5, 7.0], jnp.bfloat16)

    def total(s):
        return jnp.sum(LOSSES[name](s, 1, 0.3))

    assert LOSSES[name](s, 1, 0.3).dtype == jnp.float32
    value, slope = jax.value_and_grad(total)(s)
    exact = total(s.astype(jnp.float32))
    assert slope.dtype == jnp.bfloat16
    np.testing.assert_allclose(value, exact, rtol=1e-6)


def test_without_randomization_it_is_the_logistic_loss():
    clean = [twin.clean_loss(s, 1) for s in DIFFERENCES]
    np.testing.assert_allclose(debiased_loss(DIFFERENCES, True, math.inf), clean, rtol=1e-15)
    np.testing.assert_allclose(debiased_loss(-DIFFERENCES, 0, 800.0), clean, rtol=1e-15)


def test_variance_over_the_flip_is_as_documented():
    s, epsilon = 1.7, 0.8
    flip, noise = float(label_smoothing(epsilon)), 1 / (4 * math.sinh(epsilon / 2) ** 2)
    for function, variance in (
        (debiased_loss, s**2 * noise),
        (jax.grad(debiased_loss), noise),
        (square_loss, math.tanh(s / 2) ** 2 * noise),
    ):
        values = np.array([float(function(s, y, epsilon)) for y in (1, 0)])
        assert flip * (1 - flip) * (values[0] - values[1]) ** 2 == pytest.approx(variance)


def test_square_loss_is_bounded_and_weighted_least_squares():
    s, epsilon = jnp.linspace(-40, 40, 161), 0.6
    odds, flip = 1 / math.expm1(epsilon), float(label_smoothing(epsilon))
    for report in (0, 1):
        values = square_loss(s, report, epsilon)
        assert float(jnp.min(values)) >= -odds * (1 + 1e-12)
        assert float(jnp.max(values)) <= (1 + odds) * (1 + 1e-12)
        slopes = jax.vmap(jax.grad(square_loss), (0, None, None))(s, report, epsilon)
        assert float(jnp.max(jnp.abs(slopes))) <= 8 / 27 + odds / 2
        residual = report - (1 - flip) * jax.nn.sigmoid(s) - flip * jax.nn.sigmoid(-s)
        gap = residual**2 - math.tanh(epsilon / 2) ** 2 * values
        np.testing.assert_allclose(gap, gap[0], atol=1e-14)


def test_it_lives_in_one_compiled_training_loop_with_personal_budgets(key):
    """A linear model under optax finds the clean optimum; the naive loss shrinks it."""
    keys = jax.random.split(key, 4)
    weights = jnp.array([1.5, -0.8, 0.4])
    features = jax.random.normal(keys[0], (20_000, 3))
    epsilon = jax.random.uniform(keys[1], (20_000,), minval=0.5, maxval=4.0)
    answers = jax.random.uniform(keys[2], (20_000,)) < jax.nn.sigmoid(features @ weights)
    flips = jax.random.uniform(keys[3], (20_000,)) < label_smoothing(epsilon)
    reports = answers ^ flips
    share = jnp.tanh(epsilon / 2) ** 2
    optimizer = optax.lbfgs()

    @jax.jit
    def train(epsilon):
        def objective(params):
            losses = debiased_loss(features @ params, reports, epsilon)
            return jnp.sum(share * losses) / jnp.sum(share)

        def step(carry, _):
            params, state = carry
            value, slope = jax.value_and_grad(objective)(params)
            updates, state = optimizer.update(
                slope, state, params, value=value, grad=slope, value_fn=objective
            )
            return (optax.apply_updates(params, updates), state), value

        start = jnp.zeros(3)
        return jax.lax.scan(step, (start, optimizer.init(start)), None, length=12)[0][0]

    debiased, naive = train(epsilon), train(jnp.full_like(epsilon, jnp.inf))
    assert train._cache_size() == 1
    # Standard error of a weight ~ √(E[t² x²]/(E t²)²/n)/(2 E σ') ~ 0.02; five of them.
    np.testing.assert_allclose(debiased, weights, atol=0.12)
    assert float(jnp.linalg.norm(naive)) < 0.8 * float(jnp.linalg.norm(weights))


def test_label_smoothing_is_the_flip_probability():
    assert float(label_smoothing(math.log(3.0))) == pytest.approx(0.25)
    assert float(label_smoothing(math.inf)) == 0.0
    found = label_smoothing(jnp.array([1.0, 60.0], jnp.float32))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, 1 / (1 + np.exp([1.0, 60.0])), rtol=1e-6)


def test_trl_robust_loss_is_the_same_number():
    """((1 - q) ℓ(t) - q ℓ(-t)) / (1 - 2q), as TRL writes loss_type="robust" for a chosen answer."""
    q, s = label_smoothing(1.3), jnp.linspace(-3, 3, 7)
    robust = (-jax.nn.log_sigmoid(s) * (1 - q) + jax.nn.log_sigmoid(-s) * q) / (1 - 2 * q)
    np.testing.assert_allclose(debiased_loss(s, 1, 1.3), robust, rtol=1e-12)


@pytest.mark.parametrize("change", [{"epsilon": 0.0}, {"reports": 0.5}, {"reports": -2}])
def test_refusals(change):
    arguments = {"score_difference": 1.0, "reports": 1, "epsilon": 1.0} | change
    with pytest.raises(ValueError, match=r"epsilon|reports"):
        debiased_loss(**arguments)


@pytest.mark.parametrize("name", LOSSES)
def test_a_coding_is_kept_to(name):
    loss, s = LOSSES[name], np.ones(2)
    np.testing.assert_array_equal(
        loss(s, [0, 1], 1.0, coding="0/1"), loss(s, [-1, 1], 1.0, coding="-1/1")
    )
    for coding, other in (("0/1", [-1, 1]), ("-1/1", [0, 1])):
        with pytest.raises(ValueError, match=f"coding='{coding}' reports must be"):
            loss(s, other, 1.0, coding=coding)
        traced = jax.jit(functools.partial(loss, coding=coding))(s, np.array(other), 1.0)
        assert np.isnan(traced).tolist() == [True, False]
    with pytest.raises(ValueError, match="coding must be"):
        loss(s, [0, 1], 1.0, coding="ab")


CODINGS = {
    "bool": np.array([True, False, True, False, False]),
    "0/1 ints": np.array([1, 0, 1, 0, 0]),
    "0/1 unsigned": np.array([1, 0, 1, 0, 0], np.uint8),
    "0/1 floats": np.array([1.0, 0.0, 1.0, 0.0, 0.0], np.float32),
    "-1/+1 ints": np.array([1, -1, 1, -1, -1], np.int8),
    "-1/+1 floats": np.array([1.0, -1.0, 1.0, -1.0, -1.0]),
}


@pytest.mark.parametrize("coding", CODINGS)
def test_labels_of_either_coding_mean_the_same_traced_or_not(coding):
    s, epsilon = np.array([1.5, 1.5, -6.0, 0.2, 9.0]), 0.7
    labels = CODINGS[coding]
    exact = [twin.debiased_loss(x, int(y > 0), epsilon) for x, y in zip(s, labels)]
    np.testing.assert_allclose(debiased_loss(s, labels, epsilon), exact, rtol=1e-12)

    @jax.jit
    def compiled(s, labels, traced):
        return [
            (loss(s, labels, traced), jax.vmap(lambda x, y, f=loss: f(x, y, epsilon))(s, labels))
            for loss in LOSSES.values()
        ]

    for (name, loss), both in zip(LOSSES.items(), compiled(s, labels, epsilon), strict=True):
        found = loss(s, labels, epsilon)
        for traced in (jax.vmap(loss, (0, 0, None))(s, labels, epsilon), *both):
            np.testing.assert_allclose(traced, found, rtol=1e-14, err_msg=name)


@pytest.mark.parametrize("label", [2, 0.5, -0.5, -2, math.nan, math.inf])
def test_what_is_no_label_is_refused_or_where_traced_gives_nan(label):
    with pytest.raises(ValueError, match="reports must be 0 or 1"):
        debiased_loss(1.0, label, 1.0)
    assert math.isnan(LOSS(1.0, label, 1.0))


def test_both_codings_at_once_are_refused():
    with pytest.raises(ValueError, match="or all of them -1 or 1"):
        debiased_loss(np.ones(3), [1, 0, -1], 1.0)
