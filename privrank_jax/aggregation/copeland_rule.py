"""Copeland's rule: rank items by how many others they beat."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._types import MaskLike, PairMatrixLike, Ranks, Scores
from privrank_jax.aggregation.weights import PairWeights, shares_of
from privrank_jax.rankings import ranks_from_scores


def copeland_scores(weights: PairWeights | PairMatrixLike, mask: MaskLike | None = None) -> Scores:
    """Number of items that each item beats, a tie counting half.

    Args:
        weights: :class:`~privrank_jax.aggregation.PairWeights`, or a plain ``(m, m)`` matrix, w_ij the weight of i
            before j; i beats j where w_ij > w_ji.
        mask: ``(m,)`` bool, of a plain matrix; items with False score 0 and don't count for the others. None keeps all.

    Returns:
        ``(m,)`` in the dtype of the weights (JAX's default float for integers).

    Raises:
        ValueError: weights that are not one square, finite matrix.

    >>> copeland_scores([[0.0, 0.7, 0.5], [0.3, 0.0, 0.9], [0.5, 0.1, 0.0]]).tolist()
    [1.5, 1.0, 0.5]
    """
    w, mask = shares_of(weights, mask)
    return _copeland_scores(w, jnp.ones(w.shape[:1], bool) if mask is None else mask)


@jax.jit
def _copeland_scores(w: Array, keep: Array) -> Array:
    points = 0.5 * (1 + jnp.sign(w - w.T))
    others = keep[:, None] & keep & ~jnp.eye(w.shape[0], dtype=bool)
    return jnp.sum(jnp.where(others, points, 0), axis=1)


def copeland(weights: PairWeights | PairMatrixLike, mask: MaskLike | None = None) -> Ranks:
    """Rank items by :func:`copeland_scores`, the best first.

    A Condorcet winner comes first, and where the majorities have no cycle, the ranking is a Kemeny optimum. Equal
    scores are ranked by item index; to break ties at random use ``ranks_from_scores(copeland_scores(weights), mask,
    key)``.

    Args:
        weights: as for :func:`copeland_scores`.
        mask: ``(m,)`` bool, of a plain matrix; items with False get the last ranks, in index order. None keeps all.

    Returns:
        Ranks ``(m,)``, int32, 0 = best.

    Raises:
        ValueError: weights that are not one square, finite matrix.

    >>> copeland([[0.0, 0.2, 0.5], [0.8, 0.0, 0.9], [0.5, 0.1, 0.0]]).tolist()
    [1, 0, 2]
    """
    w, mask = shares_of(weights, mask)
    return ranks_from_scores(copeland_scores(w, mask), mask)
