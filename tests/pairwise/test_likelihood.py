"""Objectives with their derivatives, against the naive likelihood and automatic differentiation."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.links import get_link
from privrank_jax.pairwise.likelihood import (
    dense_objective,
    information,
    pair_curvature,
    signed_objective,
)
from privrank_jax.pairwise.masked import center
from privrank_jax.pairwise.newton_edges import edge_objective
from tests import reference

RNG = np.random.default_rng(3)
WINS = RNG.integers(1, 9, (4, 4)) * (1 - np.eye(4))
THETA = RNG.normal(size=4)
LINKS = ("logistic", "normal", "laplace")


def naive(theta, wins, name, gamma, tilt):
    """S·f(θ) without the term that fixes the shift."""
    value = gamma / 2 * sum(t * t for t in theta) + float(np.dot(tilt, theta))
    for i in range(len(theta)):
        for j in range(len(theta)):
            if wins[i][j]:
                value -= wins[i][j] * reference.link(name, theta[i] - theta[j])[1]
    return value


@jax.jit
def evaluated(objective, theta):
    return objective(theta)


def value_of(objective, theta):
    """S·f(θ) without the term that fixes the shift, up to a constant."""
    shift = 0.5 * np.sum(theta) ** 2 / len(theta)
    return float(objective.scale) * (float(evaluated(objective, theta)) - shift)


@pytest.mark.parametrize("name", LINKS)
def test_values_differ_from_the_naive_likelihood_by_a_constant(name):
    tilt = np.array([0.5, -0.25, 0.0, 1.0])
    objective = dense_objective(WinCounts.from_matrix(WINS), get_link(name), gamma=0.7, tilt=tilt)
    at = [naive(theta, WINS, name, 0.7, tilt) for theta in (THETA, 2 * THETA)]
    ours = [value_of(objective, theta) for theta in (THETA, 2 * THETA)]
    assert ours[1] - ours[0] == pytest.approx(at[1] - at[0], rel=1e-9)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("mask", [None, (True, True, False, True)])
def test_derivatives_are_those_of_the_value(name, mask):
    counts = WinCounts.from_matrix(WINS, mask=None if mask is None else jnp.array(mask))
    objective = dense_objective(counts, get_link(name), gamma=0.3)
    theta = jnp.asarray(THETA) * (1.0 if mask is None else jnp.array(mask))
    real = np.ones(4, bool) if mask is None else np.array(mask)

    @jax.jit
    def derivatives(theta):
        ours = objective.gradient(theta), objective.hessian(theta)
        return ours, (jax.grad(objective)(theta), jax.hessian(objective)(theta))

    (gradient, hessian), expected = jax.device_get(derivatives(theta))
    np.testing.assert_allclose(gradient[real], expected[0][real], atol=1e-10)
    both = np.ix_(real, real)
    np.testing.assert_allclose(hessian[both], expected[1][both], atol=1e-9)


def test_edge_lists_have_the_value_of_their_matrix():
    pairs = [pair for pair in np.argwhere(WINS) for _ in range(int(WINS[tuple(pair)]))]
    winners, losers = np.array(pairs).T
    edges = WinEdges.from_comparisons(winners, losers, num_items=4)
    dense = dense_objective(WinCounts.from_matrix(WINS), get_link("normal"), gamma=0.2)
    sparse = edge_objective(edges, get_link("normal"), gamma=0.2)
    for theta in (THETA, 3 * THETA):
        value, expected = (float(evaluated(one, theta)) for one in (sparse, dense))
        assert value == pytest.approx(expected, rel=1e-9)


def test_signed_wins_are_the_same_objective_where_they_are_counts():
    margins, weights = (WINS - WINS.T) / 2, WINS + WINS.T
    for name in ("logistic", "normal"):
        signed = signed_objective(
            jnp.asarray(margins), jnp.asarray(weights), get_link(name), gamma=0.5
        )
        plain = dense_objective(WinCounts.from_matrix(WINS), get_link(name), gamma=0.5)
        gaps = [value_of(one, 2 * THETA) - value_of(one, THETA) for one in (signed, plain)]
        assert gaps[0] == pytest.approx(gaps[1], rel=1e-9)


@pytest.mark.parametrize("name", LINKS)
def test_information_and_curvature_are_the_naive_ones(name):
    theta, comparisons = jnp.asarray(THETA), WINS + WINS.T

    @jax.jit
    def both(theta):
        bend = pair_curvature(theta[:, None] - theta[None, :], jnp.asarray(WINS), get_link(name))
        return information(theta, jnp.asarray(comparisons), get_link(name)), bend

    found, bend = jax.device_get(both(theta))
    np.testing.assert_allclose(
        found, reference.fisher_information(name, THETA, comparisons), rtol=1e-8
    )
    for i, j in ((0, 1), (2, 3)):
        naive_bend = sum(
            WINS[a, b] * reference.link(name, THETA[a] - THETA[b])[3] for a, b in ((i, j), (j, i))
        )
        assert bend[i, j] == pytest.approx(naive_bend, rel=1e-8)


def test_scores_are_centered_over_real_items():
    found = center(jnp.array([1.0, 2.0, 6.0]), jnp.array([True, True, False]))
    assert found.tolist() == [-0.5, 0.5, 0.0]
    assert math.isclose(float(jnp.sum(center(jnp.asarray(THETA), None))), 0, abs_tol=1e-12)
