"""Minimax rates of private estimation and ranking, and the gaps at which top-k recovery becomes possible.

The theorems give *rates*: each holds up to a constant that they do not specify. The constants here are arguments, 1
by default; the values show how the error scales with m, p, n and ε, and are not error bounds. All functions are
elementwise, broadcast, may be traced, and give the non-private rate at ε = ∞.

Notation: m items, p probability that a pair is compared (once), n users with a constant number L of
comparisons each. Estimation rates are in units of θ (ℓ_∞ error), thresholds in units of the average win
probability τ_i = (1/m) Σ_j F(θ_i - θ_j).

Source: Cai, Chakraborty and Wang (2025), who write n for items and m for users.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import Numbers, ScoresLike
from privrank_jax._validate import check_epsilon, check_positive, is_traced
from privrank_jax.links import Link, get_link


def edge_rate(
    num_items: Numbers,
    probability: Numbers,
    epsilon: Numbers,
    *,
    statistical_constant: Numbers = 1.0,
    privacy_constant: Numbers = 1.0,
) -> Float[Array, "..."]:
    """ℓ_∞ rate under edge DP, √(log m/(mp)) + log m/(mpε).

    The perturbed MLE attains it (Theorem 2.1), and it is optimal: a faster estimator would recover top-k sets
    below the threshold of Theorem 2.4 (Remark 1).

    Args:
        num_items: m >= 2.
        probability: p in (0, 1].
        epsilon: ε > 0; ∞ leaves the first term.
        statistical_constant: factor of the first term.
        privacy_constant: factor of the second.

    Returns:
        The rate, broadcast shape, JAX's default float or that of the arguments.

    Raises:
        ValueError: an argument out of range.

    >>> float(edge_rate(100, 1.0, 1.0)) > float(edge_rate(1000, 1.0, 1.0))
    True
    """
    log_items, compared = _edge_sizes(num_items, probability, epsilon)
    return jnp.asarray(
        statistical_constant * jnp.sqrt(log_items / compared)
        + privacy_constant * log_items / compared / epsilon
    )


def edge_lower_bound(
    num_items: Numbers,
    probability: Numbers,
    epsilon: Numbers,
    *,
    statistical_constant: Numbers = 1.0,
    privacy_constant: Numbers = 1.0,
) -> Float[Array, "..."]:
    """ℓ_∞ lower bound by the score attack, √(log m/(mp)) + 1/(mpε) (Theorem 2.2).

    It is smaller than :func:`edge_rate` by a factor of log m in the second term, a gap that the ranking lower bound
    of Theorem 2.4 closes. The arguments are those of :func:`edge_rate`.

    Returns:
        The bound; the arguments broadcast.

    >>> bool(edge_lower_bound(100, 0.5, 0.5) < edge_rate(100, 0.5, 0.5))
    True
    """
    log_items, compared = _edge_sizes(num_items, probability, epsilon)
    return jnp.asarray(
        statistical_constant * jnp.sqrt(log_items / compared)
        + privacy_constant / compared / epsilon
    )


def user_rate(
    num_items: Numbers,
    num_users: Numbers,
    epsilon: Numbers,
    *,
    statistical_constant: Numbers = 1.0,
    privacy_constant: Numbers = 1.0,
) -> Float[Array, "..."]:
    """ℓ_∞ rate under user-level DP, √(m log m/n) + m log m/(nε) (Theorems 3.1 and 3.2).

    Upper and lower bounds agree. The number L of comparisons per user is treated as a constant and does not appear.

    Args:
        num_items: m >= 2.
        num_users: n > 0.
        epsilon: ε > 0; ∞ leaves the first term.
        statistical_constant: factor of the first term.
        privacy_constant: factor of the second.

    Returns:
        The rate, broadcast shape.

    Raises:
        ValueError: an argument out of range.

    >>> float(user_rate(100, 10_000, 1.0)) < float(user_rate(1000, 10_000, 1.0))
    True
    """
    check_epsilon(epsilon)
    check_positive("num_users", num_users)
    items = checked_items(num_items)
    per_user = items * jnp.log(items) / num_users
    return jnp.asarray(
        statistical_constant * jnp.sqrt(per_user) + privacy_constant * per_user / epsilon
    )


def top_k_threshold(
    num_items: Numbers,
    epsilon: Numbers,
    *,
    probability: Numbers | None = None,
    num_users: Numbers | None = None,
    constant: Numbers = 1.0,
) -> Float[Array, "..."]:
    """Gap of average win probabilities at which the top-k set can be recovered privately.

    With tolerance u, let g = τ_(k-u) - τ_(k+u+1) (:func:`top_k_gap`). Above C times the rate, ranking by
    noisy counts gets the top-k set with at most u items wrong, except with probability O(m⁻⁵) (Theorems
    2.3 and 3.3); below c times the rate, every private method fails with probability at least 1/10 for
    some preferences with that gap (Theorems 2.4 and 3.4). The rate is :func:`edge_rate` or
    :func:`user_rate`; it depends neither on k nor on u.

    Args:
        num_items: m >= 2.
        epsilon: ε > 0.
        probability: p, for edge DP; or
        num_users: n, for user-level DP. Exactly one of the two.
        constant: C or c.

    Returns:
        The threshold, in units of τ.

    Raises:
        ValueError: neither or both of ``probability`` and ``num_users``; an argument out of range.

    >>> bool(top_k_threshold(50, 1.0, probability=0.5) == edge_rate(50, 0.5, 1.0))
    True
    """
    if (probability is None) == (num_users is None):
        raise ValueError(
            "give probability=p (edge DP) or num_users=n (user-level DP), exactly one of them."
        )
    if probability is not None:
        return jnp.asarray(constant * edge_rate(num_items, probability, epsilon))
    assert num_users is not None
    return jnp.asarray(constant * user_rate(num_items, num_users, epsilon))


def average_win_probability(
    scores: ScoresLike, link: str | Link = "logistic"
) -> Float[Array, "items"]:
    """τ_i = (1/m) Σ_j F(θ_i - θ_j), the pair (i, i) counted with 1/2.

    Args:
        scores: ``(m,)`` θ.
        link: F.

    Returns:
        τ, ``(m,)``.

    >>> average_win_probability(jnp.zeros(4)).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    scores = jnp.asarray(scores)
    return jnp.mean(get_link(link).cdf(scores[:, None] - scores[None, :]), axis=1)


def top_k_gap(average_wins: ScoresLike, k: int, tolerance: int = 0) -> Float[Array, ""]:
    """τ_(k-u) - τ_(k+u+1), the gap that decides top-k recovery with tolerance u.

    Args:
        average_wins: τ, ``(m,)``.
        k: size of the set.
        tolerance: u, 0 <= u <= min(k, m - k) - 1: a set with at most u wrong items counts as recovered.

    Returns:
        The gap, ``()``, >= 0.

    Raises:
        ValueError: k or u out of range.

    >>> round(float(top_k_gap(jnp.array([0.9, 0.6, 0.3, 0.1]), k=2)), 6)
    0.3
    """
    values = jnp.sort(jnp.asarray(average_wins), descending=True)
    size = values.shape[0]
    if not 1 <= k <= size - 1:
        raise ValueError(f"k must lie in 1..m - 1 = {size - 1}, got {k}.")
    if not 0 <= tolerance <= min(k, size - k) - 1:
        raise ValueError(
            f"tolerance must lie in 0..{min(k, size - k) - 1} for k = {k}, m = {size}, got {tolerance}."
        )
    return values[k - tolerance - 1] - values[k + tolerance]


def checked_items(num_items: Numbers) -> Array:
    """m >= 2 as a float array."""
    if not is_traced(num_items) and np.any(np.asarray(num_items) < 2):
        raise ValueError(f"num_items must be at least 2, got {num_items!r}.")
    items = jnp.asarray(num_items)
    return items.astype(jnp.result_type(items, float))


def _edge_sizes(num_items: Numbers, probability: Numbers, epsilon: Numbers) -> tuple[Array, Array]:
    """log m and mp."""
    check_epsilon(epsilon)
    check_positive("probability", probability)
    if not is_traced(probability) and np.any(np.asarray(probability) > 1):
        raise ValueError(f"probability must be at most 1, got {probability!r}.")
    items = checked_items(num_items)
    return jnp.log(items), items * probability
