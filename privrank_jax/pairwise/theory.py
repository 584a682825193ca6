r"""Theory of private estimation and ranking: minimax rates, the conditions of their theorems, and the score attack.

Source: Cai, Chakraborty and Wang (2025), who write n for items and m for users.

**Rates.** The theorems give *rates*: each holds up to a constant that they do not specify. The constants here are
arguments, 1 by default; the values show how the error scales with m, p, n and ε, and are not error bounds. All
functions of rates are elementwise, broadcast, may be traced, and give the non-private rate at ε = ∞. m items,
p probability that a pair is compared (once), n users with a constant number L of comparisons each. Estimation rates are
in units of θ (ℓ_∞ error), thresholds in units of the average win probability τ_i = (1/m) Σ_j F(θ_i - θ_j).

**The entrywise score attack**: how much an estimate reveals about the comparisons it was computed
from. For an estimator M(Y) of scores θ and item k, each comparison of k contributes

    A = (M(Y)_k - θ_k) · ∂ log P(y; θ)/∂θ_k,

and the statistic of item k is the sum over its comparisons. A is large if M follows the data, and has mean 0 if M
is replaced by a copy that never used that comparison. A private M must behave almost alike in both cases, which
gives a lower bound on the error of every private estimator.

**Sign.** For a comparison of k and j in which k won (y = 1) or lost (y = 0), with x = θ_k - θ_j,
∂/∂θ_k [y log F(x) + (1-y) log(1-F(x))] = (y - F(x)) F'(x)/(F(x)(1-F(x))). Cai, section 2.1.2, prints this for pairs
(k, j), k < j, and the same formula in the outcome y_ik for pairs (i, k), i < k. As y_ik - F_ik = -(y_ki - F_ki), the
latter is *minus* the derivative in θ_k: with the printed sign the wins of k would cancel depending on the numbering
of the items, and the sum over k would not be the full score ⟨M - θ, ∇ log P⟩ that the paper claims. We use the
derivative. The proposition on privacy bounds |A| and holds with either sign.

**Completeness** (Stein's identity). The score has mean 0, so for every estimator, biased or not,
E Σ A = Cov(M_k, ∂ log P/∂θ_k) = ∂ E[M_k]/∂θ_k.

**Soundness.** If Ỹ is Y with one outcome drawn anew, M(Ỹ) is independent of the old outcome and E A(M(Ỹ), y) = 0.

**Privacy** (Proposition 2.3 with a sharp constant; edge DP, adjacency ``"flip"``). Fix the other comparisons and write
p₁, p₀ for the law of M where k won or lost this one, p̄ = F p₁ + (1-F) p₀. Then
E A = F' ∫ (m - θ_k)(p₁ - p₀) dm, and p₁ ≤ e^ε p₀ ≤ e^{2ε} p₁ bounds |p₁ - p₀| by r p̄ with
r = 1/(1/(e^ε - 1) + min(F, 1-F)). So E A ≤ F' r E|M_k - θ_k|. Summed over the comparisons of k,

    ∂ E[M_k]/∂θ_k = E Σ A ≤ Σ_j M_kj F'(θ_k - θ_j) r_kj · E|M_k - θ_k|,

with equality for randomized response to one comparison of equal items. The paper's bound is 4κ₁ m p ε E|M_k - θ_k| for
ε < 1, plus terms for δ and for the random graph; :mod:`privrank_jax.pairwise.attack_floors` has them, and what follows.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from privrank_jax._arguments import is_whole
from privrank_jax._types import Epsilon, Numbers, Scores, ScoresLike
from privrank_jax._validate import (
    check_choice,
    check_epsilon,
    check_nonnegative,
    check_positive,
    is_traced,
)
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.graph import check_counts


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
    log_items, compared, epsilon = _edge_sizes(num_items, probability, epsilon)
    return jnp.asarray(
        statistical_constant * jnp.sqrt(log_items / compared)
        + privacy_constant * log_items / compared / epsilon
    )


def perturbed_rate(
    num_items: Numbers,
    probability: Numbers,
    noise_scale: Numbers,
    *,
    statistical_constant: Numbers = 1.0,
    noise_constant: Numbers = 1.0,
) -> Float[Array, "..."]:
    """ℓ_∞ rate of the perturbed MLE at Laplace noise of any scale λ, √(log m/(mp)) + λ log m/(mp) (Proposition 2.2).

    For γ of the order of √(mp log m), p ≥ cλ log m/m, and λ between a constant and one times √log m; then with
    probability 1 - O(m⁻⁵). (The paper prints one constant for both ends.) λ = 8κ₁/ε makes it :func:`edge_rate`.

    Args:
        num_items: m >= 2.
        probability: p in (0, 1].
        noise_scale: λ >= 0.
        statistical_constant: factor of the first term.
        noise_constant: factor of the second.

    Returns:
        The rate, broadcast shape.

    Raises:
        ValueError: an argument out of range.

    >>> bool(jnp.isclose(perturbed_rate(100, 0.5, 8.0), edge_rate(100, 0.5, 1.0, privacy_constant=8.0)))
    True
    """
    check_nonnegative("noise_scale", noise_scale)
    log_items, compared, _ = _edge_sizes(num_items, probability, 1.0)
    return jnp.asarray(
        statistical_constant * jnp.sqrt(log_items / compared)
        + noise_constant * noise_scale * log_items / compared
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
    log_items, compared, epsilon = _edge_sizes(num_items, probability, epsilon)
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
    epsilon = check_epsilon(epsilon)
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
    if not is_whole(k) or not 1 <= k <= size - 1:
        raise ValueError(f"k must lie in 1..m - 1 = {size - 1}, got {k!r}.")
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


def _edge_sizes(
    num_items: Numbers, probability: Numbers, epsilon: Numbers
) -> tuple[Array, Array, Numbers]:
    """log m, mp and ε."""
    epsilon = check_epsilon(epsilon)
    check_positive("probability", probability)
    if not is_traced(probability) and np.any(np.asarray(probability) > 1):
        raise ValueError(f"probability must be at most 1, got {probability!r}.")
    items = checked_items(num_items)
    return jnp.log(items), items * probability, epsilon


THEOREMS = ("2.1", "2.2", "2.3", "2.4", "3.1", "3.2", "3.3", "3.4")


def theorem_conditions(
    theorem: str,
    *,
    num_items: Numbers,
    epsilon: Numbers,
    probability: Numbers | None = None,
    num_users: Numbers | None = None,
    delta: Numbers = 0.0,
    k: Numbers | None = None,
    tolerance: Numbers = 0,
    small_constant: Numbers = 1.0,
    large_constant: Numbers = 1.0,
    item_exponent: Numbers = 0.5,
    item_margin: Numbers = 0.5,
) -> dict[str, Bool[Array, "..."]]:
    """Whether the conditions of a theorem hold, one by one.

    Most conditions have a constant that the paper does not specify; here it is ``small_constant`` in upper bounds
    (on ε, δ, rates) and ``large_constant`` in lower bounds (on p, ε). So True means "holds with this constant".

    Args:
        theorem: ``"2.1"`` ... ``"2.4"`` (edge DP, need ``probability``), ``"3.1"`` ... ``"3.4"`` (users,
            need ``num_users``).
        num_items: m.
        epsilon: ε.
        probability: p.
        num_users: n.
        delta: δ of the estimators to which a lower bound applies.
        k: size of the set, for 2.4.
        tolerance: u, for 2.4 and 3.4.
        small_constant: the paper's "sufficiently small" constant.
        large_constant: the paper's "sufficiently large" constant.
        item_exponent: ν₁ of 2.4, ω of 3.2.
        item_margin: ν₂ of 2.4.

    Returns:
        A dict from each condition, as text, to a bool array. It is empty for theorems without conditions (2.3, 3.3).

    Raises:
        ValueError: unknown theorem, or an argument that it needs is missing.

    >>> found = theorem_conditions("2.1", num_items=300, probability=1.0, epsilon=0.5)
    >>> {name: bool(holds) for name, holds in found.items()}
    {'ε > c/√log m': True, 'ε < 1': True, 'p ≥ c log m/(mε)': True}
    """
    check_choice("theorem", theorem, THEOREMS)
    edge = theorem.startswith("2")
    chance, users, size = (
        _needed(theorem, name, value, needed)
        for name, value, needed in (
            ("probability", probability, edge),
            ("num_users", num_users, not edge),
            ("k", k, theorem == "2.4"),
        )
    )
    small, large, allowed = map(jnp.asarray, (small_constant, large_constant, tolerance))
    items = checked_items(num_items)
    log_items = jnp.log(items)
    epsilon = jnp.asarray(epsilon)
    below_one = {"ε < 1": epsilon < 1}
    if theorem in ("2.1", "3.1"):
        found = {"ε > c/√log m": epsilon > large / jnp.sqrt(log_items), **below_one}
        if edge:
            found["p ≥ c log m/(mε)"] = chance >= large * log_items / (items * epsilon)
        else:
            found["m log m/(nε) ≤ c"] = items * log_items / (users * epsilon) <= small
        return found
    if theorem == "2.2":
        return {
            "p > 6 log m/m": chance > 6 * log_items / items,
            "ε ≥ c/log m": epsilon >= large / log_items,
            **below_one,
            "δ ≤ c/m": jnp.asarray(delta) <= small / items,
        }
    if theorem in ("2.3", "3.3"):
        return {}
    if theorem == "2.4":
        room = jnp.minimum(items ** (1 - item_exponent), jnp.minimum(size, items - size))
        found = {
            "2u ≤ min(m^(1-ν₁), k, m-k)/(1+ν₂)": 2 * allowed <= room / (1 + item_margin),
            "log m/(mpε) < c": log_items / (items * chance * epsilon) < small,
        }
    else:
        found = {"√(m log m/n) + m log m/(nε) < c": user_rate(items, users, epsilon) < small}
        if theorem == "3.2":
            found["δ ≤ c m^(-1-ω)"] = jnp.asarray(delta) <= small * items ** (-1.0 - item_exponent)
            return found
    # The condition is multiplied out so that u = 0 (no condition) needs no division by 0.
    weight = allowed * log_items * items ** (10.0 * allowed) / epsilon
    found["δ < c ε/(u log m m^(10u))"] = jnp.asarray(delta) * weight < small
    return found


def _needed(theorem: str, name: str, value: Numbers | None, needed: bool) -> Array:
    if value is not None:
        return jnp.asarray(value)
    if needed:
        raise ValueError(f"Theorem {theorem} needs {name}: pass it.")
    return jnp.zeros(())


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
        ``(m,)``, Σ over the comparisons of k of A^{(k)}; 0 for masked items. Its mean over Y is
        ∂ E[M_k]/∂θ_k, about 1 for a good estimator and 0 for one that ignores the data.

    Source: Cai, Chakraborty and Wang (2025), section 2.1.2, with the sign corrected, see the head of this
    module: ``help(sys.modules[score_attack.__module__])``.

    >>> wins = WinCounts.from_matrix([[0, 1], [0, 0]])  # item 0 won once
    >>> score_attack(jnp.array([1.0, -1.0]), jnp.zeros(2), wins).tolist()
    [0.5, 0.5]
    """
    check_counts(wins)
    return _score_attack(jnp.asarray(estimate), jnp.asarray(scores), wins, get_link(link))


@functools.partial(jax.jit, static_argnames=("link",))
def _score_attack(estimate: Array, scores: Scores, wins: WinCounts, link: Link) -> Array:
    mask = wins.item_mask
    gap = scores[:, None] - scores[None, :]
    # y F'/F - (1-y) F'/(1-F) is (y - F) F'/(F(1-F)), without the division by F(1-F).
    terms = wins.matrix * link.score(gap) - wins.matrix.T * link.score(-gap)
    terms = jnp.where(mask[:, None] & mask[None, :], terms, 0.0)
    return jnp.where(mask, (estimate - scores) * jnp.sum(terms, axis=1), 0.0)


def score_attack_bound(
    mean_absolute_error: ScoresLike,
    scores: ScoresLike,
    wins: WinCounts,
    epsilon: Epsilon,
    link: str | Link = "logistic",
) -> Scores:
    """Upper bound on the mean of :func:`score_attack` for every ε-DP estimator.

    Σ_j M_kj F'(θ_k - θ_j)/(1/(e^ε - 1) + min(F, 1-F)) times E|M_k - θ_k|, for pure ε-DP where one comparison
    changes its outcome (``unit="comparison"``, ``adjacency="flip"``; replacement implies it). Proof at the
    head of this module: ``help(sys.modules[score_attack.__module__])``.

    Args:
        mean_absolute_error: E|M_k - θ_k|, ``(m,)``.
        scores: θ, ``(m,)``.
        wins: only the comparison counts are used, not the outcomes.
        epsilon: ε > 0, may be traced; ∞ allowed.
        link: F.

    Returns:
        ``(m,)``; divide ∂E[M_k]/∂θ_k by the value at ``mean_absolute_error=1`` for the least error that an
        ε-DP estimator with that derivative can have.

    >>> wins = WinCounts.from_matrix([[0, 1], [0, 0]])
    >>> [round(float(b), 4) for b in score_attack_bound(jnp.ones(2), jnp.zeros(2), wins, 1.0)]
    [0.2311, 0.2311]
    """
    epsilon = check_epsilon(epsilon)
    check_counts(wins)
    return _score_attack_bound(
        jnp.asarray(mean_absolute_error), jnp.asarray(scores), wins, epsilon, get_link(link)
    )


@functools.partial(jax.jit, static_argnames=("link",))
def _score_attack_bound(
    error: Scores, scores: Scores, wins: WinCounts, epsilon: Epsilon, link: Link
) -> Scores:
    mask = wins.item_mask
    gap = scores[:, None] - scores[None, :]
    density = link.cdf(gap) * link.score(gap)
    ratio = 1.0 / (1.0 / jnp.expm1(epsilon) + link.cdf(-jnp.abs(gap)))
    terms = wins.comparisons * density * ratio.astype(density.dtype)
    counted = jnp.where(mask[:, None] & mask[None, :], terms, 0.0)
    return jnp.where(mask, error * jnp.sum(counted, axis=1), 0.0)
