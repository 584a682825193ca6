r"""Theory of private estimation and ranking from comparisons: minimax rates, and the score attack.

Source: Cai, Chakraborty and Wang (2025), who write n for items and m for users.

**Rates** hold up to constants that the paper leaves open, 1 here: they say how errors scale with m items, p probability
that a pair is compared (once), n users with a constant number of comparisons each, and ε. They are elementwise,
broadcast, and give the rate without privacy at ε = ∞. Rates are in units of θ (ℓ_∞ error), thresholds in units of the
average win probability τ_i = (1/m) Σ_j F(θ_i - θ_j).

**The entrywise score attack** measures how much an estimate M(Y) of scores θ reveals of its data. Each comparison of
item k contributes A = (M(Y)_k - θ_k) · ∂ log P(y; θ)/∂θ_k to the statistic of k.

*Sign.* For a comparison of k and j that k won (y = 1) or lost (y = 0), with x = θ_k - θ_j, the derivative is
(y - F(x)) F'(x)/(F(x)(1-F(x))). Section 2.1.2 prints this for pairs (k, j), k < j, and for pairs (i, k), i < k, the
same formula in y_ik, which is *minus* the derivative in θ_k: wins of k would cancel by the numbering of the items.

*Completeness* (Stein's identity). The score has mean 0, so for every estimator E Σ A = ∂E[M_k]/∂θ_k. *Soundness.* If Ỹ
is Y with one outcome drawn anew, M(Ỹ) is independent of the old outcome, and E A(M(Ỹ), y) = 0.

*Privacy* (Proposition 2.3 with a sharp constant; edge DP, adjacency ``"flip"``). Fix the other comparisons, let p₁, p₀
be the law of M where k won or lost this one, and p̄ = F p₁ + (1-F) p₀. Then E A = F' ∫ (m - θ_k)(p₁ - p₀) dm, and
p₁ ≤ e^ε p₀ ≤ e^{2ε} p₁ bounds |p₁ - p₀| by r p̄ with r = 1/(1/(e^ε - 1) + min(F, 1-F)). Over all comparisons of k,

    ∂E[M_k]/∂θ_k = E Σ A ≤ Σ_j M_kj F'(θ_k - θ_j) r_kj · E|M_k - θ_k|,

with equality for randomized response to one comparison of equal items. The paper has 4κ₁ m p ε E|M_k - θ_k| for ε < 1,
plus terms for δ and for the random graph.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._arguments import is_whole
from privrank_jax._types import Epsilon, Numbers, Scores, ScoresLike
from privrank_jax._validate import check_epsilon, check_positive, is_traced
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.graph import check_counts


def edge_rate(num_items: Numbers, probability: Numbers, epsilon: Numbers) -> Float[Array, "..."]:
    """ℓ_∞ rate under edge DP, √(log m/(mp)) + log m/(mpε), optimal by Theorem 2.4 (Remark 1).

    The perturbed MLE attains it (Theorem 2.1, for p of the order of log m/(mε) at least and ε from 1/√log m to 1), at
    Laplace noise of scale λ with λ for 1/ε (Proposition 2.2).

    Args:
        num_items: m >= 2.
        probability: p in (0, 1].
        epsilon: ε > 0; ∞ leaves the first term.

    Returns:
        The rate, broadcast shape, JAX's default float or that of the arguments.

    Raises:
        ValueError: an argument out of range.

    >>> float(edge_rate(100, 1.0, 1.0)) > float(edge_rate(1000, 1.0, 1.0))
    True
    """
    log_items, compared, epsilon = _edge_sizes(num_items, probability, epsilon)
    return jnp.asarray(jnp.sqrt(log_items / compared) + log_items / compared / epsilon)


def edge_lower_bound(
    num_items: Numbers, probability: Numbers, epsilon: Numbers
) -> Float[Array, "..."]:
    """ℓ_∞ lower bound by the score attack, √(log m/(mp)) + 1/(mpε) (Theorem 2.2); arguments as of :func:`edge_rate`.

    Returns:
        The bound; the arguments broadcast.

    >>> bool(edge_lower_bound(100, 0.5, 0.5) < edge_rate(100, 0.5, 0.5))
    True
    """
    log_items, compared, epsilon = _edge_sizes(num_items, probability, epsilon)
    return jnp.asarray(jnp.sqrt(log_items / compared) + 1 / compared / epsilon)


def user_rate(num_items: Numbers, num_users: Numbers, epsilon: Numbers) -> Float[Array, "..."]:
    """ℓ_∞ rate under user-level DP, √(m log m/n) + m log m/(nε), upper and lower bound (Theorems 3.1 and 3.2).

    Args:
        num_items: m >= 2.
        num_users: n > 0.
        epsilon: ε > 0; ∞ leaves the first term. The results and errors are those of :func:`edge_rate`.

    >>> float(user_rate(100, 10_000, 1.0)) < float(user_rate(1000, 10_000, 1.0))
    True
    """
    epsilon = check_epsilon(epsilon)
    check_positive("num_users", num_users)
    items = checked_items(num_items)
    per_user = items * jnp.log(items) / num_users
    return jnp.asarray(jnp.sqrt(per_user) + per_user / epsilon)


def top_k_threshold(
    num_items: Numbers,
    epsilon: Numbers,
    *,
    probability: Numbers | None = None,
    num_users: Numbers | None = None,
) -> Float[Array, "..."]:
    """Rate of the gap (:func:`top_k_gap`) at which the top-k set can be recovered privately; it depends on no k, no u.

    Above C times it noisy counts recover the set, except with probability O(m⁻⁵) (Theorems 2.3 and 3.3). Below c times
    it every private method fails with probability at least 1/10 for some preferences (Theorems 2.4 and 3.4). Arguments,
    results and errors as of :func:`edge_rate` or, with ``num_users``, of :func:`user_rate`; in units of τ.

    >>> bool(top_k_threshold(50, 1.0, probability=0.5) == edge_rate(50, 0.5, 1.0))
    True
    """
    if probability is not None and num_users is None:
        return edge_rate(num_items, probability, epsilon)
    if num_users is not None and probability is None:
        return user_rate(num_items, num_users, epsilon)
    raise ValueError(
        "give probability=p (edge DP) or num_users=n (user-level DP), exactly one of them."
    )


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
    if not is_whole(k) or not 1 <= k <= size - 1:
        raise ValueError(f"k must lie in 1..m - 1 = {size - 1}, got {k!r}.")
    most = min(k, size - k) - 1
    if not 0 <= tolerance <= most:
        raise ValueError(f"tolerance must lie in 0..{most} for k = {k}, got {tolerance}.")
    return values[k - tolerance - 1] - values[k + tolerance]


def checked_items(num_items: Numbers) -> Array:
    """m >= 2 as a float array."""
    if not is_traced(num_items) and np.any(np.asarray(num_items) < 2):
        raise ValueError(f"num_items must be at least 2, got {num_items!r}.")
    items = jnp.asarray(num_items)
    return items.astype(jnp.result_type(items, float))


def _edge_sizes(
    num_items: Numbers, probability: Numbers, epsilon: Numbers
) -> tuple[Array, Numbers, Numbers]:
    """log m, mp and ε."""
    check_positive("probability", probability)
    if not is_traced(probability) and np.any(np.asarray(probability) > 1):
        raise ValueError(f"probability must be at most 1, got {probability!r}.")
    items = checked_items(num_items)
    return jnp.log(items), items * probability, check_epsilon(epsilon)


def score_attack(
    estimate: ScoresLike, scores: ScoresLike, wins: WinCounts, link: str | Link = "logistic"
) -> Scores:
    """Attack statistic of every item: (M_k - θ_k) Σ_j (W_kj - M_kj F_kj) F'_kj/(F_kj(1 - F_kj)).

    Args:
        estimate: M(Y), ``(m,)``, an estimate of the scores.
        scores: θ, ``(m,)``, the scores that generated the comparisons.
        wins: the comparisons Y, any number per pair.
        link: F.

    Returns:
        ``(m,)``, Σ over the comparisons of k of A^{(k)}; 0 for masked items. Its mean over Y is ∂E[M_k]/∂θ_k, about 1
        for a good estimator and 0 for one that ignores the data. Source and sign: head of this module.

    >>> wins = WinCounts.from_matrix([[0, 1], [0, 0]])  # item 0 won once
    >>> score_attack(jnp.array([1.0, -1.0]), jnp.zeros(2), wins).tolist()
    [0.5, 0.5]
    """
    check_counts(wins)
    link, scores = get_link(link), jnp.asarray(scores)
    gap = scores[:, None] - scores[None, :]
    # y F'/F - (1-y) F'/(1-F) is (y - F) F'/(F(1-F)), without the division by F(1-F).
    terms = wins.matrix * link.score(gap) - wins.matrix.T * link.score(-gap)
    return _over_opponents(terms, jnp.asarray(estimate) - scores, wins)


def score_attack_bound(
    mean_absolute_error: ScoresLike,
    scores: ScoresLike,
    wins: WinCounts,
    epsilon: Epsilon,
    link: str | Link = "logistic",
) -> Scores:
    """Upper bound on the mean of :func:`score_attack` for every ε-DP estimator: *Privacy* at the head of this module.

    Σ_j M_kj F'(θ_k - θ_j)/(1/(e^ε - 1) + min(F, 1-F)) times E|M_k - θ_k|, for pure ε-DP where one comparison changes
    its outcome (``unit="comparison"``, ``adjacency="flip"``; replacement implies it).

    Args:
        mean_absolute_error: E|M_k - θ_k|, ``(m,)``.
        scores: θ, ``(m,)``.
        wins: only the comparison counts are used, not the outcomes.
        epsilon: ε > 0, may be traced; ∞ allowed.
        link: F.

    Returns:
        ``(m,)``; ∂E[M_k]/∂θ_k by the value at ``mean_absolute_error=1`` is the least error with that derivative.

    >>> wins = WinCounts.from_matrix([[0, 1], [0, 0]])
    >>> [round(float(b), 4) for b in score_attack_bound(jnp.ones(2), jnp.zeros(2), wins, 1.0)]
    [0.2311, 0.2311]
    """
    epsilon = check_epsilon(epsilon)
    check_counts(wins)
    link, scores = get_link(link), jnp.asarray(scores)
    gap = scores[:, None] - scores[None, :]
    density = link.cdf(gap) * link.score(gap)
    ratio = 1.0 / (1.0 / jnp.expm1(epsilon) + link.cdf(-jnp.abs(gap)))
    terms = wins.comparisons * density * ratio.astype(density.dtype)
    return _over_opponents(terms, jnp.asarray(mean_absolute_error), wins)


@jax.jit
def _over_opponents(terms: Array, factor: Array, wins: WinCounts) -> Array:
    """``factor`` times Σ_j of the terms of real opponents; 0 for masked items."""
    mask = wins.item_mask
    terms = jnp.where(mask[:, None] & mask[None, :], terms, 0.0)
    return jnp.where(mask, factor * jnp.sum(terms, axis=1), 0.0)
