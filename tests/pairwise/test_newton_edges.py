from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from privrank_jax.comparisons import WinEdges
from privrank_jax.links import get_link
from privrank_jax.pairwise import mle
from privrank_jax.pairwise.minimizer import CONVERGED
from privrank_jax.pairwise.newton_edges import edge_objective, newton_of_edges

LINKS = ("logistic", "normal", "laplace")


def world(items, comparisons, seed=0, dtype=np.float64):
    """Random pairs of items with standard normal scores."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(items)
    first = rng.integers(0, items, comparisons)
    second = (first + rng.integers(1, items, comparisons)) % items
    won = rng.random(comparisons) < 1 / (1 + np.exp(scores[second] - scores[first]))
    winners, losers = np.where(won, first, second), np.where(won, second, first)
    return WinEdges.from_comparisons(winners, losers, num_items=items, dtype=dtype)


def objective_of(items, comparisons, link="logistic", gamma=0.3):
    return edge_objective(world(items, comparisons), get_link(link), gamma=gamma)


@pytest.mark.parametrize("link", LINKS)
def test_products_and_the_diagonal_are_those_of_the_hessian(link):
    objective = objective_of(7, 60, link)
    theta, vector = np.random.default_rng(1).standard_normal((2, 7))

    @jax.jit
    def derivatives(objective, theta, vector):
        weights = objective.weights(theta)
        parts = objective.hessian_product(weights, vector), objective.diagonal(weights)
        return *parts, jax.hessian(objective)(theta)

    times, diagonal, hessian = map(np.asarray, derivatives(objective, theta, vector))
    np.testing.assert_allclose(times, hessian @ vector)
    np.testing.assert_allclose(diagonal, np.diag(hessian) - 1 / 7)
    edges = objective.edges
    gaps = vector[np.asarray(edges.first)] - vector[np.asarray(edges.second)]
    np.testing.assert_allclose(objective.reach(jnp.asarray(vector)), np.abs(gaps).max())


def test_a_step_is_newtons_shortened_where_it_is_long():
    objective = objective_of(7, 60)
    near = mle(objective.edges, gamma=0.3).value + 1e-9 * jnp.arange(7.0)

    @jax.jit
    def stepped(theta):
        gradient = jax.grad(objective)(theta)
        step, _ = newton_of_edges(objective).update(gradient, optax.EmptyState(), theta)
        return gradient, jax.hessian(objective)(theta), step

    for theta, tolerance in ((near, 1e-4), (3.0 * jnp.arange(7.0), 0.1)):
        gradient, hessian, step = map(np.asarray, stepped(theta))
        taken = float(objective.reach(jnp.asarray(step)))
        assert (taken > np.log(2)) == (tolerance == 0.1)
        whole = step * np.expm1(taken) / taken if taken > np.log(2) else step
        rest = np.linalg.norm(hessian @ whole + gradient)
        assert rest <= 1.001 * tolerance * np.linalg.norm(gradient)
    gradient, _, _ = stepped(near)
    with pytest.raises(TypeError, match="needs the parameters"):
        newton_of_edges(objective).update(gradient, optax.EmptyState())


@pytest.mark.parametrize("gamma", [0.0, 1.0])
@pytest.mark.parametrize(
    ("items", "comparisons", "dtype"), [(1000, 100_000, np.float64), (5000, 500_000, np.float32)]
)
def test_large_fits_converge_in_few_steps_to_where_win_totals_match(
    items, comparisons, dtype, gamma
):
    """At the maximum, expected and observed win totals differ by γθ, here summed by NumPy in float64."""
    edges = world(items, comparisons, dtype=dtype)
    fit = mle(edges, gamma=gamma)
    assert int(fit.diagnostics.code) == CONVERGED
    assert int(fit.diagnostics.steps) <= 15
    theta = np.asarray(fit.value, np.float64)
    first, second, won, lost = (
        np.asarray(x) for x in (edges.first, edges.second, edges.first_wins, edges.second_wins)
    )
    surprise = won - (won + lost) / (1 + np.exp(theta[second] - theta[first]))
    slope = (
        np.bincount(first, surprise, items) - np.bincount(second, surprise, items) - gamma * theta
    )
    assert np.abs(slope).max() / (2 * comparisons / items) < (1e-9 if dtype == np.float64 else 3e-6)


def test_separated_edges_end_far_apart_and_say_so():
    """Item 0 is never beaten: without a ridge its score grows until the gradient is below the tolerance."""
    edges = WinEdges.from_comparisons([0, 0, 1, 2, 1], [1, 2, 2, 1, 3], num_items=4)
    fit = mle(edges)
    assert bool(fit.diagnostics.separated)
    assert float(fit.value[0] - fit.value[1]) > 10
    ridged = mle(edges, gamma=0.1)
    assert int(ridged.diagnostics.code) == CONVERGED
    assert float(ridged.value[0] - ridged.value[1]) < 10
