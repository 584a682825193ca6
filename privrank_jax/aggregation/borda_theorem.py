r"""Worst-case Kemeny cost of ranking by noisy Borda scores: the theorem, its proof and its constants.

**Setting.** m items, weights w with w_ij ≥ 0 and w_ij + w_ji = 1 (i ≠ j); scores s_i = Σ_j w_ij;
K(σ, w) = Σ_{σ(i)<σ(j)} w_ji; OPT = min_σ K(σ, w). The ranking σ sorts s̃ = s + e in descending order, ties broken in any
way, for any e in ℝᵐ: noise, rounding, an adversary.

**Theorem.** K(σ, w) ≤ 5·OPT + 2·min_c ‖e - c·1‖₁. In particular K(σ, w) ≤ 5·OPT + 2‖e‖₁.

Both constants are best possible: 5 by the example of Coppersmith, Fleischer and Rudra (2006), whose theorem is the case
e = 0; and 2 by the weights w of one ranking (OPT = 0) and an e that moves all scores to their mean, so that ties may
reverse the ranking: then K = m(m-1)/2 and ‖e‖₁ = ⌊m²/2⌋/2, a ratio of 2(m-1)/m for even m and 2m/(m+1) for odd m. (An
adversarial search over w and e at m ≤ 6 arrives there and finds nothing worse.)

**Proof.** Write b(τ)_i = m - 1 - τ(i), the scores if all users rank as τ does; for a vector x let F(τ, x) = Σ_i
|x_i - b(τ)_i|; and let π attain OPT.

1. *F(τ, s) ≤ 2 K(τ, w) for every τ.* Since Σ_{j: τ(j)>τ(i)} 1 = b(τ)_i,

       s_i - b(τ)_i = Σ_{j≠i} w_ij - Σ_{τ(j)>τ(i)} 1 = Σ_{τ(j)<τ(i)} w_ij - Σ_{τ(j)>τ(i)} w_ji.

   Take absolute values and sum over i: for each pair τ(a) < τ(b) the entry w_ba appears twice, once at i = b in the
   first sum and once at i = a in the second.

2. *σ minimizes F(·, s̃) over all rankings.* If x ≥ y and p ≥ q then |x - p| + |y - q| ≤ |x - q| + |y - p|; so where two
   items stand against the order of s̃, exchanging their places never increases F, and enough exchanges (bubble sort)
   lead from any ranking to any that sorts s̃, exchanges of equal scores leaving F as it is.

3. *F(σ, s) + F(π, s) ≤ 4·OPT + 2‖e‖₁.* By the triangle inequality and 2,
   F(σ, s) ≤ F(σ, s̃) + ‖e‖₁ ≤ F(π, s̃) + ‖e‖₁ ≤ F(π, s) + 2‖e‖₁, and F(π, s) ≤ 2·OPT by 1.

4. *Kendall's distance is at most the footrule* (Diaconis and Graham 1977): the number I of pairs that σ and π order
   differently is at most D = Σ_i |σ(i) - π(i)|. Rename the items so that π(i) = i, and take i < j with σ(i) > σ(j).
   Either σ(i) ≥ j: charge the pair to i; the j's that fit lie in i+1..σ(i), at most (σ(i) - i)₊ of them. Or
   σ(j) < σ(i) < j: charge it to j; the places σ(i) that fit lie in σ(j)+1..j-1, fewer than (j - σ(j))₊. The total is at
   most Σ_i |σ(i) - i| = D.

5. *The cost of the difference.* A pair that σ and π order differently costs one of them w_ij, the other w_ji, so
   K(σ, w) - K(π, w) ≤ Σ |w_ij - w_ji| ≤ I over these pairs. As b(σ) - b(π) = π - σ, by 4 and 3

       K(σ, w) ≤ OPT + I ≤ OPT + ‖b(σ) - b(π)‖₁ ≤ OPT + F(σ, s) + F(π, s) ≤ 5·OPT + 2‖e‖₁.

6. σ sorts s̃ - c·1 just as well, for every c; so e may be replaced by e - c·1, at best with c a median of e.  ∎

(A longer proof, through an isotonic fit of s along σ that is undone by moving score from donors to receivers along
paths of at most two arcs, gives 12 in place of 2, from the same assumptions.)

**Consequences**, with E‖e‖₁ ≤ Σ_i E|e_i|: the additive error is 2m·⌊m²/2⌋/(nε) ≤ m³/(nε) with Laplace noise (pure
ε); 2m√(2/π)·σ = O(m^{2.5}√log(1/δ)/(nε)) with Gaussian noise; and at most 2√(m E‖e‖²) ≤ 2B√(m/n) = O(m^{2.5}/(ε√n))
for users who each send their centered scores once through an ℓ₂ mechanism of report norm B, with no interaction.
:mod:`privrank_jax.aggregation.bounds` computes these bounds.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

RATIO = 5.0
ERROR_FACTOR = 2.0


def order_error(errors: Float[ArrayLike, " items"]) -> Float[Array, ""]:
    """min_c ‖e - c·1‖₁, the part of the errors of scores that can change their order.

    Args:
        errors: ``(m,)`` float.

    Returns:
        ``()`` float, >= 0.

    >>> float(order_error(jnp.array([3.0, 3.0, 4.0])))
    1.0
    """
    errors = jnp.asarray(errors)
    return jnp.sum(jnp.abs(errors - jnp.median(errors)))


def borda_cost_bound(
    optimum: Float[ArrayLike, ""], errors: Float[ArrayLike, " items"]
) -> Float[Array, ""]:
    """Bound 5·OPT + 2·min_c ‖e - c·1‖₁ on the cost of ranking by scores with errors e (theorem above).

    Args:
        optimum: OPT, or any number that it does not exceed.
        errors: ``(m,)``, the error of each score.

    Returns:
        ``()`` float, in the unit of OPT.

    >>> float(borda_cost_bound(10.0, jnp.array([3.0, 3.0, 4.0])))
    52.0
    """
    return RATIO * jnp.asarray(optimum) + ERROR_FACTOR * order_error(errors)
