r"""Confidence intervals of scores and ranks, probabilities of orders, error bars for pairs; privacy noise included.

All of it is post-processing of the release; :mod:`privrank_jax.pairwise.uncertainty` states inputs and assumptions, and
where the bias of the ridge can't be removed, so that intervals are infinite.

**Tails.** An error is a Gaussian part plus a weighted sum of independent Laplace variables, whose tails are
heavier. Critical values are those of a Gaussian plus *one* Laplace variable with the same first four moments
(:mod:`privrank_jax.privacy.bodies`), of which the Laplace variable has a share s of the variance:
P(\|√(1-s) Z + √s L\| > c) = α. K-norm noise has tails between those of the two.

**Ranks.** Item i ranks below every item that is significantly better, and above every item that is significantly
worse, each of K differences being bounded at confidence 1 - α/K (Bonferroni). So the rank intervals are valid under any
ties (Mogstad, Romano, Shaikh and Wilhelm 2024; Klein, Wright and Wieczorek 2020).

**Released values.** The released score, which the ridge shrinks toward 0, can lie outside a narrow interval about the
center. The interval is then extended to include it, as that of a rank is, which can only raise the coverage.

**A ridge that was not removed** drew the scores by -β b, 0 <= β <= 1, b the ``pull``. Intervals count b² beside the
variance. A difference was made smaller where b_i > b_j; else it counts less b_j - b_i, what the ridge may have added.

**Probabilities.** To first order the center t is normal about the true scores θ with covariance V. With a flat prior θ
given the release is normal about t with covariance V, and item i is better than j with probability Φ((t_i - t_j)/√(V_ii
+ V_jj - 2V_ij)); ranks are of draws. It leaves out two facts: the tails of Laplace noise are heavier than normal ones,
and a flat prior believes large differences too much where noise hides nearly everything.

It was measured at 48fdee4 on simulated crowds: 10 and 30 items, 10 comparisons of each of 300 or 2,000 users. The
likelier order is right as often as stated within 0.015 at ε = 1 and 3, and less often by 0.10 at most at ε = 0.3, where
it is hardly better than a coin.

**Quasi-variances** q_i are chosen such that q_i + q_j ≈ V_ij = Var(t_i - t_j) for all pairs at once (Firth 2003; Firth
and de Menezes 2004): the least sum over pairs of :math:`(\log(q_i + q_j) - \log V_{ij})^2`, as in R's package qvcalc.
Three items always fit exactly, and so do balanced designs; of two items each gets half. A q_i may be negative, as in
qvcalc; it then has no quasi standard error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from privrank_jax._backend import product
from privrank_jax._pytrees import pytree
from privrank_jax._roots import bracketed_root
from privrank_jax._types import Key, MaskLike, PairMatrix, PairMatrixLike, Scalar, ScoresLike
from privrank_jax._validate import check_level, check_positive, is_traced
from privrank_jax._workarounds.linalg import decomposed, solve_positive_definite
from privrank_jax._workarounds.threefry import fused
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link, normal
from privrank_jax.pairwise.meetings import as_design
from privrank_jax.pairwise.uncertainty import Uncertainty
from privrank_jax.rankings import ranks_from_scores

# Laplace shares of variance at which critical values are tabulated; below the first, the tail is Gaussian.
_SHARES = (0.002, 0.9999, 129)


@pytree
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


@pytree
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

    Intervals always contain what was released. Score intervals are infinite where the ridge bias can't be removed, and
    then ranks can be any, or where the comparisons leave the items in several components.

    Args:
        errors: from :func:`standard_errors` and its like.
        level: confidence in (0, 1), or ``ValueError``; may be traced.
        simultaneous: whether all intervals of scores hold together at that level, and all of ranks.

    Returns:
        :class:`Intervals`. With probability ``level`` at least, the rank of the item by its true value is in
        ``rank_low`` to ``rank_high`` (for tied items, any rank that the tie allows).

    >>> from privrank_jax.pairwise.uncertainty import totals_standard_errors
    >>> rows = confidence_intervals(totals_standard_errors([90.0, 10.0], [[0, 100], [100, 0]]))
    >>> [(round(float(a), 1), round(float(b), 1)) for a, b in zip(rows.low, rows.high)]
    [(80.2, 99.8), (0.2, 19.8)]
    """
    check_level(level)
    return _intervals(errors, level, simultaneous)


@functools.partial(jax.jit, static_argnames=("simultaneous",))
def _intervals(errors: Uncertainty, level: Scalar, simultaneous: bool) -> Intervals:
    one, all_items, of_an_item, of_all = critical_tables(errors, level)
    known, mask, value = errors.near, errors.mask, errors.value
    m = mask.shape[0]
    heavy = errors.noise.heavy_part(errors.influence)
    squares = 0.0 if errors.pull is None else errors.pull**2
    own = jnp.concatenate([errors.variances + squares, jnp.diagonal(errors.covariance)[m:]])
    reach = _reach(own, heavy, one)
    if simultaneous:
        reach = reach.at[:m].set(_reach(own[:m], heavy[:m], all_items))
    low = jnp.where(known, jnp.minimum(errors.center - reach, value), -jnp.inf)
    high = jnp.where(known, jnp.maximum(errors.center + reach, value), jnp.inf)
    by_item, together = _better(errors, jnp.stack([of_an_item, of_all]))
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


def _better(errors: Uncertainty, tables: Array) -> Array:
    """Whether item i is significantly better than j, by each table of critical values, ``(tables, m, m)``."""
    m = errors.mask.shape[0]
    variance = jnp.where(errors.linked, jnp.maximum(errors.of_differences, 0.0), jnp.inf)
    heavy = errors.noise.heavy_part_of_differences(errors.influence[:m])
    reach = jax.vmap(lambda table: _reach(variance, heavy, table))(tables)
    ahead = errors.center[:m, None] - errors.center[None, :m]
    if errors.pull is not None:
        ahead += jnp.minimum(errors.pull[:, None] - errors.pull[None, :], 0.0)
    return ahead > reach


def _reach(variance: Array, heavy: Array | float, table: Array) -> Array:
    """Half-widths by a table of critical values for errors with these variances, ``heavy`` of their Laplace parts."""
    share = heavy / jnp.where(variance > 0, variance, jnp.inf)
    return critical_at(table, share) * jnp.sqrt(variance)


# --- critical values -------------------------------------------------------------------------------


def critical_tables(errors: Uncertainty, level: Scalar) -> Float[Array, "4 shares"]:
    """Critical values of one item, of all together, of an item's differences together, and of all differences.

    One search finds all: the functions of its steps are long programs.
    """
    items = jnp.sum(errors.mask)
    counts = jnp.stack([jnp.ones_like(items), items, items - 1, items * (items - 1) // 2])
    level = jnp.asarray(level, errors.center.dtype)
    return jax.vmap(critical_of)((1 - level) / jnp.maximum(counts, 1))


def critical_at(table: Float[Array, "shares"], share: Array) -> Array:
    """Critical values for any shares s of Laplace noise, interpolated in a table, to 1e-3 relative."""
    first, last, number = _SHARES  # an even grid: jnp.interp would search it
    place = jnp.clip((share - first) / (last - first), 0, 1) * (number - 1)
    left = jnp.minimum(place.astype(jnp.int32), number - 2)
    return table[left] + (place - left) * (table[left + 1] - table[left])


def critical_of(alpha: Float[Array, ""]) -> Float[Array, "shares"]:
    """Critical values for α in (0, 1) at each tabulated share."""
    grid = jnp.linspace(*_SHARES, dtype=alpha.dtype)
    gaussian, laplace = jnp.sqrt(1 - grid), jnp.sqrt(0.5 * grid)

    tilt = gaussian / laplace
    lift = 0.5 * tilt * tilt

    def tail(x: Array) -> Array:
        both = jnp.stack([x, -x])  # as one array: the functions are long programs
        low, high = jnp.exp(lift - both / laplace + normal.log_cdf(both / gaussian - tilt))
        return 2 * normal.cdf(-x / gaussian) + low - high

    depth = jnp.log(2 / alpha)
    end = jnp.full_like(grid, 1.0) * (jnp.sqrt(2 * depth) + depth)
    return bracketed_root(lambda x: tail(x) - alpha, jnp.zeros_like(grid), end)


# --- probabilities of orders and of ranks ----------------------------------------------------------


def above_probabilities(uncertainty: Uncertainty) -> PairMatrix:
    """Probability that the item of a row is better than that of a column.

    Args:
        uncertainty: of scores or totals, such as :func:`~privrank_jax.pairwise.standard_errors` gives it; all items
            real and linked, or ``ValueError``.

    Returns:
        ``(m, m)``; the two orders of a pair sum to 1, the diagonal is 0.

    >>> from privrank_jax.pairwise import standard_errors
    >>> found = above_probabilities(standard_errors([0.15, -0.15], [[0, 100], [100, 0]]))
    >>> [round(float(one), 2) for one in found[0]]
    [0.0, 0.93]
    """
    _check_whole(uncertainty)
    return _above(uncertainty)


def rank_probabilities(key: Key, uncertainty: Uncertainty, draws: int = 4000) -> PairMatrix:
    """Probability that the item of a row has the rank of a column, 0 = best, by draws.

    Args:
        key: PRNG key of the draws, which may be public.
        uncertainty: as for :func:`above_probabilities`.
        draws: number of draws N; the standard error of a probability p is sqrt(p(1 - p)/N).

    Returns:
        ``(m, m)``; rows and columns sum to 1. Errors as of :func:`above_probabilities`.

    >>> from privrank_jax.pairwise import standard_errors
    >>> errors = standard_errors([0.5, -0.5], [[0, 100], [100, 0]])
    >>> rank_probabilities(jax.random.key(0), errors)[0].round(2).tolist()
    [1.0, 0.0]
    """
    _check_whole(uncertainty)
    check_positive("draws", draws)
    return _of_ranks(key, uncertainty, draws)


def _check_whole(uncertainty: Uncertainty) -> None:
    known = uncertainty.mask, uncertainty.linked
    if not is_traced(*known) and not all(np.all(np.asarray(one)) for one in known):
        raise ValueError(
            "probabilities need scores of real items that comparisons link, all with one another: leave others out."
        )


@jax.jit
def _above(uncertainty: Uncertainty) -> Array:
    m = uncertainty.mask.shape[0]
    center, same = uncertainty.center[:m], jnp.eye(m, dtype=bool)
    spread = jnp.sqrt(jnp.where(same, 1.0, uncertainty.of_differences))
    gap = (center[:, None] - center[None, :]) / spread
    return jnp.where(same, 0.0, jax.scipy.special.ndtr(gap))


@functools.partial(jax.jit, static_argnames=("draws",))
def _of_ranks(key: Key, uncertainty: Uncertainty, draws: int) -> Array:
    m = uncertainty.mask.shape[0]
    center = uncertainty.center[:m]
    values, vectors = decomposed(uncertainty.covariance[:m, :m])
    even = jax.random.normal(key, (draws, m), center.dtype)
    drawn = center + product(even * jnp.sqrt(jnp.maximum(values, 0)), vectors.T)
    ranks = jax.vmap(ranks_from_scores)(drawn)
    counts = jnp.zeros((m, m), jnp.int32).at[jnp.arange(m), ranks].add(1)
    return counts.astype(center.dtype) / draws


# --- quasi-variances -------------------------------------------------------------------------------


@pytree
class QuasiVariances:
    """Quasi-variances of scores.

    Attributes:
        variances: ``(m,)``, q_i; infinite for an item that is linked to no other, 0 if masked.
        worst_relative_error: shape ``()``, the largest relative error of a standard error from them: of
            √(q_i + q_j) for that of t_i - t_j, over the pairs that are linked.
    """

    variances: Float[Array, "*batch items"]
    worst_relative_error: Float[Array, "*batch"]

    @property
    def standard_errors(self) -> Float[Array, "*batch items"]:
        """``(m,)`` square roots of ``variances``, NaN where these are negative."""
        return jnp.sqrt(self.variances)


def quasi_variances(uncertainty: Uncertainty) -> QuasiVariances:
    """One variance per item: two of them add up to nearly the variance of the difference of two scores.

    Args:
        uncertainty: of scores, from :func:`~privrank_jax.pairwise.standard_errors`; of totals too.

    Returns:
        :class:`QuasiVariances`, with the relative error of the worst pair.

    Raises:
        ValueError: the covariance is not finite, or the difference of two linked items has no variance.

    >>> from privrank_jax.pairwise.uncertainty import standard_errors
    >>> errors = standard_errors([0.0, 0.0, 0.0], [[0, 100, 50], [100, 0, 20], [50, 20, 0]])
    >>> [round(float(q), 4) for q in quasi_variances(errors).variances]
    [0.01, 0.025, 0.05]
    """
    variances = uncertainty.of_differences
    met = uncertainty.linked & ~jnp.eye(variances.shape[-1], dtype=bool)
    known = ~met | ((variances > 0) & (variances < jnp.inf))
    if not is_traced(variances) and not bool(jnp.all(known)):
        raise ValueError(
            "quasi-variances need a finite positive variance of the difference of any two linked items."
        )
    return _quasi(variances, met, uncertainty.mask)


@jax.jit
def _quasi(variances: PairMatrix, met: Bool[Array, "items items"], mask: Array) -> QuasiVariances:
    """Gauss-Newton steps from half the mean variance of each item's differences, which is positive for all pairs."""
    count = jnp.sum(met, -1)
    wanted = jnp.where(met, variances, 1.0)
    unit = jnp.sum(jnp.where(met, wanted, 0.0)) / jnp.maximum(jnp.sum(met), 1)
    unit = jnp.where(unit > 0, unit, 1.0)
    wanted = jnp.where(met, wanted / unit, 1.0)
    start = 0.5 * jnp.sum(jnp.where(met, wanted, 0.0), -1) / jnp.maximum(count, 1)
    shares = jnp.append(0.5 ** jnp.arange(10), 0.0).astype(start.dtype)
    small = jnp.finfo(start.dtype).eps

    def residuals(quasi: Array) -> Array:
        total = quasi[:, None] + quasi[None, :]
        return jnp.where(met, jnp.log(jnp.where(total > 0, total, jnp.nan) / wanted), 0.0)

    def loss(quasi: Array) -> Array:
        value = jnp.sum(residuals(quasi) ** 2)
        return jnp.where(jnp.isnan(value), jnp.inf, value)

    def step(quasi: Array, _: None) -> tuple[Array, None]:
        slope = jnp.where(met, 1 / (quasi[:, None] + quasi[None, :]), 0.0)
        squares = slope * slope
        rows = jnp.sum(squares, -1)
        # Alone, pairs leave one direction open: the little added to the diagonal holds it.
        bend = squares + jnp.diag(jnp.where(rows > 0, rows * (1 + 8 * small), 1.0))
        change = solve_positive_definite(bend, jnp.sum(slope * residuals(quasi), -1)[:, None])[:, 0]
        tried = quasi[None, :] - shares[:, None] * change[None, :]
        return tried[jnp.argmin(jax.vmap(loss)(tried))], None

    quasi, _ = jax.lax.scan(step, start, None, length=30)
    worst = jnp.max(jnp.abs(jnp.where(met, jnp.expm1(0.5 * residuals(quasi)), 0.0)))
    alone = jnp.where(mask, jnp.inf, 0.0)
    return QuasiVariances(jnp.where(count > 0, quasi * unit, alone), worst)


# --- the bootstrap ---------------------------------------------------------------------------------


def parametric_bootstrap(
    key: Key,
    theta: ScoresLike,
    comparisons: PairMatrixLike,
    refit: Callable[[Key, WinCounts], Estimate | Float[Array, "items"]],
    replicates: int = 1000,
    *,
    link: str | Link = "logistic",
    mask: MaskLike | None = None,
    batch_size: int = 100,
) -> Float[Array, "replicates items"]:
    """Estimates refitted to data drawn under ``theta``, with fresh privacy noise. Costs no privacy.

    Args:
        key: PRNG key.
        theta: ``(m,)`` released scores, or the ``center`` of :func:`standard_errors`, which is less biased.
        comparisons: ``(m, m)`` public comparison counts, rounded to whole numbers of wins and losses.
        refit: ``(key, WinCounts) -> Estimate`` (or ``(m,)`` array), the mechanism with its original noise. It is
            compiled once per function object.
        replicates: B, the number of replicates.
        link: the model from which outcomes are drawn.
        mask: ``(m,)`` bool, real items.
        batch_size: replicates computed at once.

    Returns:
        ``(B, m)`` estimates θ*. Intervals are the released value less quantiles of the simulated errors θ* - ``theta``;
        simulated ranks do not cover near ties. Errors as of :func:`~privrank_jax.pairwise.standard_errors`.

    >>> fit = lambda key, wins: wins.totals  # a mechanism without noise
    >>> draws = parametric_bootstrap(jax.random.key(0), [1.0, -1.0], [[0, 10], [10, 0]], fit, 50)
    >>> draws.shape, draws.sum(-1).min().item()
    ((50, 2), 10.0)
    """
    check_positive("replicates", replicates)
    link = get_link(link)
    theta, comparisons, real = as_design(theta, comparisons, mask)
    masked = None if mask is None else real
    return _simulate(key, theta, comparisons, masked, refit, replicates, link, batch_size)


@functools.partial(jax.jit, static_argnames=("refit", "replicates", "link", "batch_size"))
def _simulate(
    key: Key,
    theta: Array,
    comparisons: PairMatrix,
    mask: Array | None,
    refit: Callable[[Key, WinCounts], Estimate | Array],
    replicates: int,
    link: Link,
    batch_size: int,
) -> Float[Array, "replicates items"]:
    chance = link.cdf(theta[:, None] - theta[None, :])
    upper = jnp.triu(jnp.round(comparisons), 1)

    def replicate(key: Key) -> Array:
        outcomes, noise = jax.random.split(key)
        won = jax.random.binomial(outcomes, upper, chance, dtype=theta.dtype)
        again = refit(noise, WinCounts(won + (upper - won).T, mask))
        return again.value if isinstance(again, Estimate) else again

    return jax.lax.map(replicate, jax.random.split(fused(key), replicates), batch_size=batch_size)
