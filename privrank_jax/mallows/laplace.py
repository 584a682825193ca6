r"""The Laplace mechanism on ranks: the baseline of ranking differential privacy.

**Lemma (scale).** Ranks plus independent Laplace noise of scale λ = 2(m-1)/ε are ε-ranking DP: unit the rank of one
item, adjacency replace (two rankings that agree once one item is taken out), trust local. An item that moves k places
moves the k items that it passes by one place each, so the ranks change by 2k <= 2(m-1) in ℓ₁. Hence the log-density of
the noise, -‖r - φ‖₁/λ, changes by at most 2(m-1)/λ = ε.

A smaller scale is not enough: an item that moves from the first place to the last, with all of r above m - 1 for the
others and below 0 for it, attains ε. The whole ranking changes by at most ⌊m²/2⌋ in ℓ₁ (a ranking and its reversal):
ε⌊m²/2⌋/(2(m-1)) as a local guarantee for the user.

Source: Xu, Sun and Cheng, Lemma 3.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Count, Epsilon, Key, Ranks, RanksLike, Scores
from privrank_jax._validate import check_epsilon
from privrank_jax.mallows.distribution import as_float, checked_ranks
from privrank_jax.privacy.noise import laplace


def laplace_ranks(key: Key, center_ranks: RanksLike, epsilon: Epsilon) -> Scores:
    """The user's ranks plus Laplace noise of scale 2(m-1)/ε, m the number of items ranked.

    **Guarantee.** ε-ranking DP, local; see the head of this module, which shows that the scale is tight.

    Args:
        key: PRNG key.
        center_ranks: ``(m,)`` integers, 0 = best, negative for items that the user did not rank (public).
        epsilon: ε > 0, may be traced; ∞ adds no noise.

    Returns:
        ``(m,)`` float (dtype of ``epsilon``, else JAX's default), in ranks, low = preferred; NaN for items not
        ranked, which ``rankings.ranks_from_scores(-noisy)`` puts behind all others.

    Raises:
        ValueError: ε <= 0 or NaN; ranks that are not a ranking of the ranked items.

    >>> laplace_ranks(jax.random.key(0), [1, 0, -1], jnp.inf).tolist()
    [1.0, 0.0, nan]
    """
    epsilon = check_epsilon(epsilon)
    return _laplace_ranks(key, checked_ranks(center_ranks), as_float(epsilon))


def laplace_rank_scale(num_items: Count, epsilon: Epsilon) -> Float[Array, ""]:
    """Laplace scale λ of the noise on each rank of m items, 2(m-1)/ε; 0 for a single item."""
    return 2 * jnp.maximum(num_items - 1, 0) / epsilon


@jax.jit
def _laplace_ranks(key: Key, center: Ranks, epsilon: Float[Array, ""]) -> Scores:
    ranked = center >= 0
    scale = laplace_rank_scale(jnp.sum(ranked), epsilon)
    noisy = center + laplace(key, center.shape, scale, epsilon.dtype)
    return jnp.where(ranked, noisy, jnp.nan)
