"""Scores to start a fit from: those at which each item would win its share of its comparisons.

An item meets opponents of unlike scores, and so wins a share nearer to 1/2 than against their mean. With normal scores
of variance v, the normal link has that share in closed form; of the others it is known near 0 or far from it.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._types import Mask, PairMatrix, Scores
from privrank_jax.links import Link, laplace, normal
from privrank_jax.pairwise.lanes import column_sums, dot
from privrank_jax.pairwise.masked import center, count_items
from privrank_jax.pairwise.near_links import mills_ratio

# Shares beyond these bounds are too uncertain to tell scores from.
_LEAST, _MOST = 0.02, 0.98


def first_guess(
    link: Link, comparisons: PairMatrix, target: Scores, gamma: Array, mask: Mask | None
) -> Array:
    """Scores from each item's share of wins.

    The ridge enters as 4γ comparisons without a winner, which is exact for small θ under the logistic link.

    Args:
        link: F.
        comparisons: ``(m, m)`` M_ij; of many problems, here and below, with a trailing axis.
        target: ``(m,)`` wins beyond half of the comparisons.
        gamma: ridge γ, shape ``()``.
        mask: ``(m,)`` bool, or ``None``.

    Returns:
        ``(m,)`` scores.
    """
    share = 0.5 + target / jnp.maximum(column_sums(comparisons) + 4 * gamma, 1.0)
    share = jnp.clip(share, _LEAST, _MOST)
    count = count_items(share, mask)
    # One of the m is no opponent.
    score = center(_quantile(link, share), mask) * (count - 1) / count
    spread = dot(score, score) / count
    if link == normal:  # Φ(θ/√(1 + v))
        return score * jnp.sqrt(1 + spread / jnp.maximum(1 - spread, 0.1))
    if link != laplace:
        return score * jnp.sqrt(1 + jnp.pi / 8 * spread)
    guess = score
    for _ in range(3):  # less steep at 0 by the factor √(2/π) Mills(√v), v/2 further far from it
        variance = dot(guess, guess) / count
        flatter = jnp.sqrt(2 / jnp.pi) * mills_ratio(jnp.minimum(jnp.sqrt(variance), 3))
        size = jnp.minimum(jnp.abs(score) / flatter, jnp.abs(score) + variance / 2)
        guess = jnp.sign(score) * size
    return guess


def _quantile(link: Link, share: Array) -> Array:
    """F⁻¹, of the normal link to 0.004, of links but the three as if they were logistic."""
    if link == laplace:
        return jnp.sign(share - 0.5) * -jnp.log(2 * jnp.minimum(share, 1 - share))
    log_odds = jnp.log(share), jnp.log1p(-share)
    if link == normal:
        return 4.91 * (jnp.exp(0.14 * log_odds[0]) - jnp.exp(0.14 * log_odds[1]))
    # As steep at 0 as F
    steepness = 2 * link.score(jnp.zeros((), share.dtype))
    return (log_odds[0] - log_odds[1]) / steepness
