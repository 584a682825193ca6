r"""Borda's rule, which ranks items by how many others each beats, and private scores.

**Sensitivity.** s_i = Σ_j w_ij is the mean over the n users of the scores x_i that each gives: in every pair, 1 to the
item ranked first, or 1/2 to each item where the pair is tied or unknown. So x belongs to a fractional tournament: it
sums to m(m-1)/2, and over any k items to at least k(k-1)/2 (the pairs among them alone).

These inequalities describe
the permutohedron, the convex hull of the permutations of (0, 1, ..., m-1) (Rado 1952). A norm of x - y is convex in (x,
y), so over the permutohedron it is largest where both are permutations; there ‖x - y‖₂² = 2‖x‖² - 2xᵀy is largest where
one reverses the other, and so is ‖x - y‖₁ (exchanging two places that x and y order alike never decreases it). Hence
replacing one user moves the score vector by at most

    ℓ₁: Σ_i |m-1-2i|/n = ⌊m²/2⌋/n,        ℓ₂: √(Σ_i (m-1-2i)²)/n = √(m(m²-1)/3)/n,

attained by a ranking and its reversal, whether ties and gaps are allowed or not. For the same reason the centered
scores x - (m-1)/2 of one user sum to 0 and lie in the ball of radius √(m(m²-1)/12), on whose surface full rankings lie.

**Shape.** x - (m-1)/2 is Σ_{i<j} σ_ij/2·(e_i - e_j), where σ_ij is 1 if the user puts i first, -1 if j, and 0 if the
pair is tied or unknown. So x - y is Σ_{i<j} t_ij(e_i - e_j) with \|t_ij\| ≤ 1. That is: n times the score vector moves
within the complete zonotope Z(K_m) = Σ_{i<j} [-1, 1](e_i - e_j), to its vertices where a ranking is reversed. The sum
of all scores, m(m-1)/2, is the same for all votes, and public. So K-norm noise of that shape at scale 1/(nε), which
sums to 0, is ε-DP, and at no smaller scale (:mod:`privrank_jax.privacy.geometry`).

**Add or remove.** The number n of users is private here, so n(s - (m-1)/2), the sum of the centered scores, is
published. One user more or less changes it by that user's Σ_{i<j} σ_ij/2·(e_i - e_j), which lies in ½Z(K_m) and is a
vertex of it for a full ranking. So noise of scale 1/(2ε) serves, again at no smaller scale. In ℓ₁ and ℓ₂ the change is
half of that above, as the farthest points of the permutohedron lie opposite to each other about its center.

**Cost.** Let σ sort s + e in descending order, ties broken in any way, for any e in ℝᵐ: noise, rounding, an adversary.
With K(σ, w) = Σ_{σ(i)<σ(j)} w_ji and OPT its minimum, for any w ≥ 0 with w_ij + w_ji = 1,

    K(σ, w) ≤ 5·OPT + 2·min_c ‖e - c·1‖₁ ≤ 5·OPT + 2‖e‖₁.

Both constants are best possible: 5 by the example of Coppersmith, Fleischer and Rudra (2006), whose theorem is the case
e = 0; and 2 by the weights of one ranking and an e that moves all scores to their mean, so that ties may reverse the
ranking: K = m(m-1)/2, ‖e‖₁ = ⌊m²/2⌋/2.

*Proof.* Write b(τ)_i = m - 1 - τ(i), F(τ, x) = Σ_i |x_i - b(τ)_i|; let π attain OPT.

1. *F(τ, s) ≤ 2 K(τ, w) for every τ.* Since Σ_{j: τ(j)>τ(i)} 1 = b(τ)_i, s_i - b(τ)_i = Σ_{τ(j)<τ(i)} w_ij -
   Σ_{τ(j)>τ(i)} w_ji. Take absolute values and sum over i: for each pair τ(a) < τ(b) the entry w_ba appears twice.
2. *σ minimizes F(·, s + e).* If x ≥ y and p ≥ q then |x - p| + |y - q| ≤ |x - q| + |y - p|; so exchanging the places of
   two items that stand against the order never increases F, and exchanges lead from any ranking to any that sorts.
3. *F(σ, s) + F(π, s) ≤ 4·OPT + 2‖e‖₁.* By 2, F(σ, s) ≤ F(σ, s + e) + ‖e‖₁ ≤ F(π, s + e) + ‖e‖₁ ≤ F(π, s) + 2‖e‖₁.
   By 1, F(π, s) ≤ 2·OPT.
4. The number I of pairs that σ and π order differently is at most Σ_i |σ(i) - π(i)| = ‖b(σ) - b(π)‖₁ (Diaconis and
   Graham 1977), and each of them costs one of the two w_ij, the other w_ji. So by 3

       K(σ, w) ≤ OPT + I ≤ OPT + ‖b(σ) - b(π)‖₁ ≤ OPT + F(σ, s) + F(π, s) ≤ 5·OPT + 2‖e‖₁.

5. σ sorts s + e - c·1 just as well, for every c; so e may be replaced by e - c·1.  ∎
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import MaskLike, PairMatrixLike, RankingsLike, RanksLike, Scores
from privrank_jax._validate import check_choice
from privrank_jax.aggregation.counting import twice_positions
from privrank_jax.aggregation.promise import ADDED
from privrank_jax.aggregation.weights import (
    MISSING,
    PAIR_WEIGHTS,
    PairWeights,
    checked_ranks,
    shares_of,
)
from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.privacy import Privacy


def borda_scores(weights: PairWeights | PairMatrixLike, mask: MaskLike | None = None) -> Scores:
    """Borda scores s_i = Σ_j w_ij: how many other items the users rank behind item i on average.

    Args:
        weights: :class:`~privrank_jax.aggregation.PairWeights`, or a plain ``(m, m)`` matrix, noisy ones too.
        mask: ``(m,)`` bool, real items of a plain matrix; pairs with others don't count.

    Returns:
        ``(m,)``, dtype of the weights, high = preferred; ``rankings.ranks_from_scores(scores, mask)`` sorts them.

    Raises:
        ValueError: weights that are not square or not finite, a mask of another shape.

    >>> borda_scores([[0.0, 1.0, 1.0], [0.0, 0.0, 0.5], [0.0, 0.5, 0.0]]).tolist()
    [2.0, 0.5, 0.5]
    """
    matrix, keep = shares_of(weights, mask)
    return _borda_scores(matrix, Facts(matrix.shape[0], mask=keep))


def user_scores(
    ranks: RanksLike | RankingsLike, *, missing: str = "last"
) -> Float[Array, "*batch items"]:
    """Borda scores that each user gives: the number of items ranked behind, ties and unknown pairs counting half.

    Args:
        ranks: ``(..., m)`` integers, 0 = best, equal ranks ties, negative ones items not ranked.
        missing: ``"last"`` or ``"unknown"``, as for :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`.

    Returns:
        ``(..., m)``, JAX's default float.

    >>> user_scores([[0, 1, 2], [0, -1, -1]]).tolist()
    [[2.0, 1.0, 0.0], [2.0, 0.5, 0.5]]
    """
    check_choice("missing", missing, MISSING)
    return _user_scores(checked_ranks(ranks), missing)


def _scores(w: Any, facts: Facts) -> Any:
    """Σ_j w_ij over the other real items."""
    xp: Any = np if isinstance(w, np.ndarray) else jnp
    keep = ~np.eye(facts.num_items, dtype=bool)
    if facts.mask is not None:
        keep = keep & facts.mask[:, None] & facts.mask
    return xp.sum(xp.where(keep, w, 0), axis=1)


_borda_scores = jax.jit(_scores)


def _reversed(attained: Privacy, facts: Facts, noise: str) -> Change:
    """All items are moved where a ranking is reversed; one item, without any pair, counts as two."""
    times = 1 if attained.adjacency == "add-remove" else 2
    items: Any = facts.num_items
    place = np.arange(max(items, 2))
    if facts.mask is None:
        moved: Any = abs(place[-1] - 2 * place)
    else:
        items = jnp.sum(facts.mask)
        real = jnp.maximum(items, 2)
        moved = jnp.where(place < real, jnp.abs(real - 1 - 2 * place), 0)
    return Change(
        times * moved,
        lambda: Zonotope.of_all_pairs(facts.num_items, facts.mask),
        times,
        center=0.5 * (items - 1),
    )


dp_borda = Additive(
    "dp_borda",
    """Borda scores with noise, of :class:`~privrank_jax.aggregation.PairWeights`.

    **Guarantee.** ε-DP with K-norm or Laplace noise, (ε, δ)-DP with Gaussian noise (analytic calibration); unit user,
    adjacency replace or add-remove, and whatever these cover; what a user can change, and its proof, are at the head of
    :mod:`privrank_jax.aggregation.borda`.

    ``value``: noisy scores ``(m,)``, in items beaten, high = preferred; 0 for masked items; under add-remove they are
    sums over users of how far each score is above the middle (m - 1)/2.

    >>> weights = PairWeights(jnp.array([[0.0, 0.9, 0.9], [0.1, 0.0, 0.8], [0.1, 0.2, 0.0]]), 1000)
    >>> scores = dp_borda(jax.random.key(0), weights, Privacy(1.0, unit="user", adjacency="replace")).value
    >>> bool(scores[0] > scores[1] > scores[2])
    True
    """,
    data=PAIR_WEIGHTS,
    kinds=ADDED,
    statistic=_scores,
    change=_reversed,
    finish=lambda noisy, facts: noisy if facts.mask is None else jnp.where(facts.mask, noisy, 0),
)


@functools.partial(jax.jit, static_argnames=("missing",))
def _user_scores(ranks: Array, missing: str) -> Array:
    """What the mean of an item's positions leaves behind it."""
    first, second = twice_positions(ranks.reshape(-1, ranks.shape[-1]), missing)
    scores = ranks.shape[-1] - 1 - (first + second).astype(jnp.result_type(float)) / 4
    return scores.reshape(ranks.shape)
