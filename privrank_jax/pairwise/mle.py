"""Maximum likelihood of latent scores from pairwise comparisons, without privacy."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, DTypeLike, Float, Int

from privrank_jax._types import Scalar, Scores
from privrank_jax._validate import check_nonnegative, is_traced
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.graph import (
    check_axes,
    check_one_problem,
    connectivity,
    edge_connectivity,
)
from privrank_jax.pairwise.likelihood import DenseObjective, dense_counts
from privrank_jax.pairwise.masked import center
from privrank_jax.pairwise.minimize import Minimum, default_tolerance, minimize
from privrank_jax.pairwise.newton import Problem, fit_newton
from privrank_jax.pairwise.newton_edges import EdgeObjective, edge_objective, newton_of_edges

# A float32 search stops at this tolerance, near the precision of float32, so that one float64 step finishes it.
_COARSE_TOLERANCE = 1e-6
# Newton steps without progress after which a search ends (see minimize).
_PATIENCE = 8
# Where the objective isn't convex, gradients may grow temporarily during the descent.
_PATIENCE_NOT_CONVEX = 40


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class FitDiagnostics:
    """Diagnostics of a fit.

    Attributes:
        gradient_norm: ℓ_∞ norm of the gradient, in units of the mean number of comparisons per item.
        steps: iterations, int32.
        code: 0 converged, 1 stalled, 2 out of steps, 3 not finite
            (:data:`~privrank_jax.pairwise.minimize.CODES` spells them out).
        components: connected components of the comparison graph, int32 (``None`` where not computed:
            private fits, and edge lists under ``jit``).
        separated: True if no finite maximum exists without a ridge (``None`` where not computed).
    """

    gradient_norm: Float[Array, ""]
    steps: Int[Array, ""]
    code: Int[Array, ""]
    components: Int[Array, ""] | int | None = None
    separated: Bool[Array, ""] | bool | None = None


def mle(
    wins: WinCounts | WinEdges,
    link: str | Link = "logistic",
    gamma: Scalar = 0.0,
    *,
    optimizer: optax.GradientTransformation | None = None,
    tolerance: float | None = None,
    max_steps: int = 100,
) -> Estimate:
    """Scores θ that maximize the likelihood of the comparisons, Σθ = 0. **Not private.**

    Minimizes -Σ W_ij log F(θ_i - θ_j) + (γ/2)‖θ‖². Dense win counts are fitted by Newton's method,
    edge lists by the same with conjugate gradients, without a matrix. Differentiable with
    respect to the counts and the ridge by the implicit function theorem.

    Args:
        wins: dense :class:`~privrank_jax.comparisons.WinCounts` of m items, or
            :class:`~privrank_jax.comparisons.WinEdges` for many items with few compared pairs.
        link: ``"logistic"`` (Bradley-Terry-Luce), ``"normal"`` (Thurstone), ``"laplace"``.
        gamma: ridge γ >= 0, may be traced.
        optimizer: any optax transformation instead of the default; it is hashed by identity, so build it once and
            pass the same object.
        tolerance: ℓ_∞ gradient norm to reach, relative to the mean number of comparisons per item
            (default 1e-10 in float64, 1e-6 in float32).
        max_steps: iterations at most (edge lists: at least 500 are allowed).

    Returns:
        ``value``: θ, ``(m,)``, dtype of the counts; masked items get 0. ``guarantee``: ``None``.
        ``diagnostics``: :class:`FitDiagnostics`. With ``separated`` True and no ridge there is no finite maximum
        and the value is the point at which the search stopped; with ``components`` > 1 scores of different
        components can't be compared.

    Raises:
        ValueError: unknown link, γ < 0, a batch of problems.
        TypeError: ``wins`` holds no counts.

    >>> wins = WinCounts.from_matrix([[0, 3], [1, 0]])
    >>> estimate = mle(wins)
    >>> round(float(estimate.value[0] - estimate.value[1]), 4)  # log 3
    1.0986
    """
    link = get_link(link)
    check_nonnegative("gamma", gamma)
    if isinstance(wins, WinEdges):
        check_axes("first_wins", wins.first_wins, 1)
        estimate = _mle_sparse(wins, gamma, link, optimizer, tolerance, max(max_steps, 500))
        if is_traced(wins, gamma):
            return estimate
        components, separated = edge_connectivity(wins)
        diagnostics = dataclasses.replace(
            estimate.diagnostics, components=components, separated=separated
        )
        return dataclasses.replace(estimate, diagnostics=diagnostics)
    if not isinstance(wins, WinCounts):
        raise TypeError(
            f"wins must be WinCounts or WinEdges, got {type(wins).__name__}; "
            "wrap a matrix with WinCounts.from_matrix."
        )
    check_one_problem(wins)
    return _mle_dense(wins, gamma, link, optimizer, tolerance, max_steps)


@functools.partial(jax.jit, static_argnames=("link", "optimizer", "tolerance", "max_steps"))
def _mle_dense(
    wins: WinCounts,
    gamma: Scalar,
    link: Link,
    optimizer: optax.GradientTransformation | None,
    tolerance: float | None,
    max_steps: int,
) -> Estimate:
    found = fit_counts(
        wins, link, gamma=gamma, optimizer=optimizer, tolerance=tolerance, max_steps=max_steps
    )
    components, separated = connectivity(wins)
    diagnostics = FitDiagnostics(
        found.gradient_norm, found.steps, found.code, components, separated
    )
    return Estimate(center(found.value, wins.mask), None, diagnostics)


@functools.partial(jax.jit, static_argnames=("link", "optimizer", "tolerance", "max_steps"))
def _mle_sparse(
    edges: WinEdges,
    gamma: Scalar,
    link: Link,
    optimizer: optax.GradientTransformation | None,
    tolerance: float | None,
    max_steps: int,
) -> Estimate:
    found = fit_edges(
        edge_objective(edges, link, gamma=gamma),
        optimizer=optimizer,
        tolerance=tolerance,
        max_steps=max_steps,
    )
    value = found.value - jnp.mean(found.value)
    return Estimate(value, None, FitDiagnostics(found.gradient_norm, found.steps, found.code))


def fit_counts(
    wins: WinCounts,
    link: Link,
    *,
    gamma: Scalar = 0.0,
    tilt: Scalar | Scores = 0.0,
    optimizer: optax.GradientTransformation | None = None,
    tolerance: float | None = None,
    max_steps: int = 100,
) -> Minimum:
    """Minimize the objective of ``wins`` under ``link`` with ridge γ and linear tilt w (scalar or ``(m,)``)."""
    counts = dense_counts(wins, link, gamma=gamma, tilt=tilt)
    if optimizer is None:
        return _fit_newton(counts, wins.matrix.dtype, tolerance, max_steps)
    return fit_dense(
        counts.objective(), optimizer=optimizer, tolerance=tolerance, max_steps=max_steps
    )


def fit_dense(
    objective: DenseObjective,
    *,
    optimizer: optax.GradientTransformation | None = None,
    tolerance: float | None = None,
    max_steps: int = 100,
) -> Minimum:
    """Minimize a dense objective: by the batched Newton's method, or by an optimizer, in float32 before float64."""
    if optimizer is None:
        patience = _PATIENCE_NOT_CONVEX if objective.signed else _PATIENCE
        return _fit_newton(objective, objective.scale.dtype, tolerance, max_steps, patience)
    start = jax.lax.stop_gradient(objective.start)
    search = functools.partial(minimize, optimizer=optimizer, max_steps=max_steps)
    if jnp.finfo(start.dtype).bits >= 64:
        single = jax.tree.map(_to_single, jax.lax.stop_gradient(objective))
        coarse = search(single, single.start, tolerance=_COARSE_TOLERANCE).value
        coarse = coarse.astype(start.dtype)
        start = jnp.where(jnp.all(jnp.isfinite(coarse)), coarse, start)
    return search(objective, start, tolerance=tolerance)


def _fit_newton(
    problem: Problem,
    dtype: DTypeLike,
    tolerance: float | None,
    max_steps: int,
    patience: int = _PATIENCE,
) -> Minimum:
    goal = default_tolerance(dtype) if tolerance is None else tolerance
    return fit_newton(goal, max_steps, patience, problem)


def fit_edges(
    objective: EdgeObjective,
    *,
    optimizer: optax.GradientTransformation | None = None,
    tolerance: float | None = None,
    max_steps: int = 500,
) -> Minimum:
    """Minimize an edge-list objective from θ = 0 by Newton's method without a matrix."""
    start = jnp.zeros(objective.edges.num_items, objective.gamma.dtype)
    search = functools.partial(
        minimize, objective, start, tolerance=tolerance, max_steps=max_steps, linear_solver="cg"
    )
    if optimizer is None:
        fixed = jax.lax.stop_gradient(objective)
        return search(optimizer=newton_of_edges(fixed), patience=_PATIENCE)
    return search(optimizer=optimizer)


def _to_single(leaf: Array) -> Array:
    return leaf.astype(jnp.float32) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf
