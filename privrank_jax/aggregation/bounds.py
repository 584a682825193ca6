r"""Worst-case bounds of each private algorithm: Tables 2 and 3, with constants.

An (α, β)-approximation returns σ with E K(σ, w) ≤ α OPT(w) + β, whatever the rankings. The paper states β up to
constants; here they are worked out for the noise that this library adds, N = m(m-1)/2 the number of pairs.

*Weights all noised* (Corollaries 3, 4, 9), then solved to within 1 + ξ: a pair that is off by |e| costs at most |e|,
once in σ and (1 + ξ) times in the best ranking (Fact 2 over unordered pairs), and clipping into [0, 1] only shrinks
it, so β = (2 + ξ) N E|e|. E|e| is (N + 1)/(2nε) for K-norm noise, λ for Laplace noise, √(2/π) σ for Gaussian noise, and
at most the standard deviation of :func:`~privrank_jax.aggregation.local_weight_variance` for local reports.

*KwikSort* (Corollaries 6, 7, 12) has ratio 5: its answers are those of one noisy, mirrored weight matrix, so as above
β = 6 N E|e| if all are clipped. With probability p the budget of queries runs out and the fallback takes over: noise on
all pairs at its share of ε, ordered no worse than by Borda and so of ratio 5. Together: (5 + 5p, 6 N E|e| + p
β_fallback). p is computed from the exact law of quicksort's comparisons, which presumes transitive answers, so the
bound holds for all votes only where p = 0.

*Borda*: (5, 2 E‖e‖₁), see :mod:`privrank_jax.aggregation.borda_theorem`.

*Weights in two parts*, e = w̃ - w their error before shrinkage, solved to within 1 + ξ: Σ_{i<j} |e_ij| is at most √N
times its root of Σ e_ij², whose mean is (m - 1)σ_g² + Mσ_c², M = (m-1)(m-2)/2. Shrinkage moves the cycle part by
(1 - s)‖c̃‖ = min(‖c̃‖, Mσ_c²/‖c̃‖) ≤ √M σ_c more. So β = (2 + ξ)√N(√((m - 1)σ_g² + Mσ_c²) + √M σ_c), without the last
term if nothing is shrunk. With φ = 1 it is Borda with its noise.

*Exponential mechanism*: (1, 2N log(m!)/(nε)), see :mod:`privrank_jax.aggregation.exponential`.

Lower bounds for all algorithms are in :mod:`privrank_jax.aggregation.lower_bounds`.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Count, Epsilon, Scalar
from privrank_jax._validate import check_choice, check_epsilon, check_nonnegative, check_users
from privrank_jax.aggregation.borda import dp_borda_scale, ldp_borda_norm, score_radius
from privrank_jax.aggregation.local_weights import local_weight_variance
from privrank_jax.aggregation.noise_all import noise_all_scale
from privrank_jax.aggregation.one_pair import one_pair_variance
from privrank_jax.aggregation.private_weights import SHRINKAGES, private_weights_scales
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budget import exceeding_probability, query_budget
from privrank_jax.aggregation.shuffled_pairs import shuffled_pair_variance
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.privacy import Privacy

# Mechanisms by which a user answers for one pair, and the variance of a weight.
ONE_ANSWER = {"one-pair": one_pair_variance, "shuffled-pair": shuffled_pair_variance}


class Bound(NamedTuple):
    """E K(σ, w) ≤ ratio · OPT + additive.

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
    _check(num_items, num_users)
    check_nonnegative("xi", xi)
    pairs = _pairs(num_items)
    scale = noise_all_scale(num_items, num_users, privacy, noise=noise)
    error = (pairs + 1) / 2 * scale if noise == "k-norm" else _mean_error(scale, noise)
    return Bound(1 + xi, (2 + xi) * pairs * error)


def kwiksort_bound(
    num_items: int,
    num_users: Count,
    privacy: Privacy,
    *,
    noise: str = "laplace",
    max_queries: int | None = None,
    split: float = 0.5,
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

    Returns:
        :class:`Bound`.

    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> round(float(kwiksort_bound(5, 10_000, privacy).additive), 6)
    0.06
    """
    _check(num_items, num_users)
    attained = of_rankings(privacy, "kwiksort_bound", noise)
    pairs = _pairs(num_items)
    queries = min(int(query_budget(num_items)) if max_queries is None else max_queries, pairs)
    whole = queries >= pairs
    failure = 0.0 if whole else exceeding_probability(num_items, queries)
    epsilon = attained.epsilon
    asked = dataclasses.replace(attained, epsilon=epsilon if whole else split * epsilon)
    scale = additive_scale(noise, asked, queries / num_users, queries**0.5 / num_users)
    additive = 6 * pairs * _mean_error(scale, noise)
    if not whole:
        rest = dataclasses.replace(attained, epsilon=(1 - split) * epsilon)
        fallback = noise_all_bound(num_items, num_users, rest, xi=4.0)
        additive = additive + failure * fallback.additive
    return Bound(5 + 5 * failure, additive)


def borda_bound(
    num_items: int, num_users: Count, privacy: Privacy, *, noise: str = "k-norm"
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
    _check(num_items, num_users)
    scale = dp_borda_scale(num_items, num_users, privacy, noise=noise)
    if noise == "k-norm":
        total = float(noise_law.mean_absolute(Zonotope.of_all_pairs(num_items)).sum())
        return Bound(5.0, 2 * total * scale)
    return Bound(5.0, 2 * num_items * _mean_error(scale, noise))


def private_weights_bound(
    num_items: int,
    num_users: Count,
    privacy: Privacy,
    *,
    noise: str = "k-norm",
    focus: float | None = None,
    shrink: str = "james-stein",
    xi: float = 0.0,
) -> Bound:
    """Bound of :func:`~privrank_jax.aggregation.private_weights`, solved to a proven ratio 1 + ξ.

    β is on the order of that of ``noise_all``, whatever the crowd; the head of this module has the formula.

    Args:
        num_items: m >= 2.
        num_users: n >= 1.
        privacy: what is promised, as for ``private_weights``: unit user, adjacency replace; concrete.
        noise: ``"k-norm"``, or ``"gaussian"`` for a promise with δ > 0.
        focus: φ in [0, 1]; None takes :func:`~privrank_jax.aggregation.default_focus`.
        shrink: ``"james-stein"`` or ``"none"``.
        xi: ξ >= 0, 0 for a solver that finds the optimum.

    Returns:
        (1 + ξ, β), or Borda's (5, β) at φ = 1.

    Raises:
        ValueError: fewer than 2 items or no users, ξ < 0, a promise that ``private_weights`` can't keep, Gaussian noise
            without δ, a focus out of range, unknown names.

    >>> privacy = Privacy(0.5, unit="user", adjacency="replace")
    >>> [round(private_weights_bound(10, 1000, privacy, focus=phi).additive, 1) for phi in (0.0, 1.0)]
    [9.2, 1.6]
    """
    _check(num_items, num_users)
    check_nonnegative("xi", xi)
    check_choice("shrink", shrink, SHRINKAGES)
    scales = private_weights_scales(num_items, num_users, privacy, noise=noise, focus=focus)
    gradient, cycle = (float(scale) for scale in scales)
    if math.isinf(cycle):
        return borda_bound(num_items, num_users, privacy, noise=noise)
    cycles = (num_items - 1) * (num_items - 2) / 2
    error = math.sqrt((num_items - 1) * gradient**2 + cycles * cycle**2)
    if shrink == "james-stein":
        error += math.sqrt(cycles) * cycle
    return Bound(1 + xi, (2 + xi) * math.sqrt(_pairs(num_items)) * error)


def exponential_bound(num_items: int, num_users: Count, privacy: Privacy) -> Bound:
    """Bound of :func:`~privrank_jax.aggregation.exponential_kemeny`: (1, 2N log(m!)/(nε)) = (1, O(m³ log m/(nε))).

    Args:
        num_items: m >= 2.
        num_users: n >= 1, may be traced.
        privacy: what is promised, as for ``exponential_kemeny``: unit user, adjacency replace.

    Returns:
        (1, β).

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`.
        ValueError: fewer than 2 items or no users, a promise that ``exponential_kemeny`` can't keep.

    >>> round(exponential_bound(10, 1000, Privacy(0.5, unit="user", adjacency="replace")).additive, 2)
    2.72
    """
    _check(num_items, num_users)
    epsilon = of_rankings(privacy, "exponential_bound").epsilon
    return Bound(1.0, 2 * _pairs(num_items) * math.lgamma(num_items + 1) / (num_users * epsilon))


def local_noise_all_bound(
    num_items: int,
    num_users: Count,
    epsilon: Epsilon,
    *,
    mechanism: str = "duchi",
    xi: float = 0.0,
) -> Bound:
    """Bound of :func:`~privrank_jax.aggregation.local_weights`, clipped and solved to within 1 + ξ: Corollary 9.

    β = (2 + ξ) N √variance: O(m³/(ε√n)) for Duchi, PrivUnit and ``"one-pair"``
    (:func:`~privrank_jax.aggregation.one_pair_weights`), O(m⁴/(ε√n)) for randomized response. For full rankings.

    Args:
        num_items: m >= 2.
        num_users: n >= 1, may be traced.
        epsilon: ε > 0 of each user's report, may be traced.
        mechanism: ``"duchi"``, ``"privunit"``, ``"randomized-response"``, ``"one-pair"`` or ``"shuffled-pair"``
            (:func:`~privrank_jax.aggregation.shuffled_pair_weights`).
        xi: ξ >= 0, 0 for a solver that finds the optimum.

    Returns:
        (1 + ξ, β); β is infinite for ``"one-pair"`` with fewer users than pairs.

    Raises:
        ValueError: fewer than 2 items or no users, ε <= 0, ξ < 0, an unknown mechanism.

    >>> round(float(local_noise_all_bound(10, 1000, 2.0).additive), 1)
    15.6
    """
    _check(num_items, num_users)
    check_nonnegative("xi", xi)
    error = jnp.sqrt(_local_variance(num_items, num_users, epsilon, mechanism))
    return Bound(1 + xi, (2 + xi) * _pairs(num_items) * error)


def ldp_kwiksort_bound(
    num_items: int,
    num_users: Count,
    epsilon: Epsilon,
    *,
    max_uses: int,
    failure: float,
    split: float = 0.5,
) -> Bound:
    """Bound of :func:`~privrank_jax.aggregation.ldp_kwiksort`, ±1 responses, fallback by Duchi's mechanism: Corollary
    12.

    A query goes to a random group of n/m users at ε₀ = split·ε/τ, so E|e| ≤ 1/(2 tanh(ε₀/2) √⌊n/m⌋); β is
    O(m^{2.5} log m/(ε√n)).

    Args:
        num_items: m >= 2.
        num_users: n >= 1.
        epsilon: ε > 0 of each user, may be traced.
        max_uses: τ, queries that a group answers at most.
        failure: bound on the probability that a sort asks some group more often.
        split: share of ε for the queries.

    Returns:
        :class:`Bound`.

    >>> bound = ldp_kwiksort_bound(5, 100_000, 1.0, max_uses=4, failure=0.01)
    >>> round(float(bound.ratio), 2)
    5.05
    """
    _check(num_items, num_users)
    check_epsilon(epsilon)
    response = jnp.tanh(0.5 * split * epsilon / max_uses)
    error = 1 / (2 * response * jnp.sqrt(num_users // num_items))
    fallback = local_noise_all_bound(num_items, num_users, (1 - split) * epsilon, xi=4.0)
    return Bound(5 + 5 * failure, 6 * _pairs(num_items) * error + failure * fallback.additive)


def ldp_borda_bound(
    num_items: int, num_users: Count, epsilon: Epsilon, *, mechanism: str = "duchi"
) -> Bound:
    """Bound of :func:`~privrank_jax.aggregation.ldp_borda`: (5, 2√(m(B² - r²)/n)) = (5, O(m^{2.5}/(ε√n))).

    The protocol is non-interactive. B is the norm of a report, r that of the centered scores: E‖e‖₁ ≤ √m √E‖e‖². For
    full rankings. With ``"one-pair"`` the scores of :func:`~privrank_jax.aggregation.one_pair_weights`, with
    ``"shuffled-pair"`` those of :func:`~privrank_jax.aggregation.shuffled_pair_weights`: their errors have variance
    m - 1 times that of a weight.

    Args:
        num_items: m >= 2.
        num_users: n >= 1, may be traced.
        epsilon: ε > 0 of each user's report, may be traced.
        mechanism: ``"duchi"``, ``"privunit"``, ``"subset-selection"``, ``"one-pair"`` or ``"shuffled-pair"``.

    Returns:
        (5, β); β is infinite for ``"one-pair"`` with fewer users than pairs.

    Raises:
        ValueError: fewer than 2 items or no users, ε <= 0, an unknown mechanism.

    >>> round(float(ldp_borda_bound(10, 1000, 2.0).additive), 1)
    8.5
    """
    _check(num_items, num_users)
    if mechanism in ONE_ANSWER:
        variance = (num_items - 1) * ONE_ANSWER[mechanism](num_items, num_users, epsilon)
        return Bound(5.0, 2 * num_items * jnp.sqrt(variance))
    norm = ldp_borda_norm(mechanism, num_items, epsilon)
    square = jnp.maximum(jnp.square(norm) - score_radius(num_items) ** 2, 0)
    return Bound(5.0, 2 * jnp.sqrt(num_items * square / num_users))


def _check(num_items: int, num_users: Count) -> None:
    check_users(num_users)
    if num_items < 2:
        raise ValueError(f"num_items must be at least 2, got {num_items!r}.")


def _local_variance(
    num_items: int, num_users: Count, epsilon: Epsilon, mechanism: str
) -> Float[Array, "..."]:
    if mechanism in ONE_ANSWER:
        return ONE_ANSWER[mechanism](num_items, num_users, epsilon)
    return local_weight_variance(num_items, num_users, epsilon, mechanism)


def _pairs(num_items: int) -> int:
    return num_items * (num_items - 1) // 2


def _mean_error(scale: Scalar, noise: str) -> Scalar:
    """Mean absolute value of the noise: λ for Laplace, σ√(2/π) for Gaussian."""
    return scale if noise == "laplace" else scale * math.sqrt(2 / math.pi)
