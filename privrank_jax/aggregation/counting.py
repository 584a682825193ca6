"""Pairwise comparison of ranks: the order of a pair for one user, and the shares of all users."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from privrank_jax._backend import at_once
from privrank_jax._types import Integers, PairMatrix, Rankings

_BLOCK, _VECTOR, _TABLE = 128, 64, 2**16


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
    """The largest rank of all."""
    return jnp.max(ranks)


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


def gaps_last(
    ranks: Int[Array, "*batch items"],
) -> tuple[Bool[Array, "*batch items"], Int[Array, "*batch items"]]:
    """Which items were ranked; and the ranks, at least int32, with gaps set to the largest number, which no rank is."""
    known = ranks >= 0
    ranks = ranks.astype(jnp.promote_types(ranks.dtype, jnp.int32))
    return known, jnp.where(known, ranks, jnp.iinfo(ranks.dtype).max)


def _count_less(ahead: Array, behind: Array) -> Array:
    """How many users have ahead_i < behind_j, (m, m), int32.

    Blocks of users are counted in bytes, a user of each of ``lanes`` groups at a time: plain vector operations on one
    table that a CPU keeps in cache, its rows padded to whole vectors.
    """
    users, items = ahead.shape
    width = -(-items // _VECTOR) * _VECTOR
    lanes = max(1, min(at_once(_TABLE // (items * width), items * width), users // _BLOCK))
    block = min(_BLOCK, -(-users // lanes))
    steps = -(-users // (lanes * block))
    fill = steps * lanes * block - users

    # Padding users tie all items.
    ahead = jnp.pad(ahead, ((0, fill), (0, 0)))
    behind = jnp.pad(behind, ((0, fill), (0, width - items)))
    shape = steps, lanes, block

    def step(_, now: tuple[Array, Array]) -> tuple[None, Array]:
        first, second = now
        count = jnp.zeros((lanes, items, width), jnp.uint8)
        for user in range(block):
            count += (first[:, user, :, None] < second[:, user, None, :]).astype(jnp.uint8)
        return None, count  # not summed here: XLA would count in wider integers

    blocks = ahead.reshape(*shape, items), behind.reshape(*shape, width)
    _, counts = jax.lax.scan(step, None, blocks)
    return jnp.sum(counts, axis=(0, 1), dtype=jnp.int32)[:, :items]
