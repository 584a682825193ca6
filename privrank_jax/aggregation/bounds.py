r"""Worst-case bounds of each private algorithm of the central model: Table 2, with constants.

An (α, β)-approximation returns σ with E K(σ, w) ≤ α OPT(w) + β, whatever the rankings. The paper states β up to
constants; here they are worked out for the noise that this library adds, N = m(m-1)/2 the number of pairs. With
``confidence`` = 1 - η the bound is on K(σ, w) itself and holds with that probability over the noise.
:func:`~privrank_jax.aggregation.proven_errors` puts all methods into one table; local and shuffled reports are in
:mod:`privrank_jax.aggregation.local_bounds`, sums of noise in :mod:`privrank_jax.aggregation.noise_totals`.

*Weights all noised* (Corollaries 3, 4), then solved to within 1 + ξ: a pair that is off by |e| costs at most |e|,
once in σ and (1 + ξ) times in the best ranking (Fact 2 over unordered pairs), and clipping into [0, 1] only shrinks
it, so β = (2 + ξ) Σ_{i<j} |e_ij|. E|e| is (N + 1)/(2nε) for K-norm noise, λ for Laplace noise, √(2/π) σ for Gaussian
noise.

*KwikSort* (Corollaries 6, 7) has ratio 5: its answers are those of one noisy, mirrored weight matrix, so as above
β = 6 N E|e| if all are clipped. With probability p the budget of queries runs out and the fallback takes over: noise on
all pairs at its share of ε, ordered no worse than by Borda and so of ratio 5. Together: (5 + 5p, 6 N E|e| + p
β_fallback). p is computed from the exact law of quicksort's comparisons, which presumes transitive answers, so the
bound holds for all votes only where p = 0. The ratio is one of means, over the pivots too; with a confidence both terms
are divided by η (Markov's inequality), for lack of a better proof. Hay, Elagina and Miklau's variant costs at most N
where its budget runs out: (5, 6 N E|e| + p N).

*Borda*: (5, 2 ‖e‖₁), see :mod:`privrank_jax.aggregation.borda_theorem`.

*Footrule*: (2 - 1/(2m-1), (1 - 1/(4m-2)) Σ_j R_j), R_j the range of the noise on item j's costs, see
:mod:`privrank_jax.aggregation.private_footrule`.

*Weights in two parts*, e = w̃ - w their error before shrinkage, solved to within 1 + ξ: Σ_{i<j} |e_ij| is at most √N
times its root of Σ e_ij², whose mean is (m - 1)σ_g² + Mσ_c², M = (m-1)(m-2)/2. Shrinkage moves the cycle part by (1 -
s)‖c̃‖ = min(‖c̃‖, Mσ_c²/‖c̃‖) ≤ √M σ_c more. So β = (2 + ξ)√N(√((m - 1)σ_g² + Mσ_c²) + √M σ_c), without the last term
if nothing is shrunk. With φ = 1 it is Borda with its noise, with φ = 0 Σ|e| is that of noise on all weights. With a
confidence: Gaussian ‖e‖ exceeds its mean by at most σ_c √(2 log(1/η)). K-norm ‖e‖ ≤ (1 - κ)‖g₁‖ + ‖e₂‖, κ = σ_g²/σ_c²,
g₁ and e₂ the noise of the two releases: ‖g₁‖ is at most √((m² - 1)/3)/(nε₁) times a Gamma(m - 1), and ‖e₂‖² the square
of a Gamma(N), over (nε₂)², times 1 plus N - 1 squares of uniform numbers, which Hoeffding's inequality bounds.

*Exponential mechanism*: (1, 2N log(m!)/(nε)), see :mod:`privrank_jax.aggregation.exponential`. With a confidence
log(m!) becomes log(m!/η): all rankings that cost t more than the optimum together have odds of at most m!
exp(-tnε/(2N)).

Lower bounds for all algorithms are in :mod:`privrank_jax.aggregation.lower_bounds`.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

from privrank_jax._types import Count, Numbers, Scalar
from privrank_jax._validate import (
    check_choice,
    check_level,
    check_nonnegative,
    check_users,
    is_traced,
)
from privrank_jax.aggregation.borda import dp_borda_scale
from privrank_jax.aggregation.hay_kwiksort import default_queries
from privrank_jax.aggregation.noise_all import noise_all_scale
from privrank_jax.aggregation.noise_totals import absolute_sum, footrule_ranges, gamma_quantile
from privrank_jax.aggregation.private_footrule import FOOTRULE_NOISES, footrule_unit
from privrank_jax.aggregation.private_weights import SHRINKAGES, private_weights_scales
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budget import exceeding_probability, query_budget
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.privacy import Privacy


class Bound(NamedTuple):
    """E K(σ, w) ≤ ratio · OPT + additive; with a confidence K(σ, w) itself, with that probability.

    Attributes:
        ratio: α.
        additive: β, in pairs per user (out of m(m-1)/2).
    """

    ratio: Scalar
    additive: Scalar


def noise_all_bound(
    num_items: int,
    num_users: Count,
    privacy: Privacy,
    *,
    noise: str = "k-norm",
    xi: float = 0.0,
    confidence: float | None = None,
) -> Bound:
    """Bound of :func:`~privrank_jax.aggregation.noise_all`, solved to a proven ratio 1 + ξ: Corollaries 3 and 4.

    β = (2 + ξ) N (N + 1)/(2nε) for K-norm noise and (2 + ξ) N²/(nε) for Laplace noise, that is O(m⁴/(nε)); (2 + ξ) N
    √(2/π) σ = O(m³ √log(1/δ)/(nε)) for Gaussian noise.

    Args:
        num_items: m >= 2.
        num_users: n >= 1, may be traced.
        privacy: what is promised, as for ``noise_all``: unit user, adjacency replace.
        noise: ``"k-norm"``, ``"laplace"``, or ``"gaussian"`` for a promise with δ > 0.
        xi: ξ >= 0, 0 for a solver that finds the optimum.
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.

    Returns:
        (1 + ξ, β).

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`.
        ValueError: fewer than 2 items or no users, ξ < 0, a promise that ``noise_all`` can't keep, Gaussian noise
            without δ.

    >>> privacy = Privacy(0.5, unit="user", adjacency="replace")
    >>> noise_all_bound(10, 1000, privacy).additive, noise_all_bound(10, 1000, privacy, noise="laplace").additive
    (4.14, 8.1)
    """
    check_sizes(num_items, num_users)
    check_nonnegative("xi", xi)
    scale = noise_all_scale(num_items, num_users, privacy, noise=noise)
    total = absolute_sum(noise, num_items * (num_items - 1) // 2, chance_of(confidence))
    return Bound(1 + xi, (2 + xi) * total * _number(scale))


def kwiksort_bound(
    num_items: int,
    num_users: Count,
    privacy: Privacy,
    *,
    noise: str = "laplace",
    max_queries: int | None = None,
    split: float = 0.5,
    confidence: float | None = None,
) -> Bound:
    """Bound of :func:`~privrank_jax.aggregation.dp_kwiksort`: Corollaries 6 (Laplace) and 7 (Gaussian).

    β is O(m³ log m/(nε)), or O(m^{2.5} √(log m log(1/δ))/(nε)).

    Args:
        num_items: m >= 2.
        num_users: n >= 1.
        privacy: what is promised, as for ``dp_kwiksort``.
        noise: ``"laplace"`` or ``"gaussian"``.
        max_queries: q; default as in ``dp_kwiksort``.
        split: share of ε for the queries; 1 where q reaches all pairs.
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.

    Returns:
        :class:`Bound`.

    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> round(float(kwiksort_bound(5, 10_000, privacy).additive), 6)
    0.06
    """
    check_sizes(num_items, num_users)
    attained = of_rankings(privacy, "kwiksort_bound", noise)
    pairs = num_items * (num_items - 1) // 2
    queries = min(int(query_budget(num_items)) if max_queries is None else max_queries, pairs)
    whole = queries >= pairs
    failure = 0.0 if whole else exceeding_probability(num_items, queries)
    epsilon = attained.epsilon
    asked = dataclasses.replace(attained, epsilon=epsilon if whole else split * epsilon)
    scale = additive_scale(noise, asked, queries / num_users, queries**0.5 / num_users)
    additive = 6 * _number(scale) * absolute_sum(noise, pairs)
    if not whole:
        rest = dataclasses.replace(attained, epsilon=(1 - split) * epsilon)
        fallback = noise_all_bound(num_items, num_users, rest, xi=4.0)
        additive = additive + failure * fallback.additive
    return by_markov(Bound(5 + 5 * failure, additive), confidence)


def hay_kwiksort_bound(
    num_items: int,
    num_users: Count,
    privacy: Privacy,
    *,
    max_queries: int | None = None,
    confidence: float | None = None,
) -> Bound:
    """Bound of ``hay_kwiksort``: (5, 6 N q/(nε) + p N), p the chance to exceed q.

    The default q is little above the mean number of comparisons, so p is large: the bound is far from useful.

    Args:
        num_items: m from 2 to 500.
        num_users: n >= 1.
        privacy: what is promised, as for ``hay_kwiksort``.
        max_queries: q; default as in ``hay_kwiksort``.
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.

    Returns:
        :class:`Bound`.

    Raises:
        ValueError: fewer than 2 items or more than 500, no users, a promise that ``hay_kwiksort`` can't keep.

    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> round(float(hay_kwiksort_bound(10, 10_000, privacy).additive), 1)
    1.9
    """
    check_sizes(num_items, num_users)
    epsilon = of_rankings(privacy, "hay_kwiksort_bound").epsilon
    pairs = num_items * (num_items - 1) // 2
    queries = min(default_queries(num_items) if max_queries is None else max_queries, pairs)
    failure = 0.0 if queries >= pairs else exceeding_probability(num_items, queries)
    additive = 6 * pairs * queries / (num_users * epsilon) + failure * pairs
    return by_markov(Bound(5.0, additive), confidence)


def footrule_bound(
    num_items: int,
    num_users: Count,
    privacy: Privacy,
    *,
    noise: str = "tree",
    confidence: float | None = None,
) -> Bound:
    """Bound of the assignment of :func:`~privrank_jax.aggregation.dp_footrule`: (2 - 1/(2m-1), O(m³/(nε))).

    β is O(m^2.5 √log(1/δ)/(nε)) with Gaussian noise.

    Args:
        num_items: m >= 2.
        num_users: n >= 1, may be traced.
        privacy: what is promised, as for ``dp_footrule``: unit user, adjacency replace.
        noise: ``"tree"``, ``"k-norm"``, or ``"gaussian"`` for a promise with δ > 0.
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.

    Returns:
        :class:`Bound`.

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`.
        ValueError: fewer than 2 items or no users, a promise that ``dp_footrule`` can't keep, Gaussian noise without δ.

    >>> bound = footrule_bound(10, 1000, Privacy(0.5, unit="user", adjacency="replace"))
    >>> round(bound.ratio, 3), round(bound.additive, 1)
    (1.947, 6.6)
    """
    check_sizes(num_items, num_users)
    attained = of_rankings(privacy, "footrule_bound", noise, FOOTRULE_NOISES)
    unit = _number(footrule_unit(num_items, attained, noise)) / num_users
    ranges = footrule_ranges(num_items, noise, chance_of(confidence))
    return Bound(2 - 1 / (2 * num_items - 1), (1 - 1 / (4 * num_items - 2)) * ranges * unit)


def borda_bound(
    num_items: int,
    num_users: Count,
    privacy: Privacy,
    *,
    noise: str = "k-norm",
    confidence: float | None = None,
) -> Bound:
    """Bound of :func:`~privrank_jax.aggregation.dp_borda`: (5, 2 E‖e‖₁), e the noise.

    E‖e‖₁ is m·⌊m²/2⌋/(nε) with Laplace noise, m√(2/π)σ with Gaussian noise, and Σ_i E|Z_i|/(nε) with K-norm noise, Z
    its law at scale 1 (:func:`~privrank_jax.privacy.noise_law.mean_absolute`): 0.67, 0.78 and 0.93 times that of
    Laplace noise for m = 3, 10 and 100.

    Args:
        num_items: m >= 2.
        num_users: n >= 1, may be traced.
        privacy: what is promised, as for ``dp_borda``: unit user, adjacency replace.
        noise: ``"k-norm"``, ``"laplace"``, or ``"gaussian"`` for a promise with δ > 0.
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.

    Returns:
        (5, β).

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`.
        ValueError: fewer than 2 items or no users, a promise that ``dp_borda`` can't keep, Gaussian noise without δ.

    >>> privacy = Privacy(0.5, unit="user", adjacency="replace")
    >>> borda_bound(10, 1000, privacy, noise="laplace")
    Bound(ratio=5.0, additive=2.0)
    >>> round(borda_bound(10, 1000, privacy).additive, 1)
    1.6
    """
    check_sizes(num_items, num_users)
    scale = dp_borda_scale(num_items, num_users, privacy, noise=noise)
    chance = chance_of(confidence)
    if noise != "k-norm":
        total = absolute_sum(noise, num_items, chance)
    elif chance is None:
        total = float(noise_law.mean_absolute(Zonotope.of_all_pairs(num_items)).sum())
    else:
        total = num_items**2 // 2 * gamma_quantile(num_items - 1, chance)
    return Bound(5.0, 2 * total * _number(scale))


def private_weights_bound(
    num_items: int,
    num_users: Count,
    privacy: Privacy,
    *,
    noise: str = "k-norm",
    focus: float | None = None,
    shrink: str = "james-stein",
    xi: float = 0.0,
    confidence: float | None = None,
) -> Bound:
    """Bound of :func:`~privrank_jax.aggregation.private_weights`, solved to a proven ratio 1 + ξ.

    β is on the order of that of ``noise_all``, whatever the crowd; the head of this module has the formula.

    Args:
        num_items: m >= 2.
        num_users: n >= 1.
        privacy: what is promised, as for ``private_weights``: unit user, adjacency replace; concrete.
        noise: ``"k-norm"``, or ``"gaussian"`` for a promise with δ > 0.
        focus: φ in [0, 1]; None takes :func:`~privrank_jax.aggregation.private_weights.default_focus`.
        shrink: ``"james-stein"`` or ``"none"``.
        xi: ξ >= 0, 0 for a solver that finds the optimum.
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.

    Returns:
        (1 + ξ, β), or Borda's (5, β) at φ = 1.

    Raises:
        ValueError: fewer than 2 items or no users, ξ < 0, a promise that ``private_weights`` can't keep, Gaussian noise
            without δ, a focus out of range, unknown names.

    >>> privacy = Privacy(0.5, unit="user", adjacency="replace")
    >>> [round(private_weights_bound(10, 1000, privacy, focus=phi).additive, 1) for phi in (0.0, 1.0)]
    [8.5, 1.6]
    """
    check_sizes(num_items, num_users)
    check_nonnegative("xi", xi)
    check_choice("shrink", shrink, SHRINKAGES)
    scales = private_weights_scales(num_items, num_users, privacy, noise=noise, focus=focus)
    gradient, cycle = (float(scale) for scale in scales)
    if math.isinf(cycle):
        return borda_bound(num_items, num_users, privacy, noise=noise, confidence=confidence)
    root = math.sqrt(num_items * (num_items - 1) / 2)
    if gradient == cycle:
        whole = noise_all_bound(num_items, num_users, privacy, noise=noise, confidence=confidence)
        error = float(whole.additive) / 2
    else:
        error = root * _length(num_items, gradient, cycle, noise, focus, chance_of(confidence))
    if shrink == "james-stein":
        error += root * math.sqrt((num_items - 1) * (num_items - 2) / 2) * cycle
    return Bound(1 + xi, (2 + xi) * error)


def _length(
    items: int,
    gradient: float,
    cycle: float,
    noise: str,
    focus: Scalar | None,
    chance: float | None,
) -> float:
    """Bound on the root of Σ e_ij² of private weights, see the head of this module."""
    pairs = items * (items - 1) // 2
    if chance is None or noise == "gaussian":
        mean = math.sqrt((items - 1) * gradient**2 + (pairs - items + 1) * cycle**2)
        return mean if chance is None else mean + cycle * math.sqrt(-2 * math.log(chance))
    assert focus is not None  # K-norm noise has a focus of 0 or 1 by default
    # σ_c is that of the pairs at ε₂, so it gives 1/(nε₂), and the shares of ε give 1/(nε₁).
    of_pairs = cycle / math.sqrt((pairs + 1) * (pairs + 2) / 3)
    of_scores = of_pairs * (1 - float(focus)) / float(focus)
    square = 1 + (pairs - 1) / 3 + math.sqrt(-(pairs - 1) * math.log(chance / 4) / 2)
    length = gamma_quantile(pairs, chance / 4) * math.sqrt(min(square, pairs)) * of_pairs
    scores = gamma_quantile(items - 1, chance / 2) * math.sqrt((items**2 - 1) / 3) * of_scores
    return (1 - (gradient / cycle) ** 2) * scores + length


def exponential_bound(
    num_items: int, num_users: Count, privacy: Privacy, *, confidence: float | None = None
) -> Bound:
    """Bound of :func:`~privrank_jax.aggregation.exponential_kemeny`: (1, 2N log(m!)/(nε)) = (1, O(m³ log m/(nε))).

    Args:
        num_items: m >= 2.
        num_users: n >= 1, may be traced.
        privacy: what is promised, as for ``exponential_kemeny``: unit user, adjacency replace.
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.

    Returns:
        (1, β).

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`.
        ValueError: fewer than 2 items or no users, a promise that ``exponential_kemeny`` can't keep.

    >>> round(exponential_bound(10, 1000, Privacy(0.5, unit="user", adjacency="replace")).additive, 2)
    2.72
    """
    check_sizes(num_items, num_users)
    epsilon = of_rankings(privacy, "exponential_bound").epsilon
    chance = chance_of(confidence)
    rankings = math.lgamma(num_items + 1) - (0 if chance is None else math.log(chance))
    return Bound(1.0, num_items * (num_items - 1) * rankings / (num_users * epsilon))


def _number(scale: Numbers) -> Any:
    """A float unless it is traced: JAX would compile a program for each product."""
    return scale if is_traced(scale) else float(scale)


def check_sizes(num_items: int, num_users: Count) -> None:
    """Raise ``ValueError`` unless there are at least two items and a user."""
    check_users(num_users)
    if num_items < 2:
        raise ValueError(f"num_items must be at least 2, got {num_items!r}.")


def chance_of(confidence: float | None) -> float | None:
    """η = 1 - confidence; None for a bound on the mean. ``ValueError`` unless it is between 0 and 1."""
    if confidence is None:
        return None
    check_level(confidence)
    return 1 - confidence


def by_markov(bound: Bound, confidence: float | None) -> Bound:
    """The bound on the cost itself that a bound on its mean implies."""
    chance = chance_of(confidence)
    return bound if chance is None else Bound(bound.ratio / chance, bound.additive / chance)
