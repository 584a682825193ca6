r"""Standard errors and intervals of scores and coefficients of covariates, privacy noise included.

Post-processing of the release: it takes the private fit, the public noise scale and ridge, and the public design, never
the outcomes (but for ``tied``, in fits without privacy). As in :mod:`privrank_jax.pairwise.standard_errors`, with β =
(θ, b), the Fisher information I of β at the fit (:mod:`privrank_jax.pairwise.designs`) and the ridge R
= diag(γ): to first order the fit is β + (I + R)^{-1}(s - w - Rβ), s the score of the comparisons (covariance I) and w
the noise, of covariance V (:mod:`privrank_jax.privacy.bodies`). One Newton step of the fit without ridge, β̃ + I⁻¹Rβ̃,
removes the bias and has covariance I⁻¹(I + V)I⁻¹. Inverses are on the directions that the design identifies:
differences within components of compared items, and all coefficients. Tails and ranks are as in
:mod:`privrank_jax.pairwise.intervals`, and so is the rule under which the step is too long for intervals: the
information of some comparison changes by more than ``MOST_CHANGE`` along it.

Where ties are half wins, s has a smaller covariance than I: each pair of items keeps the share of its information that
:func:`privrank_jax.pairwise.half_wins.varying_share` finds from its ties and the sum of p(1 - p) over its comparisons.
Without ``tied``, errors are too wide where ties are common, never too narrow.

With ties as an outcome of their own, log ν is one more parameter and T one more number
(:mod:`privrank_jax.pairwise.covariate_ties`).

**Assumptions.** The model holds, comparisons are independent given scores and covariates (several answers of one user
count as independent), and errors are small enough for one linear step.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from privrank_jax._backend import product
from privrank_jax._counting import FlagsLike
from privrank_jax._types import Scalar
from privrank_jax._validate import check_choice, check_level, check_nonnegative
from privrank_jax.pairwise.covariate_noise import noise_on_sums
from privrank_jax.pairwise.covariates import CovariateDesign
from privrank_jax.pairwise.critical_values import critical_tables
from privrank_jax.pairwise.designs import ModelScores
from privrank_jax.pairwise.half_wins import varying_share
from privrank_jax.pairwise.intervals import (
    Intervals,
    hardly_changes,
    intervals_by,
    reach_of,
)
from privrank_jax.pairwise.standard_errors import (
    Uncertainty,
    identified,
    project_inverse,
)
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.noise import SHAPED_NOISES


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CovariateIntervals:
    """Intervals of the scores and ranks of items, and of the coefficients of covariates.

    Attributes:
        items: :class:`~privrank_jax.pairwise.intervals.Intervals`.
        standard_errors: ``(p,)``, of the coefficients.
        low: ``(p,)``, lower ends of their intervals, each by itself; -∞ where the ridge bias can't be removed.
        high: ``(p,)``, upper ends.
    """

    items: Intervals
    standard_errors: Float[Array, "*batch covariates"]
    low: Float[Array, "*batch covariates"]
    high: Float[Array, "*batch covariates"]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CovariateDavidsonIntervals:
    """Intervals of a fit of Davidson's model with covariates.

    Attributes:
        model: :class:`CovariateIntervals` of scores, ranks and coefficients.
        log_tie_low: lower end of the interval of log ν, shape ``()``; -∞ where the ridge bias can't be removed.
        log_tie_high: upper end.
    """

    model: CovariateIntervals
    log_tie_low: Float[Array, "*batch"]
    log_tie_high: Float[Array, "*batch"]


def covariate_intervals(
    value: ModelScores,
    design: CovariateDesign,
    ridge: Scalar | Float[Array, "size"],
    *,
    noise_scale: Scalar = 0.0,
    noise: str = "laplace",
    tied: FlagsLike | None = None,
    level: Scalar = 0.95,
) -> CovariateIntervals:
    """Intervals of everything that a fit with covariates found, for sampling error and privacy noise together.

    Args:
        value: scores and coefficients, from :func:`perturbed_mle`, :func:`mle` or :func:`fit`.
        design: the public part of the table.
        ridge: γ of the fit, or ``(m + p,)``, one number for each score and feature.
        noise_scale: λ, σ or 1/ε, may be traced; 0 without privacy.
        noise: ``"laplace"``, ``"gaussian"`` or ``"k-norm"``, for which the design must not be traced.
        tied: ``(N,)`` bool, comparisons that are ties, each half a win for both. They are outcomes: only for fits
            without privacy, or where ties are public.
        level: confidence in (0, 1), may be traced.

    Returns:
        :class:`CovariateIntervals`.

    Raises:
        ValueError: a negative scale, an unknown noise, ``level`` outside (0, 1), a traced design for K-norm noise,
            ``tied`` of another shape.

    >>> from privrank_jax.pairwise import covariate_table, mle
    >>> table = covariate_table([0, 1] * 9, [1, 0] * 9, [1, 0, 1] * 6, {"first": [1.0] * 18}, num_items=2)
    >>> errors = covariate_intervals(mle(table).value, table.design, 0.0)
    >>> round(float(errors.standard_errors[0]), 4)  # 1/√(18 · 2/3 · 1/3)
    0.5
    """
    check_choice("noise", noise, SHAPED_NOISES)
    check_nonnegative("noise_scale", noise_scale)
    check_level(level)
    flags = None if tied is None else jnp.asarray(tied)
    if flags is not None and (flags.dtype != bool or flags.shape != design.first.shape):
        raise ValueError(
            f"tied must be bool of shape {design.first.shape}, got {flags.dtype} of shape {flags.shape}."
        )
    added = noise_on_sums(design, noise, noise_scale).known
    design, ridge = dataclasses.replace(design, ties=False), design.ridges(ridge)
    return _covariate_intervals(value, design, ridge, flags, level, added)


def covariate_davidson_intervals(
    value: ModelScores,
    design: CovariateDesign,
    ridge: Scalar | Float[Array, "size"],
    tie_gamma: Scalar,
    *,
    noise_scale: Scalar = 0.0,
    noise: str = "laplace",
    level: Scalar = 0.95,
) -> CovariateDavidsonIntervals:
    """Intervals of scores, coefficients and log ν of a fit of Davidson's model, privacy noise included.

    Args:
        value: from :func:`perturbed_mle`, :func:`mle` or :func:`fit`, with ties as outcomes of their own.
        design: the public part of the table.
        ridge: γ of the fit, or ``(m + p,)``, one number for each score and feature.
        tie_gamma: the ridge of log ν.
        noise_scale: λ or σ of each sum, or 1/ε, may be traced; 0 without privacy.
        noise: as for :func:`covariate_intervals`.
        level: confidence in (0, 1), may be traced.

    Returns:
        :class:`CovariateDavidsonIntervals`.

    Raises:
        ValueError: as :func:`covariate_intervals`; a negative ridge of log ν.

    >>> from privrank_jax.pairwise import covariate_table, mle
    >>> table = covariate_table([0] * 50, [1] * 50, [1] * 25 + [0.5] * 20 + [0] * 5, {}, num_items=2)
    >>> value = mle(table, ties="davidson").value
    >>> errors = covariate_davidson_intervals(value, table.design, 0.0, 0.0)
    >>> bool(errors.log_tie_low < value.log_tie < errors.log_tie_high)
    True
    """
    check_choice("noise", noise, SHAPED_NOISES)
    check_nonnegative("noise_scale", noise_scale)
    check_nonnegative("tie_gamma", tie_gamma)
    check_level(level)
    ridges = jnp.append(design.ridges(ridge), jnp.asarray(tie_gamma, design.dtype))
    added = noise_on_sums(design, noise, noise_scale, ties=True).known
    design = dataclasses.replace(design, ties=True)
    return _davidson_intervals(value, design, ridges, level, added)


@jax.jit
def _covariate_intervals(
    value: ModelScores,
    design: CovariateDesign,
    ridge: Float[Array, "parameters"],
    tied: Bool[Array, "rows"] | None,
    level: Scalar,
    noise: Noise,
) -> CovariateIntervals:
    beta = design.beta_of(value)
    fisher = design.information(beta)
    outcomes = fisher if tied is None else _of_half_wins(design, beta, tied)
    items, *others = _about(beta, fisher, outcomes, ridge, design, noise, level)
    return CovariateIntervals(items, *(one / design.units for one in others))


@jax.jit
def _davidson_intervals(
    value: ModelScores,
    design: CovariateDesign,
    ridge: Float[Array, "numbers"],
    level: Scalar,
    noise: Noise,
) -> CovariateDavidsonIntervals:
    params = design.beta_of(value)
    fisher = design.information(params)
    items, error, low, high = _about(params, fisher, fisher, ridge, design, noise, level)
    slopes = (one[:-1] / design.units for one in (error, low, high))
    return CovariateDavidsonIntervals(CovariateIntervals(items, *slopes), low[-1], high[-1])


def _about(
    params: Float[Array, "numbers"],
    fisher: Float[Array, "numbers numbers"],
    outcomes: Float[Array, "numbers numbers"],
    ridge: Float[Array, "numbers"],
    design: CovariateDesign,
    noise: Noise,
    level: Scalar,
) -> tuple[Intervals, Array, Array, Array]:
    """Intervals of the items; standard errors, lower and upper ends of the other parameters.

    ``outcomes`` is the covariance of the gradient of the likelihood.
    """
    m, size, dtype = design.num_items, params.shape[0], params.dtype
    within, linked = identified(design.linked, dtype)
    project = jnp.eye(size, dtype=dtype).at[:m, :m].set(within)
    influence = project_inverse(fisher, project)
    spread = outcomes + noise.covariance(dtype=dtype)
    covariance = product(product(influence, spread), influence.T)
    center = product(project, params) + product(influence, ridge * params)
    near = hardly_changes(design.bend(params) - design.bend(center))
    real = jnp.ones(m, bool)
    errors = Uncertainty(center[:m], covariance[:m, :m], influence[:m], linked, real, noise)
    tables = critical_tables(errors, level)
    items = intervals_by(tables, params[:m], errors, near)
    others = jnp.diagonal(covariance)[m:]
    reach = reach_of(others, noise.heavy_part(influence[m:]), tables[0])
    low = jnp.where(near, jnp.minimum(center[m:] - reach, params[m:]), -jnp.inf)
    high = jnp.where(near, jnp.maximum(center[m:] + reach, params[m:]), jnp.inf)
    return items, jnp.sqrt(others), low, high


def _of_half_wins(
    design: CovariateDesign, beta: Float[Array, "parameters"], tied: Bool[Array, "rows"]
) -> Float[Array, "parameters parameters"]:
    """Covariance of the gradient of the likelihood where ``tied`` comparisons count half for both items."""
    odds = design.log_odds(beta)
    most = jax.nn.sigmoid(odds) * jax.nn.sigmoid(-odds)

    def of_pairs(weights: Array) -> Array:
        return -design.gram(weights)[: design.num_items, : design.num_items]  # off the diagonal

    left = varying_share(of_pairs(most), of_pairs(tied.astype(most.dtype)))
    return design.gram(most * left[design.first, design.second])
