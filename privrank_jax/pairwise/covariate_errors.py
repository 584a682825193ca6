r"""Standard errors and intervals of scores and coefficients of covariates, privacy noise included.

Post-processing of the release: it takes the private fit, the public noise scale and ridge, and the public design, never
the outcomes. As in :mod:`privrank_jax.pairwise.standard_errors`, with β = (θ, b), the Fisher information I of β at the
fit (:func:`~privrank_jax.pairwise.covariates.information`) and the ridge R = diag(γ): to first order the fit is β +
(I + R)^{-1}(s - w - Rβ), s the score of the comparisons (covariance I) and w the noise (covariance V, 2λ² or σ² times
the identity). One Newton step of the fit without ridge, β̃ + I⁻¹Rβ̃, removes the bias and has covariance I⁻¹(I + V)I⁻¹.
Inverses are on the directions that the design identifies: differences within components of compared items, and all
coefficients. Tails and ranks are as in :mod:`privrank_jax.pairwise.intervals`, and so is the rule under which the step
is too long for intervals: the information of some comparison changes by more than ``MOST_CHANGE`` along it.

**Assumptions.** The model holds, comparisons are independent given scores and covariates (several answers of one user
count as independent), and errors are small enough for one linear step.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax._types import Scalar
from privrank_jax._validate import check_choice, check_level, check_nonnegative
from privrank_jax.pairwise.covariate_mle import CovariateScores
from privrank_jax.pairwise.covariates import CovariateDesign, information
from privrank_jax.pairwise.graph import component_labels
from privrank_jax.pairwise.intervals import MOST_CHANGE, Intervals, critical_value, intervals_of
from privrank_jax.pairwise.standard_errors import Uncertainty, noise_variance, project_inverse
from privrank_jax.privacy.noise import NOISES


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CovariateIntervals:
    """Intervals of the scores and ranks of items, and of the coefficients of covariates.

    Attributes:
        items: :class:`~privrank_jax.pairwise.Intervals`.
        standard_errors: ``(p,)``, of the coefficients.
        low: ``(p,)``, lower ends of their intervals, each by itself; -∞ where the ridge bias can't be removed.
        high: ``(p,)``, upper ends.
    """

    items: Intervals
    standard_errors: Float[Array, "*batch covariates"]
    low: Float[Array, "*batch covariates"]
    high: Float[Array, "*batch covariates"]


def covariate_intervals(
    value: CovariateScores,
    design: CovariateDesign,
    ridge: Float[Array, "parameters"],
    *,
    noise_scale: Scalar = 0.0,
    noise: str = "laplace",
    level: Scalar = 0.95,
) -> CovariateIntervals:
    """Intervals of everything that a fit with covariates found, for sampling error and privacy noise together.

    Args:
        value: scores and coefficients, from :func:`covariate_mle`, :func:`mle_with_covariates` or
            :func:`scores_from_covariate_sums`.
        design: the public part of the table.
        ridge: ``(m + p,)``, of the fit: its diagnostics hold it, and the next.
        noise_scale: λ or σ, may be traced; 0 without privacy.
        noise: ``"laplace"`` or ``"gaussian"``.
        level: confidence in (0, 1), may be traced.

    Returns:
        :class:`CovariateIntervals`.

    Raises:
        ValueError: a negative scale, an unknown noise, ``level`` outside (0, 1).

    >>> from privrank_jax.pairwise import covariate_table, mle_with_covariates
    >>> table = covariate_table([0, 1] * 9, [1, 0] * 9, [1, 0, 1] * 6, {"first": [1.0] * 18}, num_items=2)
    >>> found = mle_with_covariates(table)
    >>> errors = covariate_intervals(found.value, table.design, found.diagnostics.ridge)
    >>> round(float(errors.standard_errors[0]), 4)  # 1/√(18 · 2/3 · 1/3)
    0.5
    """
    check_choice("noise", noise, NOISES)
    check_nonnegative("noise_scale", noise_scale)
    check_level(level)
    return _covariate_intervals(value, design, ridge, noise_scale, level, noise)


@functools.partial(jax.jit, static_argnames=("noise",))
def _covariate_intervals(
    value: CovariateScores,
    design: CovariateDesign,
    ridge: Float[Array, "parameters"],
    noise_scale: Scalar,
    level: Scalar,
    noise: str,
) -> CovariateIntervals:
    m = design.num_items
    beta = jnp.concatenate([value.scores, value.coefficients * design.units])
    dtype = beta.dtype
    scale = jnp.asarray(noise_scale, dtype)
    fisher = information(design, beta)
    met = design.gram(jnp.ones(design.first.shape, dtype))[:m, :m] < 0
    labels = component_labels(met)
    linked = labels[:, None] == labels[None, :]
    within = jnp.eye(m, dtype=dtype) - linked / jnp.sum(linked, -1).astype(dtype)
    project = jnp.eye(beta.shape[0], dtype=dtype).at[:m, :m].set(within)
    influence = project_inverse(fisher, project)
    spread = fisher + noise_variance(scale, noise) * jnp.eye(beta.shape[0], dtype=dtype)
    covariance = product(product(influence, spread), influence.T)
    center = product(project, beta) + product(influence, ridge * beta)
    near = _is_near(design, beta, center)
    errors = Uncertainty(
        center[:m], covariance[:m, :m], influence[:m], linked, scale, jnp.ones(m, bool), noise
    )
    items = intervals_of(value.scores, errors, level, near)
    variance = jnp.diagonal(covariance)[m:]
    heavy = jnp.zeros_like(variance)
    if noise == "laplace":
        heavy = noise_variance(scale, noise) * jnp.sqrt(jnp.sum(influence[m:] ** 4, -1))
    deviation = jnp.sqrt(variance)
    reach = critical_value(1 - level, heavy / jnp.where(variance > 0, variance, 1.0)) * deviation
    low = jnp.where(near, jnp.minimum(center[m:] - reach, beta[m:]), -jnp.inf)
    high = jnp.where(near, jnp.maximum(center[m:] + reach, beta[m:]), jnp.inf)
    return CovariateIntervals(
        items, deviation / design.units, low / design.units, high / design.units
    )


def _is_near(
    design: CovariateDesign, beta: Float[Array, "parameters"], center: Float[Array, "parameters"]
) -> Array:
    """Whether no comparison's information changes by more than the factor ``MOST_CHANGE`` from β̃ to the center."""

    def bend(odds: Array) -> Array:
        return jax.nn.log_sigmoid(odds) + jax.nn.log_sigmoid(-odds)

    change = jnp.abs(bend(design.log_odds(beta)) - bend(design.log_odds(center)))
    return jnp.all(design.real(change) <= math.log(MOST_CHANGE))
