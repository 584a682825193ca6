r"""Standard errors and intervals of conditional logits, privacy noise included, from the release alone.

One form serves scores of comparisons and of choices from sets, coefficients of covariates, and log ν of ties. With β
all parameters (:mod:`privrank_jax.pairwise.designs`), I their information at the fit, R = diag(γ) the ridges and w the
noise, of covariance V (:mod:`privrank_jax.privacy.bodies`): to first order the fit is β + (I + R)⁻¹(s - w - Rβ), s the
score of the answers, of covariance I. One Newton step of the fit without ridges, β̃ + I⁻¹Rβ̃, removes the bias and has
covariance I⁻¹(I + V)I⁻¹; about the penalized target it is (I + R)⁻¹(I + V)(I + R)⁻¹. Inverses are on the directions
that the design identifies: differences within components of items that met, and all other parameters. Tails and ranks
are as in :mod:`privrank_jax.pairwise.intervals`, and so is the rule under which the step is too long for intervals: the
information of some answer, about log-odds or about log ν, changes by more than ``MOST_CHANGE`` along it.

Everything is post-processing: it takes the fit, the public noise scale and ridges, and the public design, never the
outcomes (but for ``tied``, in fits without privacy).

Where ties are half wins, s has a smaller covariance than I: each pair of items keeps the share of its information that
:func:`privrank_jax.pairwise.half_wins.varying_share` finds from its ties and the sum of p(1 - p) over its comparisons.
Without ``tied``, errors are too wide where ties are common, never too narrow.

**Assumptions.** The model holds, answers are independent given its parameters (several answers of one user count as
independent), and errors are small enough for one linear step.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from privrank_jax._counting import FlagsLike
from privrank_jax._types import PairMatrixLike, Scalar, ScoresLike
from privrank_jax._validate import check_choice, check_level, check_nonnegative, is_traced
from privrank_jax.pairwise.covariate_noise import noise_on_sums
from privrank_jax.pairwise.covariates import CovariateDesign
from privrank_jax.pairwise.critical_values import critical_tables
from privrank_jax.pairwise.designs import Counts, Design, ModelScores
from privrank_jax.pairwise.half_wins import varying_share
from privrank_jax.pairwise.intervals import Intervals, hardly_changes, intervals_by, reach_of
from privrank_jax.pairwise.masked import center
from privrank_jax.pairwise.meetings import as_design
from privrank_jax.pairwise.questionnaire_noise import noise_on_totals, noise_that_was
from privrank_jax.pairwise.tie_noise import noise_on_ties
from privrank_jax.pairwise.uncertainty import (
    TARGETS,
    Uncertainty,
    identified,
    of_full_rank,
    sandwich,
)
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.noise import NOISES


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ModelErrors:
    """The errors of all parameters of a fit, to first order: m scores, then p coefficients, then log ν.

    Attributes:
        center: ``(parameters,)``, where intervals are centered.
        covariance: ``(parameters, parameters)``, privacy noise included.
        influence: ``(parameters, k)``, how they depend on the k numbers of the privacy noise.
        linked: ``(m, m)`` bool, pairs of real items whose difference the data identify.
        mask: ``(m,)`` bool, real items.
        noise: by its law.
        near: whether the ridge bias can be removed: the center is near enough to the fit for intervals.
        ties: whether the last parameter is log ν; static.
    """

    center: Float[Array, "*batch parameters"]
    covariance: Float[Array, "*batch parameters parameters"]
    influence: Float[Array, "*batch parameters numbers"]
    linked: Bool[Array, "*batch items items"]
    mask: Bool[Array, "*batch items"]
    noise: Noise
    near: Bool[Array, "*batch"]
    ties: bool = dataclasses.field(metadata={"static": True})

    @property
    def scores(self) -> Uncertainty:
        """Those of the m scores alone."""
        m = self.mask.shape[-1]
        covariance, influence = self.covariance[..., :m, :m], self.influence[..., :m, :]
        about = self.linked, self.mask, self.noise
        return Uncertainty(self.center[..., :m], covariance, influence, *about)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ParameterIntervals:
    """Intervals of single parameters, each by itself.

    Attributes:
        standard_errors: of the parameters, ``(p,)`` or ``()``.
        low: lower ends; -∞ where the ridge bias can't be removed.
        high: upper ends.
    """

    standard_errors: Float[Array, "..."]
    low: Float[Array, "..."]
    high: Float[Array, "..."]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ModelIntervals:
    """Intervals of a fit, by the names of :class:`~privrank_jax.pairwise.designs.ModelScores`.

    Attributes:
        scores: :class:`~privrank_jax.pairwise.intervals.Intervals` of scores and ranks.
        coefficients: :class:`ParameterIntervals` of the coefficients of covariates, ``(p,)``, p = 0 without any.
        log_tie: that of log ν, shape ``()``; ``None`` where ties are half wins.
    """

    scores: Intervals
    coefficients: ParameterIntervals
    log_tie: ParameterIntervals | None


def model_errors(
    value: ModelScores | ScoresLike,
    design: Design,
    *,
    gamma: Scalar | Float[Array, "size"] = 0.0,
    tie_gamma: Scalar = 0.0,
    noise_scale: Scalar = 0.0,
    noise: str | None = None,
    questionnaire: PairMatrixLike | None = None,
    tied: FlagsLike | None = None,
    target: str = "truth",
) -> ModelErrors:
    """Covariances of everything that a fit found, private or not; :func:`model_intervals` makes intervals of them.

    Args:
        value: what was fitted: scores, or :class:`~privrank_jax.pairwise.designs.ModelScores`, in which log ν says that
            ties are outcomes of their own.
        design: the public part of the data: :class:`~privrank_jax.pairwise.Counts` of meetings, the ``design`` of a
            table with covariates or that of :class:`~privrank_jax.pairwise.Choices`.
        gamma: ridge γ of the fit, or ``(m + p,)``, one number for each score and feature.
        tie_gamma: ridge of log ν in the fit.
        noise_scale: λ, σ or 1/ε of the release (its diagnostics hold it), may be traced; 0 without privacy.
        noise: ``"laplace"``, ``"gaussian"``, or ``"k-norm"`` for counts of a questionnaire with ties as half wins;
            default K-norm noise with a questionnaire, else Laplace noise.
        questionnaire: ``(m, m)``, that of a release of counts with K-norm noise; not traced.
        tied: ``(N,)`` bool, comparisons of a table that are ties, each half a win for both. They are outcomes: only for
            fits without privacy, or where ties are public.
        target: ``"truth"``: about the true parameters, centered at the estimates less their ridge bias;
            ``"penalized"``: about the minimizer of the expected ridged objective, centered at the estimates.

    Returns:
        :class:`ModelErrors`; infinite standard errors of scores where the items fall into several components.

    Raises:
        ValueError: a fit of another shape or that is not finite, counts that are negative or not symmetric, a negative
            scale or ridge, an unknown noise or target, K-norm noise without a questionnaire or the reverse, ``tied`` of
            another shape or for other designs.

    >>> value = ModelScores(jnp.zeros(2), log_tie=jnp.log(2.0))
    >>> errors = model_errors(value, Counts([[0, 100], [100, 0]]))
    >>> round(float(jnp.sqrt(errors.covariance[-1, -1])), 4)  # of log ν: 1/√(100/4)
    0.2
    """
    check_choice("target", target, TARGETS)
    for name, given in (("noise_scale", noise_scale), ("gamma", gamma), ("tie_gamma", tie_gamma)):
        check_nonnegative(name, given)
    modeled = isinstance(value, ModelScores) and value.log_tie is not None
    if isinstance(design, Counts | CovariateDesign) and design.ties != modeled:
        design = dataclasses.replace(design, ties=modeled)
    beta = design.beta_of(value).astype(design.dtype)
    if beta.shape != (design.size + design.ties,):
        raise ValueError(
            f"the fit must have {design.num_items} scores and {design.size - design.num_items} coefficients, got "
            f"{beta.size} numbers in all."
        )
    if isinstance(design, Counts):
        _, met, real = as_design(beta[: design.num_items], design.comparisons, design.mask)
        design = Counts(met, real, design.ties)
    elif not is_traced(beta) and not np.all(np.isfinite(np.asarray(beta))):
        raise ValueError("scores and coefficients must be finite; did the fit converge?")
    flags = None if tied is None else jnp.asarray(tied)
    if flags is not None:
        if not isinstance(design, CovariateDesign) or design.ties:
            raise ValueError(
                "tied is about rows of a table whose ties are half wins: leave it out."
            )
        if flags.dtype != bool or flags.shape != design.first.shape:
            raise ValueError(
                f"tied must be bool of shape {design.first.shape}, got {flags.dtype} of shape {flags.shape}."
            )
    added = _noise_that_was(design, noise, noise_scale, questionnaire).known
    ridge = design.all_ridges(gamma, tie_gamma)
    return _errors(beta, design, ridge, flags, added, target)


def model_intervals(
    value: ModelScores | ScoresLike, errors: ModelErrors, level: Scalar = 0.95
) -> ModelIntervals:
    """Intervals of everything that a fit found, for sampling error and privacy noise together.

    Where the ridge bias can't be removed, as an answer's information changes too much on the way, intervals are
    infinite and those of ranks contain all ranks, as for :func:`~privrank_jax.pairwise.interval_estimates`.

    Args:
        value: what was fitted, as for :func:`model_errors`.
        errors: of the value, about the truth.
        level: confidence in (0, 1), may be traced.

    Returns:
        :class:`ModelIntervals`.

    Raises:
        ValueError: ``level`` outside (0, 1).

    >>> from privrank_jax.pairwise import covariate_table, mle
    >>> table = covariate_table([0, 1] * 9, [1, 0] * 9, [1, 0, 1] * 6, {"first": [1.0] * 18}, num_items=2)
    >>> value = mle(table).value
    >>> found = model_intervals(value, model_errors(value, table.design))
    >>> round(float(found.coefficients.standard_errors[0]), 4)  # 1/√(18 · 2/3 · 1/3)
    0.5
    """
    check_level(level)
    return _intervals(value, errors, level)


def _noise_that_was(
    design: Design, noise: str | None, scale: Scalar, questionnaire: PairMatrixLike | None
) -> Noise:
    """The noise of a release on what is counted of a design."""
    items = design.num_items
    if isinstance(design, Counts) and not design.ties:
        kind, asked = noise_that_was(noise, questionnaire, items)
        return noise_on_totals(kind, scale, items, asked, "flip")
    if questionnaire is not None:
        raise ValueError(
            "questionnaire is about noise on win totals with ties as half wins: leave it out."
        )
    kind = noise or "laplace"
    check_choice("noise", kind, NOISES)
    if isinstance(design, CovariateDesign):
        return noise_on_sums(design, kind, scale, ties=design.ties)
    return (
        noise_on_ties(kind, scale, items) if design.ties else Noise.independent(kind, scale, items)
    )


@functools.partial(jax.jit, static_argnames=("target",))
def _errors(
    beta: Float[Array, "parameters"],
    design: Design,
    ridge: Float[Array, "parameters"],
    tied: Bool[Array, "rows"] | None,
    noise: Noise,
    target: str,
) -> ModelErrors:
    m, size, dtype = design.num_items, beta.shape[0], beta.dtype
    mask = jnp.ones(m, bool) if design.item_mask is None else design.item_mask
    beta = beta.at[:m].set(center(beta[:m], mask))
    within, linked = identified(design.linked, dtype)
    project = jnp.eye(size, dtype=dtype).at[:m, :m].set(within)
    fisher = of_full_rank(design.information(beta), project)
    outcomes = fisher
    if tied is not None:
        assert isinstance(design, CovariateDesign)
        outcomes = _of_half_wins(design, beta, tied)
    middle, covariance, influence = sandwich(beta, fisher, outcomes, project, ridge, noise, target)
    near = hardly_changes(design.bend(beta) - design.bend(middle))
    units = jnp.ones_like(beta)
    if design.feature_units is not None:
        units = units.at[m : design.size].set(design.feature_units)
    return ModelErrors(
        middle / units,
        covariance / units / units[:, None],
        influence / units[:, None],
        linked & mask[:, None] & mask[None, :],
        mask,
        noise,
        near,
        design.ties,
    )


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


@jax.jit
def _intervals(
    value: ModelScores | ScoresLike, errors: ModelErrors, level: Scalar
) -> ModelIntervals:
    given = value if isinstance(value, ModelScores) else ModelScores(jnp.asarray(value))
    about, dtype = errors.scores, errors.center.dtype
    m = about.mask.shape[0]
    tables = critical_tables(about, level)
    scores = center(jnp.asarray(given.scores, dtype), about.mask)
    items = intervals_by(tables, scores, about, errors.near)
    parts = [] if given.coefficients is None else [jnp.asarray(given.coefficients, dtype)]
    parts += [] if given.log_tie is None else [jnp.asarray(given.log_tie, dtype)[None]]
    told = jnp.concatenate([jnp.zeros(0, dtype), *parts])
    variances, middle = jnp.diagonal(errors.covariance)[m:], errors.center[m:]
    reach = reach_of(variances, errors.noise.heavy_part(errors.influence[m:]), tables[0])
    others = ParameterIntervals(
        jnp.sqrt(variances),
        jnp.where(errors.near, jnp.minimum(middle - reach, told), -jnp.inf),
        jnp.where(errors.near, jnp.maximum(middle + reach, told), jnp.inf),
    )
    if not errors.ties:
        return ModelIntervals(items, others, None)
    slopes = jax.tree.map(lambda one: one[:-1], others)
    return ModelIntervals(items, slopes, jax.tree.map(lambda one: one[-1], others))
