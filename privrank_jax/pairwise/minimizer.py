"""One minimizer for every objective: any optax transformation, run to a gradient tolerance; implicit derivatives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, DTypeLike, Float, Int, PyTree

from privrank_jax._types import Scalar
from privrank_jax._workarounds.linalg import solve_positive_definite

Objective = Callable[[Array], Array]

CONVERGED, STALLED, OUT_OF_STEPS, NOT_FINITE = 0, 1, 2, 3
CODES = {
    CONVERGED: "converged",
    STALLED: "stalled, at the precision of the dtype or because no step improved",
    OUT_OF_STEPS: "out of steps before the tolerance was reached",
    NOT_FINITE: "a score or gradient was not finite",
}
# Within this factor of the goal, only the precision of the dtype can prevent progress, and a quarter of the
# patience suffices.
_NEAR = 100


@runtime_checkable
class Smooth(Protocol):
    """An objective with its own derivatives; for any other objective, JAX derives them."""

    def __call__(self, params: Array) -> Array:
        """Value at ``params``, shape ``()``."""
        ...

    def gradient(self, params: Array) -> Array:
        """Gradient at ``params``, shape ``(d,)``."""
        ...

    def hessian(self, params: Array) -> Array:
        """Hessian at ``params``, shape ``(d, d)``."""
        ...


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


class _Search(NamedTuple):
    params: Float[Array, "d"]
    gradient: Float[Array, "d"]
    state: optax.OptState
    progress: Progress


def minimize(
    objective: Objective,
    init: Float[Array, "d"],
    *,
    optimizer: optax.GradientTransformation | None = None,
    tolerance: float | None = None,
    max_steps: int = 100,
    patience: int = 100,
    linear_solver: str = "dense",
) -> Minimum:
    """Minimize a smooth convex objective over a vector, by any optax transformation.

    Differentiable by the implicit function theorem: gradients with respect to whatever ``objective``
    closes over flow through ∇objective(minimizer) = 0, not through the iterations.

    Args:
        objective: maps ``(d,)`` to a scalar; a :class:`Smooth` one brings its own derivatives.
            Scale it so that its gradients are of order one.
        init: ``(d,)`` start; its dtype is the dtype of the computation.
        optimizer: an optax transformation (default: :func:`newton` with optax's backtracking line
            search). Line searches receive the value, the gradient and the function, as optax requires.
        tolerance: ℓ_∞ norm of the gradient to reach (default: 1e-6 in float32, 1e-10 in float64).
        max_steps: iterations at most.
        patience: steps without a smaller gradient norm after which the search counts as stalled. Newton needs few;
            methods with momentum oscillate and need many.
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
    optimizer = newton_with_line_search() if optimizer is None else optimizer
    optimizer = optax.with_extra_args_support(optimizer)
    goal = default_tolerance(init.dtype) if tolerance is None else tolerance

    def solve(_: object, start: Float[Array, "d"]) -> tuple[Float[Array, "d"], Float[Array, "3"]]:
        end = _search(objective, start, optimizer, goal, max_steps, patience)
        norm, step = end.progress.norm, end.progress.step
        code = end.progress.code(end.params, goal, max_steps)
        # One float array: the derivative rule of custom_root has no tangents for integers.
        return end.params, jnp.stack([x.astype(init.dtype) for x in (norm, step, code)])

    def tangent_solve(
        linear: Callable[[Array], Array], right: Float[Array, "d"]
    ) -> Float[Array, "d"]:
        if linear_solver == "dense":
            return solve_positive_definite(jax.jacobian(linear)(jnp.zeros_like(right)), right)
        conjugate = jax.scipy.sparse.linalg.cg
        return jax.lax.custom_linear_solve(
            linear, right, lambda apply, b: conjugate(apply, b, tol=1e-8)[0], symmetric=True
        )

    value, report = jax.lax.custom_root(
        gradient_of(objective), init, solve, tangent_solve, has_aux=True
    )
    norm, steps, code = jax.lax.stop_gradient(report)
    return Minimum(value, norm, steps.astype(jnp.int32), code.astype(jnp.int32))


def default_tolerance(dtype: DTypeLike) -> float:
    """Gradient norm that ends a search: 1e-10 in float64, 1e-6 in float32."""
    return 1e-10 if jnp.finfo(dtype).bits >= 64 else 1e-6


def gradient_of(objective: Objective) -> Callable[[Array], Array]:
    """The objective's own gradient if it has one, else JAX's."""
    return objective.gradient if isinstance(objective, Smooth) else jax.grad(objective)


def hessian_of(objective: Objective) -> Callable[[Array], Array]:
    """The objective's own Hessian if it has one, else JAX's."""
    return objective.hessian if isinstance(objective, Smooth) else jax.hessian(objective)


def _search(
    objective: Objective,
    init: Float[Array, "d"],
    optimizer: optax.GradientTransformationExtraArgs,
    goal: Scalar,
    max_steps: int,
    patience: int,
) -> _Search:
    gradient, hessian = gradient_of(objective), hessian_of(objective)

    def value_fn(params: Float[Array, "d"], hessian_fn: object = None) -> Float[Array, ""]:
        del hessian_fn  # optax passes every extra argument to the function as well
        return objective(params)

    state = optimizer.init(init)
    # optax's line searches keep the value and gradient of the accepted point: reuse them.
    keeps_value = optax.tree.get(state, "grad") is not None
    value_and_grad = optax.value_and_grad_from_state(value_fn)

    def unfinished(search: _Search) -> Array:
        return search.progress.unfinished(goal, max_steps, patience)

    def advance(search: _Search) -> _Search:
        if keeps_value:
            value, _ = value_and_grad(search.params, state=search.state)
        else:
            value = objective(search.params)
        updates, state = optimizer.update(
            search.gradient,
            search.state,
            search.params,
            value=value,
            grad=search.gradient,
            value_fn=value_fn,
            hessian_fn=hessian,
        )
        params: Any = optax.apply_updates(search.params, updates)
        slope: Any = value_and_grad(params, state=state)[1] if keeps_value else gradient(params)
        return _Search(params, slope, state, search.progress.after(slope))

    slope = gradient(init)
    start = _Search(init, slope, state, Progress.at(slope))
    return jax.lax.while_loop(unfinished, advance, start)


def newton() -> optax.GradientTransformationExtraArgs:
    """Newton's preconditioner as an optax transformation: gradients become -H⁻¹ gradient, by Cholesky.

    The diagonal is scaled up by a factor of the order of the rounding error, which keeps the factorization of a
    singular Hessian finite and does not change the minimizer.
    """

    def init(params: object) -> optax.EmptyState:
        del params
        return optax.EmptyState()

    def update(
        updates: PyTree,
        state: PyTree,
        params: PyTree = None,
        *,
        hessian_fn: Callable[[Array], Array] | None = None,
        **extra: object,
    ) -> tuple[Array, PyTree]:
        del extra
        if hessian_fn is None:
            raise TypeError("newton needs hessian_fn, the Hessian as a function of the parameters.")
        return -solve_lifted(hessian_fn(params), updates), state

    return optax.GradientTransformationExtraArgs(init, update)


def solve_lifted(hessian: Float[Array, "d d"], right: Float[Array, "d"]) -> Float[Array, "d"]:
    """H⁻¹ ``right`` by Cholesky, with the diagonal of H scaled up as :func:`newton` says."""
    size, eps = hessian.shape[-1], jnp.finfo(hessian.dtype).eps
    lift = jnp.where(jnp.eye(size, dtype=bool), 4 * size * eps * hessian, 0)
    return solve_positive_definite(hessian + lift, right)


def newton_with_line_search(max_backtracking_steps: int = 30) -> optax.GradientTransformation:
    """Newton chained with optax's backtracking line search: the default for general objectives."""
    # store_grad: objectives have their own gradients, and optax's fails for float32 when float64 is enabled.
    # atol: near the minimum, a step changes the value by less than its rounding error; without the allowance
    # two thirds of float32 fits stall at a gradient of 1e-4.
    search = optax.scale_by_backtracking_linesearch(
        max_backtracking_steps=max_backtracking_steps, atol=1e-5, store_grad=False
    )
    return optax.chain(newton(), search)
