"""Surrogate losses against slow twins, the identity behind the logistic one, and means over a mechanism."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import mallows
from privrank_jax.personalized import debiased_pair_weights, pair_weights, pairwise_accuracy
from privrank_jax.personalized.surrogate import logistic_risk, pairwise_risk, wins_from_ranks
from tests.reference import personalized as reference

RNG = np.random.default_rng(5)
SCORES = RNG.normal(size=5) * 3
RANKS = np.array([3, 0, 4, 1, 2])


LOSSES = ("logistic", "exponential", "psi")
PLAIN = reference.weights(RANKS)


def test_risk_is_that_of_a_slow_twin():
    weights = np.stack([PLAIN, RNG.uniform(size=(5, 5))])  # the diagonal is ignored

    @jax.jit
    @functools.partial(jax.vmap, in_axes=(None, 0))
    def risks(scores, weights):
        return jnp.stack([pairwise_risk(scores, weights, loss) for loss in LOSSES])

    slow = [[reference.risk(SCORES, each, loss) for loss in LOSSES] for each in weights]
    np.testing.assert_allclose(risks(SCORES, weights), slow, rtol=1e-12)
    agrees, against = risks(-RANKS / 3, weights)[0], risks(RANKS / 3, weights)[0]
    assert np.all(agrees < against)  # high scores are best


def test_row_sums_are_all_that_the_logistic_risk_needs():
    upper = np.triu(RNG.normal(size=(5, 5)) * 4, 1)
    signed = np.where(np.triu(np.ones((5, 5)), 1) > 0, upper, 1 - upper.T) * (1 - np.eye(5))
    weights = np.stack([PLAIN, signed])

    @jax.jit
    @functools.partial(jax.vmap, in_axes=(None, 0))
    def both(scores, weights):
        wins = weights.sum(1)
        short = jax.value_and_grad(logistic_risk)(scores, wins)
        long = jax.value_and_grad(pairwise_risk)(scores, weights)
        shifted = logistic_risk(scores, wins + 7)
        return short, long, shifted, jax.hessian(logistic_risk)(scores, wins)

    short, long, shifted, bend = both(SCORES, weights)
    slow = [reference.risk(SCORES, each) for each in weights]
    np.testing.assert_allclose(short[0], slow, rtol=1e-10)
    np.testing.assert_allclose(shifted, slow, rtol=1e-10)
    np.testing.assert_allclose(short[1], long[1], atol=1e-12)
    assert np.linalg.eigvalsh(bend).min() > -1e-12  # convex, whatever the weights
    np.testing.assert_array_equal(wins_from_ranks(RANKS), PLAIN.sum(1))


def test_nothing_overflows():
    far = jnp.array([1e4, -1e4, 0.0], jnp.float32)

    @jax.jit
    def slopes(scores):
        weights = pair_weights([2, 0, 1])
        psi = jax.grad(pairwise_risk)(scores, weights, "psi")
        long = jax.grad(pairwise_risk)(scores, weights)
        return jax.value_and_grad(logistic_risk)(scores, jnp.array([0.0, 2.0, 1.0])), long, psi

    (value, short), long, psi = slopes(far)
    np.testing.assert_allclose(value, 4e4 / 6, rtol=1e-6)
    for slope in (short, long):
        np.testing.assert_allclose(slope, np.array([2.0, -2.0, 0.0]) / 6, rtol=1e-6)
    assert np.isfinite(psi).all()


def test_debiased_rankings_give_the_risk_of_the_true_ones_on_average():
    epsilon, center = 3.0, jnp.array([2, 0, 3, 1])
    orders = jnp.array(list(itertools.permutations(range(4))))
    scores = jnp.asarray(SCORES[:4])

    def each(ranks):
        chance = jnp.exp(mallows.log_prob(ranks, center, epsilon))
        unbiased = wins_from_ranks(mallows.unbiased_ranks(ranks, epsilon))
        plain = logistic_risk(scores, wins_from_ranks(ranks))
        return chance, logistic_risk(scores, unbiased), plain

    chance, unbiased, plain = jax.jit(jax.vmap(each))(orders)
    true = reference.risk(SCORES[:4], reference.weights(np.asarray(center)))
    np.testing.assert_allclose(chance @ unbiased, true, rtol=1e-9)
    assert abs(chance @ plain - true) > 0.05


def test_weights_of_pairs():
    weights, part = jax.jit(pair_weights), np.array([1, -1, 0, -1, 2])
    np.testing.assert_array_equal(weights(RANKS), reference.weights(RANKS))
    np.testing.assert_array_equal(weights(part), reference.weights(part))
    noisy = weights(np.array([-0.5, np.nan, 3.0, 3.0]))
    np.testing.assert_array_equal(
        noisy, [[0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0.5], [0, 0, 0.5, 0]]
    )
    signs = np.array([[0.0, 3.0], [-3.0, 0.0]])
    np.testing.assert_array_equal(jax.jit(debiased_pair_weights)(signs), [[0, 2], [-1, 0]])


def test_accuracy_is_that_of_a_slow_twin():
    tied = np.array([1.0, 2.0, 1.0, 0.0, 2.0])
    accuracy = jax.jit(pairwise_accuracy)
    for scores, ranks in itertools.product((SCORES, tied), (RANKS, np.array([1, -1, 0, 2, -1]))):
        found = accuracy(scores, ranks)
        np.testing.assert_allclose(found, reference.accuracy(scores, ranks), rtol=1e-12)
    assert accuracy(-1.0 * RANKS, RANKS) == 1.0
    assert np.isnan(accuracy(SCORES, np.array([-1, -1, -1, 0, -1])))
