"""The batched search: batches, chunks, far scores, derivatives, links."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import laplace, logistic, normal
from privrank_jax.pairwise import newton
from privrank_jax.pairwise.likelihood import (
    LogisticObjective,
    dense_objective,
    signed_objective,
)
from privrank_jax.pairwise.minimizer import CONVERGED, NOT_FINITE, OUT_OF_STEPS
from tests import reference
from tests.quick import quick_jit

SIZE = 5
COUNTS = np.random.default_rng(31).integers(1, 15, (7, SIZE, SIZE)) * (1.0 - np.eye(SIZE))


def problem(counts, ridge, mask=None):
    objective = dense_objective(WinCounts(counts, mask), logistic, gamma=ridge)
    assert isinstance(objective, LogisticObjective)
    return objective


@functools.partial(jax.jit, static_argnames="max_steps")
def fit(counts, ridge=0.3, mask=None, max_steps=50):
    objective = problem(counts, ridge, mask)
    return newton.fit_newton(1e-10, max_steps, 8, objective)


@pytest.mark.parametrize("mask", [None, (True, True, False, True, True)])
def test_both_forms_of_the_derivatives_agree(mask):
    mask = None if mask is None else jnp.array(mask)
    counts = COUNTS[0] if mask is None else np.where(np.outer(mask, mask), COUNTS[0], 0)
    objective = problem(jnp.asarray(counts), 0.3, mask)
    theta = jnp.asarray(np.random.default_rng(5).normal(size=SIZE) * 9)
    theta = theta if mask is None else jnp.where(mask, theta, 0)
    forms = (None, jnp.exp(theta))

    @jax.jit
    def derivatives(objective, theta, power):
        weight = objective.pair_weights(theta, power)
        parts = weight, *objective.diagonal_and_gauge(weight)
        return objective.gradient(theta, power), parts, objective.hessian(theta)

    (near, *_), (far, *_) = found = [derivatives(objective, theta, power) for power in forms]
    np.testing.assert_allclose(near, far, rtol=1e-12, atol=1e-14)
    for _, (weight, diagonal, gauge), hessian in found:
        wanted = np.diag(diagonal) - weight + np.outer(gauge, gauge)
        np.testing.assert_allclose(wanted, hessian, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("dtype", "slack"), [(np.float64, 1e-8), (np.float32, 1e-5)])
def test_a_problem_far_from_0_does_not_harm_its_batch(dtype, slack):
    """One of three searches starts at scores of up to 100, which have no exponential in float32."""

    def search(counts, start):
        objective = problem(counts, 0.3)
        return newton.fit_newton(1e-10 if dtype == np.float64 else 1e-6, 100, 8, objective, start)

    starts = np.zeros((3, SIZE), dtype)
    starts[1] = np.linspace(100, -100, SIZE)
    found = jax.jit(jax.vmap(search))(jnp.asarray(COUNTS[:3].astype(dtype)), jnp.asarray(starts))
    for place in range(3):
        wanted = reference.fit("logistic", COUNTS[place], 0.3)
        np.testing.assert_allclose(found.value[place], wanted, atol=slack)


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


def test_long_steps_are_shortened_and_others_are_full():
    step = newton._step_length(jnp.array([[-0.3, -2.0, 0.0], [0.6, 5.0, 0.0]]))
    np.testing.assert_allclose(step, [1.0, np.log(8) / 7, 1.0])


LINKS = (normal, laplace)


@functools.partial(jax.jit, static_argnames=("link", "tolerance"))
def fit_link(counts, ridge, link, start=None, tolerance=1e-10):
    objective = dense_objective(WinCounts(counts), link, gamma=ridge)
    return newton.fit_newton(tolerance, 100, 8, objective, start)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_links_are_fitted_in_batches_from_any_start(link, dtype):
    """Starts where full Newton steps lead astray under the Laplace link, and beyond the range of the near forms."""
    starts = np.stack([np.zeros(SIZE), np.linspace(3, -3, SIZE), np.linspace(-30, 30, SIZE)])
    counts = jnp.asarray(COUNTS[:3].astype(dtype))
    goal = 1e-10 if dtype == np.float64 else 1e-5
    search = functools.partial(fit_link, link=link, tolerance=goal)
    batch = jax.vmap(lambda one, start: search(one, 0.3, start=start))
    found = batch(counts, jnp.asarray(starts.astype(dtype)))
    assert found.code.tolist() == [CONVERGED] * 3
    for place in range(3):
        wanted = reference.fit(link.name, COUNTS[place], 0.3)
        np.testing.assert_allclose(
            found.value[place], wanted, atol=1e-8 if dtype == np.float64 else 1e-4
        )


@pytest.mark.parametrize("mask", [None, (True, True, False, True, True)])
@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_both_forms_of_the_derivatives_of_links_agree(link, mask):
    mask = None if mask is None else jnp.array(mask)
    counts = COUNTS[:2] if mask is None else np.where(np.outer(mask, mask), COUNTS[:2], 0)
    thetas = jnp.asarray(np.random.default_rng(5).normal(size=(2, SIZE)) * 2)
    thetas = thetas if mask is None else jnp.where(mask, thetas, 0)
    objectives = jax.vmap(lambda one: dense_objective(WinCounts(one, mask), link, gamma=0.3))(
        jnp.asarray(counts)
    )
    lanes, at = jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), (objectives, thetas))
    for near in (None,) if link == laplace else (None, lanes.near(at)):
        weight = lanes.pair_weights(at, near)
        parts = weight, *lanes.diagonal_and_gauge(weight)
        gradient = lanes.gradient(at, near)
        for place, theta in enumerate(thetas):
            one = jax.tree.map(lambda x, place=place: x[place], objectives)
            np.testing.assert_allclose(
                gradient[:, place], jax.grad(one)(theta), rtol=1e-9, atol=1e-12
            )
            pairs, diagonal, gauge = (np.asarray(part)[..., place] for part in parts)
            wanted = np.diag(diagonal) - pairs + np.outer(gauge, gauge)
            np.testing.assert_allclose(wanted, one.hessian(theta), rtol=1e-9, atol=1e-12)


def test_a_step_too_far_is_shortened():
    """From here a full step under the Laplace link leads to a slope that is steeper uphill than it was downhill."""
    objective = dense_objective(WinCounts(jnp.asarray(COUNTS[0])), laplace, gamma=0.3)
    start = jnp.asarray(np.linspace(3, -3, SIZE))
    gradient = objective.gradient(start)
    search = newton._Search(start, gradient, newton.Progress.at(gradient))
    direction = -20 * gradient
    params, after = newton._line_search(objective, search, direction, jnp.bool_(True))
    slope = direction @ gradient
    assert direction @ objective.gradient(start + direction) > -0.5 * slope
    assert direction @ after <= -0.5 * slope
    assert objective(params) < objective(start)
    still, _ = newton._line_search(objective, search, direction, jnp.bool_(False))
    np.testing.assert_array_equal(still, start)


@pytest.mark.parametrize("link", [normal, laplace], ids=lambda link: link.name)
def test_signed_sums_are_fitted_in_lanes_as_alone(link):
    rng = np.random.default_rng(8)
    margins = rng.normal(size=(12, SIZE, SIZE)) * 8
    margins -= margins.swapaxes(1, 2)
    weights = jnp.asarray(30 * (1.0 - np.eye(SIZE)))
    objectives = jax.vmap(lambda one: signed_objective(one, weights, link, gamma=6.0))(
        jnp.asarray(margins)
    )
    assert np.any(objectives.wins < -4)

    def fit_signed(objective):
        return newton.fit_newton(1e-9, 60, 40, objective)

    together = jax.jit(jax.vmap(fit_signed))(objectives)
    alone = jax.jit(lambda all_of_them: jax.lax.map(fit_signed, all_of_them))(objectives)
    assert together.code.tolist() == alone.code.tolist() == [CONVERGED] * 12
    np.testing.assert_allclose(together.value, alone.value, atol=1e-7)
    slopes = jax.jit(jax.vmap(lambda one, at: jax.grad(one)(at)))(objectives, together.value)
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

    @jax.jit
    def directions(hessian, inverse, right):
        tolerance, going = jnp.full(4, 1e-12), jnp.ones(4, bool)
        return newton._conjugate_gradients(*hessian, inverse, right, tolerance, going, convex=False)

    found = np.asarray(directions(*jax.tree.map(jnp.asarray, (hessian, inverse, right))))
    np.testing.assert_allclose(whole[0] @ found[:, 0], right[:, 0], atol=1e-10)
    first = inverse * right
    assert first[:, 1] @ whole[1] @ first[:, 1] < 0 < first[:, 2] @ whole[1] @ first[:, 2]
    np.testing.assert_allclose(found[:, 1], first[:, 1], atol=1e-12)
    assert np.abs(found[:, 2] - first[:, 2]).max() > 1e-3
    assert found[:, 2] @ right[:, 2] > 0
    np.testing.assert_array_equal(found[:, 3], 0)
