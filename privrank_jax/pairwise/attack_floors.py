r"""What the score attack proves of private estimates, with its constants: Theorem 2.2 for given sizes.

Notation of :mod:`privrank_jax.pairwise.theory`: M an estimate of scores θ in [-1, 1]^m that is (ε, δ)-DP where one
outcome changes, ΣA the attack on item k, c = sup_θ E|M_k - θ_k|. An estimate outside of [-1, 1] is clipped into it,
which lowers every error.

**Found out** (Proposition 2.4). The prior π(t) = (15/16)(1 - t²)² of each score vanishes at ±1, so that by parts

.. math:: E_θ E Σ A = E_θ\, ∂E[M_k]/∂θ_k = 1 - \int π'(t)\, E[M_k - t]\, dt ≥ 1 - \tfrac{15}{8} c,

as ∫|π'| = 2π(0). The paper has "C > 0 for a sufficiently small c": C = 1 - 15c/8, and c < 8/15 is small enough.

**Private** (Proposition 2.3, with δ). As without δ, but |p₁ - p₀| ≤ r(p̄ + d/(e^ε - 1)) with ∫d ≤ 2δ, and
|M_k - θ_k| ≤ 2: E A ≤ F' r (E|M_k - θ_k| + 4δ/(e^ε - 1)). With ρ the largest F'(x) r(x) for x in [-2, 2], and D
comparisons of item k, 1 - 15c/8 ≤ Dρ(c + 4δ/(e^ε - 1)), or

.. math:: c ≥ \frac{1 - 4Dρδ/(e^ε - 1)}{Dρ + 15/8}.

At small ε, ρ ~ ε/4 for the logistic link: the second term of Theorem 2.2, 1/(mpε), with the constant 4. The paper's
(2.8), :func:`published_attack_bound`, has 4κ₁mpε in place of Dρ, δ without a factor that grows as ε falls, as it takes
ε of the order of 1/log m at least, and 2κ₁/m for graphs with many more comparisons than expected.

Source: Cai, Chakraborty and Wang (2025), section 2.1.2, Propositions 2.3 and 2.4; the constants are ours.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Numbers
from privrank_jax._validate import check_epsilon, check_nonnegative, check_positive
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.theory import checked_items

PRIOR_SLOPE = 15 / 8
"""∫|π'| of the prior, 2π(0)."""


def attack_floor(mean_absolute_error: Numbers) -> Float[Array, "..."]:
    """Least mean of the attack under the prior (15/16)(1 - t²)², 1 - 15c/8 (Proposition 2.4).

    Args:
        mean_absolute_error: c >= 0, the largest E|M_k - θ_k| over θ in [-1, 1]^m.

    Returns:
        Float, not positive for c >= 8/15, where nothing is said. :func:`~privrank_jax.simulate.worlds.attack_scores`
        draws from the prior.

    Raises:
        ValueError: a negative error.

    >>> float(attack_floor(0.0)), float(attack_floor(8 / 15))
    (1.0, 0.0)
    """
    check_nonnegative("mean_absolute_error", mean_absolute_error)
    return 1 - PRIOR_SLOPE * jnp.asarray(mean_absolute_error, float)


def published_attack_bound(
    mean_absolute_error: Numbers,
    num_items: Numbers,
    probability: Numbers,
    epsilon: Numbers,
    *,
    kappa1: Numbers,
    delta: Numbers = 0.0,
) -> Float[Array, "..."]:
    """The upper bound (2.8) as printed: 4κ₁mpε E|M_k - θ_k| + 4κ₁(m-1)δ + 2κ₁/m (Proposition 2.3).

    For 0 < ε < 1, p > 6 log m/m and m large enough; :func:`~privrank_jax.pairwise.theory.score_attack_bound` is
    sharper, for δ = 0 and the comparisons that were made.

    Args:
        mean_absolute_error: E|M_k - θ_k|.
        num_items: m >= 2.
        probability: p.
        epsilon: ε > 0.
        kappa1: κ₁ of the link, ``links.logistic.kappa1`` or more.
        delta: δ >= 0.

    Returns:
        The bound; the arguments broadcast.

    Raises:
        ValueError: an argument out of range.

    >>> round(float(published_attack_bound(0.1, 100, 0.5, 0.5, kappa1=1.0, delta=1e-4)), 4)
    10.0596
    """
    check_nonnegative("mean_absolute_error", mean_absolute_error)
    check_positive("probability", probability)
    epsilon = check_epsilon(epsilon)
    check_positive("kappa1", kappa1)
    check_nonnegative("delta", delta)
    items = checked_items(num_items)
    compared = items * probability * epsilon * mean_absolute_error
    told = 4 * (compared + (items - 1) * jnp.asarray(delta)) + 2 / items
    return jnp.asarray(kappa1) * told


def private_error_floor(
    num_comparisons: Numbers,
    epsilon: Numbers,
    *,
    delta: Numbers = 0.0,
    link: str | Link = "logistic",
) -> Float[Array, "..."]:
    """No private estimate has a smaller largest error E|M_k - θ_k| over scores in [-1, 1]; no constants are left open.

    Args:
        num_comparisons: D >= 0 comparisons of item k.
        epsilon: ε > 0 of one outcome (``unit="comparison"``, ``adjacency="flip"``; replacement implies it).
        delta: δ >= 0.
        link: F.

    Returns:
        The bound, at least 0; the arguments broadcast. See the head of this module.

    Raises:
        ValueError: an argument out of range, an unknown link.

    >>> round(float(private_error_floor(0, 1.0)), 4), round(float(private_error_floor(100, 0.1)), 4)
    (0.5333, 0.2286)
    """
    check_nonnegative("num_comparisons", num_comparisons)
    epsilon = check_epsilon(epsilon)
    check_nonnegative("delta", delta)
    model = get_link(link)
    gap = jnp.linspace(0.0, 2.0, 2001)
    density, behind = model.cdf(gap) * model.score(gap), model.cdf(-gap)
    factor = jnp.expm1(jnp.asarray(epsilon, float))
    each = jnp.max(density / (1 / factor[..., None] + behind), axis=-1)
    told = jnp.asarray(num_comparisons) * each
    return jnp.maximum(1 - 4 * told * delta / factor, 0) / (told + PRIOR_SLOPE)
