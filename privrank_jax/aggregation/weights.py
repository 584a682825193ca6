r"""What share of the users ranks one item before another, and the Kemeny score of a ranking.

Everything in :mod:`privrank_jax.aggregation` stands on the matrix w, w_ij the share of users who rank i before j. **The
weight rule**: of each pair of items, every user gives 1 to the item ranked first, or 1/2 to both where the user ties
them. So w_ij + w_ji = 1, and one user moves an entry by at most 1/n. An item that a user did not rank (rank -1) comes
after all that the user ranked, tied with the others that are not ranked (``missing="last"``, what top-k lists say); or
nothing is known of its pairs, and both items get 1/2 (``missing="unknown"``).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._validate import check_choice, is_traced

Array = jax.Array

MISSING = ("last", "unknown")
_BLOCK, _VECTOR, _TABLE = 128, 64, 2**16


@dataclasses.dataclass(frozen=True, eq=False)
class PairCounts:
    """How n users order each pair of m items: all that a curator's methods look at, whatever n.

    Attributes:
        twice: ``(m, m)`` int64 NumPy array: twice the number of users who rank i before j, a tie counting half, so
            that entries of a pair sum to 2n; diagonal 0.
        num_users: n >= 1.

    >>> PairCounts(np.array([[0, 3], [1, 0]]), 2).weights().tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    """

    twice: np.ndarray
    num_users: int

    @property
    def shape(self) -> tuple[int, int]:
        """``(n, m)``, as of the ranks that were counted."""
        return self.num_users, len(self.twice)

    def weights(self) -> Array:
        """What :func:`pairwise_weights` makes of the ranks: ``(m, m)``, JAX's default float."""
        return jnp.asarray(self.twice / (2 * self.num_users), jnp.result_type(float))


def pairwise_weights(ranks: Any, *, missing: str = "last") -> Array:
    """The weights of n rankings of m items.

    Args:
        ranks: ``(n, m)`` integers, 0 = best; equal ranks are ties, negative ranks items that were not ranked. Concrete
            ranks are compared in the narrowest type that holds them; traced ones in their own, and int8 is fastest.
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
    narrow = not is_traced(ranks) and int(_largest(ranks)) < np.iinfo(np.int8).max
    return _pairwise_weights(ranks, missing, narrow)


@jax.jit
def _largest(ranks: Array) -> Array:
    return jnp.max(ranks)


@functools.partial(jax.jit, static_argnames=("missing", "narrow"))
def _pairwise_weights(ranks: Array, missing: str, narrow: bool) -> Array:
    users, items = ranks.shape
    known = ranks >= 0
    if narrow:
        ranks = ranks.astype(jnp.int8)
    elif jnp.issubdtype(ranks.dtype, jnp.unsignedinteger) or items > np.iinfo(ranks.dtype).max:
        ranks = ranks.astype(jnp.int32)
    ranks = jnp.where(known, ranks, np.iinfo(ranks.dtype).max)
    # The comparison ahead_ui < behind_uj must fail for what is unknown, whatever it is compared with.
    behind = ranks if missing == "last" else jnp.where(known, ranks, -1)
    before = _count_less(ranks, behind)
    lead = (before - before.T).astype(jnp.result_type(float))
    half = 0.5 * (1 - jnp.eye(items, dtype=lead.dtype))
    return half + 0.5 * lead / users


def gaps_last(ranks: Array) -> tuple[Array, Array]:
    """Which items were ranked; and the ranks, at least int32 so that none is the largest number, which gaps get."""
    known = ranks >= 0
    ranks = ranks.astype(jnp.promote_types(ranks.dtype, jnp.int32))
    return known, jnp.where(known, ranks, jnp.iinfo(ranks.dtype).max)


def _count_less(ahead: Array, behind: Array) -> Array:
    """How many users have ahead_i < behind_j, (m, m), int32.

    Blocks of users are counted in bytes, a user of each of ``lanes`` groups at a time: plain vector operations on one
    table that stays in cache, its rows padded to whole vectors.
    """
    users, items = ahead.shape
    width = -(-items // _VECTOR) * _VECTOR
    lanes = max(1, min(_TABLE // (items * width), users // _BLOCK))
    block = min(_BLOCK, -(-users // lanes))
    steps = -(-users // (lanes * block))
    fill = steps * lanes * block - users

    # Users that are not there tie all items.
    ahead = jnp.pad(ahead, ((0, fill), (0, 0)))
    behind = jnp.pad(behind, ((0, fill), (0, width - items)))
    shape = steps, lanes, block

    def step(_, now: tuple[Array, Array]) -> tuple[None, Array]:
        first, second = now
        count = jnp.zeros((lanes, items, width), jnp.uint8)
        for user in range(block):
            count += (first[:, user, :, None] < second[:, user, None, :]).astype(jnp.uint8)
        return None, count  # not added up here: XLA would count in wider integers

    blocks = ahead.reshape(*shape, items), behind.reshape(*shape, width)
    _, counts = jax.lax.scan(step, None, blocks)
    return jnp.sum(counts, axis=(0, 1), dtype=jnp.int32)[:, :items]


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
