r"""What share of the users ranks one item before another, and the Kemeny score of a ranking.

Everything in :mod:`privrank_jax.aggregation` stands on the matrix w, w_ij the share of users who rank i before j. **The
weight rule**: of each pair of items, every user gives 1 to the item ranked first, or 1/2 to both where the user ties
them. So w_ij + w_ji = 1, and one user moves an entry by at most 1/n. An item that a user did not rank (rank -1) comes
after all that the user ranked, tied with the others that are not ranked (``missing="last"``, what top-k lists say); or
nothing is known of its pairs, and both items get 1/2 (``missing="unknown"``).
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._validate import check_choice

Array = jax.Array

MISSING = ("last", "unknown")


def pairwise_weights(ranks: Any, *, missing: str = "last") -> Array:
    """The weights of n rankings of m items.

    Args:
        ranks: ``(n, m)`` integers, 0 = best; equal ranks are ties, negative ranks items that were not ranked.
        missing: ``"last"`` or ``"unknown"``, see the head of this module.

    Returns:
        ``(m, m)``, JAX's default float: w_ij the share of users who rank i before j, ties half; diagonal 0.

    Raises:
        ValueError: no users, no items, ranks that are no integers, an unknown rule.

    >>> pairwise_weights([[0, 1, 2], [0, 2, 1]]).tolist()
    [[0.0, 1.0, 1.0], [0.0, 0.0, 0.5], [0.0, 0.5, 0.0]]
    """
    check_choice("missing", missing, MISSING)
    ranks = jnp.asarray(ranks)
    if ranks.ndim != 2 or 0 in ranks.shape:
        raise ValueError(
            f"ranks must have shape (users, items), at least one of each, got {ranks.shape}"
        )
    if not jnp.issubdtype(ranks.dtype, jnp.integer):
        raise ValueError(f"ranks must be integers, got {ranks.dtype}")
    return _pairwise_weights(ranks, missing)


@functools.partial(jax.jit, static_argnames=("missing",))
def _pairwise_weights(ranks: Array, missing: str) -> Array:
    users, items = ranks.shape
    known = ranks >= 0
    ranks = jnp.where(known, ranks, np.iinfo(ranks.dtype).max).T
    known = known.T

    def row(item: Array) -> Array:
        ahead = jnp.sign(ranks - ranks[item])
        if missing == "unknown":
            ahead = jnp.where(known & known[item], ahead, 0)
        return jnp.sum(ahead, axis=1, dtype=jnp.int32)

    lead = jax.lax.map(row, jnp.arange(items)).astype(jnp.result_type(float))
    half = 0.5 * (1 - jnp.eye(items, dtype=lead.dtype))
    return half + 0.5 * lead / users


def kemeny_score(ranks: Any, w: Any) -> Array:
    """K(σ, w): how many pairs a user, on average, orders against σ; Σ of w_ji over pairs with σ(i) < σ(j).

    Args:
        ranks: ``(m,)`` integers, 0 = best; a pair tied in it counts nothing.
        w: ``(m, m)``, see :func:`pairwise_weights`.

    Returns:
        Scalar in the dtype of w.

    Raises:
        ValueError: shapes that don't fit.

    >>> w = pairwise_weights([[0, 1, 2], [0, 2, 1]])
    >>> float(kemeny_score([0, 1, 2], w))
    0.5
    """
    ranks, w = jnp.asarray(ranks), jnp.asarray(w)
    if ranks.ndim != 1 or w.shape != ranks.shape * 2:
        raise ValueError(f"ranks (m,) and w (m, m) must fit, got {ranks.shape} and {w.shape}")
    return _kemeny_score(ranks, w)


@jax.jit
def _kemeny_score(ranks: Array, w: Array) -> Array:
    return jnp.sum(jnp.where(ranks[:, None] < ranks[None, :], w.T, 0))
