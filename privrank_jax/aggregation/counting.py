"""Pairwise comparison of ranks: the order of a pair for one user, and the shares of all users."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from privrank_jax._backend import at_once
from privrank_jax._types import Integers, PairMatrix, Rankings
from privrank_jax._workarounds.xla import materialized

BEYOND = np.iinfo(np.int8).max
"""In bytes, what stands behind all ranks: those below it are compared fastest."""

_STEPS = 64
_TABLES = 2**24
"""Bytes of the tables that are counted into at once on a CPU."""


def order_lead(item_ranks: Integers, pivot_ranks: Integers, missing: str) -> Integers:
    """1, 0 or -1: whether the user ranks the item before, beside or behind the pivot; ranks below 0 are missing."""
    ahead = (item_ranks < pivot_ranks) | ((pivot_ranks < 0) & (item_ranks >= 0))
    behind = (item_ranks > pivot_ranks) | ((item_ranks < 0) & (pivot_ranks >= 0))
    ahead &= item_ranks >= 0
    behind &= pivot_ranks >= 0
    if missing == "unknown":
        known = (item_ranks >= 0) & (pivot_ranks >= 0)
        ahead, behind = ahead & known, behind & known
    return ahead * 1 - behind * 1


@jax.jit
def largest_rank(ranks: Rankings) -> Int[Array, ""]:
    """The largest rank of all, by items first: of all at once takes twice as long on a CPU."""
    return jnp.max(materialized(jnp.max(ranks, axis=0)))


@functools.partial(jax.jit, static_argnames=("missing", "narrow"))
def share_matrix(ranks: Rankings, missing: str, narrow: bool) -> PairMatrix:
    """Share of users who rank i before j, ties counting half; ``narrow`` if int8 holds ranks and a larger number."""
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
    # A compiler may multiply by 1/users, rounded, and not round before the sum: unanimous pairs then end beside 0.
    return jnp.clip(half + 0.5 * lead / users, 0, 1)


@functools.partial(jax.jit, static_argnames="missing")
def narrow_shares(ranks: Rankings, missing: str) -> tuple[PairMatrix, Int[Array, ""]]:
    """:func:`share_matrix` of ranks limited to :data:`BEYOND`, and the largest of these: if less, shares are right.

    To read wide ranks once for both takes two thirds of the time of asking for the largest first.
    """
    lowest = max(np.iinfo(ranks.dtype).min, -1)
    limited = materialized(jnp.clip(ranks, lowest, BEYOND).astype(jnp.int8))
    return share_matrix(limited, missing, True), jnp.max(limited)


def gaps_last(
    ranks: Int[Array, "*batch items"],
) -> tuple[Bool[Array, "*batch items"], Int[Array, "*batch items"]]:
    """Which items were ranked; and the ranks, at least int32, with gaps set to the largest number, which no rank is."""
    known = ranks >= 0
    ranks = ranks.astype(jnp.promote_types(ranks.dtype, jnp.int32))
    return known, jnp.where(known, ranks, jnp.iinfo(ranks.dtype).max)


def _count_less(ahead: Array, behind: Array) -> Array:
    """How many users have ahead_i < behind_j, (m, m), int32.

    Users stand side by side in the lanes of vectors, and at most 64 behind each other are counted into one table of
    bytes by plain vector operations. Tables are added up one axis after the other: XLA vectorizes the first sum.
    """
    users, items = ahead.shape
    lanes = _lanes(users, items, ahead.dtype.itemsize)
    steps = min(_STEPS, -(-users // lanes))
    blocks = -(-users // (steps * lanes))
    size = items * items * lanes
    together = min(blocks, at_once(max(1, _TABLES // size), size))
    turns = -(-blocks // together)
    fill = turns * together * steps * lanes - users
    # With one user at a time the rows are read as they are, and there is one table.
    keep = materialized if lanes > 1 else (lambda values: values)

    def in_lanes(ranks: Array) -> Array:
        ranks = jnp.pad(ranks, ((0, fill), (0, 0)))  # padding users tie all items
        ranks = ranks.reshape(turns * together, steps * lanes, items)
        return keep(jnp.swapaxes(ranks, 1, 2)).reshape(turns, -1, items, steps, lanes)

    def count(first: Array, second: Array) -> Array:
        found = jnp.zeros((together, items, items, lanes), jnp.uint8)
        for step in range(steps):
            less = first[:, :, None, step] < second[:, None, :, step]
            found += less.astype(jnp.uint8)
        by_lane = jnp.sum(keep(found), axis=0, dtype=jnp.int32)
        return jnp.sum(keep(by_lane), axis=2, dtype=jnp.int32)

    first = in_lanes(ahead)
    second = first if behind is ahead else in_lanes(behind)
    if turns == 1:
        return count(first[0], second[0])

    def turn(total: Array, now: tuple[Array, Array]) -> tuple[Array, None]:
        return total + count(*now), None

    return jax.lax.scan(turn, jnp.zeros((items, items), jnp.int32), (first, second))[0]


def _lanes(users: int, items: int, itemsize: int) -> int:
    """Users side by side: a few vectors of bytes of many, fewer of few, of wide integers, or of very many items."""
    if users < 32 or items * items * 16 > _TABLES:
        return 1
    if users < 128:
        return 8
    return 64 if itemsize == 1 and users >= 1024 else 16
