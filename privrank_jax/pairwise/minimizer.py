r"""One minimizer for every fit: Newton's method without a matrix, or any optax transformation.

**Objectives**, such as :class:`~privrank_jax.pairwise.fits.Ridged`, are functions of the parameters with a ``gradient``
of order one. Their method ``bent`` gives the parts of the Hessian, ``times`` its product with a vector, and
``diagonal`` positive numbers to precondition by. ``longest``, if there is one, is the most that a step changes a
difference.

**Newton's method** needs an objective's gradient and products with its Hessian. Directions are those of
conjugate gradients, preconditioned by the diagonal of the Hessian, which stop at a residual that follows the gradient.
Each iterate is a direction of descent, so an inexact one costs steps, not correctness; where the objective is not
convex, they end at negative curvature (Steihaug 1983). A step is shortened while the slope along it rises, at its end,
by more than half of its fall at the start. No value of the objective is needed: it would take more digits than the
gradient to tell two of them apart near the end.

**Many problems** may lie along a trailing axis of all arrays of :func:`newton`; then they are one search, in which
finished problems wait.

**Derivatives** of a minimizer are those of the implicit function theorem (:func:`root_of`), of any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, DTypeLike, Float, Int, PyTree

from privrank_jax._pytrees import pytree
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax.pairwise.lanes import dot

if TYPE_CHECKING:
    import optax

CONVERGED, STALLED, OUT_OF_STEPS, NOT_FINITE = 0, 1, 2, 3
CODES = {
    CONVERGED: "converged",
    STALLED: "stalled, at the precision of the dtype or because no step improved",
    OUT_OF_STEPS: "out of steps before the tolerance was reached",
    NOT_FINITE: "a score or gradient was not finite",
}

# Within this factor of the goal only the dtype can prevent progress, and a quarter of the patience suffices.
_NEAR = 100
# Conjugate gradients stop at a residual, relative to the gradient, between these bounds: at _FOLLOW times the gradient
# norm, as the error that a full Newton step leaves is of that order, but no later than what reaches the tolerance.
_CLOSEST, _LOOSEST, _FOLLOW, _BEYOND = 1e-5, 3e-2, 3.0, 0.1
# Products with the Hessian in one step, at most, and attempts at the length of a step.
_MOST_PRODUCTS, _MOST_TRIES = 200, 12
# A search that takes more steps than this has a Hessian too ill-conditioned for directions in float32.
_ROUGH_STEPS = 6
# How far the slope along a step may rise, as a share of its fall at the start.
_STEEPEST = 0.5
# Beyond this size derivatives are found by conjugate gradients, without a matrix.
_LARGE = 1000


Smooth: TypeAlias = Any  # an objective; the head of this module says what it has


class Search(NamedTuple):
    """The ℓ_∞ norm of the gradient to reach, 1e-10 in float64 and 1e-6 in float32 by default; steps at most; steps
    without a smaller norm after which a search stalls, 8 of Newton's method and 100 of what takes its place."""

    tolerance: float | None = None
    max_steps: int = 100
    patience: int | None = None
    optimizer: optax.GradientTransformation | None = None

    def goal(self, dtype: DTypeLike) -> float:
        """The tolerance, or its default."""
        if self.tolerance is not None:
            return self.tolerance
        return 1e-10 if jnp.finfo(dtype).bits >= 64 else 1e-6


USUAL = Search()


@pytree
class Minimum:
    """The end point of a search and how it was reached.

    Attributes:
        value: the minimizer, ``(d,)``.
        gradient_norm: ℓ_∞ norm of the gradient there.
        steps: iterations used, int32.
        code: as ``CODES`` spells out, int32.
    """

    value: Float[Array, "*batch d"]
    gradient_norm: Float[Array, "*batch"]
    steps: Int[Array, "*batch"]
    code: Int[Array, "*batch"]


class _State(NamedTuple):
    """Where a search is, or each search of a batch, and how the ℓ_∞ norm of its gradient fell."""

    params: Float[Array, "d *batch"]
    gradient: Float[Array, "d *batch"]
    norm: Float[Array, "*batch"]
    best: Float[Array, "*batch"]  # the least norm so far
    since_best: Int[Array, "*batch"]  # steps since then
    step: Int[Array, "*batch"]

    @classmethod
    def at(cls, params: Array, gradient: Array) -> _State:
        norm = jnp.max(jnp.abs(gradient), 0)
        zero = jnp.zeros(norm.shape, jnp.int32)
        return cls(params, gradient, norm, norm, zero, zero)

    def moved(self, params: Array, gradient: Array, going: Array) -> _State:
        """After a step to ``params`` of the searches that were ``going``."""
        norm = jnp.max(jnp.abs(gradient), 0)
        better = norm < self.best
        best = jnp.where(better, norm, self.best)
        since_best = jnp.where(better, 0, self.since_best + 1)
        return _State(params, gradient, norm, best, since_best, self.step + going)

    def unfinished(self, search: Search) -> Bool[Array, "*batch"]:
        """Whether another step is due: neither converged nor stalled, steps left, and finite."""
        goal = search.goal(self.norm.dtype)
        # Methods with momentum oscillate.
        patience = search.patience or (8 if search.optimizer is None else 100)
        limit = jnp.where(self.best < _NEAR * goal, max(patience // 4, 1), patience)
        going = (self.step < search.max_steps) & (self.since_best < limit)
        return going & (self.norm > goal) & jnp.isfinite(self.norm)

    def ended(self, search: Search) -> Minimum:
        stuck = jnp.where(self.step < search.max_steps, STALLED, OUT_OF_STEPS)
        code = jnp.where(self.norm <= search.goal(self.norm.dtype), CONVERGED, stuck)
        finite = jnp.isfinite(self.norm) & jnp.all(jnp.isfinite(self.params), 0)
        code = jnp.where(finite, code, NOT_FINITE).astype(jnp.int32)
        return Minimum(self.params, self.norm, self.step, code)


def minimize(objective: Smooth, start: Float[Array, "d"], search: Search = USUAL) -> Minimum:
    """:func:`newton` or optax on one problem, with the derivatives of :func:`root_of`."""
    walk = newton if search.optimizer is None else _descend
    return root_of(objective.gradient, start, functools.partial(walk, objective, search=search))


def root_of(
    gradient: Callable[[Array], Array], init: Float[Array, "d"], search: Callable[[Array], Minimum]
) -> Minimum:
    """The end of a ``search``; its derivatives are those of the root of ``gradient``, whose own is symmetric."""

    def solve(_: object, start: Array) -> tuple[Array, Array]:
        end = search(start)
        # One float array: the derivative rule of custom_root has no tangents for integers.
        told = end.gradient_norm, end.steps, end.code
        return end.value, jnp.stack([x.astype(start.dtype) for x in told])

    def tangent_solve(linear: Callable[[Array], Array], right: Array) -> Array:
        if right.shape[0] <= _LARGE:
            return solve_positive_definite(jax.jacobian(linear)(jnp.zeros_like(right)), right)
        conjugate = jax.scipy.sparse.linalg.cg
        return jax.lax.custom_linear_solve(
            linear, right, lambda apply, b: conjugate(apply, b, tol=1e-8)[0], symmetric=True
        )

    value, report = jax.lax.custom_root(gradient, init, solve, tangent_solve, has_aux=True)
    norm, steps, code = jax.lax.stop_gradient(report)
    return Minimum(value, norm, steps.astype(jnp.int32), code.astype(jnp.int32))


class _Line(NamedTuple):
    share: Float[Array, "*batch"]
    params: Float[Array, "d *batch"]
    gradient: Float[Array, "d *batch"]
    rejected: Bool[Array, "*batch"]
    tries: Int[Array, ""]


class _Conjugate(NamedTuple):
    solution: Float[Array, "d *batch"]
    residual: Float[Array, "d *batch"]
    direction: Float[Array, "d *batch"]
    size: Float[Array, "*batch"]
    rest: Float[Array, "*batch"]  # squared norm of the residual
    ended: Bool[Array, "*batch"]  # whether a direction of negative curvature was met
    step: Int[Array, ""]


def newton(
    objective: Smooth, start: Array, search: Search, coarse: Smooth | None = None
) -> Minimum:
    """Newton's method from ``start``, of one problem or of many along a trailing axis; no derivatives.

    ``coarse`` is the same objective in float32, for directions as long as they serve: they need only a few digits.
    """
    goal = search.goal(start.dtype)

    def direction(one: Smooth, dtype: DTypeLike, state: _State) -> Array:
        moving = state.unfinished(search)
        norm = jnp.where(moving, state.norm, 1.0)
        wanted = jnp.clip(jnp.maximum(_FOLLOW * norm, _BEYOND * goal / norm), _CLOSEST, _LOOSEST)
        numbers = state.params, state.gradient / norm, wanted
        at, right, wanted = (x.astype(dtype) for x in numbers)
        found = _conjugate_gradients(one, one.bent(at), right, wanted, moving)
        return -found.astype(start.dtype) * norm

    exact = functools.partial(direction, objective, start.dtype)

    def advance(state: _State) -> _State:
        moving = state.unfinished(search)
        if coarse is None:
            step = exact(state)
        else:
            rough = functools.partial(direction, coarse, jnp.float32)
            slow = jnp.any(moving & (state.step >= _ROUGH_STEPS))
            step = jax.lax.cond(slow, exact, rough, state)
        return state.moved(*_line_search(objective, state, step, moving), moving)

    begin = _State.at(start, objective.gradient(start))
    end = jax.lax.while_loop(lambda state: jnp.any(state.unfinished(search)), advance, begin)
    return end.ended(search)


def _descend(objective: Smooth, start: Array, search: Search) -> Minimum:
    """The steps of an optax transformation, with what its line search asks for, if it has one."""
    import optax

    chosen = optax.with_extra_args_support(search.optimizer)

    def advance(carry: tuple[_State, Any]) -> tuple[_State, Any]:
        at, memory = carry
        told = {"value": objective(at.params), "grad": at.gradient, "value_fn": objective.__call__}
        updates, memory = chosen.update(at.gradient, memory, at.params, **told)
        params = at.params + updates
        return at.moved(params, objective.gradient(params), jnp.asarray(True)), memory

    begin = _State.at(start, objective.gradient(start)), chosen.init(start)
    going = lambda carry: carry[0].unfinished(search)  # noqa: E731
    return jax.lax.while_loop(going, advance, begin)[0].ended(search)


def _line_search(
    objective: Smooth, state: _State, direction: Array, moving: Array
) -> tuple[Array, Array]:
    """The point at the end of a step, and its gradient; the step is full unless it leads far beyond the least value."""
    slope = dot(direction, state.gradient)
    reach = jnp.max(direction, 0) - jnp.min(direction, 0)
    longest = getattr(objective, "longest", None)
    full = jnp.ones_like(reach) if longest is None else longest / jnp.maximum(reach, longest)

    def attempt(line: _Line) -> _Line:
        params = jnp.where(moving, state.params + line.share * direction, state.params)
        gradient = objective.gradient(params)
        after = dot(direction, gradient)
        rejected = moving & ~(after <= -_STEEPEST * slope)  # NaN too
        # To where the slope is 0 if it changes evenly, within bounds.
        even = jnp.where(jnp.isfinite(after), slope / (slope - after), 0)
        share = jnp.where(rejected, line.share * jnp.clip(even, 0.1, 0.5), line.share)
        return _Line(share, params, gradient, rejected, line.tries + 1)

    # The first attempt by itself: most are accepted.
    none = jnp.zeros((), jnp.int32)
    begin = _Line(full, state.params, state.gradient, jnp.ones_like(moving), none)
    end = jax.lax.while_loop(
        lambda line: jnp.any(line.rejected) & (line.tries < _MOST_TRIES), attempt, attempt(begin)
    )
    return end.params, end.gradient


def _conjugate_gradients(
    objective: Smooth, bent: PyTree, right: Array, tolerance: Array, moving: Array
) -> Array:
    """H⁻¹ ``right``, or what conjugate gradients have of it when they meet negative curvature: a direction of ascent
    even so, like ``right``."""
    scale = objective.diagonal(bent)
    inverse = 1 / jnp.where(scale > 0, scale, 1)
    whole = dot(right, right)
    goal = jnp.square(tolerance) * whole

    def unfinished(state: _Conjugate) -> Bool[Array, "*batch"]:
        return moving & (state.rest > goal) & ~state.ended

    def advance(state: _Conjugate) -> _Conjugate:
        image = objective.times(bent, state.direction)
        bend = dot(state.direction, image)
        busy = unfinished(state)
        good, curved = busy & (bend > 0), busy & ~(bend > 0)
        length = jnp.where(good, state.size / jnp.where(good, bend, 1), 0)
        residual = state.residual - length * image
        scaled = inverse * residual
        size = dot(residual, scaled)
        turn = jnp.where(good, size / jnp.where(good, state.size, 1), 0)
        # Negative curvature at once: the first direction itself.
        share = jnp.where(curved & (state.step == 0), 1, length)
        return _Conjugate(
            state.solution + share * state.direction,
            residual,
            scaled + turn * state.direction,
            size,
            dot(residual, residual),
            state.ended | curved,
            state.step + 1,
        )

    scaled = inverse * right
    none, zero = jnp.zeros_like(moving), jnp.zeros((), jnp.int32)
    start = _Conjugate(jnp.zeros_like(right), right, scaled, dot(right, scaled), whole, none, zero)
    limit = min(2 * right.shape[0], _MOST_PRODUCTS)
    return jax.lax.while_loop(
        lambda state: jnp.any(unfinished(state)) & (state.step < limit), advance, start
    ).solution
