r"""Theory of scores from randomized answers: rates, the chance that the fit is convex, errors of rankings.

Notation: m items, answers to a share p of the pairs from users at ε_l, I = Σ_l tanh²(ε_l/2) effective users
(:func:`~privrank_jax.privacy.local.report_information` of each; the paper writes LB(ε)), links F with Σθ = 0 and all
scores within κ of each other. Rates hold up to a constant that the paper leaves open, 1 here.

**A flipped answer** (Lemma 1) says that i beats j with probability 1/2 + (F - 1/2) tanh(ε/2), which belongs to no
scores of the same link: log odds don't add up along i, j, k (Example 1).

**Convexity** (Lemma 4). Let c be the least and C the largest curvature of -log F within ±(κ + 2q), and let the weights
of the loss sum to 1. At every θ within q of the truth its Hessian has no eigenvalue below cmp/4 over Σθ = 0, but with
probability m exp(-3c²mpI/(128C²)).

*The printed proof* has cmp/2 for the least eigenvalue of the mean, and its last step, with t = cmp/4 in m
exp(-3t²I/(32mpC²)), gives 512 in place of 128. But Σ_{i<j} (u_i - u_j)² = m for ‖u‖ = 1, Σu = 0, so the mean has cmp; t
is 3cmp/4, and 27/512 > 3/128: the lemma holds. One answer may be negative, so that its largest deviation is 4C/I in
place of the printed 2C/I. Then it is 27/640, and the lemma holds too.

*The Laplace link* has c = 0, since its log F is linear below 0, and the lemma says nothing of it. Its mean Hessian is
positive all the same, by one of F(x)(-log F)''(x) and F(-x)(-log F)''(-x).

**Rankings** (Theorems 4 and 5). With Δ_k between the k-th and the next score, the share of the top K that is missed is
O(exp(-C mpIΔ_K²)) and Kendall's distance O(mean of exp(-C mpIΔ_k²)). Near equal scores estimates are normal with
Var(θ̂_i - θ̂_j) = 2/(mpIφ), φ = F'(0)²/(F(0)(1 - F(0))), so that two items Δ apart change places with probability at
most exp(-mpIφΔ²/4)/2: C = φ/4, which is 1/16 for the logistic link, 1/(2π) for the normal one and 1/4 for Laplace's.

Source: Xu, Sun and Cheng, "Rate-optimal rank aggregation with private pairwise rankings", section 4.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import Epsilon, Numbers, NumbersLike, ScoresLike
from privrank_jax._validate import check_epsilon, check_nonnegative, check_positive
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.theory import checked_items


def reported_chance(
    difference: NumbersLike, epsilon: NumbersLike, link: str | Link = "logistic"
) -> Float[Array, "..."]:
    """Chance that a flipped answer prefers i, 1/2 + (F(θ_i - θ_j) - 1/2) tanh(ε/2) (Lemma 1).

    Args:
        difference: θ_i - θ_j.
        epsilon: ε > 0 of the answer, or ``ValueError``; the two broadcast.
        link: F.

    Returns:
        Float. By Example 1, flips with probability 1/3 give 5/9, 5/9 and 3/5, whose odds no scores have.

    >>> chances = reported_chance(jnp.log(jnp.array([2.0, 2.0, 4.0])), math.log(2))
    >>> [round(float(9 * chance), 4) for chance in chances]
    [5.0, 5.0, 5.4]
    """
    epsilon = check_epsilon(epsilon)
    lean = get_link(link).cdf(jnp.asarray(difference, float)) - 0.5
    return 0.5 + lean * jnp.tanh(0.5 * jnp.asarray(epsilon))


def local_rate(
    num_items: Numbers, effective_users: Numbers, share_observed: Numbers = 1.0
) -> Float[Array, "..."]:
    """Lower bound of ‖θ̂ - θ‖_∞, 1/√(mpI) (Theorem 3); S.1.4 plans by it.

    Args:
        num_items: m > 0, or ``ValueError``; likewise I and p.
        effective_users: I = Σ_l tanh²(ε_l/2).
        share_observed: p, the share of all pairs that each user is asked.

    Returns:
        The rate; the arguments broadcast.

    >>> round(float(local_rate(10, 40.0, 0.25)), 6)
    0.1
    """
    check_positive("num_items", num_items)
    check_positive("effective_users", effective_users)
    check_positive("share_observed", share_observed)
    return 1 / jnp.sqrt(jnp.asarray(num_items * effective_users * share_observed, float))


def report_rate(
    num_items: Numbers, effective_users: Numbers, share_observed: Numbers = 1.0
) -> Float[Array, "..."]:
    """Rate of ‖θ̂ - θ‖_∞ and of ‖θ̂ - θ‖₂/√m, √(log m/(mpI)) (Theorems 1 and 2, probability 1 - O(m⁻³)).

    The theorems ask for a ridge λ of at most the order of log m/I, and for log m/(mpI) → 0. Arguments, results and
    errors as of :func:`local_rate`, but m >= 2.

    >>> round(float(report_rate(10, 40.0, 0.25)), 4)  # 0.1 √log 10
    0.1517
    """
    log_items = jnp.log(checked_items(num_items))
    return local_rate(num_items, effective_users, share_observed) * jnp.sqrt(log_items)


class ConvexityBound(NamedTuple):
    """With at least this probability no eigenvalue over Σθ = 0 is below this one."""

    eigenvalue: float
    probability: float


def convexity_bound(
    num_items: int,
    effective_users: float,
    share_observed: float = 1.0,
    *,
    spread: float,
    distance: float = 0.0,
    link: str | Link = "logistic",
) -> ConvexityBound:
    """How convex the loss of debiased answers is at a θ near the truth, and with which probability (Lemma 4).

    Args:
        num_items: m >= 2, or ``ValueError``, as for all that is out of range.
        effective_users: I.
        share_observed: p.
        spread: κ >= 0, the most that two true scores differ by.
        distance: q >= 0, the most that an entry of θ is off.
        link: F.

    Returns:
        :class:`ConvexityBound`; of the loss divided by I, as published. A probability below 0 says nothing.

    >>> bound = convexity_bound(10, 100.0, spread=0.5)
    >>> round(bound.eigenvalue, 3), round(1 - bound.probability, 10)
    (0.588, 1.01e-08)
    """
    checked_items(num_items)
    check_positive("effective_users", effective_users)
    check_positive("share_observed", share_observed)
    check_nonnegative("spread", spread)
    check_nonnegative("distance", distance)
    reach = spread + 2 * distance
    # The curvature of each link is monotone on either side of 0.
    bends = np.asarray(get_link(link).curvature(np.array([-reach, 0.0, reach])))
    least, most = float(bends.min()), float(bends.max())
    told = num_items * share_observed
    exponent = 3 * (least / most) ** 2 * told * effective_users / 128
    return ConvexityBound(least * told / 4, 1 - num_items * math.exp(-exponent))


def top_k_error_rate(
    gap: Numbers,
    num_items: Numbers,
    effective_users: Numbers,
    share_observed: Numbers = 1.0,
    *,
    link: str | Link = "logistic",
) -> Float[Array, "..."]:
    """Rate of the share of the top K that is missed, exp(-C mpIΔ²), C of the normal approximation (Theorem 4).

    Further arguments, results and errors are those of :func:`report_rate`, ``link`` is F.

    Args:
        gap: Δ >= 0, the K-th largest score less the next.

    >>> round(float(top_k_error_rate(0.5, 10, 64.0, 0.4)), 4)  # exp(-4)
    0.0183
    """
    check_nonnegative("gap", gap)
    checked_items(num_items)
    check_positive("effective_users", effective_users)
    check_positive("share_observed", share_observed)
    told = jnp.asarray(num_items * effective_users * share_observed, float)
    # φ = score(0)² at F(0) = 1/2.
    constant = 0.25 * jnp.square(get_link(link).score(0.0))
    return jnp.exp(-constant * told * jnp.square(jnp.asarray(gap)))


def ranking_error_rate(
    scores: ScoresLike,
    effective_users: Epsilon,
    share_observed: Numbers = 1.0,
    *,
    link: str | Link = "logistic",
) -> Float[Array, ""]:
    """Rate of Kendall's normalized distance, the mean over neighbors of exp(-C mpIΔ_k²) (Theorem 5).

    The normalized footrule of the paper is at most twice Kendall's distance.

    Args:
        scores: ``(m,)`` true θ, m >= 2, in any order; other arguments and errors as of :func:`top_k_error_rate`.

    Returns:
        The rate, ``()``.

    >>> round(float(ranking_error_rate([0.0, 0.5, 1.0], 64.0, 0.4)), 4)
    0.3012
    """
    gaps = jnp.diff(jnp.sort(jnp.asarray(scores, float)))
    rates = top_k_error_rate(gaps, gaps.size + 1, effective_users, share_observed, link=link)
    return jnp.mean(rates)
