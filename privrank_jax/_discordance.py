"""How many pairs of items two rankings order differently: of two rankings, and of a crowd of such pairs.

For two rankings of few items it takes one vector operation for each item. In a crowd users stand side by side, so that
a vector holds as many of them as it has bytes. XLA would lay out the rankings of a crowd row by row, with the items of
one user in a vector, most of which then stays empty.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Int, UInt8

from privrank_jax._backend import on_cpu
from privrank_jax._blocks import WHOLE_BYTES, blockwise
from privrank_jax._chunks import with_batch_axis
from privrank_jax._types import Count, Rankings, Ranks
from privrank_jax._workarounds.xla import materialized

MAX_IN_CROWDS = 4096
"""Items up to which crowds are counted together; an int32 holds the number for more."""

_MAX_UNROLLED = 100
_MIN_IN_COLUMNS = 64  # rankings of a crowd of more items
_MIN_IN_BYTES = 16, 2**14  # items and rankings of one that is counted in bytes
_BYTES_AT_ONCE = 2**22
_NEAR = 20 * 2**10
"""Bytes of both rankings of as many users as are compared at once: half of the cache next to a core."""
_LARGEST, _GAP, _WIDE = np.iinfo(np.int32).max, 254, 255
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
        return blockwise(lambda a, b: _count_in_columns(a.T, b.T), a, b)
    if not on_cpu():
        # Of a large crowd, XLA copies each item for a GPU by a kernel of its own; not of one that fits into its cache.
        return blockwise(_count_in_rows, a, b, bytes_at_once=WHOLE_BYTES)
    if items >= _MIN_IN_BYTES[0] and users >= _MIN_IN_BYTES[1]:
        return blockwise(_count_in_bytes, a, b, bytes_at_once=_BYTES_AT_ONCE)
    return _count_in_rows(a, b)


@_discordant_crowd.def_vmap
def _discordant_crowds(size: int, batched: list[bool], *crowds: Array) -> tuple[Array, bool]:
    """Batching rule: flatten crowds of crowds into one."""
    whole = with_batch_axis(size, batched, crowds)
    found = _discordant_crowd(*(x.reshape(-1, x.shape[-1]) for x in whole))
    return found.reshape(size, -1), True


def _count_in_rows(a: Rankings, b: Rankings) -> Int[Array, "users"]:
    return jnp.sum(jax.vmap(behind_each)(a, b), axis=1, dtype=jnp.int32)


def _count_in_bytes(a: Rankings, b: Rankings) -> Int[Array, "users"]:
    """Few items, in bytes where these hold the ranks; else row by row."""
    first, second = _in_bytes(a), _in_bytes(b)
    largest = jnp.max(jnp.maximum(jnp.max(first, axis=(0, 1)), jnp.max(second, axis=(0, 1))))
    return jax.lax.cond(
        largest < _WIDE,
        lambda: _compare(first, second)[: len(a)],
        lambda: _count_in_rows(a, b),
    )


def _in_bytes(ranks: Rankings) -> UInt8[Array, "blocks items block"]:
    """Ranks up to 253 in blocks of users, items first; 254 for the largest of all, and 255 for what no byte holds."""
    users, items = ranks.shape
    block = max(64, _NEAR // (2 * items) // 64 * 64)
    blocks = -(-users // block)
    unsigned = jax.lax.bitcast_convert_type(ranks, jnp.uint32)
    beyond = jnp.where(ranks == _LARGEST, jnp.uint32(_GAP), jnp.uint32(_WIDE))
    small = jnp.where(unsigned < _GAP, unsigned, beyond).astype(jnp.uint8)
    small = jnp.pad(small, ((0, blocks * block - users), (0, 0)))  # padding users tie all items
    return materialized(jnp.swapaxes(small.reshape(blocks, block, items), 1, 2))


def _compare(
    a: UInt8[Array, "blocks items block"], b: UInt8[Array, "blocks items block"]
) -> Int[Array, "padded"]:
    """The number of each user, padding users included."""
    behind = jnp.zeros(a.shape, jnp.uint8)
    for item in range(a.shape[1]):
        behind += ((a[:, item, None] < a) & (b[:, item, None] > b)).astype(jnp.uint8)
    behind = materialized(behind)
    # Row by row: for a sum, XLA would first write all terms to memory in the wider type.
    total = jnp.zeros(behind[:, 0].shape, jnp.uint16)
    for item in range(a.shape[1]):
        total += behind[:, item].astype(jnp.uint16)
    return total.ravel().astype(jnp.int32)


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
