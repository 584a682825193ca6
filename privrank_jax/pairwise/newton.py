"""Newton's method for likelihoods of dense counts: one problem, or a whole batch in one search.

Gradients are in the dtype of the counts, so a fit is as exact as they are. Newton directions need only a few digits:
they come from conjugate gradients in float32, preconditioned by the diagonal of the Hessian and stopped at a residual
that follows the gradient. Each iterate of conjugate gradients is a descent direction, so an inexact one costs steps,
not correctness; where the objective is not convex, they end at negative curvature (Steihaug 1983). Steps are shortened
by a rule for the logistic link, and by the slope at their end for others.

A batch is one search, in which finished problems wait (:mod:`privrank_jax._chunks`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from privrank_jax._chunks import in_lanes
from privrank_jax._types import Scores
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax.pairwise.lanes import dot, times
from privrank_jax.pairwise.likelihood import (
    DenseCounts,
    DenseObjective,
    LinkObjective,
    LogisticObjective,
)
from privrank_jax.pairwise.minimizer import Minimum, Progress, solve_lifted

Problem = DenseCounts | DenseObjective

# Conjugate gradients stop at a residual, relative to the gradient, between these bounds: at _FOLLOW times the gradient
# norm, as the error that a full Newton step leaves is of that order, but no later than what reaches the tolerance.
_CLOSEST, _LOOSEST, _FOLLOW, _BEYOND = 1e-5, 3e-2, 3.0, 0.1
# A search without a ridge that takes more steps than this has a Hessian too ill-conditioned for inexact directions, as
# where the data have no finite maximum: from here on, they come from a Cholesky factor in the dtype of the counts; but
# not under the logistic link in float32, nor where f need not be convex. A ridge of 1e-6 of the mean degree is enough.
_EXACT_FROM, _LEAST_RIDGE = 6, 1e-6
# Steps under another link than the logistic: how far the slope along one may rise, as a share of its fall at the start;
# the largest change of a difference; attempts.
_STEEPEST, _LONGEST, _MOST_TRIES = 0.5, 8.0, 12
# The same where f need not be convex, and may fall without end far away: the range of scores that are seen in practice.
_LONGEST_NOT_CONVEX = 4.0


class _Search(NamedTuple):
    params: Float[Array, "items *batch"]
    gradient: Float[Array, "items *batch"]
    progress: Progress


class _Conjugate(NamedTuple):
    solution: Float[Array, "items *batch"]
    residual: Float[Array, "items *batch"]
    direction: Float[Array, "items *batch"]
    along: Float[Array, "*batch"]  # uᵀ direction, kept here as XLA would sum it anew for each item
    size: Float[Array, "*batch"]
    rest: Float[Array, "*batch"]  # squared norm of the residual
    # Whether a direction of negative curvature was met; if it is the first, it is the solution.
    ended: Bool[Array, "*batch"] | None
    step: Int[Array, ""]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def fit_newton(
    tolerance: float,
    max_steps: int,
    patience: int,
    problem: Problem,
    start: Scores | None = None,
) -> Minimum:
    """Minimize a convex objective of dense counts; differentiable by the implicit function theorem.

    Args:
        tolerance: ℓ_∞ norm of the gradient to reach.
        max_steps: iterations at most.
        patience: steps without a smaller gradient norm after which the search counts as stalled.
        problem: the objective, or the counts that it is made of.
        start: ``(m,)`` scores; by default the objective's own.

    Returns:
        The :class:`~privrank_jax.pairwise.minimizer.Minimum`.
    """

    def solve(one: Problem, start: PyTree) -> Minimum:
        objective = one.objective()
        first = objective.start if start is None else start
        return _search(objective, first, tolerance, max_steps, patience)

    return in_lanes(solve, problem.num_items)(problem, start)


@fit_newton.defjvp
def _derivative(
    tolerance: float,
    max_steps: int,
    patience: int,
    primals: tuple[Problem, Scores | None],
    tangents: tuple[PyTree, PyTree],
) -> tuple[Minimum, Minimum]:
    """∇f(θ) = 0 all along a change of the objective: the tangent of θ is -H⁻¹ times that of ∇f."""
    problem, start = primals
    found = fit_newton(tolerance, max_steps, patience, problem, start)
    theta = found.value
    _, force = jax.jvp(lambda x: x.objective().gradient(theta), (problem,), (tangents[0],))
    slope = -solve_positive_definite(jax.jacobian(problem.objective().gradient)(theta), force)
    integers = np.zeros((), jax.dtypes.float0)
    return found, Minimum(slope, jnp.zeros_like(found.gradient_norm), integers, integers)  # pyright: ignore


def _search(
    objective: DenseObjective,
    start: Float[Array, "items *batch"],
    tolerance: float,
    max_steps: int,
    patience: int,
) -> Minimum:
    single = objective.single()
    loose = objective.gamma < _LEAST_RIDGE * objective.scale
    logistic = isinstance(objective, LogisticObjective)
    only_inexact = objective.signed or (logistic and start.dtype == jnp.float32)

    def going(search: _Search) -> Bool[Array, "*batch"]:
        return search.progress.unfinished(tolerance, max_steps, patience)

    def inexact(search: _Search) -> Float[Array, "items *batch"]:
        norm = search.progress.norm
        unit = jnp.where(going(search), norm, 1.0)
        wanted = jnp.maximum(_FOLLOW * norm, _BEYOND * tolerance / unit)
        found = _newton_direction(
            single,
            search.params.astype(jnp.float32),
            (search.gradient / unit).astype(jnp.float32),
            jnp.clip(wanted, _CLOSEST, _LOOSEST).astype(jnp.float32),
            going(search),
        )
        return -found.astype(start.dtype) * unit

    def exact(search: _Search) -> Float[Array, "items *batch"]:
        def solved(one: DenseObjective, params: Scores, gradient: Scores) -> Array:
            return -solve_lifted(one.hessian(params), gradient)

        if start.ndim > 1:
            solved = jax.vmap(solved, in_axes=-1, out_axes=-1)
        return solved(objective, search.params, search.gradient)

    def advance(search: _Search) -> _Search:
        moving = going(search)
        if only_inexact:
            direction = inexact(search)
        else:
            slow = jnp.any(moving & loose & (search.progress.step >= _EXACT_FROM))
            direction = jax.lax.cond(slow, exact, inexact, search)
        if isinstance(objective, LogisticObjective):
            step = _step_length(direction) * direction
            params = jnp.where(moving, search.params + step, search.params)
            gradient = _gradient(objective, params)
        else:
            params, gradient = _line_search(objective, search, direction, moving)
        return _Search(params, gradient, search.progress.after(gradient, moving))

    gradient = _gradient(objective, start)
    end = jax.lax.while_loop(
        lambda search: jnp.any(going(search)),
        advance,
        _Search(start, gradient, Progress.at(gradient)),
    )
    code = end.progress.code(end.params, tolerance, max_steps)
    return Minimum(end.params, end.progress.norm, end.progress.step, code)


class _Line(NamedTuple):
    share: Float[Array, "*batch"]
    params: Float[Array, "items *batch"]
    gradient: Float[Array, "items *batch"]
    rejected: Bool[Array, "*batch"]
    tries: Int[Array, ""]


def _line_search(
    objective: LinkObjective,
    search: _Search,
    direction: Float[Array, "items *batch"],
    moving: Bool[Array, "*batch"],
) -> tuple[Float[Array, "items *batch"], Float[Array, "items *batch"]]:
    """The point at the end of a step, and its gradient; the step is full unless it leads far beyond the least value.

    That is where the slope along the direction rises by more than half of its fall at the start. No value of the
    objective is needed: it would take more digits than the gradient to tell two of them apart near the end.
    """
    slope = dot(direction, search.gradient)
    reach = jnp.max(direction, 0) - jnp.min(direction, 0)
    longest = _LONGEST_NOT_CONVEX if objective.signed else _LONGEST

    def attempt(line: _Line) -> _Line:
        params = jnp.where(moving, search.params + line.share * direction, search.params)
        gradient = _gradient(objective, params)
        after = dot(direction, gradient)
        rejected = moving & ~(after <= -_STEEPEST * slope)  # NaN too
        # To where the slope is 0 if it changes evenly, within bounds.
        even = jnp.where(jnp.isfinite(after), slope / (slope - after), 0)
        share = jnp.where(rejected, line.share * jnp.clip(even, 0.1, 0.5), line.share)
        return _Line(share, params, gradient, rejected, line.tries + 1)

    end = jax.lax.while_loop(
        lambda line: jnp.any(line.rejected) & (line.tries < _MOST_TRIES),
        attempt,
        _Line(
            longest / jnp.maximum(reach, longest),
            search.params,
            search.gradient,
            jnp.ones_like(moving),
            jnp.zeros((), jnp.int32),
        ),
    )
    return end.params, end.gradient


def _step_length(direction: Float[Array, "items *batch"]) -> Float[Array, "*batch"]:
    """Share of a Newton direction p to take, d = max p - min p: 1 up to d = 1, log(1 + d)/d beyond.

    The objective is self-concordant, \\|φ'''\\| <= d φ'' along p, so φ(1) - φ(0) <= φ''(0) ((eᵈ - 1 - d)/d² - 1), at
    most -0.28 φ''(0) for d <= 1; for the other length see Sun and Tran-Dinh (2019), generalized self-concordance with
    ν = 2. Both need φ'(0) = -φ''(0), which holds at each iterate of conjugate gradients from 0 as well.
    """
    reach = jnp.max(direction, 0) - jnp.min(direction, 0)
    far = reach > 1
    return jnp.where(far, jnp.log1p(reach) / jnp.where(far, reach, 1), 1)


def _by_range(
    function: Callable[..., Array],
    objective: DenseObjective,
    params: Float[Array, "items *batch"],
) -> Array:
    """``function`` of each problem, in its faster form while all scores of the batch are near 0."""
    # What each item gives is taken outside of the branches: within one, XLA takes it anew for each pair.
    near = objective.near(params)
    if near is None:
        return function(objective, params)
    return jax.lax.cond(
        jnp.all(jnp.abs(params) < objective.reach),
        function,
        lambda problems, at, _: function(problems, at),
        objective,
        params,
        near,
    )


def _gradient(
    objective: DenseObjective, params: Float[Array, "items *batch"]
) -> Float[Array, "items *batch"]:
    return _by_range(type(objective).gradient, objective, params)


def _newton_direction(
    objective: DenseObjective,
    params: Float[Array, "items *batch"],
    gradient: Float[Array, "items *batch"],
    tolerance: Float[Array, "*batch"],
    going: Bool[Array, "*batch"],
) -> Float[Array, "items *batch"]:
    """H⁻¹ ``gradient``, or what conjugate gradients have of it when they meet negative curvature: a direction of ascent
    even so, like ``gradient``."""
    weight = _by_range(type(objective).pair_weights, objective, params)
    diagonal, gauge = objective.diagonal_and_gauge(weight)
    convex = not objective.signed
    positive = diagonal if convex else objective.diagonal_and_gauge(jnp.abs(weight))[0]
    inverse = 1 / (positive + jnp.square(gauge))
    return _conjugate_gradients(
        weight, diagonal, gauge, inverse, gradient, tolerance, going, convex
    )


def _conjugate_gradients(
    weight: Float[Array, "items items *batch"],
    diagonal: Float[Array, "items *batch"],
    gauge: Float[Array, "items *batch"],
    inverse: Float[Array, "items *batch"],
    right: Float[Array, "items *batch"],
    tolerance: Float[Array, "*batch"],
    going: Bool[Array, "*batch"],
    convex: bool,
) -> Float[Array, "items *batch"]:
    """(diag(d) - W + uuᵀ)⁻¹ ``right`` from W, d and u, with the diagonal ``inverse`` to precondition by."""
    whole = dot(right, right)
    goal = jnp.square(tolerance) * whole

    def unfinished(state: _Conjugate) -> Bool[Array, "*batch"]:
        busy = going & (state.rest > goal)
        return busy if state.ended is None else busy & ~state.ended

    def advance(state: _Conjugate) -> _Conjugate:
        pull = times(weight, state.direction)
        image = diagonal * state.direction - pull + gauge * state.along
        bend = dot(state.direction, image)
        busy = unfinished(state)
        good = busy & (bend > 0)
        length = jnp.where(good, state.size / jnp.where(good, bend, 1), 0)
        residual = state.residual - length * image
        scaled = inverse * residual
        size = dot(residual, scaled)
        turn = jnp.where(good, size / jnp.where(good, state.size, 1), 0)
        direction = scaled + turn * state.direction
        ended, share = state.ended, length
        if ended is not None:
            curved = busy & (bend <= 0)
            ended |= curved
            share = jnp.where(curved & (state.step == 0), 1, length)
        solution = state.solution + share * state.direction
        along = dot(gauge, direction)
        rest = dot(residual, residual)
        return _Conjugate(solution, residual, direction, along, size, rest, ended, state.step + 1)

    scaled = inverse * right
    start = _Conjugate(
        jnp.zeros_like(right),
        right,
        scaled,
        dot(gauge, scaled),
        dot(right, scaled),
        whole,
        None if convex else jnp.zeros_like(going),
        jnp.zeros((), jnp.int32),
    )
    limit = 2 * right.shape[0]
    return jax.lax.while_loop(
        lambda state: jnp.any(unfinished(state)) & (state.step < limit), advance, start
    ).solution
