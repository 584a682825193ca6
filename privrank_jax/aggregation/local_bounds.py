r"""Worst-case bounds of local and shuffled reports, with constants; those of the central model are in
:mod:`privrank_jax.aggregation.bounds`, which says what they mean.

*Weights* (Corollary 9), then solved to within 1 + ξ: β = (2 + ξ) Σ_{i<j} |e_ij|, and E|e| is at most the standard
deviation of :func:`~privrank_jax.aggregation.local_weights.local_weight_variance`. *Borda scores*: (5, 2 ‖e‖₁), ‖e‖₁ ≤
√m ‖e‖₂. *KwikSort* (Corollary 12): as in the central model. *Footrule*: :mod:`privrank_jax.aggregation.ldp_footrule`.
All but the last are for full rankings.

*With a confidence* 1 - η, L = log(1/η). Reports on all pairs or on scores, of norm at most B: e is their mean less its
own mean, and another report of one user moves it by at most 2B/n. So by McDiarmid's inequality ‖e‖₂ exceeds its mean by
at most B√(2L/n); weights are half of such reports. *One answer per user*, g or more for each pair, t = tanh(ε/2): a bit
changes one weight by at most 1/(tg). Draw first who answers which pair, given the numbers of answers, then the bits.
Exchanging two users changes the mean of Σ|e_ij| over the bits by at most 2/g, since two bits have another law, each
with probability t at most. Uncovering the n users one by one and then their bits, the sum of |e_ij| is a martingale of
steps within ranges of 2/g and of 1/(tg), so (Hoeffding 1963, Azuma 1967) it exceeds its mean, at most
N√(n/(n-1))/(2t√g), by at most √(nL/2)·√(4 + 1/t²)/g; errors of Borda scores change by twice that. Dealt pairs have g =
⌊n/N⌋. Shuffled users draw pairs: g is the number that Bin(n, 1/N) fails to reach with probability η/(2N) at most, and L
= log(2/η). KwikSort's bounds are divided by η (Markov's inequality).
"""

from __future__ import annotations

import math

import jax.numpy as jnp
from jaxtyping import Array, Float
from scipy import special

from privrank_jax._types import Count, Epsilon, Scalar
from privrank_jax._validate import check_epsilon, check_nonnegative
from privrank_jax.aggregation.borda import ldp_borda_norm, score_radius
from privrank_jax.aggregation.bounds import Bound, by_markov, chance_of, check_sizes
from privrank_jax.aggregation.ldp_footrule import ldp_footrule_excess, ldp_footrule_norm
from privrank_jax.aggregation.local_weights import local_weight_variance
from privrank_jax.aggregation.one_pair import one_pair_variance
from privrank_jax.aggregation.shuffled_pairs import shuffled_pair_variance

# Mechanisms by which a user answers for one pair, and the variance of a weight.
ONE_ANSWER = {"one-pair": one_pair_variance, "shuffled-pair": shuffled_pair_variance}


def local_noise_all_bound(
    num_items: int,
    num_users: Count,
    epsilon: Epsilon,
    *,
    mechanism: str = "duchi",
    xi: float = 0.0,
    confidence: float | None = None,
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
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.

    Returns:
        (1 + ξ, β); β is infinite for ``"one-pair"`` with fewer users than pairs.

    Raises:
        ValueError: fewer than 2 items or no users, ε <= 0, ξ < 0, an unknown mechanism.

    >>> round(float(local_noise_all_bound(10, 1000, 2.0).additive), 1)
    15.6
    """
    check_sizes(num_items, num_users)
    check_nonnegative("xi", xi)
    chance = chance_of(confidence)
    pairs = num_items * (num_items - 1) // 2
    if mechanism in ONE_ANSWER:
        deviation, beyond = _of_one_answer(mechanism, num_items, num_users, epsilon, chance)
        return Bound(1 + xi, (2 + xi) * (pairs * deviation + beyond))
    variance = local_weight_variance(num_items, num_users, epsilon, mechanism)
    total = pairs * jnp.sqrt(variance)
    if chance is not None:  # B² = N(4nv + 1), see local_weight_variance
        norm = jnp.sqrt(4 * num_users * variance + 1)
        total += pairs * norm * math.sqrt(-math.log(chance) / 2) / jnp.sqrt(num_users)
    return Bound(1 + xi, (2 + xi) * total)


def ldp_kwiksort_bound(
    num_items: int,
    num_users: Count,
    epsilon: Epsilon,
    *,
    max_uses: int,
    failure: float,
    split: float = 0.5,
    confidence: float | None = None,
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
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.

    Returns:
        :class:`Bound`.

    >>> bound = ldp_kwiksort_bound(5, 100_000, 1.0, max_uses=4, failure=0.01)
    >>> round(float(bound.ratio), 2)
    5.05
    """
    check_sizes(num_items, num_users)
    check_epsilon(epsilon)
    response = jnp.tanh(0.5 * split * epsilon / max_uses)
    error = 1 / (2 * response * jnp.sqrt(num_users // num_items))
    fallback = local_noise_all_bound(num_items, num_users, (1 - split) * epsilon, xi=4.0)
    pairs = num_items * (num_items - 1) // 2
    mean = Bound(5 + 5 * failure, 6 * pairs * error + failure * fallback.additive)
    return by_markov(mean, confidence)


def ldp_borda_bound(
    num_items: int,
    num_users: Count,
    epsilon: Epsilon,
    *,
    mechanism: str = "duchi",
    confidence: float | None = None,
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
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.

    Returns:
        (5, β); β is infinite for ``"one-pair"`` with fewer users than pairs.

    Raises:
        ValueError: fewer than 2 items or no users, ε <= 0, an unknown mechanism.

    >>> round(float(ldp_borda_bound(10, 1000, 2.0).additive), 1)
    8.5
    """
    check_sizes(num_items, num_users)
    chance = chance_of(confidence)
    if mechanism in ONE_ANSWER:
        deviation, beyond = _of_one_answer(mechanism, num_items, num_users, epsilon, chance)
        root = math.sqrt(num_items - 1)
        return Bound(5.0, 2 * (num_items * root * deviation + 2 * beyond))
    norm = ldp_borda_norm(mechanism, num_items, epsilon)
    square = jnp.maximum(jnp.square(norm) - score_radius(num_items) ** 2, 0)
    length = jnp.sqrt(square / num_users)
    if chance is not None:
        length += norm * math.sqrt(-2 * math.log(chance)) / jnp.sqrt(num_users)
    return Bound(5.0, 2 * math.sqrt(num_items) * length)


def ldp_footrule_bound(
    num_items: int, num_users: Count, epsilon: Epsilon, *, confidence: float | None = None
) -> Bound:
    """Bound of the assignment of :func:`~privrank_jax.aggregation.ldp_footrule`: (2 - 1/(m-1), O(m³/(ε√n))).

    Proofs are at the head of :mod:`privrank_jax.aggregation.ldp_footrule`,
    ``help(sys.modules[ldp_footrule.__module__])``; with a confidence β is O(m^2.5 √(log m)/(ε√n)) if that is less.

    Args:
        num_items: m from 2 to 200.
        num_users: n >= 1.
        epsilon: ε > 0 of each user's report, may be traced.
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.

    Returns:
        :class:`Bound`.

    Raises:
        ValueError: fewer than 2 items or more than 200, no users, ε <= 0.

    >>> bound = ldp_footrule_bound(10, 100_000, 2.0)
    >>> round(bound.ratio, 3), round(float(bound.additive), 2)
    (1.889, 1.35)
    """
    check_sizes(num_items, num_users)
    check_epsilon(epsilon)
    if confidence is None:
        norm = ldp_footrule_norm(num_items, epsilon)
        excess = math.sqrt(2 * num_items) * norm / jnp.sqrt(num_users)
    else:
        excess = ldp_footrule_excess(num_items, num_users, epsilon, confidence)
    return Bound(2 - 1 / (num_items - 1), (1 - 1 / (2 * num_items - 2)) * excess)


def _of_one_answer(
    mechanism: str, items: int, users: Count, epsilon: Epsilon, chance: float | None
) -> tuple[Float[Array, "..."], Scalar]:
    """Root mean square error of a weight, and how far the sum of all errors may exceed its mean."""
    if chance is None:
        return jnp.sqrt(ONE_ANSWER[mechanism](items, users, epsilon)), 0.0
    pairs, users = items * (items - 1) // 2, int(users)
    least = users // pairs
    if mechanism == "shuffled-pair":
        chance /= 2
        least = _least_answers(users, pairs, chance / pairs)
    if not least:
        return jnp.asarray(jnp.inf), 0.0
    deviation = jnp.sqrt(one_pair_variance(items, least * pairs, epsilon))
    strength = jnp.tanh(0.5 * jnp.asarray(epsilon, deviation.dtype))
    beyond = math.sqrt(-users * math.log(chance) / 2) / least
    return deviation, beyond * jnp.sqrt(4 + 1 / strength**2)


def _least_answers(users: int, pairs: int, chance: float) -> int:
    """The largest g that Bin(users, 1/pairs) fails to reach with probability ``chance`` at most."""
    low, high = 0, users // pairs + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high)
            if special.bdtr(middle - 1, users, 1 / pairs) <= chance
            else (low, middle)
        )
    return low
