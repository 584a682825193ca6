r"""Standard errors and intervals of Davidson's model, privacy noise included, from the release alone.

The fit solves ∇L(β̃) + Γβ̃ = -w for β = (θ, log ν), Γ the ridges and w the noise on (N, T). As for scores alone
(:mod:`privrank_jax.pairwise.standard_errors`) β̃ has, to first order, covariance H⁻¹(I + V)H⁻¹ about the penalized
target, with I the information of the model (:mod:`privrank_jax.pairwise.designs`), H = I + Γ and V the
covariance of w; one Newton step, β̃ + I⁻¹Γβ̃, removes the bias of the ridges and has covariance I⁻¹(I + V)I⁻¹. I is
evaluated at β̃. All of this is post-processing: it needs the released numbers and the public meetings M_ij.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from privrank_jax._backend import product
from privrank_jax._types import Mask, MaskLike, PairMatrix, PairMatrixLike, Scalar, Scores
from privrank_jax._validate import check_choice, check_level, check_nonnegative
from privrank_jax.pairwise.designs import Counts, ModelScores
from privrank_jax.pairwise.intervals import (
    Intervals,
    confidence_intervals,
    hardly_changes,
    intervals_of,
)
from privrank_jax.pairwise.masked import center
from privrank_jax.pairwise.meetings import as_design
from privrank_jax.pairwise.noisy_ties import noise_on_ties
from privrank_jax.pairwise.questionnaire_noise import noise_that_was
from privrank_jax.pairwise.standard_errors import (
    Uncertainty,
    identified,
    project_inverse,
)
from privrank_jax.privacy.bodies import Noise


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DavidsonErrors:
    """The errors of a fit of Davidson's model, to first order.

    Attributes:
        scores: :class:`~privrank_jax.pairwise.standard_errors.Uncertainty` of the m scores.
        log_tie: that of log ν, as of one item.
    """

    scores: Uncertainty
    log_tie: Uncertainty


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DavidsonIntervals:
    """Intervals of scores, ranks and log ν.

    Attributes:
        scores: :class:`~privrank_jax.pairwise.intervals.Intervals`.
        log_tie_low: lower end of the interval of log ν, shape ``()``.
        log_tie_high: upper end.
    """

    scores: Intervals
    log_tie_low: Float[Array, "*batch"]
    log_tie_high: Float[Array, "*batch"]


def davidson_errors(
    value: ModelScores,
    comparisons: PairMatrixLike,
    *,
    noise_scale: Scalar = 0.0,
    gamma: Scalar = 0.0,
    tie_gamma: Scalar = 0.0,
    noise: str | None = None,
    questionnaire: PairMatrixLike | None = None,
    mask: MaskLike | None = None,
    target: str = "truth",
) -> DavidsonErrors:
    """Covariances and standard errors of a fit of Davidson's model, private or not.

    Args:
        value: released scores and log ν.
        comparisons: ``(m, m)`` public comparison counts M_ij.
        noise_scale: λ, σ or 1/ε of the release (its diagnostics hold it); 0 without privacy.
        gamma: ridge of the scores in the fit.
        tie_gamma: ridge of log ν in the fit.
        noise: ``"k-norm"``, ``"laplace"`` or ``"gaussian"``; default K-norm noise with a questionnaire, else Laplace
            noise.
        questionnaire: ``(m, m)``, that of a release with K-norm noise; not traced.
        mask: ``(m,)`` bool, real items.
        target: ``"truth"``: about the true parameters, centered at the estimates less their ridge bias;
            ``"penalized"``: about the minimizer of the expected ridged objective, centered at the estimates.

    Returns:
        :class:`DavidsonErrors`; infinite standard errors where the comparisons leave the items in several components.

    Raises:
        ValueError: as :func:`~privrank_jax.pairwise.standard_errors`.

    >>> value = ModelScores(jnp.zeros(2), log_tie=jnp.log(2.0))
    >>> errors = davidson_errors(value, [[0, 100], [100, 0]])
    >>> round(float(errors.log_tie.standard_errors[0]), 4)  # 1/√(100/4)
    0.2
    """
    check_choice("target", target, ("truth", "penalized"))
    for name, given in (("noise_scale", noise_scale), ("gamma", gamma), ("tie_gamma", tie_gamma)):
        check_nonnegative(name, given)
    theta, design, real = as_design(value.scores, comparisons, mask)
    kind, asked = noise_that_was(noise, questionnaire, theta.shape[0])
    added = noise_on_ties(kind, noise_scale, theta.shape[0], asked).known
    log_tie = jnp.asarray(value.log_tie, theta.dtype)
    return _errors(theta, log_tie, design, real, (gamma, tie_gamma), added, target)


def davidson_intervals(
    value: ModelScores,
    comparisons: PairMatrixLike,
    *,
    noise_scale: Scalar = 0.0,
    gamma: Scalar = 0.0,
    tie_gamma: Scalar = 0.0,
    noise: str | None = None,
    questionnaire: PairMatrixLike | None = None,
    level: Scalar = 0.95,
    mask: MaskLike | None = None,
) -> DavidsonIntervals:
    """Intervals of scores, ranks and log ν that count the privacy noise, each by itself.

    Where the ridge bias can't be removed, as a pair's information changes too much on the way (as for
    :func:`~privrank_jax.pairwise.interval_estimates`), score intervals are infinite and rank intervals contain all
    ranks; log ν keeps its interval about the penalized target.

    Args:
        value: released scores and log ν.
        comparisons: as for :func:`davidson_errors`.
        noise_scale: as for :func:`davidson_errors`.
        gamma: as for :func:`davidson_errors`.
        tie_gamma: as for :func:`davidson_errors`.
        noise: as for :func:`davidson_errors`.
        questionnaire: as for :func:`davidson_errors`.
        level: confidence, in (0, 1).
        mask: ``(m,)`` bool, real items.

    Returns:
        :class:`DavidsonIntervals`.

    Raises:
        ValueError: as :func:`davidson_errors`, or ``level`` outside (0, 1).

    >>> value = ModelScores(jnp.asarray([0.8, -0.8]), log_tie=jnp.log(2.0))
    >>> found = davidson_intervals(value, [[0, 100], [100, 0]], noise_scale=2.0)
    >>> found.scores.rank_low.tolist(), bool(found.log_tie_low < jnp.log(2.0) < found.log_tie_high)
    ([0, 1], True)
    """
    check_level(level)
    told = {
        "noise_scale": noise_scale, "gamma": gamma, "tie_gamma": tie_gamma, "noise": noise,
        "questionnaire": questionnaire, "mask": mask,
    }  # fmt: skip
    errors = davidson_errors(value, comparisons, **told)
    near = davidson_center_is_near(value, comparisons, errors)
    scores = center(jnp.asarray(value.scores, errors.scores.center.dtype), errors.scores.mask)
    found = intervals_of(scores, errors.scores, level, near)
    low, high = confidence_intervals(errors.log_tie, level)
    log_tie = jnp.asarray(value.log_tie, low.dtype)
    return DavidsonIntervals(found, jnp.minimum(low[0], log_tie), jnp.maximum(high[0], log_tie))


def davidson_center_is_near(
    value: ModelScores, comparisons: PairMatrixLike, errors: DavidsonErrors
) -> Bool[Array, ""]:
    """Whether each compared pair has about the same information at the estimates as where intervals are centered.

    Args:
        value: released scores and log ν.
        comparisons: ``(m, m)`` comparison counts; 0 for pairs never compared.
        errors: of the value, about the truth.
    """
    dtype = errors.scores.center.dtype
    scores, log_tie = jnp.asarray(value.scores, dtype), jnp.asarray(value.log_tie, dtype)
    design = Counts(jnp.asarray(comparisons, dtype), errors.scores.mask, ties=True)
    return _center_is_near(jnp.append(scores, log_tie), design, errors)


@jax.jit
def _center_is_near(beta: Float[Array, "numbers"], design: Counts, errors: DavidsonErrors) -> Array:
    middle = jnp.append(errors.scores.center, errors.log_tie.center)
    return hardly_changes((design.bend(middle) - design.bend(beta))[0])  # about log-odds


@functools.partial(jax.jit, static_argnames=("target",))
def _errors(
    theta: Scores,
    log_tie: Array,
    comparisons: PairMatrix,
    mask: Mask,
    ridges: tuple[Scalar, Scalar],
    noise: Noise,
    target: str,
) -> DavidsonErrors:
    size, dtype = theta.shape[0], theta.dtype
    theta = center(theta, mask)
    design = Counts(comparisons, mask, ties=True)
    items, linked = identified(design.linked, dtype)
    project = jnp.zeros((size + 1, size + 1), dtype).at[:size, :size].set(items).at[-1, -1].set(1)
    fisher = design.information(jnp.append(theta, log_tie))
    slack = 4 * (size + 1) * jnp.finfo(dtype).eps * jnp.maximum(jnp.max(jnp.diagonal(fisher)), 1)
    fisher = fisher + slack * project
    ridge = jnp.diag(jnp.full(size + 1, ridges[0], dtype).at[-1].set(jnp.asarray(ridges[1], dtype)))
    bend = fisher + product(product(project, ridge), project) if target == "penalized" else fisher
    influence = project_inverse(bend, project)
    covariance = product(product(influence, fisher + noise.covariance(dtype=dtype)), influence.T)
    params = jnp.append(theta, log_tie)
    middle = (
        params
        if target == "penalized"
        else params + product(influence, jnp.diagonal(ridge) * params)
    )
    linked = linked & mask[:, None] & mask[None, :]
    one = jnp.ones(1, bool)
    return DavidsonErrors(
        Uncertainty(middle[:-1], covariance[:-1, :-1], influence[:-1], linked, mask, noise),
        Uncertainty(middle[-1:], covariance[-1:, -1:], influence[-1:], one[None], one, noise),
    )
