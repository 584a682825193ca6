"""Searches: Newton's method in lanes and any optimizer, their ends, what they tell, their derivatives."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.links import laplace, logistic, normal
from privrank_jax.pairwise import minimizer, mle
from privrank_jax.pairwise.fits import Search, fit_counts, fit_signed, signed_objective
from privrank_jax.pairwise.minimizer import CONVERGED, NOT_FINITE, OUT_OF_STEPS, STALLED, minimize
from tests import reference
from tests.pairwise.problems import dense_objective
from tests.quick import quick_jit, thorough

SIZE = 5
COUNTS = np.random.default_rng(31).integers(1, 15, (7, SIZE, SIZE)) * (1.0 - np.eye(SIZE))


@functools.partial(jax.jit, static_argnames=("link", "max_steps"))
def fit(counts, ridge=0.3, link=logistic, max_steps=50):
    return fit_counts(WinCounts(counts), link, gamma=ridge, search=Search(max_steps=max_steps))


@pytest.mark.parametrize(("dtype", "slack"), [thorough(np.float64, 1e-8), (np.float32, 1e-5)])
@pytest.mark.parametrize(
    "link", [logistic, thorough(normal), thorough(laplace)], ids=lambda link: link.name
)
def test_batches_in_lanes_are_fitted_from_any_start(link, dtype, slack):
    """Two of ten searches start far off, at scores that have no exponential in float32; that is harder to reach from
    where the slope of the normal link is beyond what float32 tells apart."""
    starts, counts = np.zeros((10, SIZE)), np.resize(COUNTS, (10, SIZE, SIZE)).astype(dtype)
    starts[1:3] = np.linspace([3, 100], [-3, -100], SIZE, axis=1)
    objectives = jax.vmap(lambda one: dense_objective(WinCounts(one), link, gamma=0.3))(
        jnp.asarray(counts)
    )
    lanes, at = jax.tree.map(
        lambda x: jnp.moveaxis(x, 0, -1), (objectives, jnp.asarray(starts, dtype))
    )
    goal = 1e-10 if dtype == np.float64 else 3e-6
    found = jax.jit(minimizer.newton, static_argnums=2)(lanes, at, Search(goal, 100, 12))
    assert found.code.tolist() == [CONVERGED] * 10
    for place in range(3):
        wanted = reference.fit(link.name, COUNTS[place], 0.3)
        np.testing.assert_allclose(
            found.value[:, place], wanted, atol=slack * (1 + 9 * (link != logistic))
        )


def test_problems_end_one_by_one():
    counts = COUNTS[:3].copy()
    counts[1] = np.nan
    found = jax.jit(jax.vmap(fit))(counts)
    assert found.code.tolist() == [CONVERGED, NOT_FINITE, CONVERGED]
    assert found.steps[1] == 0 < found.steps[0]
    short = fit(counts[0], max_steps=1)
    assert (int(short.code), int(short.steps)) == (OUT_OF_STEPS, 1)


def test_derivatives_pass_through_batches_and_twice():
    counts, mix, step = COUNTS[:2], np.arange(SIZE) - 1.0, 1e-4

    def score(ridge, counts):
        return mix @ fit(counts, ridge).value

    def total(ridge):
        return jnp.sum(jax.vmap(score, (None, 0))(ridge, counts))

    several = quick_jit(jax.vmap(jax.value_and_grad(total)))
    whole, slope = several(0.7 + step * np.array([1.0, 0.0, -1.0]))
    np.testing.assert_allclose(slope[1], (whole[0] - whole[2]) / (2 * step), rtol=1e-5)
    bends = quick_jit(jax.grad(jax.grad(score)))
    both = bends(0.7, counts[0]) + bends(0.7, counts[1])
    np.testing.assert_allclose(both, (slope[0] - slope[2]) / (2 * step), rtol=1e-5)


@pytest.mark.slow
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


def world(items, comparisons, seed=0, dtype=np.float64):
    """Random pairs of items with standard normal scores."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(items)
    first = rng.integers(0, items, comparisons)
    second = (first + rng.integers(1, items, comparisons)) % items
    won = rng.random(comparisons) < 1 / (1 + np.exp(scores[second] - scores[first]))
    winners, losers = np.where(won, first, second), np.where(won, second, first)
    return WinEdges.from_comparisons(winners, losers, num_items=items, dtype=dtype)


@pytest.mark.parametrize(
    ("items", "comparisons", "dtype", "gamma"),
    [
        (2000, 100_000, np.float32, 1.0),
        thorough(1000, 100_000, np.float64, 0.0),
        thorough(5000, 500_000, np.float32, 1.0),
    ],
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


CURVE = np.diag([1.0, 3.0, 10.0]) + 0.5
SLOPE = np.array([1.0, -2.0, 0.5])
SKEW = np.array([[np.pi, 0.3], [0.3, np.e]])


@dataclasses.dataclass(frozen=True)
class Plain:
    """A function, by the derivatives that JAX finds."""

    function: Any

    def __call__(self, params):
        return self.function(params)

    def gradient(self, params):
        return jax.grad(self.function)(params)

    def bent(self, params):
        return jax.linearize(self.gradient, params)[1]

    def times(self, bent, vector):
        return bent(vector)

    def diagonal(self, bent):
        return 1.0


@functools.partial(jax.jit, static_argnums=(0, *range(2, 6)))
def solved(function, start, *search):
    return minimize(Plain(function), start, Search(*search))


def _quadratic(x):
    return 0.5 * x @ CURVE @ x - SLOPE @ x


def _bent(x):
    """A convex function, badly conditioned and far from quadratic, with its minimum at (1, 1)."""
    return 50 * (x[1] - x[0]) ** 2 + jnp.cosh(x[0] - 1) + (x[0] - 1) ** 4


def test_plain_functions_are_minimized():
    """In few steps, and in none from the minimizer."""
    found = solved(_quadratic, np.ones(3))
    assert found.steps <= 3
    np.testing.assert_allclose(found.value, np.linalg.solve(CURVE, SLOPE), rtol=1e-9)
    again = solved(_quadratic, np.linalg.solve(CURVE, SLOPE))
    assert (int(again.code), int(again.steps)) == (CONVERGED, 0)
    bent = solved(_bent, np.array([-3.0, 4.0]), 1e-9)
    assert bent.code == CONVERGED
    np.testing.assert_allclose(bent.value, [1.0, 1.0], atol=1e-7)


@pytest.mark.parametrize("steps", [3, thorough(0)])
@pytest.mark.parametrize("optimizer", [None, thorough(optax.sgd(0.001))])
def test_max_steps_is_honored_and_told(steps, optimizer):
    found = solved(_bent, np.array([-3.0, 4.0]), None, steps, None, optimizer)
    assert (int(found.code), int(found.steps)) == (OUT_OF_STEPS, steps)
    assert found.gradient_norm > 1


def test_negative_curvature_is_a_direction():
    """From where the function bends down in all directions, and in one."""

    def wells(x):
        return jnp.sum(x**4 / 4 - x**2 / 2)

    for start in ([0.1, -0.2], [0.1, -2.0]):
        found = solved(wells, np.array(start))
        assert found.code == CONVERGED
        np.testing.assert_allclose(found.value, [1.0, -1.0], atol=1e-9)


def test_a_search_that_makes_no_progress_stalls():
    def frozen(tolerance, patience):
        return solved(_quadratic, np.ones(3), tolerance, 100, patience, optax.sgd(0.0))

    stuck = frozen(None, 5)
    assert (int(stuck.code), int(stuck.steps)) == (STALLED, 5)
    np.testing.assert_array_equal(stuck.value, 1)
    near = frozen(float(stuck.gradient_norm) / 50, 8)  # a quarter suffices here
    assert (int(near.code), int(near.steps)) == (STALLED, 2)


def test_values_that_are_not_finite_are_told():
    runaway = solved(_bent, np.ones(2) * 9, None, 10_000, None, optax.sgd(10.0))
    assert runaway.code == NOT_FINITE
    assert solved(_quadratic, np.full(3, np.nan)).code == NOT_FINITE


def test_a_search_that_rounding_stops_stalls():
    def rounded(x):
        return 0.5 * x @ SKEW.astype(np.float32) @ x - jnp.sum(x)

    start = np.array([-3.0, 4.0], np.float32)
    found = solved(rounded, start, -1.0)  # out of reach even at gradient 0
    assert int(found.code) == STALLED
    assert found.steps < 40
    np.testing.assert_allclose(found.value, np.linalg.solve(SKEW, [1.0, 1.0]), rtol=1e-4)


@pytest.mark.parametrize(
    ("mode", "large"),  # by conjugate gradients, by a matrix
    [(jax.jacfwd, 0), thorough(jax.jacfwd, 1000), *(thorough(jax.jacrev, n) for n in (0, 1000))],
)
def test_the_minimizer_is_differentiable_by_the_implicit_function_theorem(large, mode, monkeypatch):
    monkeypatch.setattr("privrank_jax.pairwise.minimizer._LARGE", large)

    @jax.jit
    def minimizer(slope, bend):
        def objective(x):
            return 0.5 * x @ CURVE @ x - slope @ x + bend * jnp.sum(x**4)

        return minimize(Plain(objective), jnp.zeros(3), Search(1e-12)).value

    bend, slopes = 0.3, np.stack([SLOPE, np.ones(3)])
    found = jax.jit(jax.vmap(mode(minimizer, (0, 1)), in_axes=(0, None)))(slopes, bend)
    for row, slope in enumerate(slopes):
        x = minimizer(slope, bend)
        inverse = np.linalg.inv(CURVE + np.diag(12 * bend * np.asarray(x) ** 2))
        np.testing.assert_allclose(found[0][row], inverse, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(found[1][row], -inverse @ (4 * x**3), rtol=1e-6, atol=1e-8)
