"""The score attack: identities by enumeration of every outcome, the privacy bound, the sign."""

from __future__ import annotations

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.pairwise import mle
from privrank_jax.pairwise.theory import score_attack, score_attack_bound
from tests import reference

LINKS = ("logistic", "normal", "laplace")
THETA = np.array([0.6, -0.1, -0.5])
PAIRS = list(itertools.combinations(range(3), 2))


def outcomes():
    """Win matrices of all ways in which three items can be compared, each pair once."""
    matrices = []
    for bits in itertools.product((0.0, 1.0), repeat=len(PAIRS)):
        matrix = np.zeros((3, 3))
        for (i, j), bit in zip(PAIRS, bits):
            matrix[i, j], matrix[j, i] = bit, 1 - bit
        matrices.append(matrix)
    return jnp.array(matrices)


@functools.cache
def estimates():
    """One estimate per outcome; the identities hold for every estimator, whatever the link of the data."""
    return jax.jit(jax.vmap(lambda w: mle(WinCounts(w), gamma=0.3).value))(outcomes())


def probabilities(theta, matrices, link):
    log_cdf = get_link(link).log_cdf(theta[:, None] - theta[None, :])
    return jnp.exp(jnp.sum(matrices * log_cdf, axis=(1, 2)))


def attacks(values, theta, matrices, link):
    return jax.vmap(lambda e, w: score_attack(e, theta, WinCounts(w), link))(values, matrices)


@pytest.mark.parametrize("name", LINKS)
def test_matches_the_loop_over_comparisons(name):
    generator = np.random.default_rng(0)
    matrix = generator.integers(0, 4, (5, 5)) * (1.0 - np.eye(5))
    scores, estimate = generator.normal(size=5), generator.normal(size=5)
    wins = WinCounts.from_matrix(matrix)
    expected = reference.score_attack(estimate, scores, matrix, name)
    np.testing.assert_allclose(score_attack(estimate, scores, wins, name), expected, rtol=1e-10)


def test_printed_sign_breaks_the_identity():
    matrices, theta = outcomes(), jnp.asarray(THETA)
    chances = np.asarray(probabilities(theta, matrices, "logistic"))
    printed, ours = (
        chances
        @ [
            reference.score_attack(np.asarray(e), THETA, np.asarray(w), "logistic", printed_sign)
            for e, w in zip(estimates(), matrices)
        ]
        for printed_sign in (True, False)
    )
    assert printed[0] == pytest.approx(ours[0])  # the first item has no pair (i, k) with i < k
    assert printed[2] == pytest.approx(-ours[2])  # the last has no other
    assert ours[2] > 0.1


@pytest.mark.parametrize("name", LINKS)
def test_an_estimate_from_an_independent_copy_is_not_accused(name):
    matrices, theta = outcomes(), jnp.asarray(THETA)
    chances = probabilities(theta, matrices, name)
    mean_estimate = jnp.broadcast_to(chances @ estimates(), matrices.shape[:2])
    mean = chances @ attacks(mean_estimate, theta, matrices, name)
    np.testing.assert_allclose(mean, 0.0, atol=1e-14)


def test_redrawing_one_outcome_clears_its_own_term_exactly():
    # E A(M(Ỹ), y) = 0 where Ỹ redraws only that outcome: the step on which the lower bound rests.
    matrices, theta = outcomes(), jnp.asarray(THETA)
    chances = np.asarray(probabilities(theta, matrices, "logistic"))
    for first, second in PAIRS:
        cdf = reference.link("logistic", THETA[first] - THETA[second])[0]
        total = np.zeros(3)
        for old, matrix in enumerate(np.asarray(matrices)):
            only = np.zeros((3, 3))
            only[first, second], only[second, first] = matrix[first, second], matrix[second, first]
            for bit, chance in ((1.0, cdf), (0.0, 1 - cdf)):
                fresh = matrix.copy()
                fresh[first, second], fresh[second, first] = bit, 1 - bit
                new = int(np.flatnonzero((np.asarray(matrices) == fresh).all(axis=(1, 2)))[0])
                attack = score_attack(estimates()[new], THETA, WinCounts(jnp.asarray(only)))
                total += chances[old] * chance * np.asarray(attack)
        np.testing.assert_allclose(total, 0.0, atol=1e-14)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("name", LINKS)
def test_bound_holds_exactly_for_randomized_response(name, epsilon):
    # Two items, one comparison, M = ±(1, -1) by an ε-DP coin: both sides are finite sums, and
    # equal where the items are.
    stay = math.exp(epsilon) / (1 + math.exp(epsilon))
    link = get_link(name)
    for theta in (jnp.zeros(2), jnp.array([0.4, -0.4])):
        mean, error = np.zeros(2), np.zeros(2)
        for first_wins, told_first in itertools.product((1.0, 0.0), repeat=2):
            chance = float(link.cdf((theta[0] - theta[1]) * (1 if first_wins else -1)))
            chance *= stay if first_wins == told_first else 1 - stay
            estimate = jnp.array([1.0, -1.0]) * (1 if told_first else -1)
            matrix = jnp.array([[0.0, first_wins], [1 - first_wins, 0.0]])
            mean += chance * np.asarray(score_attack(estimate, theta, WinCounts(matrix), name))
            error += chance * np.abs(np.asarray(estimate - theta))
        wins = WinCounts.from_matrix([[0, 1], [0, 0]])
        bound = np.asarray(score_attack_bound(error, theta, wins, epsilon, name))
        slope = 2 * float(link.cdf(theta[0] - theta[1]) * link.score(theta[0] - theta[1]))
        np.testing.assert_allclose(mean, (2 * stay - 1) * slope, rtol=1e-10)
        assert np.all(mean <= bound * (1 + 1e-12))
        if not np.any(theta):
            np.testing.assert_allclose(mean, bound, rtol=1e-10)


def test_masked_items_are_left_out_and_far_scores_stay_finite():
    matrix = jnp.array([[0.0, 1.0, 5.0], [2.0, 0.0, 5.0], [5.0, 5.0, 0.0]])
    masked = WinCounts(matrix, jnp.array([True, True, False]))
    estimate, theta = jnp.array([1.0, 2.0, 3.0]), jnp.array([0.5, -0.5, jnp.nan])
    value = score_attack(estimate, theta, masked)
    small = score_attack(estimate[:2], theta[:2], WinCounts(matrix[:2, :2]))
    np.testing.assert_allclose(value, [*small, 0.0])
    bound = score_attack_bound(jnp.ones(3), theta, masked, 1.0)
    assert float(bound[2]) == 0.0
    assert np.all(np.isfinite(bound))
    far = jnp.array([1e4, -1e4], jnp.float32)
    for name in LINKS:
        wins = WinCounts(matrix[:2, :2].astype(jnp.float32))
        value = score_attack(jnp.zeros(2, jnp.float32), far, wins, name)
        assert value.dtype == jnp.float32
        assert np.all(np.isfinite(value))


def test_bound_is_traced_in_epsilon_and_refuses_nonsense():
    wins = WinCounts.from_matrix([[0, 1], [0, 0]])
    epsilons = jnp.array([0.5, 2.0, jnp.inf])
    batch = jax.vmap(lambda e: score_attack_bound(jnp.ones(2), jnp.zeros(2), wins, e))(epsilons)
    np.testing.assert_allclose(batch[:, 0], 0.5 * np.tanh([0.25, 1.0, np.inf]), rtol=1e-12)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        score_attack_bound(jnp.ones(2), jnp.zeros(2), wins, -1.0)
    with pytest.raises(ValueError, match="unknown link"):
        score_attack(jnp.ones(2), jnp.zeros(2), wins, "cauchy")
