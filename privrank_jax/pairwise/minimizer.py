r"""One minimizer for every objective: Newton's method without a matrix, or any optax transformation.

**Newton's method** needs an objective's gradient and products with its Hessian (:class:`Smooth`; of a plain function
JAX derives them). Directions are those of conjugate gradients, preconditioned by the diagonal of the Hessian, which
stop at a residual that follows the gradient. Each iterate is a direction of descent, so an inexact one costs steps, not
correctness; where the objective is not convex, they end at negative curvature (Steihaug 1983). A step is shortened
while the slope along it rises, at its end, by more than half of its fall at the start. No value of the objective is
needed: it would take more digits than the gradient to tell two of them apart near the end.

**Many problems** may lie along a trailing axis of all arrays of :func:`newton`; then they are one search, in which
finished problems wait.

**Derivatives** of a minimizer are those of the implicit function theorem (:func:`root_of`), of any order.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, DTypeLike, Float, Int, PyTree

from privrank_jax._types import Scalar
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax.pairwise.lanes import dot

Objective = Callable[[Array], Array]

CONVERGED, STALLED, OUT_OF_STEPS, NOT_FINITE = 0, 1, 2, 3
CODES = {
    CONVERGED: "converged",
    STALLED: "stalled, at the precision of the dtype or because no step improved",
    OUT_OF_STEPS: "out of steps before the tolerance was reached",
    NOT_FINITE: "a score or gradient was not finite",
}
PATIENCE = 8
"""Newton steps without progress after which a search ends."""

# Within this factor of the goal, only the precision of the dtype can prevent progress, and a quarter of the
# patience suffices.
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


@runtime_checkable
class Smooth(Protocol):
    """An objective with its own derivatives; for any other objective, JAX derives them.

    ``longest``, if it has one, is the largest change of a difference of two parameters in one step.
    """

    def __call__(self, params: Array, /) -> Array:
        """Value at ``params``, shape ``()``; only optax transformations need it."""
        ...

    def gradient(self, params: Array, /) -> Array:
        """Gradient at ``params``, shape ``(d,)``."""
        ...

    def bent(self, params: Array, /) -> Any:
        """What the Hessian at ``params`` consists of."""
        ...

    def times(self, bent: Any, vector: Array, /) -> Array:
        """The Hessian times a vector, shape ``(d,)``, from :meth:`bent`."""
        ...

    def diagonal(self, bent: Any, /) -> Any:
        """Positive numbers to precondition by, such as the diagonal of the Hessian, from :meth:`bent`."""
        ...


@dataclasses.dataclass(frozen=True)
class _Plain:
    """A function whose derivatives JAX derives."""

    function: Objective

    def __call__(self, params: Array) -> Array:
        return self.function(params)

    def gradient(self, params: Array) -> Array:
        return jax.grad(self.function)(params)

    def bent(self, params: Array) -> Callable[[Array], Array]:
        return jax.linearize(self.gradient, params)[1]

    def times(self, bent: Callable[[Array], Array], vector: Array) -> Array:
        return bent(vector)

    def diagonal(self, bent: object) -> Scalar:
        del bent
        return 1.0


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Minimum:
    """The end point of a search and how it was reached.

    Attributes:
        value: the minimizer, ``(d,)``.
        gradient_norm: ℓ_∞ norm of the gradient there.
        steps: iterations used, int32.
        code: 0 converged, 1 stalled, 2 out of steps, 3 not finite (``CODES`` spells them out), int32.
    """

    value: Float[Array, "*batch d"]
    gradient_norm: Float[Array, "*batch"]
    steps: Int[Array, "*batch"]
    code: Int[Array, "*batch"]


class Progress(NamedTuple):
    """The gradient norm of a search, or of each search of a batch, and how it fell.

    Attributes:
        norm: ℓ_∞ norm of the gradient.
        best: the least norm so far.
        since_best: steps since then, int32.
        step: steps so far, int32.
    """

    norm: Float[Array, "*batch"]
    best: Float[Array, "*batch"]
    since_best: Int[Array, "*batch"]
    step: Int[Array, "*batch"]

    @classmethod
    def at(cls, gradient: Float[Array, "d *batch"]) -> Progress:
        """Before the first step, at the gradient of the start."""
        norm = jnp.max(jnp.abs(gradient), 0)
        zero = jnp.zeros(norm.shape, jnp.int32)
        return cls(norm, norm, zero, zero)

    def after(
        self, gradient: Float[Array, "d *batch"], going: bool | Bool[Array, "*batch"] = True
    ) -> Progress:
        """After a step to ``gradient`` of the searches that were ``going``."""
        norm = jnp.max(jnp.abs(gradient), 0)
        better = norm < self.best
        best = jnp.where(better, norm, self.best)
        return Progress(norm, best, jnp.where(better, 0, self.since_best + 1), self.step + going)

    def unfinished(self, goal: Scalar, max_steps: int, patience: int) -> Bool[Array, "*batch"]:
        """Whether another step is due: neither converged nor stalled, steps left, and finite."""
        limit = jnp.where(self.best < _NEAR * goal, max(patience // 4, 1), patience)
        going = (self.step < max_steps) & (self.since_best < limit)
        return going & (self.norm > goal) & jnp.isfinite(self.norm)

    def code(
        self, params: Float[Array, "d *batch"], goal: Scalar, max_steps: int
    ) -> Int[Array, "*batch"]:
        """How a search ended that stands at ``params``."""
        stuck = jnp.where(self.step < max_steps, STALLED, OUT_OF_STEPS)
        code = jnp.where(self.norm <= goal, CONVERGED, stuck)
        finite = jnp.isfinite(self.norm) & jnp.all(jnp.isfinite(params), 0)
        return jnp.where(finite, code, NOT_FINITE).astype(jnp.int32)


def minimize(
    objective: Objective,
    init: Float[Array, "d"],
    *,
    optimizer: optax.GradientTransformation | None = None,
    tolerance: float | None = None,
    max_steps: int = 100,
    patience: int | None = None,
    linear_solver: str = "dense",
) -> Minimum:
    """Minimize a smooth convex objective over a vector, by Newton's method or any optax transformation.

    Differentiable by the implicit function theorem: gradients with respect to whatever ``objective``
    closes over flow through ∇objective(minimizer) = 0, not through the iterations.

    Args:
        objective: maps ``(d,)`` to a scalar; a :class:`Smooth` one brings its own derivatives.
            Scale it so that its gradients are of order one.
        init: ``(d,)`` start; its dtype is the dtype of the computation.
        optimizer: an optax transformation instead of Newton's method. Line searches receive the value, the gradient
            and the function, as optax requires.
        tolerance: ℓ_∞ norm of the gradient to reach (default: 1e-6 in float32, 1e-10 in float64).
        max_steps: iterations at most.
        patience: steps without a smaller gradient norm after which the search counts as stalled. Newton needs few
            (default 8); methods with momentum oscillate and need many (default 100).
        linear_solver: for the derivative of the minimizer, ``"dense"`` (a ``(d, d)`` solve) or ``"cg"``
            (matrix-free, for large d).

    Returns:
        The :class:`Minimum`; its ``code`` says how the search ended, so no failure is silent.

    Raises:
        ValueError: unknown ``linear_solver``.

    >>> found = minimize(lambda x: jnp.sum(jnp.square(x - 1)), jnp.zeros(2))
    >>> found.value.round(3).tolist(), CODES[int(found.code)]
    ([1.0, 1.0], 'converged')
    """
    if linear_solver not in ("dense", "cg"):
        raise ValueError(f"linear_solver must be 'dense' or 'cg', got {linear_solver!r}.")
    init = jnp.asarray(init)
    goal = default_tolerance(init.dtype) if tolerance is None else tolerance
    smooth = objective if isinstance(objective, Smooth) else _Plain(objective)

    def search(start: Float[Array, "d"]) -> Minimum:
        if optimizer is None:
            return newton(smooth, start, goal, max_steps, patience or PATIENCE)
        return _descend(smooth, start, optimizer, goal, max_steps, patience or 100)

    return root_of(smooth.gradient, init, search, linear_solver)


def root_of(
    gradient: Callable[[Array], Array],
    init: Float[Array, "d"],
    search: Callable[[Array], Minimum],
    linear_solver: str = "dense",
) -> Minimum:
    """What ``search`` finds from ``init``, with the derivatives of the root of ``gradient``.

    Args:
        gradient: ``(d,)`` to ``(d,)``, with a symmetric derivative; may close over traced values.
        init: where the search starts.
        search: finds the root; its own derivatives are not used.
        linear_solver: as of :func:`minimize`.
    """

    def solve(_: object, start: Float[Array, "d"]) -> tuple[Float[Array, "d"], Float[Array, "3"]]:
        end = search(start)
        # One float array: the derivative rule of custom_root has no tangents for integers.
        told = end.gradient_norm, end.steps, end.code
        return end.value, jnp.stack([x.astype(start.dtype) for x in told])

    def tangent_solve(
        linear: Callable[[Array], Array], right: Float[Array, "d"]
    ) -> Float[Array, "d"]:
        if linear_solver == "dense":
            return solve_positive_definite(jax.jacobian(linear)(jnp.zeros_like(right)), right)
        conjugate = jax.scipy.sparse.linalg.cg
        return jax.lax.custom_linear_solve(
            linear, right, lambda apply, b: conjugate(apply, b, tol=1e-8)[0], symmetric=True
        )

    value, report = jax.lax.custom_root(gradient, init, solve, tangent_solve, has_aux=True)
    norm, steps, code = jax.lax.stop_gradient(report)
    return Minimum(value, norm, steps.astype(jnp.int32), code.astype(jnp.int32))


def default_tolerance(dtype: DTypeLike) -> float:
    """Gradient norm that ends a search: 1e-10 in float64, 1e-6 in float32."""
    return 1e-10 if jnp.finfo(dtype).bits >= 64 else 1e-6


# --- Newton's method -------------------------------------------------------------------------------


class _Search(NamedTuple):
    params: Float[Array, "d *batch"]
    gradient: Float[Array, "d *batch"]
    progress: Progress


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
    objective: Smooth,
    start: Float[Array, "d *batch"],
    goal: Scalar,
    max_steps: int,
    patience: int,
    coarse: Smooth | None = None,
) -> Minimum:
    """Newton's method from ``start``, of one problem or of many along a trailing axis; no derivatives.

    Args:
        objective: with its derivatives.
        start: where to begin.
        goal: ℓ_∞ norm of the gradient to reach.
        max_steps: iterations at most.
        patience: steps without a smaller gradient norm after which a search counts as stalled.
        coarse: the same objective in float32, for directions as long as they serve: they need only a few digits.
    """

    def going(search: _Search) -> Bool[Array, "*batch"]:
        return search.progress.unfinished(goal, max_steps, patience)

    def direction(one: Smooth, dtype: DTypeLike, search: _Search) -> Float[Array, "d *batch"]:
        moving = going(search)
        norm = jnp.where(moving, search.progress.norm, 1.0)
        wanted = jnp.clip(jnp.maximum(_FOLLOW * norm, _BEYOND * goal / norm), _CLOSEST, _LOOSEST)
        at, right, wanted = (
            x.astype(dtype) for x in (search.params, search.gradient / norm, wanted)
        )
        found = _conjugate_gradients(one, one.bent(at), right, wanted, moving)
        return -found.astype(start.dtype) * norm

    exact = functools.partial(direction, objective, start.dtype)

    def advance(search: _Search) -> _Search:
        moving = going(search)
        if coarse is None:
            step = exact(search)
        else:
            rough = functools.partial(direction, coarse, jnp.float32)
            slow = jnp.any(moving & (search.progress.step >= _ROUGH_STEPS))
            step = jax.lax.cond(slow, exact, rough, search)
        params, gradient = _line_search(objective, search, step, moving)
        return _Search(params, gradient, search.progress.after(gradient, moving))

    gradient = objective.gradient(start)
    begin = _Search(start, gradient, Progress.at(gradient))
    end = jax.lax.while_loop(lambda search: jnp.any(going(search)), advance, begin)
    code = end.progress.code(end.params, goal, max_steps)
    return Minimum(end.params, end.progress.norm, end.progress.step, code)


def _line_search(
    objective: Smooth,
    search: _Search,
    direction: Float[Array, "d *batch"],
    moving: Bool[Array, "*batch"],
) -> tuple[Float[Array, "d *batch"], Float[Array, "d *batch"]]:
    """The point at the end of a step, and its gradient; the step is full unless it leads far beyond the least value."""
    slope = dot(direction, search.gradient)
    reach, longest = (
        jnp.max(direction, 0) - jnp.min(direction, 0),
        getattr(objective, "longest", None),
    )
    full = jnp.ones_like(reach) if longest is None else longest / jnp.maximum(reach, longest)

    def attempt(line: _Line) -> _Line:
        params = jnp.where(moving, search.params + line.share * direction, search.params)
        gradient = objective.gradient(params)
        after = dot(direction, gradient)
        rejected = moving & ~(after <= -_STEEPEST * slope)  # NaN too
        # To where the slope is 0 if it changes evenly, within bounds.
        even = jnp.where(jnp.isfinite(after), slope / (slope - after), 0)
        share = jnp.where(rejected, line.share * jnp.clip(even, 0.1, 0.5), line.share)
        return _Line(share, params, gradient, rejected, line.tries + 1)

    # The first attempt by itself: most are accepted.
    none = jnp.zeros((), jnp.int32)
    begin = _Line(full, search.params, search.gradient, jnp.ones_like(moving), none)
    end = jax.lax.while_loop(
        lambda line: jnp.any(line.rejected) & (line.tries < _MOST_TRIES), attempt, attempt(begin)
    )
    return end.params, end.gradient


def _conjugate_gradients(
    objective: Smooth,
    bent: PyTree,
    right: Float[Array, "d *batch"],
    tolerance: Float[Array, "*batch"],
    moving: Bool[Array, "*batch"],
) -> Float[Array, "d *batch"]:
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


# --- optax -----------------------------------------------------------------------------------------


def _descend(
    objective: Smooth,
    init: Float[Array, "d"],
    optimizer: optax.GradientTransformation,
    goal: Scalar,
    max_steps: int,
    patience: int,
) -> Minimum:
    """The steps of an optax transformation, to a gradient norm."""
    chosen = optax.with_extra_args_support(optimizer)
    state = chosen.init(init)
    # optax's line searches keep the value and gradient of the accepted point: reuse them.
    keeps_value = optax.tree.get(state, "grad") is not None
    value_and_grad = optax.value_and_grad_from_state(objective.__call__)

    def advance(carry: tuple[_Search, optax.OptState]) -> tuple[_Search, optax.OptState]:
        (params, gradient, progress), state = carry
        value = value_and_grad(params, state=state)[0] if keeps_value else objective(params)
        updates, state = chosen.update(
            gradient, state, params, value=value, grad=gradient, value_fn=objective.__call__
        )
        params: Any = optax.apply_updates(params, updates)
        gradient = (
            value_and_grad(params, state=state)[1] if keeps_value else objective.gradient(params)
        )
        return _Search(params, gradient, progress.after(gradient)), state

    gradient = objective.gradient(init)
    end, _ = jax.lax.while_loop(
        lambda carry: carry[0].progress.unfinished(goal, max_steps, patience),
        advance,
        (_Search(init, gradient, Progress.at(gradient)), state),
    )
    code = end.progress.code(end.params, goal, max_steps)
    return Minimum(end.params, end.progress.norm, end.progress.step, code)
