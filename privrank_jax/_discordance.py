"""How many pairs of items two rankings order differently: of two rankings, and of a crowd of such pairs.

For two rankings of few items it takes one vector operation for each item, and so it does for a crowd on a CPU. On a GPU
a word holds four users of a crowd. Of many items, users stand side by side in the vectors of both.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Int, UInt32

from privrank_jax._backend import at_once, on_cpu
from privrank_jax._blocks import blockwise
from privrank_jax._chunks import with_batch_axis
from privrank_jax._types import Count, Rankings, Ranks
from privrank_jax._words import (
    GAP,
    HIGHEST,
    USERS,
    WIDE,
    WIDTH_ON_GPU,
    any_wide,
    at_least,
    blocks,
    by_item,
    quarters,
)
from privrank_jax._workarounds.xla import materialized

MAX_IN_CROWDS = 4096
"""Items up to which crowds are counted together; an int32 holds the number for more."""

_MAX_UNROLLED = 100
_MIN_IN_COLUMNS = 64  # rankings of a crowd of more items
_MIN_IN_WORDS = (3, 2**12)  # items and rankings of a crowd that a GPU counts in words
# Bytes of a block of rows, and items that one kernel compares with all others, on a GPU: of more, XLA copies each item
# by a kernel of its own.
_BYTES_IN_ROWS_ON_GPU, _STEPS_ON_GPU = 2**22, 50
_WHOLE_IN_COLUMNS = 2**22  # rankings of a crowd that is one block
_LARGEST = np.iinfo(np.int32).max
_EVEN, _HALF = np.uint32(0x00FF00FF), np.uint32(0xFFFF)
_TILE = 10  # items compared with all others in one pass over a crowd


def behind_each(a: Ranks, b: Ranks) -> Int[Array, "items"]:
    """How many items the first ranking has ahead of each item that the second has behind it."""
    if a.shape[0] > _MAX_UNROLLED:
        return jnp.sum((a[:, None] < a) & (b[:, None] > b), axis=0, dtype=jnp.int32)
    # One vector operation for each item: in a batch, XLA makes of it one pass over the rankings, with narrow sums.
    behind = jnp.zeros(a.shape, jnp.uint8)
    for item in range(a.shape[0]):
        behind += ((a[item] < a) & (b[item] > b)).astype(jnp.uint8)
    return behind.astype(jnp.int32)


@custom_vmap
def discordant(a: Ranks, b: Ranks) -> Int[Array, ""]:
    """The number of pairs that two rankings order differently."""
    return jnp.sum(behind_each(a, b), dtype=jnp.int32)


@discordant.def_vmap
def _discordant_batch(size: int, batched: list[bool], *rankings: Array) -> tuple[Array, bool]:
    return _discordant_crowd(*with_batch_axis(size, batched, rankings)), True


@custom_vmap
def _discordant_crowd(a: Rankings, b: Rankings) -> Int[Array, "users"]:
    """The same of many users' pairs of rankings, ``(users, items)``."""
    users, items = a.shape
    if items > _MAX_UNROLLED and users >= _MIN_IN_COLUMNS:
        # Every item is compared with all: a crowd that leaves a CPU's cache takes up to twice as long.
        return blockwise(
            lambda a, b: _count_in_columns(a.T, b.T), a, b, whole_bytes=_WHOLE_IN_COLUMNS
        )
    if on_cpu():
        return _count_in_rows(a, b)
    fewest_items, fewest_users = _MIN_IN_WORDS
    if items >= fewest_items and users >= fewest_users:
        return _count_in_words(a, b)
    return _count_in_blocks(a, b)


@_discordant_crowd.def_vmap
def _discordant_crowds(size: int, batched: list[bool], *crowds: Array) -> tuple[Array, bool]:
    """Batching rule: flatten crowds of crowds into one."""
    whole = with_batch_axis(size, batched, crowds)
    found = _discordant_crowd(*(x.reshape(-1, x.shape[-1]) for x in whole))
    return found.reshape(size, -1), True


def _count_in_rows(a: Rankings, b: Rankings) -> Int[Array, "users"]:
    return jnp.sum(jax.vmap(behind_each)(a, b), axis=1, dtype=jnp.int32)


def _count_in_blocks(a: Rankings, b: Rankings) -> Int[Array, "users"]:
    """The same, as many at once as the cache of a GPU holds."""
    return blockwise(_count_in_rows, a, b, bytes_at_once=_BYTES_IN_ROWS_ON_GPU)


def _count_in_words(a: Rankings, b: Rankings) -> Int[Array, "users"]:
    """The same of few items on a GPU, four users to a word; row by row if any rank is too large for that."""
    users, items = a.shape
    number, block = blocks(users, USERS * WIDTH_ON_GPU, at_once(1, 2 * items * 4))

    def count(turn: Count, found: Int[Array, "users"]) -> Int[Array, "users"]:
        first = jnp.minimum(turn * block, users - block)
        parts = ([_small(x) for x in quarters(ranks, first, block)] for ranks in (a, b))
        words = [by_item(part, WIDTH_ON_GPU) for part in parts]
        # One kernel that compares and looks for wide ranks takes a third longer.
        words, wide = jax.lax.optimization_barrier((words, any_wide(words[0]) | any_wide(words[1])))
        distances = jnp.where(wide, -1, _compare(*words))
        return jax.lax.dynamic_update_slice_in_dim(found, distances, first, 0)

    found = jax.lax.fori_loop(0, number, count, jnp.zeros(users, jnp.int32))
    right = jnp.all(found >= 0)
    return jax.lax.cond(right, lambda: found, lambda: _count_in_blocks(a, b))


def _small(ranks: Rankings) -> UInt32[Array, "users items"]:
    """Ranks that are smaller than a gap's byte; that byte for the largest of all, and a larger one for any other."""
    unsigned = jax.lax.bitcast_convert_type(ranks, jnp.uint32)
    beyond = jnp.where(ranks == _LARGEST, jnp.uint32(GAP), jnp.uint32(WIDE))
    return jnp.where(unsigned < GAP, unsigned, beyond)


def _compare(
    a: UInt32[Array, "blocks items width"], b: UInt32[Array, "blocks items width"]
) -> Int[Array, "users"]:
    """The number of each user."""

    behind = jnp.zeros(a.shape, jnp.uint32)
    for item in range(a.shape[1]):
        ahead_or_tied = at_least(a[:, item, None], a) | at_least(b, b[:, item, None])
        behind += (~ahead_or_tied & HIGHEST) >> 7
        if item % _STEPS_ON_GPU == _STEPS_ON_GPU - 1:
            behind = jax.lax.optimization_barrier(behind)
    behind = jax.lax.optimization_barrier(behind)
    # Sums of 16 bits: of the first and third users in each word, and of the second and fourth.
    even, odd = (jnp.sum(behind >> shift & _EVEN, axis=1, dtype=jnp.uint32) for shift in (0, 8))
    even, odd = jax.lax.optimization_barrier((even, odd))
    each = [even & _HALF, odd & _HALF, even >> 16, odd >> 16]
    return jnp.stack(each).astype(jnp.int32).ravel()


def _count_in_columns(
    a: Int[Array, "items users"], b: Int[Array, "items users"]
) -> Int[Array, "users"]:
    """Items against all others, ten in one pass, each for all users by a few vector operations."""
    items, users = a.shape
    kind = jnp.uint8 if items <= np.iinfo(np.uint8).max else jnp.uint16
    whole = items // _TILE

    def compare(item: Count, behind: Array) -> Array:
        return behind + ((a[item] < a) & (b[item] > b)).astype(kind)

    def compare_tile(tile: Count, behind: Array) -> Array:
        for item in range(_TILE):
            behind = compare(tile * _TILE + item, behind)
        return behind

    behind = jax.lax.fori_loop(0, whole, compare_tile, jnp.zeros((items, users), kind))
    for item in range(whole * _TILE, items):
        behind = compare(item, behind)
    behind = materialized(behind)

    # Row by row: for a sum, XLA would first write all terms to memory in the wider type.
    def add_tile(tile: Count, total: Array) -> Array:
        for item in range(_TILE):
            total += behind[tile * _TILE + item].astype(jnp.int32)
        return total

    total = jax.lax.fori_loop(0, whole, add_tile, jnp.zeros(users, jnp.int32))
    for item in range(whole * _TILE, items):
        total += behind[item].astype(jnp.int32)
    return total
