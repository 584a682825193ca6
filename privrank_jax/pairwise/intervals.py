r"""Confidence intervals of scores, ranks and other parameters, privacy noise included.

All of it is post-processing of the release; :mod:`privrank_jax.pairwise.uncertainty` states inputs and assumptions, and
where the bias of the ridge can't be removed, so that intervals are infinite.

**Tails.** An error is a Gaussian part plus a weighted sum of independent Laplace variables, whose tails are
heavier. Critical values are those of a Gaussian plus *one* Laplace variable with the same first four moments
(:mod:`privrank_jax.privacy.bodies`). K-norm noise has tails between those of the two.

**Ranks.** Item i ranks below every item that is significantly better, and above every item that is significantly
worse, each of K differences being bounded at confidence 1 - α/K (Bonferroni). So the rank intervals are valid under any
ties (Mogstad, Romano, Shaikh and Wilhelm 2024; Klein, Wright and Wieczorek 2020).

**Released values.** After a moderate step, the released score, which the ridge shrinks toward 0, can still lie outside
a narrow interval about the center. The interval is then extended to include the score, as the interval of a rank is
extended to include the released rank. Extending an interval can only raise its coverage.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from privrank_jax._types import Scalar
from privrank_jax._validate import check_level
from privrank_jax.pairwise.critical_values import critical_at, critical_tables
from privrank_jax.pairwise.uncertainty import Uncertainty
from privrank_jax.rankings import ranks_from_scores


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
        coefficients: those of the coefficients of covariates, ``(p,)``; p = 0 without any.
        log_tie: that of log ν, shape ``()``; ``None`` where ties are half wins.
    """

    ranks: Int[Array, "*batch items"]
    standard_errors: Float[Array, "*batch items"]
    low: Float[Array, "*batch items"]
    high: Float[Array, "*batch items"]
    rank_low: Int[Array, "*batch items"]
    rank_high: Int[Array, "*batch items"]
    better: Bool[Array, "*batch items items"]
    coefficients: ParameterIntervals
    log_tie: ParameterIntervals | None = None


def confidence_intervals(
    errors: Uncertainty, level: Scalar = 0.95, simultaneous: bool = False
) -> Intervals:
    """Ranks, standard errors and intervals of every item, and of the other parameters of a fit.

    Intervals always contain what was released. Where the ridge bias can't be removed, or where the comparisons leave
    the items in several components, score intervals are infinite; in the first case rank intervals contain all ranks,
    and no item is significantly better than another.

    Args:
        errors: from :func:`standard_errors` and its like.
        level: confidence in (0, 1), may be traced.
        simultaneous: whether all intervals of scores hold together at that level, and all of ranks.

    Returns:
        :class:`Intervals`. With probability ``level`` at least, the rank of the item by its true value is in
        ``rank_low`` to ``rank_high`` (for tied items, any rank that the tie allows).

    Raises:
        ValueError: ``level`` outside (0, 1).

    >>> from privrank_jax.pairwise.uncertainty import totals_standard_errors
    >>> rows = confidence_intervals(totals_standard_errors([90.0, 10.0], [[0, 100], [100, 0]]))
    >>> [(round(float(a), 1), round(float(b), 1)) for a, b in zip(rows.low, rows.high)]
    [(80.2, 99.8), (0.2, 19.8)]
    >>> rows.rank_low.tolist(), rows.rank_high.tolist()
    ([0, 1], [0, 1])
    """
    check_level(level)
    return _intervals(errors, level, simultaneous)


@functools.partial(jax.jit, static_argnames=("simultaneous",))
def _intervals(errors: Uncertainty, level: Scalar, simultaneous: bool) -> Intervals:
    one, all_items, of_an_item, of_all = critical_tables(errors, level)
    known, mask, of_items = errors.near, errors.mask, errors.items
    m = mask.shape[0]
    heavy, value = _heavy(errors), errors.value
    own = jnp.concatenate([errors.variances, jnp.diagonal(errors.covariance)[m:]])
    reach = _reach(own, heavy, one)
    if simultaneous:
        reach = reach.at[:m].set(_reach(own[:m], heavy[:m], all_items))
    low = jnp.where(known, jnp.minimum(errors.center - reach, value), -jnp.inf)
    high = jnp.where(known, jnp.maximum(errors.center + reach, value), jnp.inf)
    by_item, together = _better(of_items, jnp.stack([of_an_item, of_all]))
    surely = together if simultaneous else by_item
    ranks, last = ranks_from_scores(value[:m], mask), jnp.sum(mask) - 1
    best = jnp.sum(surely, -2, jnp.int32)
    worst = (last - jnp.sum(surely, -1)).astype(ranks.dtype)
    others = ParameterIntervals(jnp.sqrt(own[m:]), low[m:], high[m:])
    log_tie = jax.tree.map(lambda each: each[-1], others) if errors.ties else None
    return Intervals(
        ranks,
        jnp.sqrt(own[:m]),
        low[:m],
        high[:m],
        jnp.where(known, jnp.minimum(best, ranks), 0),
        jnp.where(known, jnp.maximum(worst, ranks), last).astype(ranks.dtype),
        together & known,
        jax.tree.map(lambda each: each[:-1], others) if errors.ties else others,
        log_tie,
    )


def _heavy(errors: Uncertainty) -> Array:
    """The heavy part of each error."""
    if errors.noise is None:
        return jnp.zeros_like(errors.center)
    return errors.noise.heavy_part(errors.influence)


def _better(errors: Uncertainty, tables: Array) -> Array:
    """Whether i is significantly better than j, by each table of critical values, ``(tables, m, m)``."""
    covariance, noise = errors.covariance, errors.noise
    own = jnp.diagonal(covariance)
    variance = jnp.maximum(own[:, None] + own[None, :] - 2 * covariance, 0.0)
    variance = jnp.where(errors.linked, variance, jnp.inf)
    heavy = 0.0 if noise is None else noise.heavy_part_of_differences(errors.influence)
    reach = jax.vmap(lambda table: _reach(variance, heavy, table))(tables)
    return errors.center[:, None] - errors.center[None, :] > reach


def _reach(variance: Array, heavy: Array | float, table: Array) -> Array:
    """Half-widths by a table of critical values for errors with these variances, ``heavy`` of their Laplace parts."""
    share = heavy / jnp.where(variance > 0, variance, jnp.inf)
    return critical_at(table, share) * jnp.sqrt(variance)
