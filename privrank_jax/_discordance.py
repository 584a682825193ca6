"""How many pairs of items two rankings order differently: of two rankings, and of a crowd of such pairs.

For two rankings of few items it takes one vector operation for each item. In a crowd users stand side by side, so that
a vector of a CPU holds as many of them as it has bytes, and a word of a GPU four. XLA would lay out the rankings of a
crowd row by row, with the items of one user in a vector, most of which then stays empty.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Int, UInt32

from privrank_jax._backend import at_once, on_cpu
from privrank_jax._blocks import NEAR_BYTES, blockwise
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
from privrank_jax._workarounds.xla import apart, materialized

MAX_IN_CROWDS = 4096
"""Items up to which crowds are counted together; an int32 holds the number for more."""

_MAX_UNROLLED = 100
_MIN_IN_COLUMNS = 64  # rankings of a crowd of more items
# Items and rankings of a crowd that is counted in words.
_MIN_IN_WORDS, _MIN_IN_WORDS_ON_GPU = (16, 2**14), (3, 2**12)
_BYTES_IN_WORDS = 10 * 2**20  # rankings of a block on a CPU
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
    fewest_items, fewest_users = _MIN_IN_WORDS if on_cpu() else _MIN_IN_WORDS_ON_GPU
    if items >= fewest_items and users >= fewest_users:
        return _count_in_words(a, b)
    return _count_in_rows(a, b) if on_cpu() else _count_in_blocks(a, b)


@_discordant_crowd.def_vmap
def _discordant_crowds(size: int, batched: list[bool], *crowds: Array) -> tuple[Array, bool]:
    """Batching rule: flatten crowds of crowds into one."""
    whole = with_batch_axis(size, batched, crowds)
    found = _discordant_crowd(*(x.reshape(-1, x.shape[-1]) for x in whole))
    return found.reshape(size, -1), True


def _count_in_rows(a: Rankings, b: Rankings) -> Int[Array, "users"]:
    return jnp.sum(jax.vmap(behind_each)(a, b), axis=1, dtype=jnp.int32)


def _count_in_blocks(a: Rankings, b: Rankings) -> Int[Array, "users"]:
    """The same, as many at once as a cache holds."""
    return blockwise(
        _count_in_rows, a, b, bytes_at_once=None if on_cpu() else _BYTES_IN_ROWS_ON_GPU
    )


def _count_in_words(a: Rankings, b: Rankings) -> Int[Array, "users"]:
    """Few items, four users to a word; row by row if any rank is too large for that."""
    users, items = a.shape
    bytes_each = 2 * items * 4
    width = max(16, NEAR_BYTES // bytes_each // 16 * 16) if on_cpu() else WIDTH_ON_GPU
    most = at_once(max(1, _BYTES_IN_WORDS // bytes_each), bytes_each)
    number, block = blocks(users, USERS * width, most)

    def count(turn: Count, found: Int[Array, "users"]) -> Int[Array, "users"]:
        first = jnp.minimum(turn * block, users - block)
        words = [by_item([_small(x) for x in quarters(r, first, block)], width) for r in (a, b)]
        wide = any_wide(words[0]) | any_wide(words[1])
        if not on_cpu():  # one kernel that compares and looks for wide ranks takes a third longer
            words, wide = jax.lax.optimization_barrier((words, wide))
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

    def compared(a: Array, b: Array) -> UInt32[Array, "blocks items width"]:
        behind = jnp.zeros(a.shape, jnp.uint32)
        for item in range(a.shape[1]):
            ahead_or_tied = at_least(a[:, item, None], a) | at_least(b, b[:, item, None])
            behind += (~ahead_or_tied & HIGHEST) >> 7
            if item % _STEPS_ON_GPU == _STEPS_ON_GPU - 1 and not on_cpu():
                behind = jax.lax.optimization_barrier(behind)
        return behind

    def sums(behind: Array, *, odd: bool) -> UInt32[Array, "blocks width"]:
        """Sums of 16 bits: of the first and third users in each word, or of the second and fourth."""
        items = behind.shape[1]
        if not on_cpu():
            return jnp.sum(behind >> (8 * odd) & _EVEN, axis=1, dtype=jnp.uint32)
        total = jnp.zeros(behind[:, 0].shape, jnp.uint32)
        together = 255 // (items - 1)  # sums that a byte holds
        for start in range(0, items, together):
            few = sum(behind[:, item] for item in range(start, min(start + together, items)))
            total += few >> (8 * odd) & _EVEN
        return total

    behind = apart(compared, a, b)
    even, odd = (apart(functools.partial(sums, odd=odd), behind) for odd in (False, True))
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
