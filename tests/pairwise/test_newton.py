"""Newton's method: batches along lanes, far scores, derivatives, links, negative curvature, edge lists."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.links import laplace, logistic, normal
from privrank_jax.pairwise import minimizer, mle
from privrank_jax.pairwise.fits import (
    Search,
    fit_counts,
    fit_signed,
    signed_objective,
)
from privrank_jax.pairwise.minimizer import CONVERGED, NOT_FINITE, OUT_OF_STEPS
from tests import reference
from tests.pairwise.problems import dense_objective
from tests.quick import quick_jit

SIZE = 5
COUNTS = np.random.default_rng(31).integers(1, 15, (7, SIZE, SIZE)) * (1.0 - np.eye(SIZE))


@functools.partial(jax.jit, static_argnames=("link", "max_steps"))
def fit(counts, ridge=0.3, link=logistic, max_steps=50):
    return fit_counts(WinCounts(counts), link, gamma=ridge, search=Search(max_steps=max_steps))


@pytest.mark.parametrize(("dtype", "slack"), [(np.float64, 1e-8), (np.float32, 1e-5)])
@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("link", [logistic, normal, laplace], ids=lambda link: link.name)
def test_batches_in_lanes_are_fitted_from_any_start(link, dtype, slack, far):
    """One of ten searches starts at scores of up to 100, which have no exponential in float32; that is harder to reach
    from where the slope of the normal link is beyond what float32 tells apart."""
    starts, counts = np.zeros((10, SIZE)), np.resize(COUNTS, (10, SIZE, SIZE)).astype(dtype)
    starts[1] = np.linspace(100, -100, SIZE) if far else np.linspace(3, -3, SIZE)
    objectives = jax.vmap(lambda one: dense_objective(WinCounts(one), link, gamma=0.3))(
        jnp.asarray(counts)
    )
    lanes, at = jax.tree.map(
        lambda x: jnp.moveaxis(x, 0, -1), (objectives, jnp.asarray(starts, dtype))
    )
    goal = 1e-10 if dtype == np.float64 else 3e-6
    search = minimizer.Search(goal, 100, 12)
    found = jax.jit(minimizer.newton, static_argnums=2)(lanes, at, search)
    assert found.code.tolist() == [CONVERGED] * 10
    for place in range(3):
        wanted = reference.fit(link.name, COUNTS[place], 0.3)
        np.testing.assert_allclose(
            found.value[:, place], wanted, atol=slack * (1 + 9 * (link != logistic))
        )


def test_problems_end_one_by_one():
    counts = jnp.asarray(COUNTS[:3]).at[1].set(np.nan)
    found = jax.jit(jax.vmap(fit))(counts)
    assert found.code.tolist() == [CONVERGED, NOT_FINITE, CONVERGED]
    assert found.steps[1] == 0 < found.steps[0]
    short = fit(counts[0], max_steps=1)
    assert (int(short.code), int(short.steps)) == (OUT_OF_STEPS, 1)


def test_derivatives_pass_through_batches_and_twice():
    counts, mix = jnp.asarray(COUNTS[:2]), jnp.arange(SIZE) - 1.0

    @jax.jit
    def score(ridge, counts):
        return mix @ fit(counts, ridge).value

    slopes = jax.jit(jax.vmap(jax.grad(score), (None, 0)))(0.7, counts)
    total = quick_jit(jax.grad(lambda ridge: jnp.sum(jax.vmap(score, (None, 0))(ridge, counts))))
    np.testing.assert_allclose(total(0.7), slopes.sum(), rtol=1e-9)
    step = 1e-4
    difference = (score(0.7 + step, counts[0]) - score(0.7 - step, counts[0])) / (2 * step)
    np.testing.assert_allclose(slopes[0], difference, rtol=1e-5)
    bends = quick_jit(jax.grad(jax.grad(score)))
    change = (total(0.7 + step) - total(0.7 - step)) / (2 * step)
    both = bends(0.7, counts[0]) + bends(0.7, counts[1])
    np.testing.assert_allclose(both, change, rtol=1e-5)


def test_a_step_too_far_is_shortened():
    """From here a full step under the Laplace link leads to a slope that is steeper uphill than it was downhill."""
    objective = dense_objective(WinCounts(jnp.asarray(COUNTS[0])), laplace, gamma=0.3)
    start = jnp.asarray(np.linspace(3, -3, SIZE))
    gradient = objective.gradient(start)
    search = minimizer._State.at(start, gradient)
    direction = -20 * gradient
    params, after = minimizer._line_search(objective, search, direction, jnp.bool_(True))
    slope = direction @ gradient
    assert direction @ objective.gradient(start + direction) > -0.5 * slope
    assert direction @ after <= -0.5 * slope

    def value(theta):
        likelihood = laplace.log_cdf(theta[:, None] - theta[None, :])
        return -jnp.sum(COUNTS[0] * likelihood) + 0.15 * theta @ theta

    assert value(params) < value(start)
    still, _ = minimizer._line_search(objective, search, direction, jnp.bool_(False))
    np.testing.assert_array_equal(still, start)


@pytest.mark.parametrize("link", [normal, laplace], ids=lambda link: link.name)
def test_signed_sums_are_fitted_in_lanes_as_alone(link):
    rng = np.random.default_rng(8)
    margins = rng.normal(size=(12, SIZE, SIZE)) * 8
    margins -= margins.swapaxes(1, 2)
    weights = jnp.asarray(30 * (1.0 - np.eye(SIZE)))
    margins = jnp.asarray(margins)
    objectives = jax.vmap(lambda one: signed_objective(one, weights, 6.0, link=link))(margins)
    assert np.any(margins + weights / 2 < -4)
    search = functools.partial(fit_signed, weights=weights, link=link, gamma=6.0)
    together = jax.jit(jax.vmap(search))(margins)
    alone = jax.jit(lambda several: jax.lax.map(search, several))(margins)
    assert together.code.tolist() == alone.code.tolist() == [CONVERGED] * 12
    np.testing.assert_allclose(together.value, alone.value, atol=1e-7)
    slopes = jax.jit(jax.vmap(lambda one, at: one.gradient(at)))(objectives, together.value)
    assert np.abs(slopes).max() < 1e-8


def test_conjugate_gradients_end_at_negative_curvature():
    """Of four problems one is convex; two meet negative curvature, at once and later: theirs is a direction even so."""
    weight = np.ones((3, 3, 4)) - np.eye(3)[..., None]
    weight[0, 1, 1:] = weight[1, 0, 1:] = -3.0
    gauge = np.full((3, 4), 1 / np.sqrt(3))
    hessian = (weight, weight.sum(0), gauge)
    inverse = 1 / (np.abs(weight).sum(0) + np.square(gauge))
    right = np.array([[1.0, 1.0, 1.0, 0.0], [-2.0, -1.0, 1.5, 0.0], [1.0, 0.0, -2.5, 0.0]])
    whole = [
        np.diag(hessian[1][:, k]) - weight[..., k] + np.outer(gauge[:, k], gauge[:, k])
        for k in range(2)
    ]
    assert np.linalg.eigvalsh(whole[0])[0] > 0 > np.linalg.eigvalsh(whole[1])[0]

    class Given:
        def times(self, bent, vector):
            matrix, diagonal, gauge = bent
            level = gauge * jnp.sum(gauge * vector, 0)
            return diagonal * vector - jnp.sum(matrix * vector[:, None], 0) + level

        def diagonal(self, bent):
            return jnp.abs(bent[0]).sum(0) + jnp.square(bent[2])

    @jax.jit
    def directions(hessian, right):
        tolerance, moving = jnp.full(4, 1e-12), jnp.ones(4, bool)
        return minimizer._conjugate_gradients(Given(), hessian, right, tolerance, moving)

    found = np.asarray(directions(*jax.tree.map(jnp.asarray, (hessian, right))))
    np.testing.assert_allclose(whole[0] @ found[:, 0], right[:, 0], atol=1e-10)
    first = inverse * right
    assert first[:, 1] @ whole[1] @ first[:, 1] < 0 < first[:, 2] @ whole[1] @ first[:, 2]
    np.testing.assert_allclose(found[:, 1], first[:, 1], atol=1e-12)
    assert np.abs(found[:, 2] - first[:, 2]).max() > 1e-3
    assert found[:, 2] @ right[:, 2] > 0
    np.testing.assert_array_equal(found[:, 3], 0)


def world(items, comparisons, seed=0, dtype=np.float64):
    """Random pairs of items with standard normal scores."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(items)
    first = rng.integers(0, items, comparisons)
    second = (first + rng.integers(1, items, comparisons)) % items
    won = rng.random(comparisons) < 1 / (1 + np.exp(scores[second] - scores[first]))
    winners, losers = np.where(won, first, second), np.where(won, second, first)
    return WinEdges.from_comparisons(winners, losers, num_items=items, dtype=dtype)


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
