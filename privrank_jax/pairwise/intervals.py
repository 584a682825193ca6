r"""Confidence intervals of private scores and ranks, privacy noise included.

All of it is post-processing of the release; :mod:`privrank_jax.pairwise.uncertainty` states inputs and assumptions.

**Tails.** An error is a Gaussian part plus a weighted sum of independent Laplace variables, whose tails are
heavier. Critical values are those of a Gaussian plus *one* Laplace variable with the same first four moments
(:mod:`privrank_jax.privacy.bodies`). K-norm noise has tails between those of the two.

**Ranks.** Item i ranks below every item that is significantly better, and above every item that is significantly
worse, each of K differences being bounded at confidence 1 - α/K (Bonferroni). So the rank intervals are valid under any
ties (Mogstad, Romano, Shaikh and Wilhelm 2024; Klein, Wright and Wieczorek 2020).

**Where the ridge bias can't be removed.** Intervals of scores are centered one Newton step from the released scores,
at θ̃ + γI⁻¹θ̃, with the information I held at its value at θ̃. This is a good approximation where I changes little
along the step. So no interval is given where the information of some compared pair changes by more than a factor of
``MOST_CHANGE`` from θ̃ to the center; otherwise the information in no direction changes by more. Released scores
are fitted to data, or to noise, for which the likelihood may have no finite maximum (separation: some items never
lost to the others). There the step is too long for every γ. Let u be a direction in which the likelihood never
falls, u_k ≥ 0 its difference along comparison k, winner less loser, and q_k the gradient of the comparison's log
likelihood. The step d solves Σ I_k u_k d_k = Σ q_k u_k, so d_k ≥ q_k/I_k for some k with u_k > 0. Such an increase
of a difference multiplies the pair's information by at most 0.43 (logistic link), 0.37 (laplace) or 0.56 (normal).

After a moderate step, the released score, which the ridge shrinks toward 0, can still lie outside a narrow
interval about the center. The interval is then extended to include the score, as the interval of a rank is to
include the released rank. Extending an interval can only raise its coverage.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from privrank_jax._types import (
    Flags,
    MaskLike,
    PairMatrixLike,
    Ranks,
    Scalar,
    Scores,
    ScoresLike,
)
from privrank_jax._validate import check_choice, check_level
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.critical_values import critical_at, critical_of, critical_tables
from privrank_jax.pairwise.masked import center
from privrank_jax.pairwise.uncertainty import (
    Uncertainty,
    standard_errors,
    totals_standard_errors,
)
from privrank_jax.rankings import ranks_from_scores

# Largest factor by which a pair's information may change from the released scores to the center of the intervals.
MOST_CHANGE = 1.75


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Intervals:
    """Intervals of scores and ranks, one entry per item; entries of masked items are meaningless.

    Attributes:
        ranks: ``(m,)`` int32, ranks of the released values, 0 = best.
        standard_errors: ``(m,)``.
        low: ``(m,)`` lower ends of the score intervals.
        high: ``(m,)`` upper ends.
        rank_low: ``(m,)`` int32, best rank consistent with the data.
        rank_high: ``(m,)`` int32, worst rank consistent with the data.
        better: ``(m, m)`` bool, whether item i is significantly better than j, simultaneously over all pairs.
    """

    ranks: Int[Array, "*batch items"]
    standard_errors: Float[Array, "*batch items"]
    low: Float[Array, "*batch items"]
    high: Float[Array, "*batch items"]
    rank_low: Int[Array, "*batch items"]
    rank_high: Int[Array, "*batch items"]
    better: Bool[Array, "*batch items items"]


def confidence_intervals(
    uncertainty: Uncertainty, level: Scalar = 0.95, simultaneous: bool = False
) -> tuple[Scores, Scores]:
    """Intervals for each item's value, or for all of them at once (Bonferroni).

    Args:
        uncertainty: from :func:`standard_errors` or :func:`totals_standard_errors`.
        level: confidence in (0, 1), may be traced.
        simultaneous: whether all m intervals hold together at that level.

    Returns:
        (low, high), each ``(m,)``.

    Raises:
        ValueError: ``level`` outside (0, 1).

    >>> errors = totals_standard_errors([90.0, 10.0], [[0, 100], [100, 0]])
    >>> low, high = confidence_intervals(errors)
    >>> [(round(float(a), 1), round(float(b), 1)) for a, b in zip(low, high)]
    [(80.2, 99.8), (0.2, 19.8)]
    """
    check_level(level)
    return _confidence_intervals(uncertainty, level, simultaneous)


@functools.partial(jax.jit, static_argnames=("simultaneous",))
def _confidence_intervals(
    uncertainty: Uncertainty, level: Scalar, simultaneous: bool
) -> tuple[Array, Array]:
    count = jnp.maximum(jnp.sum(uncertainty.mask), 1) if simultaneous else 1
    return _of_items(
        uncertainty, critical_of((1 - jnp.asarray(level, uncertainty.center.dtype)) / count)
    )


def _of_items(uncertainty: Uncertainty, table: Array) -> tuple[Array, Array]:
    noise = uncertainty.noise
    heavy = 0.0 if noise is None else noise.heavy_part(uncertainty.influence)
    reach = reach_of(uncertainty.variances, heavy, table)
    return uncertainty.center - reach, uncertainty.center + reach


def rank_intervals(
    uncertainty: Uncertainty, level: Scalar = 0.95, simultaneous: bool = False
) -> tuple[Ranks, Ranks]:
    """Intervals for each item's rank, or for all of them at once; valid with ties and near-ties.

    Args:
        uncertainty: from :func:`standard_errors` or :func:`totals_standard_errors`.
        level: confidence in (0, 1), may be traced.
        simultaneous: whether all m intervals hold together at that level.

    Returns:
        (low, high), each ``(m,)`` int32, 0 = best: with probability ``level`` at least, the rank of the item
        by its true value is in low..high (for tied items, any rank that the tie allows).

    Raises:
        ValueError: ``level`` outside (0, 1).

    >>> errors = totals_standard_errors([90.0, 10.0], [[0, 100], [100, 0]])
    >>> low, high = rank_intervals(errors)
    >>> low.tolist(), high.tolist()
    ([0, 1], [0, 1])
    """
    check_level(level)
    return _rank_intervals(uncertainty, level, simultaneous)


@functools.partial(jax.jit, static_argnames=("simultaneous",))
def _rank_intervals(
    uncertainty: Uncertainty, level: Scalar, simultaneous: bool
) -> tuple[Array, Array]:
    tables = critical_tables(uncertainty, level)
    return _ranks(uncertainty, _better(uncertainty, tables[1:])[int(simultaneous)])


def _better(uncertainty: Uncertainty, tables: Array) -> Array:
    """Whether i is significantly better than j, by each table of critical values, ``(tables, m, m)``."""
    covariance = uncertainty.covariance
    own = jnp.diagonal(covariance)
    variance = jnp.maximum(own[:, None] + own[None, :] - 2 * covariance, 0.0)
    variance = jnp.where(uncertainty.linked, variance, jnp.inf)
    noise = uncertainty.noise
    heavy = 0.0 if noise is None else noise.heavy_part_of_differences(uncertainty.influence)
    reach = jax.vmap(lambda table: reach_of(variance, heavy, table))(tables)
    return uncertainty.center[:, None] - uncertainty.center[None, :] > reach


def _ranks(uncertainty: Uncertainty, better: Array) -> tuple[Array, Array]:
    last = jnp.sum(uncertainty.mask) - 1
    return jnp.sum(better, -2, jnp.int32), (last - jnp.sum(better, -1)).astype(jnp.int32)


def interval_estimates(
    value: ScoresLike,
    comparisons: PairMatrixLike,
    *,
    method: str = "mle",
    noise_scale: Scalar = 0.0,
    gamma: Scalar = 0.0,
    link: str | Link = "logistic",
    noise: str | None = None,
    questionnaire: PairMatrixLike | None = None,
    ties: PairMatrixLike | None = None,
    outcomes: PairMatrixLike | None = None,
    level: Scalar = 0.95,
    mask: MaskLike | None = None,
) -> Intervals:
    """Released ranks, standard errors and intervals of every item, for a release of either kind.

    Score and rank intervals hold one by one, not simultaneously. They always contain the item's released score,
    centered, and its released rank. Where the ridge bias can't be removed (module docstring), or where the
    comparisons leave the items in several components, score intervals are infinite; in the first case, rank
    intervals contain all ranks, and no item is significantly better than another.

    Args:
        value: ``(m,)`` released scores (``method="mle"``: :func:`perturbed_mle`, :func:`mle`) or win totals
            (``method="counts"``: :func:`noisy_counts`).
        comparisons: ``(m, m)`` public comparison counts M_ij, or expected ones
            (:func:`~privrank_jax.pairwise.meetings.uniform_design`).
        method: ``"mle"`` or ``"counts"``.
        noise_scale: λ, σ or 1/ε of the release (its diagnostics hold it); 0 without privacy.
        gamma: ridge γ of the fit; for ``"mle"``.
        link: as in the fit; for ``"mle"``.
        noise: as for :func:`standard_errors`.
        questionnaire: as for :func:`standard_errors`.
        ties: as for :func:`standard_errors`; not after a private release.
        outcomes: as for :func:`standard_errors`; for ``"mle"``, not after a private release.
        level: confidence, in (0, 1).
        mask: ``(m,)`` bool, real items.

    Returns:
        :class:`Intervals`.

    Raises:
        ValueError: as :func:`standard_errors`, ``level`` outside (0, 1), or ``outcomes`` of win totals.

    >>> rows = interval_estimates([90.0, 10.0], [[0, 100], [100, 0]], method="counts", noise_scale=2.0)
    >>> rows.rank_low.tolist(), rows.rank_high.tolist()
    ([0, 1], [0, 1])
    """
    check_choice("method", method, ("mle", "counts"))
    common = {
        "noise_scale": noise_scale,
        "noise": noise,
        "questionnaire": questionnaire,
        "ties": ties,
        "mask": mask,
    }
    if method == "mle":
        errors = standard_errors(
            value, comparisons, gamma=gamma, link=link, outcomes=outcomes, **common
        )
        value = center(jnp.asarray(value, errors.center.dtype), errors.mask)
        near = center_is_near(value, comparisons, errors, link)
        return intervals_of(value, errors, level, near)
    if outcomes is not None:
        raise ValueError("outcomes are of the gradient of a likelihood: for method='mle' only.")
    errors = totals_standard_errors(value, comparisons, **common)
    return intervals_of(value, errors, level)


def intervals_of(
    value: ScoresLike, errors: Uncertainty, level: Scalar = 0.95, known: Flags = True
) -> Intervals:
    """The result of :func:`interval_estimates` for released values ``(m,)`` whose errors are known.

    Args:
        value: released values; scores must be centered.
        errors: their uncertainty.
        level: confidence, in (0, 1).
        known: bool, whether the errors can be trusted (see :func:`center_is_near`).

    Raises:
        ValueError: ``level`` outside (0, 1).
    """
    check_level(level)
    value, known = jnp.asarray(value, errors.center.dtype), jnp.asarray(known)
    return _intervals(value, errors, level, known)


@jax.jit
def _intervals(value: Array, errors: Uncertainty, level: Scalar, known: Array) -> Intervals:
    return intervals_by(critical_tables(errors, level), value, errors, known)


def intervals_by(
    tables: Float[Array, "3 shares"], value: Scores, errors: Uncertainty, known: Flags
) -> Intervals:
    """The result of :func:`intervals_of` by its critical values, for a caller that needs them for more.

    Args:
        tables: from :func:`critical_tables`.
        value: as for :func:`intervals_of`, an array.
        errors: as for :func:`intervals_of`.
        known: as for :func:`intervals_of`.
    """
    ranks = ranks_from_scores(value, errors.mask)
    low, high = _of_items(errors, tables[0])
    single, together = _better(errors, tables[1:])
    best, worst = _ranks(errors, single)
    return Intervals(
        ranks,
        errors.standard_errors,
        jnp.where(known, jnp.minimum(low, value), -jnp.inf),
        jnp.where(known, jnp.maximum(high, value), jnp.inf),
        jnp.where(known, jnp.minimum(best, ranks), 0),
        jnp.where(known, jnp.maximum(worst, ranks), jnp.sum(errors.mask) - 1).astype(ranks.dtype),
        together & known,
    )


def center_is_near(
    scores: ScoresLike, weights: PairMatrixLike, errors: Uncertainty, link: str | Link = "logistic"
) -> Array:
    """Whether each compared pair has about the same information at the scores as where intervals are centered.

    Args:
        scores: ``(m,)`` released scores.
        weights: ``(m, m)`` comparison counts, or other weights of pairs; 0 for pairs never compared.
        errors: the uncertainty of the scores.
        link: as in the fit.

    Returns:
        bool, shape ``()``: whether no information changes by more than a factor of ``MOST_CHANGE``.
    """
    scores = jnp.asarray(scores, errors.center.dtype)
    return _center_is_near(scores, jnp.asarray(weights), errors, get_link(link))


@functools.partial(jax.jit, static_argnames=("link",))
def _center_is_near(scores: Scores, weights: Array, errors: Uncertainty, link: Link) -> Array:
    def bend(theta: Scores) -> Array:
        gap = theta[:, None] - theta[None, :]
        return jnp.log(link.score(gap)) + jnp.log(link.score(-gap))

    real = errors.mask[:, None] & errors.mask[None, :] & (weights > 0)
    real = real & ~jnp.eye(scores.shape[0], dtype=bool)
    return hardly_changes(jnp.where(real, bend(errors.center) - bend(scores), 0))


def hardly_changes(change: Array) -> Array:
    """Whether no information, of which these are changes of the logs, changes by more than ``MOST_CHANGE``."""
    return jnp.all(jnp.abs(change) <= math.log(MOST_CHANGE))


def reach_of(variance: Array, heavy: Array | float, table: Array) -> Array:
    """Half-widths by a table of critical values for errors with these variances, ``heavy`` of their Laplace parts."""
    share = heavy / jnp.where(variance > 0, variance, jnp.inf)
    return critical_at(table, share) * jnp.sqrt(variance)
