r"""Pairwise surrogate losses for training scorers of personalized rankings.

**Direction.** Here ranks are 0 = best and a high score is best, so a user who ranks i before j incurs the loss
v(s_i - s_j), v decreasing. The paper's risk equals this one, up to the sign of f.

**Risk of one user.** With w_ij = 1 if the user ranks i before j, else 0,

.. math:: R = \frac{1}{m(m-1)} \sum_{i ≠ j} w_{ij}\, v(s_i - s_j).

**Privatized rankings.** If E d_ij = sign(φ_j - φ_i), as for debiased pairs, the weights (1 + d_ij)/2 make R and its
gradient unbiased at every s. The weights can lie outside [0, 1]:

- logistic: v(-x) = v(x) + x, so a pair with w_ij + w_ji = 1 has loss v(x) + w_ji x, convex for *every* weight; but
  it has no minimum if the weight, averaged over all users that share a score, leaves [0, 1]: stop early, or
  regularize;
- exponential: a negative weight makes it concave and unbounded below along that pair, so it is refused;
- ψ: bounded for any weights, never convex; flat for s_i < s_j, so start it from a logistic fit.

**The logistic risk needs no pairs.** v(x) = c(x) - x/2 with c(x) = log(2 cosh(x/2)), which is even. So weights with
w_ij + w_ji = 1 enter only by their row sums W_i, the number of items that i beats:

.. math:: m(m-1) R = \sum_{i<j} c(s_i - s_j) - \sum_i s_i \bigl(W_i - \tfrac{m-1}{2}\bigr).

So training on rankings uses W_i = m - 1 - φ_i, and *any unbiased estimate of the ranks* makes the risk unbiased: no
pair needs debiasing. Where all users share their scores (items only, no user features), the minimizer is that for
the mean W: a scorer with a free score for every item ranks by Borda counts.

Source: Xu, Sun and Cheng, section 5.1; Rendle and others (2009) for the logistic loss; the rest is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from privrank_jax._components import pairs_of
from privrank_jax._types import PairMatrix, PairMatrixLike, RanksLike, Scores, ScoresLike
from privrank_jax._validate import as_ranks, check_choice, check_shape, is_traced


def logistic(difference: Real[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    """log(1 + e^-x), elementwise."""
    return jax.nn.softplus(-jnp.asarray(difference))


def exponential(difference: Real[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    """e^-x, elementwise; ∞ in float32 below x = -88."""
    return jnp.exp(-jnp.asarray(difference))


def psi(difference: Real[ArrayLike, "*shape"]) -> Real[Array, "*shape"]:
    """min(1, max(1 - x, 0)), elementwise; flat outside 0 < x < 1."""
    return jnp.clip(1 - jnp.asarray(difference), 0, 1)


LOSSES: Mapping[str, Callable[[Any], Array]] = MappingProxyType(
    {"logistic": logistic, "exponential": exponential, "psi": psi}
)


def pairwise_risk(
    scores: ScoresLike, weights: PairMatrixLike, loss: str = "logistic"
) -> Float[Array, ""]:
    """The risk of one user: Σ over i ≠ j of w_ij v(s_i - s_j), divided by m(m-1).

    Args:
        scores: ``(m,)`` float, high = best.
        weights: ``(m, m)``, of :func:`pair_weights` or :func:`debiased_pair_weights`; the diagonal is ignored.
        loss: ``"logistic"``, ``"exponential"`` or ``"psi"``.

    Returns:
        Scalar, dtype of ``scores``; differentiable in scores and weights.

    Raises:
        ValueError: unknown loss, shapes that don't fit, negative weights under the exponential loss.

    >>> round(float(pairwise_risk([1.0, 0.0], pair_weights([0, 1]), "exponential")), 4)  # e^-1 / 2
    0.1839
    """
    check_choice("loss", loss, tuple(LOSSES))
    scores = _as_scores(scores)
    size = scores.shape[0]
    check_shape("weights", weights, (size, size))
    if loss == "exponential" and not is_traced(weights) and np.any(np.asarray(weights) < 0):
        raise ValueError(
            "negative weights make the exponential loss unbounded below: use loss='logistic', which stays convex."
        )
    weights = jnp.asarray(weights, scores.dtype)
    return mean_over_pairs(weights * LOSSES[loss](scores[:, None] - scores))


def logistic_risk(scores: ScoresLike, wins: ScoresLike) -> Float[Array, ""]:
    """The logistic :func:`pairwise_risk` from row sums alone, for weights with w_ij + w_ji = 1.

    Args:
        scores: ``(m,)`` float, high = best.
        wins: ``(m,)`` W_i, how many items i beats (:func:`wins_from_ranks`), or any unbiased estimate of it; a
            constant added to all does not matter.

    Returns:
        Scalar, dtype of ``scores``; ``pairwise_risk(scores, weights)`` if Σ W_i = m(m-1)/2.

    Raises:
        ValueError: shapes that don't fit.

    >>> bool(jnp.isclose(logistic_risk([2.0, 0.5], [1, 0]), pairwise_risk([2.0, 0.5], [[0, 1], [0, 0]])))
    True
    """
    scores = _as_scores(scores)
    check_shape("wins", wins, scores.shape)
    size = scores.shape[0]
    centered = scores - jnp.mean(scores)
    lead = jnp.sum(centered * jnp.asarray(wins, scores.dtype))
    return (_spread(centered) - lead) / max(size * (size - 1), 1)


@jax.custom_jvp
def _spread(scores: Scores) -> Float[Array, ""]:
    """Σ over i < j of log(2 cosh((s_i - s_j)/2))."""
    gap = jnp.abs(scores[:, None] - scores)
    twice = jnp.sum(0.5 * gap + jnp.log1p(jnp.exp(-gap)))  # with log 2 for every item and itself
    return 0.5 * (twice - scores.shape[0] * math.log(2))


@_spread.defjvp
def _spread_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (scores,), (change,) = primals, tangents
    slope = 0.5 * jnp.sum(jnp.tanh(0.5 * (scores[:, None] - scores)), axis=1)
    return _spread(scores), jnp.sum(slope * change)


def pair_weights(ranks: ScoresLike) -> PairMatrix:
    """Pair weights of a ranking: w_ij = 1 where i is ranked before j, else 0, also for pairs with an unranked item.

    Args:
        ranks: ``(m,)`` numbers, low = best; a tie has weight 1/2; negative integers and NaN mean not ranked.

    Returns:
        ``(m, m)`` float, zero on the diagonal.

    >>> pair_weights([1, 0, -1]).tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    ranks = as_ranks(ranks, gaps=True)
    whole = jnp.issubdtype(ranks.dtype, jnp.integer)
    known = ranks >= 0 if whole else ~jnp.isnan(ranks)
    ahead = 0.5 * (1 + jnp.sign(ranks - ranks[:, None]).astype(jnp.result_type(float)))
    return jnp.where(pairs_of(known), ahead, 0)


def debiased_pair_weights(signs: PairMatrixLike) -> PairMatrix:
    """Pair weights (1 + d_ij)/2 off the diagonal, from unbiased estimates d_ij of sign(φ_j - φ_i).

    Args:
        signs: ``(m, m)`` d, antisymmetric, NaN for pairs not ranked, which get no weight.

    Returns:
        ``(m, m)`` float, which may be negative.

    >>> debiased_pair_weights([[0.0, 1.5], [-1.5, 0.0]]).tolist()
    [[0.0, 1.25], [-0.25, 0.0]]
    """
    signs = jnp.asarray(signs)
    off = ~jnp.eye(signs.shape[0], dtype=bool) & ~jnp.isnan(signs)
    return jnp.where(off, 0.5 * (1 + jnp.where(off, signs, 0)), 0)


def wins_from_ranks(ranks: ScoresLike) -> Scores:
    """The number of items that item i beats, W_i = m - 1 - φ_i.

    Args:
        ranks: ``(m,)`` of a complete ranking, 0 = best, or unbiased estimates of them.

    Returns:
        ``(m,)`` float.

    Raises:
        ValueError: ranks of another shape.

    >>> wins_from_ranks([1, 0, 2]).tolist()
    [1.0, 2.0, 0.0]
    """
    ranks = as_ranks(ranks)
    check_shape("ranks", ranks, ("m",))
    return ranks.shape[0] - 1 - ranks.astype(jnp.result_type(ranks, float))


def pairwise_accuracy(scores: ScoresLike, ranks: RanksLike) -> Float[Array, ""]:
    """Share of the user's pairs that the scores order correctly; a tie of scores counts as an error.

    The paper's metric (11) divides by m(m-1), so that a perfect scorer reaches 1/2; here it reaches 1.

    Args:
        scores: ``(m,)`` high = best.
        ranks: ``(m,)`` ranks by the user, 0 = best; negative means not ranked.

    Returns:
        Scalar float in [0, 1]; NaN for a user without pairs.

    >>> round(float(pairwise_accuracy([3.0, 1.0, 2.0], [0, 1, 2])), 3)  # the pair (1, 2) is in the wrong order
    0.667
    """
    scores, ranks = _as_scores(scores), as_ranks(ranks, gaps=True)
    ahead = (ranks[:, None] < ranks) & (ranks >= 0)[:, None]
    right = ahead & (scores[:, None] > scores)
    return jnp.sum(right).astype(scores.dtype) / jnp.sum(ahead)


def _as_scores(scores: ScoresLike) -> Scores:
    scores = jnp.asarray(scores)
    if scores.ndim != 1 or scores.shape[0] < 1:
        raise ValueError(
            f"scores must have shape (m,), got {scores.shape}: use jax.vmap for users."
        )
    return scores.astype(jnp.result_type(scores, float))


def mean_over_pairs(values: PairMatrix) -> Float[Array, ""]:
    """Σ over i ≠ j, divided by m(m-1)."""
    size = values.shape[0]
    return jnp.sum(jnp.where(jnp.eye(size, dtype=bool), 0, values)) / max(size * (size - 1), 1)
