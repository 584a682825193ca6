r"""The ranking risk, and how fast scorers trained on synthetic rankings reach the least: Theorem 3 and Corollary 1.

**Risk** (Lemma 5). With η_ij the probability that a user with given features ranks i before j, a scorer that puts i
first errs with probability 1 - η_ij, and one that ties the two always. The least risk is that of scorers that follow
every majority; the excess over it is

.. math:: R(f) - R^* = \frac{1}{m(m-1)} E \sum_{i<j} |2η_{ij} - 1|\, 1\{f \text{ misorders } i, j\}.

**Corollary 1**, corrected. Let a scorer of \|Θ\| parameters minimize the penalized risk (6) of synthetic rankings at
ε_u, and Ψ_u = coth(ε_u/(2(m-1))). Let its class hold a best scorer and be smooth in its parameters (Assumptions 2, 5),
and let P(\|2η_ij - 1\| ≤ β) ≤ Cβ^γ (4). Let an excess of surrogate risk below a small δ be one of risk below δ^α (1; α
= 1 for ψ, 1/2 for the logistic and the exponential loss). Then R(f̃) - R* is in probability of the order of

.. math:: E(Ψ)\, E(Ψ^γ)^{α/(γ+2)} \left(\frac{|Θ|}{n} \log\frac{n}{|Θ|}\right)^{α(γ+1)/(γ+2)},

provided that (b) of :mod:`privrank_jax.mallows.majorities` holds of every pair given the features, as where each user's
ranking is a function of her features, *and* ε_u is independent of both. The paper asks for neither (its Lemma 7 is
false), but for E Ψ^γ = O(δ_n) with δ_n → 0, which never holds, as Ψ > 1; bounded losses will do.

**Consistent ε.** At the same ε = o(1) for all, Ψ ~ 2(m-1)/ε, and the excess vanishes if ε/(m-1) falls more slowly than
(\|Θ\|/n log(n/\|Θ\|))^{α(γ+1)/(γ+2+αγ)}: at α = 1, the paper's case, the exponent is 1/2 for every γ; at α = 1/2 it is
(γ+1)/(3γ+4), between 1/4 and 1/3, so that ε must be larger.

**Nobody does better, but for the logarithm** (ours; α = 1, γ < ∞, the same ε for all). Let users of \|Θ\| = G groups
have two items to rank: with margin ±h, h^{γ+2} = Ψ²(G-1)/n, h ≤ 1/2, in G - 1 groups with a share of h^γ/(G-1) each,
and all the same ranking in the last. Assumption 4 holds with C = 1. A small group has Ψ²/h² users on average, whose
synthetic answers have margin h/Ψ: whatever is made of them, its sign is missed with a probability that stays away from
0, and the excess is h^{γ+1} = (Ψ²(G-1)/n)^{(γ+1)/(γ+2)} times a constant.

Source: Xu, Sun and Cheng, section 5; Lemma 5 from Dai and others (2021); the conditions in italics, the exponents for
α < 1 and the lower bound are ours.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import Numbers, PairMatrixLike, ScoresLike
from privrank_jax._validate import (
    check_epsilon,
    check_nonnegative,
    check_positive,
    check_shape,
    check_square,
    is_traced,
)
from privrank_jax.personalized.surrogate import mean_over_pairs


def ranking_risk(scores: ScoresLike, chances: PairMatrixLike) -> Float[Array, ""]:
    """R(f) of a user with given features: half the chance that her ranking and the scores disagree on a pair.

    Args:
        scores: ``(m,)``, high = best; a tie counts as an error.
        chances: ``(m, m)``, η_ij: probability that she ranks i before j; η_ij + η_ji = 1 off the diagonal.

    Returns:
        Scalar, the sum over pairs divided by m(m-1), as in the paper.

    Raises:
        ValueError: shapes that don't fit, or chances outside [0, 1].

    >>> round(float(ranking_risk([2.0, 1.0], [[0.5, 0.9], [0.1, 0.5]])), 3)  # 0.1 / 2
    0.05
    """
    chances = _as_chances(chances)
    check_shape("scores", scores, chances.shape[:1])
    scores = jnp.asarray(scores)
    return mean_over_pairs(jnp.where(scores[:, None] <= scores, chances, 0))


def least_risk(chances: PairMatrixLike) -> Float[Array, ""]:
    """R* of a user with given features (Lemma 5): Σ over pairs of min(η_ij, η_ji), divided by m(m-1).

    Attained by scores in the order of every majority. Arguments, results and errors: as of :func:`ranking_risk`.

    >>> round(float(least_risk([[0.5, 0.9], [0.1, 0.5]])), 3)
    0.05
    """
    chances = _as_chances(chances)
    return 0.5 * mean_over_pairs(jnp.minimum(chances, chances.T))


def regret_rate(
    num_users: Numbers,
    num_parameters: Numbers,
    num_items: Numbers,
    epsilon: Numbers,
    *,
    noise_exponent: Numbers = np.inf,
    conversion_exponent: Numbers = 1.0,
    logarithm: bool = True,
) -> Float[Array, "..."]:
    """Order of the excess risk R(f̃) - R* (Corollary 1), under the conditions at the head of this module.

    Args:
        num_users: n.
        num_parameters: \\|Θ\\|, below n/e for the rate to fall with n.
        num_items: m >= 2.
        epsilon: ε_u > 0 of the users on the last axis, which is averaged over, or one for all.
        noise_exponent: γ > 0 of Assumption 4; ∞ where rankings are functions of features.
        conversion_exponent: α of Assumption 1: 1 for the ψ loss, 1/2 for the logistic and the exponential one.
        logarithm: False leaves out log(n/\\|Θ\\|), which is below what any rule attains at α = 1.

    Returns:
        Float, without the constant of the theorem.

    Raises:
        ValueError: numbers that are not positive, m < 2, \\|Θ\\| >= n, an ε that is not positive.

    >>> round(float(regret_rate(10_000, 10, 5, 2.0)), 4), round(float(regret_rate(10_000, 10, 5, np.inf)), 4)
    (0.1152, 0.0069)
    """
    _check_sizes(num_users, num_parameters, num_items, noise_exponent, conversion_exponent)
    epsilon = check_epsilon(epsilon)
    loss = 1 / jnp.tanh(0.5 * jnp.asarray(epsilon) / (jnp.asarray(num_items) - 1))
    loss = loss if jnp.ndim(loss) else loss[None]
    size = jnp.asarray(num_parameters) / num_users
    if logarithm:
        size *= -jnp.log(size)
    # E(Ψ^γ)^{1/(γ+2)} by the largest Ψ, lest powers overflow; at γ = ∞ it is the largest, and slow = 0.
    gamma, slow = _exponents(noise_exponent)
    gamma = jnp.where(jnp.isinf(gamma), 1.0, gamma)
    most = jnp.max(loss, axis=-1)
    relative = jnp.mean((loss / most[..., None]) ** gamma[..., None], axis=-1)
    bound = most ** (1 - 2 * slow) * relative**slow * size ** (1 - slow)
    return jnp.mean(loss, axis=-1) * bound ** jnp.asarray(conversion_exponent)


def consistent_epsilon(
    num_users: Numbers,
    num_parameters: Numbers,
    num_items: Numbers,
    *,
    noise_exponent: Numbers = np.inf,
    conversion_exponent: Numbers = 1.0,
    margin: Numbers = 1.0,
) -> Float[Array, "..."]:
    """An ε of all users, falling with n, at which scorers still reach the least risk (Corollary 1).

    At α = 1 the paper's m √(\\|Θ\\|/n log^{1+ζ}(n/\\|Θ\\|)), ζ > 0 the ``margin``; other α as at the head of this file.
    Other arguments, results and errors: as of :func:`regret_rate`.

    >>> round(float(consistent_epsilon(10_000, 10, 5)), 3)
    1.092
    """
    _check_sizes(num_users, num_parameters, num_items, noise_exponent, conversion_exponent)
    check_nonnegative("margin", margin)
    slow, alpha = _exponents(noise_exponent)[1], jnp.asarray(conversion_exponent)
    power = alpha * (1 - slow) / (1 + alpha * (1 - 2 * slow))
    size = jnp.asarray(num_parameters) / num_users
    return jnp.asarray(num_items) * (size * (-jnp.log(size)) ** (1 + jnp.asarray(margin))) ** power


def _exponents(noise_exponent: Numbers) -> tuple[Array, Array]:
    """γ and 1/(γ+2)."""
    gamma = jnp.asarray(noise_exponent, float)
    return gamma, 1 / (gamma + 2)


def _as_chances(chances: PairMatrixLike) -> Float[Array, "m m"]:
    check_square("chances", chances)
    if not is_traced(chances):
        held = np.asarray(chances)
        if not np.all((held >= 0) & (held <= 1)):
            raise ValueError("chances must lie in [0, 1].")
    return jnp.asarray(chances, float)


def _check_sizes(
    num_users: Numbers, num_parameters: Numbers, num_items: Numbers, gamma: Numbers, alpha: Numbers
) -> None:
    check_positive("num_parameters", num_parameters)
    check_positive("noise_exponent", gamma)
    check_positive("conversion_exponent", alpha)
    if not is_traced(num_items) and np.any(np.asarray(num_items) < 2):
        raise ValueError(f"num_items must be at least 2, got {num_items!r}.")
    if not is_traced(num_users, num_parameters) and not np.all(
        np.asarray(num_parameters) < np.asarray(num_users)
    ):
        raise ValueError(f"num_parameters must be below num_users, got {num_parameters!r}.")
