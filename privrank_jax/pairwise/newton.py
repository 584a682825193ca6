"""Newton's method for the logistic likelihood of dense counts: one problem, or a whole batch in one search.

Gradients are in the dtype of the counts, so a fit is as exact as they are. Newton directions need only a few digits:
they come from conjugate gradients in float32, preconditioned by the diagonal of the Hessian and stopped at a residual
that follows the gradient. Each iterate of conjugate gradients is a descent direction, so an inexact one costs steps,
not correctness.

A batch is one search, in which finished problems wait (:mod:`privrank_jax.pairwise.chunks`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from privrank_jax._types import Scores
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax.pairwise.chunks import chunked
from privrank_jax.pairwise.likelihood import LogisticCounts, LogisticObjective
from privrank_jax.pairwise.minimize import Minimum, Progress, solve_lifted

# Conjugate gradients stop at a residual, relative to the gradient, between these bounds: at _FOLLOW times the gradient
# norm, as the error that a full Newton step leaves is of that order, but no later than what reaches the tolerance.
_CLOSEST, _LOOSEST, _FOLLOW, _BEYOND = 1e-5, 3e-2, 3.0, 0.1
# A float64 search that takes more steps than this has a Hessian too ill-conditioned for float32, as where the data have
# no finite maximum: from here on, directions come from a Cholesky factor in float64.
_EXACT_FROM = 6
# While every |θ| is below this, exp(θ) and its products neither overflow nor vanish in float32.
_NEAR_ZERO = 40.0


class _Search(NamedTuple):
    params: Float[Array, "batch items"]
    gradient: Float[Array, "batch items"]
    progress: Progress


class _Conjugate(NamedTuple):
    solution: Float[Array, "batch items"]
    residual: Float[Array, "batch items"]
    direction: Float[Array, "batch items"]
    along: Float[Array, "batch"]  # uᵀ direction, kept here as XLA would sum it anew for each item
    size: Float[Array, "batch"]
    step: Int[Array, ""]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def fit_logistic(
    tolerance: float,
    max_steps: int,
    patience: int,
    problem: LogisticCounts | LogisticObjective,
    start: Scores | None = None,
) -> Minimum:
    """Minimize a logistic objective; differentiable by the implicit function theorem.

    Args:
        tolerance: ℓ_∞ norm of the gradient to reach.
        max_steps: iterations at most.
        patience: steps without a smaller gradient norm after which the search counts as stalled.
        problem: the objective, or the counts that it is made of.
        start: ``(m,)`` scores; by default the objective's own.

    Returns:
        The :class:`~privrank_jax.pairwise.minimize.Minimum`.
    """

    def solve(problems: LogisticCounts | LogisticObjective, starts: PyTree) -> Minimum:
        objectives = jax.vmap(lambda one: one.objective())(problems)
        if starts is None:
            starts = jax.vmap(lambda one: one.start)(objectives)
        return _search(objectives, starts, tolerance, max_steps, patience)

    return chunked(solve)(problem, start)


@fit_logistic.defjvp
def _derivative(
    tolerance: float,
    max_steps: int,
    patience: int,
    primals: tuple[LogisticCounts | LogisticObjective, Scores | None],
    tangents: tuple[PyTree, PyTree],
) -> tuple[Minimum, Minimum]:
    """∇f(θ) = 0 all along a change of the objective: the tangent of θ is -H⁻¹ times that of ∇f."""
    problem, start = primals
    found = fit_logistic(tolerance, max_steps, patience, problem, start)
    theta = found.value
    _, force = jax.jvp(lambda x: x.objective().gradient(theta), (problem,), (tangents[0],))
    slope = -solve_positive_definite(jax.jacobian(problem.objective().gradient)(theta), force)
    integers = np.zeros((), jax.dtypes.float0)
    return found, Minimum(slope, jnp.zeros_like(found.gradient_norm), integers, integers)  # pyright: ignore


def _search(
    objective: LogisticObjective,
    start: Float[Array, "batch items"],
    tolerance: float,
    max_steps: int,
    patience: int,
) -> Minimum:
    single = jax.vmap(LogisticObjective.single)(objective)

    def going(search: _Search) -> Bool[Array, "batch"]:
        return search.progress.unfinished(tolerance, max_steps, patience)

    def inexact(search: _Search) -> Float[Array, "batch items"]:
        norm = search.progress.norm
        unit = jnp.where(going(search), norm, 1.0)
        wanted = jnp.maximum(_FOLLOW * norm, _BEYOND * tolerance / unit)
        found = _conjugate_gradients(
            *_pair_weights(single, search.params.astype(jnp.float32)),
            (search.gradient / unit[:, None]).astype(jnp.float32),
            jnp.clip(wanted, _CLOSEST, _LOOSEST).astype(jnp.float32),
            going(search),
        )
        return -found.astype(start.dtype) * unit[:, None]

    def exact(search: _Search) -> Float[Array, "batch items"]:
        hessian = jax.vmap(LogisticObjective.hessian)(objective, search.params)
        return -jax.vmap(solve_lifted)(hessian, search.gradient)

    def advance(search: _Search) -> _Search:
        moving = going(search)
        if start.dtype == jnp.float32:
            direction = inexact(search)
        else:
            slow = jnp.any(moving & (search.progress.step >= _EXACT_FROM))
            direction = jax.lax.cond(slow, exact, inexact, search)
        step = _step_length(direction)[:, None] * direction
        params = jnp.where(moving[:, None], search.params + step, search.params)
        gradient = _gradient(objective, params)
        return _Search(params, gradient, search.progress.after(gradient, moving))

    gradient = _gradient(objective, start)
    end = jax.lax.while_loop(
        lambda search: jnp.any(going(search)),
        advance,
        _Search(start, gradient, Progress.at(gradient)),
    )
    code = end.progress.code(end.params, tolerance, max_steps)
    return Minimum(end.params, end.progress.norm, end.progress.step, code)


def _step_length(direction: Float[Array, "batch items"]) -> Float[Array, "batch"]:
    """Share of a Newton direction p to take, d = max p - min p: 1 up to d = 1, log(1 + d)/d beyond.

    The objective is self-concordant, \\|φ'''\\| <= d φ'' along p, so φ(1) - φ(0) <= φ''(0) ((eᵈ - 1 - d)/d² - 1), at
    most -0.28 φ''(0) for d <= 1; for the other length see Sun and Tran-Dinh (2019), generalized self-concordance with
    ν = 2. Both need φ'(0) = -φ''(0), which holds at each iterate of conjugate gradients from 0 as well.
    """
    reach = jnp.max(direction, -1) - jnp.min(direction, -1)
    far = reach > 1
    return jnp.where(far, jnp.log1p(reach) / jnp.where(far, reach, 1), 1)


def _by_range(
    function: Callable[..., Array],
    objective: LogisticObjective,
    params: Float[Array, "batch items"],
) -> Array:
    """``function`` of each problem, in its faster form while all scores of the batch are near 0."""
    # exp is taken outside of the branches: within one, XLA takes it anew for each pair.
    return jax.lax.cond(
        jnp.all(jnp.abs(params) < _NEAR_ZERO),
        jax.vmap(function),
        lambda problems, at, _: jax.vmap(function)(problems, at),
        objective,
        params,
        jnp.exp(params),
    )


def _gradient(
    objective: LogisticObjective, params: Float[Array, "batch items"]
) -> Float[Array, "batch items"]:
    return _by_range(LogisticObjective.gradient, objective, params)


def _pair_weights(
    objective: LogisticObjective, params: Float[Array, "batch items"]
) -> tuple[
    Float[Array, "batch items items"], Float[Array, "batch items"], Float[Array, "batch items"]
]:
    """The Hessian diag(d) - W + uuᵀ as W, d and u."""
    weight = _by_range(LogisticObjective.pair_weights, objective, params)
    return (weight, *jax.vmap(LogisticObjective.diagonal_and_gauge)(objective, weight))


def _conjugate_gradients(
    weight: Float[Array, "batch items items"],
    diagonal: Float[Array, "batch items"],
    gauge: Float[Array, "batch items"],
    right: Float[Array, "batch items"],
    tolerance: Float[Array, "batch"],
    going: Bool[Array, "batch"],
) -> Float[Array, "batch items"]:
    inverse = 1 / (diagonal + jnp.square(gauge))
    goal = jnp.square(tolerance) * _dot(right, right)

    def unfinished(state: _Conjugate) -> Bool[Array, "batch"]:
        return going & (_dot(state.residual, state.residual) > goal)

    def advance(state: _Conjugate) -> _Conjugate:
        pull = jnp.einsum(
            "bij,bj->bi", weight, state.direction, precision=jax.lax.Precision.HIGHEST
        )
        image = diagonal * state.direction - pull + gauge * state.along[:, None]
        bend = _dot(state.direction, image)
        good = unfinished(state) & (bend > 0)
        length = jnp.where(good, state.size / jnp.where(good, bend, 1), 0)[:, None]
        residual = state.residual - length * image
        scaled = inverse * residual
        size = _dot(residual, scaled)
        turn = jnp.where(good, size / jnp.where(good, state.size, 1), 0)[:, None]
        direction = scaled + turn * state.direction
        solution = state.solution + length * state.direction
        along = _dot(gauge, direction)
        return _Conjugate(solution, residual, direction, along, size, state.step + 1)

    scaled = inverse * right
    start = _Conjugate(
        jnp.zeros_like(right),
        right,
        scaled,
        _dot(gauge, scaled),
        _dot(right, scaled),
        jnp.zeros((), jnp.int32),
    )
    limit = 2 * right.shape[-1]
    return jax.lax.while_loop(
        lambda state: jnp.any(unfinished(state)) & (state.step < limit), advance, start
    ).solution


def _dot(
    left: Float[Array, "batch items"], right: Float[Array, "batch items"]
) -> Float[Array, "batch"]:
    return jnp.sum(left * right, -1)
