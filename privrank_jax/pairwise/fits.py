r"""Every fit: of conditional logits by their designs, of dense win counts and of edge lists.

A conditional logit (:mod:`privrank_jax.pairwise.designs`) with the statistic s and the ridges γ_k is fitted by the
minimizer of

.. math:: f(β) = \frac{1}{d}\Bigl(A(β) - ⟨s, β⟩ + \tfrac12 \sum_k γ_k β_k²\Bigr) + \frac{(1ᵀθ)²}{2m},

d the mean number of answers per item, so that gradients are of order one. The last term keeps the shift of the scores,
which no answer tells, near 0 without changing any difference; the result is centered.

Dense win counts without ties are the fast case of the same contract: a Newton's method for a whole batch at once, under
any link (:mod:`privrank_jax.pairwise.newton`, its objective in :mod:`privrank_jax.pairwise.likelihood`).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, DTypeLike, Float, Int

from privrank_jax._backend import product
from privrank_jax._types import Numbers, NumbersLike, Scalar, Scores
from privrank_jax._validate import as_array, check_positive
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.designs import Counts, Design, Sets
from privrank_jax.pairwise.likelihood import DenseObjective, dense_counts
from privrank_jax.pairwise.masked import center
from privrank_jax.pairwise.minimizer import Minimum, default_tolerance, minimize
from privrank_jax.pairwise.newton import Problem, fit_newton
from privrank_jax.pairwise.newton_edges import EdgeObjective, newton_of_edges

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
            (:data:`~privrank_jax.pairwise.minimizer.CODES` spells them out).
        components: connected components of the comparison graph, int32 (``None`` where not computed:
            private fits, and edge lists under ``jit``).
        separated: True if no finite maximum exists without a ridge (``None`` where not computed).
    """

    gradient_norm: Float[Array, ""]
    steps: Int[Array, ""]
    code: Int[Array, ""]
    components: Int[Array, ""] | int | None = None
    separated: Bool[Array, ""] | bool | None = None

    @classmethod
    def of(cls, found: Minimum) -> FitDiagnostics:
        """What a search says of itself."""
        return cls(found.gradient_norm, found.steps, found.code)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DesignObjective:
    """(A(β) - ⟨s, β⟩ + Σ γ_k β_k²/2)/d + (1ᵀθ)²/(2m), of β.

    Attributes:
        design: the public part.
        excess: ``(parameters,)``, s, with any noise.
        ridge: ``(parameters,)``, γ_k.
        scale: d, at least 1.
    """

    design: Design
    excess: Float[Array, "*batch parameters"]
    ridge: Float[Array, "*batch parameters"]
    scale: Float[Array, "*batch"]

    @classmethod
    def of(
        cls,
        design: Design,
        counted: Float[Array, "parameters"],
        ridge: Float[Array, "parameters"],
    ) -> DesignObjective:
        """The objective at what was counted, which may hold noise; padding is held at 0."""
        scale = jnp.maximum(design.degree, 1.0)
        if design.item_mask is not None:
            real = jnp.where(design.item_mask, ridge[: design.num_items], scale)
            ridge = jnp.concatenate([real, ridge[design.num_items :]])
        return cls(design, design.excess(counted), ridge, scale)

    def __call__(self, beta: Float[Array, "parameters"]) -> Float[Array, ""]:
        """f(β)."""
        held = self.design.held
        linear = product(0.5 * self.ridge * beta - self.excess, beta)
        level = 0.5 * product(held, beta) ** 2 / self._items(held)
        return (self.design.log_partition(beta) + linear) / self.scale + level

    def gradient(self, beta: Float[Array, "parameters"]) -> Float[Array, "parameters"]:
        """∇f(β)."""
        held = self.design.held
        push = self.design.mean(beta) - self.excess + self.ridge * beta
        return push / self.scale + held * (product(held, beta) / self._items(held))

    def hessian(self, beta: Float[Array, "parameters"]) -> Float[Array, "parameters parameters"]:
        """∇²f(β)."""
        held = self.design.held
        bent = self.design.information(beta) + jnp.diag(self.ridge)
        return bent / self.scale + jnp.outer(held, held) / self._items(held)

    @staticmethod
    def _items(held: Float[Array, "parameters"]) -> Float[Array, ""]:
        return jnp.maximum(jnp.sum(held), 1)


def fit(
    design: Design,
    counted: NumbersLike,
    gamma: Numbers,
    tie_gamma: Scalar | None = None,
) -> Estimate:
    """The ridge fit to given (for instance noisy) counts, without randomness or access to outcomes.

    With the counts of a release whose design is public (adjacency ``flip``) this *is* the private fit, as
    post-processing: it spends no privacy, whatever the solver's tolerance. Counts need not be attainable; positive
    ridges make the solution finite and unique.

    Args:
        design: the public part: :class:`~privrank_jax.pairwise.Counts` of meetings, a
            :class:`~privrank_jax.pairwise.covariates.CovariateDesign`, or the ``design`` of
            :class:`~privrank_jax.pairwise.Choices`.
        counted: what the outcomes say: ``(m,)`` win totals, ties half, or how often each item was chosen; ``(m + p,)``
            sums of comparisons with covariates; where the design says ``ties``, then their number.
        gamma: ridge γ > 0 of the scores, may be traced; that of a feature is γ times the square of its largest size.
            Or ``(m + p,)``, one number for each.
        tie_gamma: ridge γ_T > 0 of log ν, where the design says ``ties``; may be traced.

    Returns:
        ``value``: θ, ``(m,)``, mean 0 over real items, or :class:`~privrank_jax.pairwise.designs.ModelScores`; dtype
        of the design. ``guarantee``: ``None``; that of the counts applies. ``diagnostics``: :class:`FitDiagnostics`, a
        function of the arguments alone.

    Raises:
        ValueError: a ridge that is not positive, γ_T missing or not asked for, shapes that don't match, stages of
            rankings, whose sets are not public.

    >>> found = fit(Counts([[0.0, 100.0], [100.0, 0.0]]), [90.0, 10.0], 1e-6)
    >>> round(float(found.value[0] - found.value[1]), 3)  # log 9
    2.197
    >>> with_ties = Counts([[0.0, 50.0], [50.0, 0.0]], ties=True)
    >>> found = fit(with_ties, [35.0, 15.0, 20.0], 1e-6, 1e-6)
    >>> round(float(found.value.scores[0] - found.value.scores[1]), 3)  # log 5
    1.609
    """
    check_positive("gamma", gamma, infinite=False)
    if tie_gamma is not None:
        check_positive("tie_gamma", tie_gamma, infinite=False)
    if (tie_gamma is None) == design.ties:
        raise ValueError("tie_gamma is the ridge of log ν: give it where design.ties says so.")
    counted = as_array("counted", counted)
    numbers = design.size + design.ties
    if counted.shape != (numbers,) or (jnp.ndim(gamma) and jnp.shape(gamma) != (design.size,)):
        raise ValueError(
            f"what was counted must have shape ({numbers},), one number for each item and feature and one for ties, "
            f"and gamma none or ({design.size},): got {counted.shape} and {jnp.shape(gamma)}."
        )
    if isinstance(design, Counts):
        square = (design.num_items,) * 2
        if jnp.shape(design.comparisons) != square:
            raise ValueError(
                f"comparisons must have shape (m, m), got {jnp.shape(design.comparisons)}."
            )
    if isinstance(design, Sets) and not design.public:
        raise ValueError(STAGES)
    counted = counted.astype(design.dtype)
    if isinstance(design, Counts) and not design.ties and not jnp.ndim(gamma):
        halves = WinCounts(jnp.asarray(design.comparisons, design.dtype) / 2, design.item_mask)
        return _fit_totals(counted, halves, gamma)
    # As arrays, so that numbers and arrays are fitted by one program.
    given = jnp.asarray(gamma, design.dtype)
    other = None if tie_gamma is None else jnp.asarray(tie_gamma, design.dtype)
    return _fit_design(design, counted, given, other)


STAGES = (
    "the sets of a ranking's later choices are not public: they depend on its answers, so noise on how often items "
    "were chosen does not make a fit private. Break the rankings into pairs by break_rankings, and use noisy_counts or "
    "perturbed_mle."
)


@jax.jit
def _fit_design(design: Design, counted: Array, gamma: Array, tie_gamma: Array | None) -> Estimate:
    return fitted(design, counted, design.all_ridges(gamma, tie_gamma))


@functools.partial(jax.jit, static_argnames=("optimizer", "tolerance", "max_steps"))
def fitted(
    design: Design,
    counted: Float[Array, "parameters"],
    ridge: Float[Array, "parameters"],
    *,
    optimizer: optax.GradientTransformation | None = None,
    tolerance: float | None = None,
    max_steps: int = 100,
) -> Estimate:
    """The fit of a conditional logit, by any optax transformation; arguments are not checked.

    Args:
        design: the public part.
        counted: ``(parameters,)``, what was counted, with any noise.
        ridge: ``(parameters,)``, γ_k.
        optimizer: instead of Newton's method with a line search.
        tolerance: ℓ_∞ gradient norm to reach.
        max_steps: iterations at most.
    """
    objective = DesignObjective.of(design, counted, ridge)
    start = jax.lax.stop_gradient(design.start(objective.excess))
    search: dict[str, Any] = {"tolerance": tolerance, "max_steps": max_steps}
    if optimizer is None:
        found = minimize(objective, start, patience=_PATIENCE, **search)
    else:
        found = minimize(objective, start, optimizer=optimizer, **search)
    return Estimate(design.value_of(found.value), None, FitDiagnostics.of(found))


@jax.jit
def _fit_totals(totals: Scores, halves: WinCounts, gamma: Scalar) -> Estimate:
    # Counting half of M_ij as wins of either side gives the right graph; the tilt moves its totals to the given ones.
    tilt = halves.totals - totals
    found = fit_counts(halves, get_link("logistic"), gamma=gamma, tilt=tilt)
    return Estimate(center(found.value, halves.item_mask), None, FitDiagnostics.of(found))


# --- dense win counts and edge lists -----------------------------------------------------------------


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
