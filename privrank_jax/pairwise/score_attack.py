r"""The entrywise score attack: how much an estimate reveals about the comparisons it was computed from.

For an estimator M(Y) of scores θ and item k, each comparison of k contributes

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
ε < 1, plus terms for δ and for the random graph.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._types import Epsilon, Scores, ScoresLike
from privrank_jax._validate import check_epsilon
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.graph import check_counts


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
    check_epsilon(epsilon)
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
