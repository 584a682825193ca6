"""Scores and coefficients of public covariates from comparisons: private, from noisy sums, and without privacy."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Key, Numbers, Scalar
from privrank_jax._validate import check_nonnegative, check_positive
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.covariate_noise import (
    covariate_noise,
    kept_with_covariates,
    noise_on_sums,
)
from privrank_jax.pairwise.covariates import (
    CovariateDesign,
    CovariateObjective,
    CovariateTable,
    center_items,
)
from privrank_jax.pairwise.minimize import minimize
from privrank_jax.pairwise.mle import FitDiagnostics
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy

_PATIENCE = 8  # Newton steps without progress after which a search ends
_USUAL_INFORMATION = 0.2  # about a score, of one comparison, at scores ~ N(0, 1)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CovariateScores:
    """A fit to comparisons with covariates.

    Attributes:
        scores: ``(m,)``, θ, mean 0, high = preferred: of items that meet with all covariates 0.
        coefficients: ``(p,)``, what one unit of each covariate adds to the log-odds of the first item.
    """

    scores: Float[Array, "*batch items"]
    coefficients: Float[Array, "*batch covariates"]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CovariateFit:
    """Noise scale, ridge and solver diagnostics of a fit with covariates.

    Attributes:
        noise_scale: λ (Laplace) or σ (Gaussian) of each sum, 1/ε for K-norm noise, 0 without privacy; public.
        ridge: ``(m + p,)``, γ of each score and of each feature's coefficient; public.
        fit: :class:`~privrank_jax.pairwise.mle.FitDiagnostics`. Of a private fit a function of the noisy sums alone.
    """

    noise_scale: Numbers
    ridge: Float[Array, "*batch parameters"]
    fit: FitDiagnostics


def covariate_mle(
    key: Key,
    table: CovariateTable,
    privacy: Privacy,
    *,
    gamma: Scalar | None = None,
    noise: str = "laplace",
    sensitivity: Scalar | None = None,
) -> Estimate:
    """Private scores and coefficients of public covariates: a ridge fit to noisy sums S = Σ_r y_r z_r.

    **Guarantee.** (ε, δ)-DP, δ = 0 but for Gaussian noise, for the outcomes of one comparison or one user: that of
    :func:`noisy_covariate_sums`. The fit is post-processing, whatever its ridge, solver and rounding.

    Args:
        key: PRNG key.
        table: comparisons with features, from :func:`covariate_table`.
        privacy: as for :func:`noisy_covariate_sums`.
        gamma: ridge γ > 0 of the scores, in comparisons, may be traced; that of a feature is γ times the square of its
            largest size. Default: the ridge with the least first-order risk for scores, and for effects of covariates
            at their largest size, that are N(0, 1): 1 + (noise variance)/(information).
        noise: as for :func:`noisy_covariate_sums`.
        sensitivity: as for :func:`noisy_covariate_sums`.

    Returns:
        ``value``: :class:`CovariateScores`. ``guarantee``. ``diagnostics``: :class:`CovariateFit`.

    Raises:
        ValueError: as :func:`noisy_covariate_sums`, or γ <= 0.
        TypeError: as :func:`noisy_covariate_sums`.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> first, second, won = [0, 1] * 45, [1, 0] * 45, [1, 1] * 36 + [1, 0] * 9  # who is first wins most often
    >>> table = covariate_table(first, second, won, {"first": [1.0] * 90}, num_items=2)
    >>> promise = Privacy(1.0, unit="comparison", adjacency="flip", public=("covariates",))
    >>> value = covariate_mle(jax.random.key(0), table, promise).value
    >>> bool(value.coefficients[0] > 0.5)
    True
    """
    if gamma is not None:
        check_positive("gamma", gamma, infinite=False)
    noisy = noisy_covariate_sums(key, table, privacy, noise=noise, sensitivity=sensitivity)
    scale = noisy.diagnostics.noise_scale
    ridge = covariate_ridge(table.design, scale, noise, gamma)
    found = fit_covariate_sums(table.design, noisy.value, ridge)
    diagnostics = CovariateFit(scale, ridge, found.diagnostics)
    return Estimate(found.value, noisy.guarantee, diagnostics)


def noisy_covariate_sums(
    key: Key,
    table: CovariateTable,
    privacy: Privacy,
    *,
    noise: str = "laplace",
    sensitivity: Scalar | None = None,
) -> Estimate:
    """The sums S = Σ_r y_r z_r of comparisons with covariates, plus noise: all that outcomes contribute to a fit.

    **Guarantee.** ε-DP (Laplace, K-norm) or (ε, δ)-DP (Gaussian) where outcomes of one unit change. Theorem, proof, and
    what is public: head of :mod:`privrank_jax.pairwise.covariates`, and of :mod:`privrank_jax.pairwise.covariate_shape`
    for K-norm noise, which is far less where all users are asked the same pairs.

    Args:
        key: PRNG key.
        table: comparisons with features, from :func:`covariate_table`.
        privacy: what is promised: unit comparison or user, adjacency ``flip``, public ``"covariates"``. ε = ∞ adds no
            noise; ε and δ may be traced. Users need no ``contributions``: the table says who gave what.
        noise: ``"laplace"``, ``"gaussian"`` at the δ of the promise, or ``"k-norm"`` for users, in the shape of what
            one of them can change in this design, which must not be traced;
            :func:`~privrank_jax.pairwise.covariate_noise.least_covariate_noise` chooses.
        sensitivity: a smaller public sensitivity of S, ℓ₁ for Laplace and ℓ₂ for Gaussian noise, instead of the
            theorem's.

    Returns:
        ``value``: noisy sums, ``(m + p,)``: of the items, then of the features. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ, σ, or 1/ε for K-norm noise; public.

    Raises:
        ValueError: a promise of another adjacency or unit, or one that does not say that covariates are public;
            Gaussian noise without δ; K-norm noise for single comparisons, of a traced design, or with a sensitivity.
        TypeError: ``table`` is no :class:`CovariateTable`.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> table = covariate_table([0, 1], [1, 0], [1, 0], {"first": [1.0, 1.0]}, num_items=2)
    >>> free = Privacy(float("inf"), unit="comparison", adjacency="flip", public=("covariates",))
    >>> noisy_covariate_sums(jax.random.key(0), table, free).value.tolist()
    [1.0, -1.0, 1.0]
    """
    attained = kept_with_covariates(privacy, "noisy_covariate_sums", noise)
    check_table(table)
    added = covariate_noise(table.design, attained, noise, sensitivity)
    value = _noisy_sums(key, table, added)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(added.scale))


def scores_from_covariate_sums(
    sums: Float[Array, "parameters"],
    design: CovariateDesign,
    gamma: Scalar | None = None,
    *,
    noise_scale: Scalar = 0.0,
    noise: str = "laplace",
) -> Estimate:
    """The fit of :func:`covariate_mle` to given noisy sums, as of an exact release: it spends no privacy.

    Args:
        sums: ``(m + p,)``, S with noise.
        design: the public part of the table.
        gamma: as for :func:`covariate_mle`; the default depends on the noise.
        noise_scale: λ, σ or 1/ε of the noise in the sums.
        noise: its kind.

    Returns:
        ``value``: :class:`CovariateScores`. ``guarantee``: ``None``; that of the sums applies. ``diagnostics``:
        :class:`CovariateFit`.

    Raises:
        ValueError: γ <= 0, sums of another shape.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> table = covariate_table([0, 1] * 45, [1, 0] * 45, [1, 0, 1] * 30, {"first": [1.0] * 90}, num_items=2)
    >>> found = scores_from_covariate_sums(table.sums, table.design, 1e-6).value
    >>> round(float(found.coefficients[0]), 3)  # log 2
    0.693
    """
    if gamma is not None:
        check_positive("gamma", gamma, infinite=False)
    check_nonnegative("noise_scale", noise_scale)
    sums = jnp.asarray(sums, design.features.dtype)
    if sums.shape != (design.size,):
        raise ValueError(
            f"sums must have shape ({design.size},), one for each item and feature, got {sums.shape}."
        )
    ridge = covariate_ridge(design, noise_scale, noise, gamma)
    found = fit_covariate_sums(design, sums, ridge)
    return Estimate(found.value, None, CovariateFit(noise_scale, ridge, found.diagnostics))


def mle_with_covariates(table: CovariateTable, gamma: Scalar = 0.0) -> Estimate:
    """Scores and coefficients of covariates by maximum likelihood. **Not private.**

    Differentiable with respect to outcomes, features and ridge by the implicit function theorem.

    Args:
        table: comparisons with features, from :func:`covariate_table`.
        gamma: ridge γ >= 0, as for :func:`covariate_mle`; may be traced. With 0 there is no finite maximum if some
            combination of scores and covariates predicts every outcome; the solver's code then tells so.

    Returns:
        ``value``: :class:`CovariateScores`. ``guarantee``: ``None``. ``diagnostics``: :class:`CovariateFit`.

    Raises:
        ValueError: γ < 0.
        TypeError: ``table`` is no :class:`CovariateTable`.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> table = covariate_table([0, 1] * 9, [1, 0] * 9, [1, 0, 1] * 6, {"first": [1.0] * 18}, num_items=2)
    >>> round(float(mle_with_covariates(table).value.coefficients[0]), 3)  # log 2
    0.693
    """
    check_table(table)
    check_nonnegative("gamma", gamma)
    ridge = jnp.asarray(gamma, table.design.features.dtype) * _squares(table.design)
    found = _fit_table(table, ridge)
    return Estimate(found.value, None, CovariateFit(0.0, ridge, found.diagnostics))


def check_table(table: object) -> None:
    """Raise ``TypeError`` unless ``table`` is a :class:`CovariateTable`."""
    if not isinstance(table, CovariateTable):
        raise TypeError(
            f"table must be a CovariateTable, got {type(table).__name__}: make one by covariate_table."
        )


def covariate_ridge(
    design: CovariateDesign,
    noise_scale: Numbers,
    noise: str,
    gamma: Scalar | None = None,
    *,
    information: float = _USUAL_INFORMATION,
    ties: bool = False,
) -> Float[Array, "parameters"]:
    """The ridge of :func:`covariate_mle`, ``(m + p,)``: as given, or its default; from public quantities only.

    Args:
        design: the public part of the table.
        noise_scale: λ, σ or 1/ε of the noise.
        noise: its kind.
        gamma: γ of the scores.
        information: about a score, of one comparison, in the default.
        ties: whether the number of ties was released too.
    """
    squares = _squares(design)
    if gamma is not None:
        return jnp.asarray(gamma, squares.dtype) * squares
    law = noise_on_sums(design, noise, jnp.asarray(noise_scale, squares.dtype), ties=ties)
    of_items = jnp.broadcast_to(law.variance_per_dimension(), (design.num_items,))
    others = law.variances[design.num_items : design.size]
    variance = jnp.concatenate([of_items, others]).astype(squares.dtype)
    of_features = jnp.sum(jnp.square(_features(design)), 0)
    return _raised(squares, variance, design.degree, of_features, information)


@functools.partial(jax.jit, inline=True)
def _raised(
    squares: Array, variance: Array, degree: Array, of_features: Array, information: Scalar
) -> Array:
    """The ridge where the noise in each sum has a variance and each coefficient so much information."""
    items = squares.shape[0] - of_features.shape[0]
    met = jnp.broadcast_to(jnp.maximum(degree, 1e-3), (items,))
    counts = jnp.concatenate([met, of_features])
    return squares * (1 + variance / (counts * information))


@functools.partial(jax.jit, inline=True)
def _squares(design: CovariateDesign) -> Float[Array, "parameters"]:
    """1 for items, and the square of the largest size of each feature."""
    most = jnp.max(jnp.abs(_features(design)), 0, initial=0.0)
    return jnp.concatenate([jnp.ones(design.num_items, most.dtype), jnp.square(most)])


def _features(design: CovariateDesign) -> Float[Array, "rows covariates"]:
    """The features, 0 for padding."""
    if design.mask is None:
        return design.features
    return jnp.where(design.mask[:, None], design.features, 0)


@jax.jit
def _noisy_sums(key: Key, table: CovariateTable, added: Noise) -> Float[Array, "parameters"]:
    sums = table.sums
    return sums + added.draw(key, sums.dtype)


@jax.jit
def _fit_table(table: CovariateTable, ridge: Float[Array, "parameters"]) -> Estimate:
    return _fit(table.design, table.sums, ridge)


@jax.jit
def fit_covariate_sums(
    design: CovariateDesign, sums: Float[Array, "parameters"], ridge: Float[Array, "parameters"]
) -> Estimate:
    """The ridge fit to given sums, as an estimate without a guarantee.

    Args:
        design: the comparisons.
        sums: ``(m + p,)``, S with any noise.
        ridge: ``(m + p,)``, γ of each score and coefficient.
    """
    return _fit(design, sums, ridge)


def _fit(
    design: CovariateDesign, sums: Float[Array, "parameters"], ridge: Float[Array, "parameters"]
) -> Estimate:
    objective = CovariateObjective.of(design, sums, ridge)
    found = minimize(objective, jnp.zeros_like(sums), patience=_PATIENCE)
    beta = center_items(found.value, design.num_items)
    value = CovariateScores(beta[: design.num_items], beta[design.num_items :] / design.units)
    return Estimate(value, None, FitDiagnostics(found.gradient_norm, found.steps, found.code))
