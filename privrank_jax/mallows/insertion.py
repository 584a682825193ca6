"""Repeated insertion: final places of items that are inserted one after another, for many users side by side."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt32

from privrank_jax._backend import on_cpu
from privrank_jax._types import Count
from privrank_jax._workarounds.xla import materialized

# Items inserted in one pass over the crowd. On a CPU, 128 and 32,768 items, the most that their codes can place, must
# be whole tiles. On a GPU, for one kernel of many more, XLA would first copy the codes of each item by another.
_CPU_TILE, _GPU_TILE = 4, 16
_MOST_UNROLLED = 8  # tiles that a GPU inserts without a loop

_Move = Callable[[Array, Count], Array]  # places after an item is inserted before or behind each


def insert(codes: Int[Array, "items users"]) -> Int[Array, "items users"]:
    """Final places of items inserted one after another: those at or behind the place of a new item move back by one.

    Args:
        codes: ``(items, users)`` signed integers, the place of item t among items 0..t.

    Returns:
        Places, a permutation of the items for each user, dtype of ``codes``.
    """
    return _insert_in_tiles(codes) if on_cpu() else _insert_in_words(codes)


def whole_tiles(codes: Int[Array, "items users"]) -> Int[Array, "padded users"]:
    """Codes with rows at the end that move nothing, up to the whole tiles that a CPU inserts. :func:`insert` cuts such
    rows off, which copies the others; with those of the caller it does not, and their places mean nothing."""
    last = jnp.iinfo(codes.dtype).max
    return jnp.pad(codes, ((0, -len(codes) % _CPU_TILE), (0, 0)), constant_values=last)


def _insert_in_tiles(codes: Int[Array, "items users"]) -> Int[Array, "items users"]:
    """Items wait at their own code until their turn. Those of a tile are inserted among themselves first, and then each
    into all tiles before it."""
    items, users = codes.shape
    codes = whole_tiles(codes)

    # Codes less one, for ">" instead of ">=": a CPU's vectors have no other comparison of bytes.
    codes = materialized(codes - 1, in_place=True)
    within = codes.reshape(-1, _CPU_TILE, users)
    places, new = within + 1, np.arange(_CPU_TILE)[:, None]
    for item in range(1, _CPU_TILE):
        behind = (places > within[:, item, None]) & (new < item)
        places += behind.astype(codes.dtype)
    return _tiles_in_a_loop(codes, places)[:items]


def _tiles_in_a_loop(codes: Array, places: Array) -> Array:
    """Insert each tile into all before it, in one pass over the crowd: on a CPU a quarter of the memory traffic of
    single items. LLVM skips the rows of tiles that are still waiting, so that of two threads that share the rows, one
    does most of the work: large crowds have an axis of groups of users before the rows. Merging blocks of 8, 16, 32,
    ... takes fewer comparisons, but XLA does not vectorize that on a CPU, where it takes 20 times as long."""
    tiles, size, _ = places.shape

    def insert_tile(tile: Count, places: Array) -> Array:
        moved = places
        for item in range(size):
            moved += (moved > codes[tile * size + item]).astype(codes.dtype)
        return jnp.where(rows < tile * size, moved, places)

    rows = np.arange(len(codes), dtype=np.int32)[:, None]
    placed = jax.lax.fori_loop(1, tiles, insert_tile, places.reshape(codes.shape))
    # XLA unrolls a loop of at most one iteration.
    return materialized(placed, in_place=True)


def _insert_in_words(codes: Int[Array, "items users"]) -> Int[Array, "items users"]:
    """The same for a GPU, with the places of as many users in a word of 32 bits as it holds.

    Places p and codes c leave the highest of their b bits free: it is set in p + (2^(b-1) - c) where p >= c, and no sum
    carries into the bits of the next user.
    """
    items, users = codes.shape
    bits = 8 * codes.dtype.itemsize
    together = 32 // bits
    highest = np.uint32(sum(1 << (bits * k - 1) for k in range(1, together + 1)))
    codes = jnp.pad(codes, ((0, 0), (0, -users % together)))
    # By shifts: before a conversion of several integers into one, XLA writes them to memory.
    parts = [codes[:, k::together].astype(jnp.uint32) << (bits * k) for k in range(together)]
    beyond = highest - functools.reduce(jnp.bitwise_or, parts)

    def moved(places: UInt32[Array, "rows words"], item: Count) -> UInt32[Array, "rows words"]:
        return places + ((places + beyond[item] & highest) >> (bits - 1))

    in_tiles = _unrolled if items <= _MOST_UNROLLED * _GPU_TILE else _looped
    placed = in_tiles(highest - beyond, moved)
    return jax.lax.bitcast_convert_type(placed, codes.dtype).reshape(items, -1)[:, :users]


def _unrolled(words: UInt32[Array, "items words"], moved: _Move) -> UInt32[Array, "items words"]:
    """Each tile into those before it, by a kernel of its own."""
    placed = words[:0]
    size = -(-len(words) // -(-len(words) // _GPU_TILE))  # tiles of one size, about
    for first in range(0, len(words), size):
        new = words[first : first + size]
        rows = np.arange(len(new))[:, None]
        for row in range(len(new)):
            placed = moved(placed, first + row)
            new = jnp.where(rows < row, moved(new, first + row), new)
        placed = materialized(jnp.concatenate([placed, new]))
    return placed


def _looped(words: UInt32[Array, "items words"], moved: _Move) -> UInt32[Array, "items words"]:
    """Each tile among all items, of which those that wait do not move: twice the comparisons, and one program for any
    number of tiles."""
    rows = jax.lax.broadcasted_iota(jnp.int32, (len(words), 1), 0)
    tiles = len(words) // _GPU_TILE

    def insert_one(item: Count, places: Array) -> Array:
        return jnp.where(rows < item, moved(places, item), places)

    def insert_tile(tile: Count, places: Array) -> Array:
        for item in range(_GPU_TILE):
            places = insert_one(tile * _GPU_TILE + item, places)
        return places

    placed = jax.lax.fori_loop(0, tiles, insert_tile, words)
    for item in range(tiles * _GPU_TILE, len(words)):
        placed = insert_one(item, placed)
    return placed
