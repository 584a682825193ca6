"""Unbiased losses from privatized labels: exact expectations over the flip, stability, optax."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.special

from privrank_jax.pairwise.loss import clipped_preference_loss, label_smoothing, preference_loss
from tests.reference import loss as twin

DIFFERENCES = np.array([-1e4, -60.0, -7.5, -1.0, -1e-3, 0.0, 1e-6, 0.3, 2.0, 15.0, 80.0, 3e3])
LOSS = jax.jit(preference_loss)
CLIPPED = jax.jit(clipped_preference_loss)
EPSILONS = [0.01, 0.1, 0.7, 1.0, 3.0, 10.0, 50.0, math.inf]


def over_the_flip(function, label, epsilon):
    """Mean of ``function(report)`` over both reports, and the magnitude of the summed terms."""
    flip = label_smoothing(epsilon)
    kept, flipped = (1 - flip) * function(label), flip * function(1 - label)
    return np.asarray(kept + flipped), np.asarray(abs(kept) + abs(flipped))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_mean_over_the_flip_is_the_clean_loss_and_so_is_its_gradient(dtype):
    """Every s, ε and true label at once; the tolerance allows for rounding of the summed terms."""
    s, epsilon = jnp.asarray(DIFFERENCES, dtype), jnp.asarray(EPSILONS, dtype)[:, None]
    slack = 8 * np.finfo(dtype).eps
    gradient = jax.jit(jax.grad(lambda *a: jnp.sum(preference_loss(*a))))
    for label in (0, 1):
        mean, size = over_the_flip(
            lambda y: LOSS(jnp.broadcast_to(s, (8, 12)), y, epsilon), label, epsilon
        )
        clean = np.array([twin.clean_loss(float(x), label) for x in s])
        assert mean.dtype == dtype
        assert np.all(np.abs(mean - clean) <= slack * (size + clean))

        mean, size = over_the_flip(
            lambda y: gradient(jnp.broadcast_to(s, (8, 12)), y, epsilon), label, epsilon
        )
        sign = 2 * label - 1
        clean = -sign * scipy.special.expit(-sign * np.asarray(s, np.float64))
        assert mean.dtype == dtype
        assert np.all(np.abs(mean - clean) <= slack * size + np.finfo(dtype).tiny)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_loss_is_the_naive_formula_and_keeps_its_digits(dtype):
    slack = 16 * np.finfo(dtype).eps
    for epsilon in (0.01, 1.0, 8.0):
        for report in (0, 1):
            found = LOSS(jnp.asarray(DIFFERENCES, dtype), report, dtype(epsilon))
            assert found.dtype == dtype
            exact = [twin.preference_loss(float(dtype(s)), report, float(dtype(epsilon)))
                     for s in DIFFERENCES]  # fmt: skip
            np.testing.assert_allclose(found, exact, rtol=max(slack, 1e-11))


def test_without_randomization_it_is_the_logistic_loss():
    clean = [twin.clean_loss(s, 1) for s in DIFFERENCES]
    np.testing.assert_allclose(preference_loss(DIFFERENCES, True, math.inf), clean, rtol=1e-15)
    np.testing.assert_allclose(preference_loss(-DIFFERENCES, 0, 800.0), clean, rtol=1e-15)


def test_variance_over_the_flip_is_as_documented():
    s, epsilon = 1.7, 0.8
    flip = float(label_smoothing(epsilon))
    for function, variance in (
        (LOSS, s**2 / (4 * math.sinh(epsilon / 2) ** 2)),
        (jax.jit(jax.grad(preference_loss)), 1 / (4 * math.sinh(epsilon / 2) ** 2)),
    ):
        values = np.array([float(function(s, y, epsilon)) for y in (1, 0)])
        assert flip * (1 - flip) * (values[0] - values[1]) ** 2 == pytest.approx(variance)


@pytest.mark.parametrize("label", [0, 1])
def test_clipped_loss_is_biased_beyond_the_clip_only_and_as_documented(label):
    epsilon, clip, s = 0.9, 1.5, jnp.linspace(-5, 5, 41)
    flip, sign = float(label_smoothing(epsilon)), 2 * label - 1
    mean, _ = over_the_flip(lambda y: CLIPPED(s, y, epsilon, clip), label, epsilon)
    bias = mean - np.array([twin.clean_loss(float(x), label) for x in s])
    toward = sign * np.asarray(s)
    np.testing.assert_allclose(bias, flip * (toward - np.clip(toward, -clip, clip)), atol=1e-12)
    assert np.all(bias[toward > clip] > 0)
    assert np.all(bias[toward < -clip] < 0)

    gradient = jax.jit(jax.vmap(jax.grad(clipped_preference_loss), (0, None, None, None)))
    free_gradient = jax.jit(jax.vmap(jax.grad(preference_loss), (0, None, None)))
    for report in (0, 1):
        outside = np.abs(s) > clip
        naive = free_gradient(s, report, math.inf)
        np.testing.assert_allclose(
            gradient(s, report, epsilon, clip)[outside], naive[outside], atol=1e-12
        )
    values = np.stack([CLIPPED(s, y, epsilon, clip) for y in (0, 1)])
    free = np.stack([LOSS(s, y, epsilon) for y in (0, 1)])
    far = np.abs(s) > clip + 1e-9
    assert np.all(np.abs(values[0] - values[1])[far] < np.abs(free[0] - free[1])[far])
    np.testing.assert_allclose(values[:, ~far], free[:, ~far], atol=1e-12)
    spread = np.abs(s) + 2 * np.minimum(np.abs(s), clip) / math.expm1(epsilon)
    np.testing.assert_allclose(np.abs(values[0] - values[1]), spread, atol=1e-12)
    assert np.min(values) >= -clip / math.expm1(epsilon)


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
            losses = preference_loss(features @ params, reports, epsilon)
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
    np.testing.assert_allclose(preference_loss(s, 1, 1.3), robust, rtol=1e-12)


@pytest.mark.parametrize("change", [{"epsilon": 0.0}, {"reports": 0.5}, {"reports": -2}])
def test_refusals(change):
    arguments = {"score_difference": 1.0, "reports": 1, "epsilon": 1.0} | change
    with pytest.raises(ValueError, match=r"epsilon|reports"):
        preference_loss(**arguments)


def test_clip_must_be_positive():
    with pytest.raises(ValueError, match="clip"):
        clipped_preference_loss(1.0, 1, 1.0, clip=0.0)


CODINGS = {
    "bool": np.array([True, False, True, False, False]),
    "0/1 ints": np.array([1, 0, 1, 0, 0]),
    "0/1 unsigned": np.array([1, 0, 1, 0, 0], np.uint8),
    "0/1 floats": np.array([1.0, 0.0, 1.0, 0.0, 0.0], np.float32),
    "-1/+1 ints": np.array([1, -1, 1, -1, -1], np.int8),
    "-1/+1 floats": np.array([1.0, -1.0, 1.0, -1.0, -1.0]),
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("loss", [preference_loss, clipped_preference_loss])
def test_labels_of_either_coding_mean_the_same_traced_or_not(loss, coding):
    s, epsilon = np.array([1.5, 1.5, -6.0, 0.2, 9.0]), 0.7
    labels = CODINGS[coding]
    found = loss(s, labels, epsilon)
    if loss is preference_loss:
        exact = [twin.preference_loss(x, int(y > 0), epsilon) for x, y in zip(s, labels)]
        np.testing.assert_allclose(found, exact, rtol=1e-12)
    for traced in (
        jax.jit(loss)(s, labels, epsilon),
        jax.vmap(loss, (0, 0, None))(s, labels, epsilon),
        jax.jit(jax.vmap(lambda x, y: loss(x, y, epsilon)))(s, labels),
    ):
        np.testing.assert_allclose(traced, found, rtol=1e-14)


@pytest.mark.parametrize("label", [2, 0.5, -0.5, -2, math.nan, math.inf])
def test_what_is_no_label_is_refused_or_where_traced_gives_nan(label):
    with pytest.raises(ValueError, match="reports must be 0 or 1"):
        preference_loss(1.0, label, 1.0)
    assert math.isnan(LOSS(1.0, label, 1.0))
    assert math.isnan(CLIPPED(1.0, label, 1.0))


def test_both_codings_at_once_are_refused():
    with pytest.raises(ValueError, match="or all of them -1 or 1"):
        preference_loss(np.ones(3), [1, 0, -1], 1.0)
