from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import logistic
from privrank_jax.pairwise.fits import dense_objective
from privrank_jax.pairwise.minimizer import (
    CODES,
    CONVERGED,
    NOT_FINITE,
    OUT_OF_STEPS,
    STALLED,
    Smooth,
    default_tolerance,
    minimize,
)
from tests import reference

WINS = np.random.default_rng(8).integers(1, 15, (5, 5)).astype(float) * (1 - np.eye(5))
CURVE = np.diag([1.0, 3.0, 10.0]) + 0.5
SLOPE = np.array([1.0, -2.0, 0.5])


def _descent_with_line_search():
    return optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(30, store_grad=True))


OPTIMIZERS = {
    "newton": (None, 100),
    "lbfgs": (optax.lbfgs(), 200),
    "gradient descent, line search": (_descent_with_line_search(), 2000),
    "gradient descent": (optax.sgd(1.0), 2000),
    "adam": (optax.adam(optax.exponential_decay(0.1, 100, 0.5)), 4000),
}


# Tolerances and numbers of steps may be traced, so that those of one optimizer share a program.
SHORT_STEPS = optax.sgd(0.01)
solved = jax.jit(minimize, static_argnums=0, static_argnames=("optimizer", "patience"))


def _quadratic(x):
    return 0.5 * x @ CURVE @ x - SLOPE @ x


def _bent(x):
    """A convex function, badly conditioned and far from quadratic, with its minimum at (1, 1)."""
    return 50 * (x[1] - x[0]) ** 2 + jnp.cosh(x[0] - 1) + (x[0] - 1) ** 4


SKEW = np.array([[np.pi, 0.3], [0.3, np.e]])


def _rounded(x):
    return 0.5 * x @ SKEW.astype(np.float32) @ x - jnp.sum(x)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_transformation_finds_the_same_minimizer(name):
    optimizer, steps = OPTIMIZERS[name]
    objective = dense_objective(WinCounts(jnp.asarray(WINS)), logistic, gamma=0.5)
    found = jax.jit(
        lambda start: minimize(
            objective, start, optimizer=optimizer, tolerance=1e-7, max_steps=steps
        )
    )(jnp.zeros(5))
    assert found.code == CONVERGED, CODES[int(found.code)]
    assert found.gradient_norm <= 1e-7
    assert 0 < found.steps <= steps
    wanted = reference.fit("logistic", WINS, 0.5)
    np.testing.assert_allclose(found.value, wanted, atol=1e-6)


@pytest.mark.parametrize("name", ["newton", "lbfgs"])
def test_plain_functions_are_differentiated_by_jax(name):
    optimizer, steps = OPTIMIZERS[name]
    settings = {"optimizer": optimizer, "max_steps": steps, "tolerance": 1e-9}
    np.testing.assert_allclose(
        solved(_quadratic, jnp.zeros(3), **settings).value, np.linalg.solve(CURVE, SLOPE), rtol=1e-8
    )
    bent = solved(_bent, jnp.array([-3.0, 4.0]), **settings)
    assert bent.code == CONVERGED
    np.testing.assert_allclose(bent.value, [1.0, 1.0], atol=1e-7)


def test_the_default_is_newton_and_takes_few_steps_on_a_quadratic():
    found = solved(_quadratic, jnp.ones(3))
    assert found.code == CONVERGED
    assert found.steps <= 3
    np.testing.assert_allclose(found.value, np.linalg.solve(CURVE, SLOPE), rtol=1e-9)


def test_objectives_bring_their_own_derivatives():
    objective = dense_objective(WinCounts(jnp.asarray(WINS)), logistic, gamma=0.5)
    assert isinstance(objective, Smooth)
    assert not isinstance(_quadratic, Smooth)


def test_a_start_at_the_minimizer_takes_no_step():
    found = solved(_quadratic, jnp.asarray(np.linalg.solve(CURVE, SLOPE)))
    assert (int(found.code), int(found.steps)) == (CONVERGED, 0)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_max_steps_is_honored_and_told(steps):
    found = solved(_quadratic, jnp.ones(3) * 5, optimizer=SHORT_STEPS, max_steps=steps)
    assert (int(found.code), int(found.steps)) == (OUT_OF_STEPS, steps)
    assert found.gradient_norm > 1


def test_values_that_are_not_finite_are_told():
    runaway = solved(_bent, jnp.ones(2) * 9, optimizer=optax.sgd(10.0), max_steps=10_000)
    assert runaway.code == NOT_FINITE
    assert solved(_quadratic, jnp.full(3, jnp.nan)).code == NOT_FINITE


def test_a_search_that_makes_no_progress_stalls():
    frozen = functools.partial(solved, _quadratic, jnp.ones(3), optimizer=optax.sgd(0.0))
    stuck = frozen(patience=5)
    assert (int(stuck.code), int(stuck.steps)) == (STALLED, 5)
    np.testing.assert_array_equal(stuck.value, 1)
    near = frozen(patience=8, tolerance=float(stuck.gradient_norm) / 50)  # a quarter suffices here
    assert (int(near.code), int(near.steps)) == (STALLED, 2)


def test_a_search_that_rounding_stops_stalls():
    start = jnp.array([-3.0, 4.0], jnp.float32)
    found = solved(_rounded, start, tolerance=-1.0, patience=8)  # out of reach even at gradient 0
    assert int(found.code) == STALLED
    assert found.steps < 40
    np.testing.assert_allclose(found.value, np.linalg.solve(SKEW, [1.0, 1.0]), rtol=1e-4)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_the_start_decides_the_dtype(dtype):
    found = solved(lambda x: jnp.sum((x - 2) ** 2), jnp.zeros(2, dtype))
    assert found.value.dtype == dtype
    assert found.gradient_norm <= default_tolerance(dtype)
    assert found.steps.dtype == found.code.dtype == jnp.int32


@pytest.mark.parametrize("solver", ["dense", "cg"])
@pytest.mark.parametrize("mode", [jax.jacrev, jax.jacfwd])
def test_the_minimizer_is_differentiable_by_the_implicit_function_theorem(solver, mode):
    @jax.jit
    def minimizer(slope, bend):
        def objective(x):
            return 0.5 * x @ CURVE @ x - slope @ x + bend * jnp.sum(x**4)

        return minimize(objective, jnp.zeros(3), tolerance=1e-12, linear_solver=solver).value

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
        return minimize(lambda x: jnp.sum((x - s) ** 2), jnp.zeros(2)).gradient_norm

    assert norm(1.0) == 0
    assert sorted(CODES) == [CONVERGED, STALLED, OUT_OF_STEPS, NOT_FINITE]


def test_batches_stop_one_by_one():
    starts = jnp.array([[0.0, 0.0], [-3.0, 4.0], [jnp.nan, 0.0]])
    found = jax.jit(jax.vmap(lambda start: minimize(_bent, start)))(starts)
    assert found.code.tolist() == [CONVERGED, CONVERGED, NOT_FINITE]
    alone = solved(_bent, starts[1])
    np.testing.assert_allclose(found.value[1], alone.value, rtol=1e-12)
    assert found.steps[1] == alone.steps > found.steps[2] == 0


def test_an_unknown_linear_solver_is_refused():
    with pytest.raises(ValueError, match="linear_solver must be 'dense' or 'cg', got 'lu'"):
        minimize(_quadratic, jnp.zeros(3), linear_solver="lu")
