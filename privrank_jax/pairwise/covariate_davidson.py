r"""Davidson's model of ties with public covariates: the parameter of ties costs no privacy here either.

**Model.** With z_r and β of :mod:`privrank_jax.pairwise.covariates` and η_r = ⟨z_r, β⟩, comparison r is won by its
first item, tied, or lost with probabilities in the ratios e^{η_r/2} : ν : e^{-η_r/2}. With y_r = 1, 1/2 or 0 for these,
t_r = 1 for a tie and 0 otherwise, the log-likelihood of a comparison is (y_r - 1/2)η_r + t_r log ν - A(η_r, ν) with
A = log(e^{η_r/2} + e^{-η_r/2} + ν). Given the design, outcomes enter through the sums S = Σ_r y_r z_r, ties half, and
the number T = Σ_r t_r of ties alone. Without features it is :mod:`privrank_jax.pairwise.davidson`.

**Privacy.** The private fit is post-processing of noisy (S, T), where T costs nothing: theorem and proof at the head of
:mod:`privrank_jax.pairwise.covariate_ties`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax._types import Key, Numbers, Scalar
from privrank_jax._validate import check_nonnegative, check_positive, is_traced
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.covariate_mle import check_table, covariate_ridge
from privrank_jax.pairwise.covariate_noise import noise_on_sums
from privrank_jax.pairwise.covariate_ties import (
    CovariateTies,
    noisy_covariate_ties,
    number_of_ties,
)
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable, center_items
from privrank_jax.pairwise.davidson import log_normalizer, outcome_odds, start_of_ties
from privrank_jax.pairwise.minimize import minimize
from privrank_jax.pairwise.mle import FitDiagnostics
from privrank_jax.privacy.privacy import Privacy

_PATIENCE = 8  # Newton steps without progress after which a search ends
_USUAL_INFORMATION = 1 / 7.0  # about a score, of one comparison, at scores ~ N(0, 1) and ν = 1
_USUAL_TIES = 2 / 9.0  # about log ν, of one comparison, at equal scores and ν = 1


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CovariateDavidsonScores:
    """A fit of Davidson's model to comparisons with covariates.

    Attributes:
        scores: ``(m,)``, θ, mean 0, high = preferred: of items that meet with all covariates 0; differences are
            log-odds of a win against a loss.
        coefficients: ``(p,)``, what one unit of each covariate adds to these log-odds of the first item.
        log_tie: log ν, shape ``()``.
    """

    scores: Float[Array, "*batch items"]
    coefficients: Float[Array, "*batch covariates"]
    log_tie: Float[Array, "*batch"]

    @property
    def tie(self) -> Float[Array, "*batch"]:
        """ν; 2 where ties are like half wins, less where they are rarer."""
        return jnp.exp(self.log_tie)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CovariateDavidsonFit:
    """Noise scale, ridges and solver diagnostics of a fit of Davidson's model with covariates.

    Attributes:
        noise_scale: λ (Laplace) or σ (Gaussian) of each sum, 1/ε for K-norm noise, 0 without privacy; public.
        ridge: ``(m + p,)``, γ of each score and of each feature's coefficient; public.
        tie_gamma: γ_T of log ν; public.
        fit: :class:`~privrank_jax.pairwise.mle.FitDiagnostics`. Of a private fit a function of the noisy (S, T) alone.
    """

    noise_scale: Numbers
    ridge: Float[Array, "*batch parameters"]
    tie_gamma: Numbers
    fit: FitDiagnostics


def covariate_davidson_mle(
    key: Key,
    table: CovariateTable,
    privacy: Privacy,
    *,
    gamma: Scalar | None = None,
    tie_gamma: Scalar | None = None,
    noise: str = "laplace",
) -> Estimate:
    """Private scores, coefficients of public covariates and tie parameter: a ridge fit to noisy (S, T).

    **Guarantee.** That of :func:`noisy_covariate_ties`, of which this is post-processing.

    Args:
        key: PRNG key.
        table: comparisons with features, from :func:`~privrank_jax.pairwise.covariate_table`; an outcome 1/2 is a tie.
        privacy: as for :func:`noisy_covariate_ties`.
        gamma: ridge γ > 0 of the scores, may be traced; that of a feature is γ times the square of its largest size.
            Default: 1 + (noise variance)/(usual information), as for :func:`~privrank_jax.pairwise.covariate_mle`.
        tie_gamma: ridge γ_T > 0 of log ν, may be traced; its default is made in the same way.
        noise: as for :func:`noisy_covariate_ties`.

    Returns:
        ``value``: :class:`CovariateDavidsonScores`. ``guarantee``. ``diagnostics``: :class:`CovariateDavidsonFit`.

    Raises:
        ValueError: as :func:`noisy_covariate_ties`; a ridge that is not positive.
        TypeError: as :func:`noisy_covariate_ties`.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> first, second, won = [0, 1] * 60, [1, 0] * 60, [1, 1] * 40 + [0.5, 0.5] * 10 + [1, 0] * 10
    >>> table = covariate_table(first, second, won, {"first": [1.0] * 120}, num_items=2)
    >>> promise = Privacy(5.0, unit="comparison", adjacency="flip", public=("covariates",))
    >>> value = covariate_davidson_mle(jax.random.key(0), table, promise).value
    >>> bool(value.coefficients[0] > 0.5), bool(0.2 < value.tie < 1.5)
    (True, True)
    """
    _check_ridges(gamma, tie_gamma)
    noisy = noisy_covariate_ties(key, table, privacy, noise=noise)
    found = davidson_from_covariate_sums(
        noisy.value.sums,
        noisy.value.ties,
        table.design,
        gamma,
        tie_gamma,
        noise_scale=noisy.diagnostics.noise_scale,
        noise=noise,
    )
    return dataclasses.replace(found, guarantee=noisy.guarantee)


def davidson_from_covariate_sums(
    sums: Float[Array | np.ndarray, "parameters"],
    ties: Scalar,
    design: CovariateDesign,
    gamma: Scalar | None = None,
    tie_gamma: Scalar | None = None,
    *,
    noise_scale: Scalar = 0.0,
    noise: str = "laplace",
) -> Estimate:
    """The fit of :func:`covariate_davidson_mle` to given noisy sums and ties: it spends no privacy.

    Args:
        sums: ``(m + p,)``, S with noise.
        ties: T with noise.
        design: the public part of the table.
        gamma: as for :func:`covariate_davidson_mle`; the default depends on the noise.
        tie_gamma: as for :func:`covariate_davidson_mle`; the default depends on the noise.
        noise_scale: λ, σ or 1/ε of the noise in the sums.
        noise: its kind.

    Returns:
        ``value``: :class:`CovariateDavidsonScores`. ``guarantee``: ``None``; that of the sums applies.
        ``diagnostics``: :class:`CovariateDavidsonFit`.

    Raises:
        ValueError: a ridge that is not positive, a negative noise scale, sums of another shape.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> first, second, won = [0, 1] * 60, [1, 0] * 60, [1, 0, 1, 0, 1, 0, 0.5, 0, 0.5, 1] * 12
    >>> table = covariate_table(first, second, won, {"first": [1.0] * 120}, num_items=2)
    >>> value = davidson_from_covariate_sums(table.sums, 2.0, table.design, 1e-4, 1e-4).value
    >>> bool(value.scores[0] > value.scores[1]), value.coefficients.shape
    (True, (1,))
    """
    _check_ridges(gamma, tie_gamma)
    check_nonnegative("noise_scale", noise_scale)
    dtype = design.features.dtype
    sums = jnp.asarray(sums, dtype)
    if sums.shape != (design.size,):
        raise ValueError(
            f"sums must have shape ({design.size},), one for each item and feature, got {sums.shape}."
        )
    ridge = covariate_ridge(
        design, noise_scale, noise, gamma, information=_USUAL_INFORMATION, ties=True
    )
    tie_ridge = _usual_tie_ridge(design, noise_scale, noise) if tie_gamma is None else tie_gamma
    known = CovariateTies(sums, jnp.asarray(ties, dtype))
    # As an array, a number given and the default, or a ridge of 0, are fitted by one program.
    found = fit_covariate_ties(design, known, ridge, jnp.asarray(tie_ridge, ridge.dtype))
    diagnostics = CovariateDavidsonFit(noise_scale, ridge, tie_ridge, found.diagnostics)
    return Estimate(found.value, None, diagnostics)


def davidson_with_covariates(
    table: CovariateTable, gamma: Scalar = 0.0, tie_gamma: Scalar = 0.0
) -> Estimate:
    """Scores, coefficients of covariates and tie parameter by maximum likelihood. **Not private.**

    Differentiable with respect to features and ridges by the implicit function theorem.

    Args:
        table: comparisons with features, from :func:`~privrank_jax.pairwise.covariate_table`; an outcome 1/2 is a tie.
        gamma: ridge γ >= 0, as for :func:`covariate_davidson_mle`; may be traced. With 0 there is no finite maximum if
            some combination of scores and covariates predicts too much; the solver's code or scores of dozens tell so.
        tie_gamma: ridge γ_T >= 0 of log ν; may be traced.

    Returns:
        ``value``: :class:`CovariateDavidsonScores`. ``guarantee``: ``None``. ``diagnostics``:
        :class:`CovariateDavidsonFit`.

    Raises:
        ValueError: a negative ridge; without a ridge of log ν, a table in which nothing or everything is tied.
        TypeError: ``table`` is no :class:`~privrank_jax.pairwise.covariates.CovariateTable`.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> first, second, won = [0, 1] * 60, [1, 0] * 60, [1, 0] * 30 + [0.5, 0.5] * 24 + [0, 1] * 6
    >>> table = covariate_table(first, second, won, {"first": [1.0] * 120}, num_items=2)
    >>> value = davidson_with_covariates(table).value
    >>> round(float(value.scores[0] - value.scores[1]), 4), round(float(value.tie), 4)  # log 5, 24/√(30·6)
    (1.6094, 1.7889)
    """
    check_table(table)
    check_nonnegative("gamma", gamma)
    check_nonnegative("tie_gamma", tie_gamma)
    if not is_traced(table, tie_gamma) and np.all(np.asarray(tie_gamma) == 0):
        real = np.ones(table.outcomes.shape) if table.design.mask is None else table.design.mask
        tied, rows = float(number_of_ties(table)), float(np.sum(np.asarray(real)))
        if tied in (0.0, rows):
            raise ValueError(
                f"{tied:g} of {rows:g} comparisons are ties, so the tie parameter has no finite estimate: give "
                "tie_gamma > 0, or fit without it by mle_with_covariates."
            )
    ridge = covariate_ridge(table.design, 0.0, "laplace", gamma)
    known = CovariateTies(table.sums, number_of_ties(table))
    found = fit_covariate_ties(table.design, known, ridge, jnp.asarray(tie_gamma, ridge.dtype))
    diagnostics = CovariateDavidsonFit(0.0, ridge, tie_gamma, found.diagnostics)
    return Estimate(found.value, None, diagnostics)


# --- the fit -----------------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CovariateDavidsonObjective:
    """(Σ_r A(η_r, ν) - ⟨S - Σ_r z_r/2, β⟩ - T log ν + Σ_k γ_k β_k²/2 + γ_T(log ν)²/2)/scale + (Σθ)²/(2m).

    Attributes:
        design: the public part.
        excess: ``(m + p,)``, S less half of Σ_r z_r, with any noise.
        ties: T, with any noise.
        ridge: ``(m + p + 1,)``, γ_k, then γ_T.
        scale: the mean number of comparisons per item, at least 1: gradients are of order one.
    """

    design: CovariateDesign
    excess: Float[Array, "*batch parameters"]
    ties: Float[Array, "*batch"]
    ridge: Float[Array, "*batch numbers"]
    scale: Float[Array, "*batch"]

    def __call__(self, params: Float[Array, "numbers"]) -> Float[Array, ""]:
        """Value at (β, log ν)."""
        known = jnp.append(self.excess, self.ties)
        each = self.design.real(log_normalizer(self.design.log_odds(params[:-1]), params[-1]))
        fit = jnp.sum(each) + product(0.5 * self.ridge * params - known, params)
        return fit / self.scale + 0.5 * jnp.sum(params[: self._items]) ** 2 / self._items

    def gradient(self, params: Float[Array, "numbers"]) -> Float[Array, "numbers"]:
        """Gradient at (β, log ν)."""
        win, loss, tie = outcome_odds(self.design.log_odds(params[:-1]), params[-1])
        expected = jnp.append(self.design.total(0.5 * (win - loss)), jnp.sum(self.design.real(tie)))
        known = jnp.append(self.excess, self.ties)
        level = jnp.sum(params[: self._items]) / self._items
        return (expected + self.ridge * params - known) / self.scale + self._held * level

    def hessian(self, params: Float[Array, "numbers"]) -> Float[Array, "numbers numbers"]:
        """Hessian at (β, log ν)."""
        bent = tie_information(self.design, params[:-1], params[-1]) + jnp.diag(self.ridge)
        return bent / self.scale + jnp.outer(self._held, self._held) / self._items

    @property
    def _items(self) -> int:
        return self.design.num_items

    @property
    def _held(self) -> Float[Array, "numbers"]:
        """1 for scores, whose sum is held near 0."""
        return (jnp.arange(self.ridge.shape[0]) < self._items).astype(self.ridge.dtype)


def tie_information(
    design: CovariateDesign, beta: Float[Array, "parameters"], log_tie: Scalar
) -> Float[Array, "numbers numbers"]:
    """Fisher information of (β, log ν), the covariance of (S, T), ``(m + p + 1, m + p + 1)``.

    Args:
        design: the comparisons.
        beta: ``(m + p,)``, θ and the coefficients of the features.
        log_tie: log ν.
    """
    win, loss, tie = outcome_odds(design.log_odds(beta), jnp.asarray(log_tie))
    lead = 0.5 * (win - loss)
    of_beta = design.gram(0.25 * (win + loss) - jnp.square(lead))
    cross = -design.total(tie * lead)
    own = jnp.sum(design.real(tie * (win + loss)))
    return jnp.block([[of_beta, cross[:, None]], [cross[None, :], own[None, None]]])


def _check_ridges(gamma: Scalar | None, tie_gamma: Scalar | None) -> None:
    if gamma is not None:
        check_positive("gamma", gamma, infinite=False)
    if tie_gamma is not None:
        check_positive("tie_gamma", tie_gamma, infinite=False)


def _usual_tie_ridge(design: CovariateDesign, noise_scale: Scalar, noise: str) -> Any:
    """γ_T = 1 + (noise variance)/(2/9 per comparison)."""
    each = noise_on_sums(design, noise, noise_scale, ties=True).variances[-1]
    rows = 0.5 * design.num_items * design.degree
    return 1 + each / (_USUAL_TIES * jnp.maximum(rows, 1e-3))


@jax.jit
def fit_covariate_ties(
    design: CovariateDesign,
    known: CovariateTies,
    ridge: Float[Array, "parameters"],
    tie_ridge: Scalar,
) -> Estimate:
    """The ridge fit of Davidson's model to given sums and ties, as an estimate without a guarantee.

    Args:
        design: the comparisons.
        known: S and T with any noise.
        ridge: ``(m + p,)``, γ of each score and coefficient.
        tie_ridge: γ of log ν.
    """
    half = design.total(jnp.full(design.first.shape, 0.5, design.features.dtype))
    ridges = jnp.append(ridge, jnp.asarray(tie_ridge, ridge.dtype))
    excess, ties = jnp.asarray(known.sums) - half, jnp.asarray(known.ties)
    scale = jnp.maximum(design.degree, 1.0)
    objective = CovariateDavidsonObjective(design, excess, ties, ridges, scale)
    rows = 0.5 * design.num_items * design.degree
    start = jnp.zeros_like(ridges).at[-1].set(start_of_ties(ties, rows))
    found = minimize(objective, jax.lax.stop_gradient(start), patience=_PATIENCE)
    beta, items = center_items(found.value[:-1], design.num_items), design.num_items
    value = CovariateDavidsonScores(beta[:items], beta[items:] / design.units, found.value[-1])
    return Estimate(value, None, FitDiagnostics(found.gradient_norm, found.steps, found.code))
