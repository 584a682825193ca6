"""Searches on objectives whose derivatives JAX derives: their ends, what they tell, their derivatives."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import logistic
from privrank_jax.pairwise.minimizer import (
    CODES,
    CONVERGED,
    NOT_FINITE,
    OUT_OF_STEPS,
    STALLED,
    Search,
    minimize,
)
from tests import reference
from tests.pairwise.problems import dense_objective

WINS = np.random.default_rng(8).integers(1, 15, (5, 5)).astype(float) * (1 - np.eye(5))
CURVE = np.diag([1.0, 3.0, 10.0]) + 0.5
SLOPE = np.array([1.0, -2.0, 0.5])
SKEW = np.array([[np.pi, 0.3], [0.3, np.e]])


def _descent_with_line_search():
    return optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(30, store_grad=True))


OPTIMIZERS = {
    "newton": (None, 100),
    "lbfgs": (optax.lbfgs(), 200),
    "gradient descent, line search": (_descent_with_line_search(), 2000),
    "gradient descent": (optax.sgd(1.0), 2000),
    "adam": (optax.adam(optax.exponential_decay(0.1, 100, 0.5)), 4000),
}


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


def solved(function, start, *search):
    return jax.jit(lambda start: minimize(Plain(function), start, Search(*search)))(start)


def _quadratic(x):
    return 0.5 * x @ CURVE @ x - SLOPE @ x


def _bent(x):
    """A convex function, badly conditioned and far from quadratic, with its minimum at (1, 1)."""
    return 50 * (x[1] - x[0]) ** 2 + jnp.cosh(x[0] - 1) + (x[0] - 1) ** 4


def _rounded(x):
    return 0.5 * x @ SKEW.astype(np.float32) @ x - jnp.sum(x)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_transformation_finds_the_same_minimizer(name):
    optimizer, steps = OPTIMIZERS[name]
    objective = dense_objective(WinCounts(jnp.asarray(WINS)), logistic, gamma=0.5)
    search = Search(1e-7, steps, optimizer=optimizer)
    found = jax.jit(lambda start: minimize(objective, start, search))(jnp.zeros(5))
    assert found.code == CONVERGED, CODES[int(found.code)]
    assert found.gradient_norm <= 1e-7
    assert 0 < found.steps <= steps
    wanted = reference.fit("logistic", WINS, 0.5)
    np.testing.assert_allclose(found.value, wanted, atol=1e-6)


@pytest.mark.parametrize("name", ["newton", "lbfgs"])
def test_plain_functions_are_minimized(name):
    optimizer, steps = OPTIMIZERS[name]
    search = 1e-9, steps, None, optimizer
    np.testing.assert_allclose(
        solved(_quadratic, jnp.zeros(3), *search).value, np.linalg.solve(CURVE, SLOPE), rtol=1e-8
    )
    bent = solved(_bent, jnp.array([-3.0, 4.0]), *search)
    assert bent.code == CONVERGED
    np.testing.assert_allclose(bent.value, [1.0, 1.0], atol=1e-7)


def test_it_takes_few_steps_on_a_quadratic_and_none_from_its_minimizer():
    found = solved(_quadratic, jnp.ones(3))
    assert found.code == CONVERGED
    assert found.steps <= 3
    np.testing.assert_allclose(found.value, np.linalg.solve(CURVE, SLOPE), rtol=1e-9)
    again = solved(_quadratic, jnp.asarray(np.linalg.solve(CURVE, SLOPE)))
    assert (int(again.code), int(again.steps)) == (CONVERGED, 0)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_max_steps_is_honored_and_told(steps):
    found = solved(_bent, jnp.array([-3.0, 4.0]), None, steps)
    assert (int(found.code), int(found.steps)) == (OUT_OF_STEPS, steps)
    assert found.gradient_norm > 1
    slow = solved(_quadratic, jnp.ones(3) * 5, None, steps, None, optax.sgd(0.01))
    assert (int(slow.code), int(slow.steps)) == (OUT_OF_STEPS, steps)
    assert slow.gradient_norm > 1


def test_a_search_that_makes_no_progress_stalls():
    def frozen(tolerance, patience):
        return solved(_quadratic, jnp.ones(3), tolerance, 100, patience, optax.sgd(0.0))

    stuck = frozen(None, 5)
    assert (int(stuck.code), int(stuck.steps)) == (STALLED, 5)
    np.testing.assert_array_equal(stuck.value, 1)
    near = frozen(float(stuck.gradient_norm) / 50, 8)  # a quarter suffices here
    assert (int(near.code), int(near.steps)) == (STALLED, 2)


def test_values_that_are_not_finite_are_told():
    runaway = solved(_bent, jnp.ones(2) * 9, None, 10_000, None, optax.sgd(10.0))
    assert runaway.code == NOT_FINITE
    assert solved(_quadratic, jnp.full(3, jnp.nan)).code == NOT_FINITE


def test_a_search_that_rounding_stops_stalls():
    start = jnp.array([-3.0, 4.0], jnp.float32)
    found = solved(_rounded, start, -1.0)  # out of reach even at gradient 0
    assert int(found.code) == STALLED
    assert found.steps < 40
    np.testing.assert_allclose(found.value, np.linalg.solve(SKEW, [1.0, 1.0]), rtol=1e-4)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_the_start_decides_the_dtype(dtype):
    found = solved(lambda x: jnp.sum((x - 2) ** 2), jnp.zeros(2, dtype))
    assert found.value.dtype == dtype
    assert found.gradient_norm <= Search().goal(dtype)
    assert found.steps.dtype == found.code.dtype == jnp.int32


@pytest.mark.parametrize("large", [0, 1000])  # by conjugate gradients, by a matrix
@pytest.mark.parametrize("mode", [jax.jacrev, jax.jacfwd])
def test_the_minimizer_is_differentiable_by_the_implicit_function_theorem(large, mode, monkeypatch):
    monkeypatch.setattr("privrank_jax.pairwise.minimizer._LARGE", large)

    @jax.jit
    def minimizer(slope, bend):
        def objective(x):
            return 0.5 * x @ CURVE @ x - slope @ x + bend * jnp.sum(x**4)

        return minimize(Plain(objective), jnp.zeros(3), Search(1e-12)).value

    bend, slopes = 0.3, jnp.stack([jnp.asarray(SLOPE), jnp.ones(3)])
    found = jax.jit(jax.vmap(mode(minimizer, (0, 1)), in_axes=(0, None)))(slopes, bend)
    for row, slope in enumerate(slopes):
        x = minimizer(slope, bend)
        inverse = np.linalg.inv(CURVE + np.diag(12 * bend * np.asarray(x) ** 2))
        np.testing.assert_allclose(found[0][row], inverse, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(found[1][row], -inverse @ (4 * x**3), rtol=1e-6, atol=1e-8)


def test_diagnostics_have_no_gradient_and_codes_have_words():
    @jax.jit
    @jax.grad
    def norm(s):
        return minimize(Plain(lambda x: jnp.sum((x - s) ** 2)), jnp.zeros(2)).gradient_norm

    assert norm(1.0) == 0
    assert sorted(CODES) == [CONVERGED, STALLED, OUT_OF_STEPS, NOT_FINITE]


def test_batches_stop_one_by_one():
    starts = jnp.array([[0.0, 0.0], [-3.0, 4.0], [jnp.nan, 0.0]])
    found = jax.jit(jax.vmap(lambda start: minimize(Plain(_bent), start)))(starts)
    assert found.code.tolist() == [CONVERGED, CONVERGED, NOT_FINITE]
    np.testing.assert_allclose(found.value[1], [1.0, 1.0], atol=1e-7)
    alone = solved(_bent, starts[1])
    np.testing.assert_allclose(found.value[1], alone.value, rtol=1e-12)
    assert found.steps[1] == alone.steps > found.steps[2] == 0
