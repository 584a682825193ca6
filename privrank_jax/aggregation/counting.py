"""Pairwise comparison of ranks: the order of a pair for one user, and the shares of all users."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Shaped, UInt8, UInt32

from privrank_jax._backend import at_once, on_cpu
from privrank_jax._blocks import NEAR_BYTES
from privrank_jax._types import Integers, PairMatrix, Rankings
from privrank_jax._words import (
    GAP,
    HIGHEST,
    USERS,
    WIDE,
    any_wide,
    at_least,
    joined,
)
from privrank_jax._workarounds.xla import apart, materialized

BEYOND = GAP
"""Ranks below it are compared in bytes, which is fastest."""

_STEPS = 64
_MIN_IN_WORDS = (2, 2**10)  # items and users of rankings that a GPU reads four to a word
_STEPS_ON_GPU = 32
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
    """Share of users who rank i before j, ties counting half; ``narrow`` if all ranks are below :data:`BEYOND`."""
    if narrow and _fit_words(ranks):
        return _shares(_count_in_words(ranks, missing)[0], len(ranks))
    known = ranks >= 0
    if narrow:
        ranks = ranks.astype(jnp.int8)
    elif (
        jnp.issubdtype(ranks.dtype, jnp.unsignedinteger)
        or ranks.shape[1] > np.iinfo(ranks.dtype).max
    ):
        ranks = ranks.astype(jnp.int32)
    ranks = jnp.where(known, ranks, np.iinfo(ranks.dtype).max)
    # The comparison ahead_ui < behind_uj must fail for what is unknown, whatever it is compared with.
    behind = ranks if missing == "last" else jnp.where(known, ranks, -1)
    count = _count_less if on_cpu() else _count_in_steps
    return _shares(count(ranks, behind), len(ranks))


@functools.partial(jax.jit, static_argnames="missing")
def narrow_shares(ranks: Rankings, missing: str) -> tuple[PairMatrix, Bool[Array, ""]]:
    """:func:`share_matrix` of ranks as if all were below :data:`BEYOND`, and whether they are: if not, it is wrong.

    To read wide ranks once for both takes two thirds of the time of asking for the largest first.
    """
    if _fit_words(ranks):
        before, wide = _count_in_words(ranks, missing)
        return _shares(before, len(ranks)), ~wide
    lowest = max(np.iinfo(ranks.dtype).min, -1)
    limited = materialized(jnp.clip(ranks, lowest, BEYOND).astype(jnp.int8))
    return share_matrix(limited, missing, True), jnp.max(limited) < BEYOND


def _shares(before: Int[Array, "items items"], users: int) -> PairMatrix:
    """Shares from the numbers of users who rank i before j and do not tie them."""
    lead = (before - before.T).astype(jnp.result_type(float))
    half = 0.5 * (1 - jnp.eye(len(before), dtype=lead.dtype))
    # A compiler may multiply by 1/users, rounded, and not round before the sum: unanimous pairs then end beside 0.
    return jnp.clip(half + 0.5 * lead / users, 0, 1)


def gaps_last(
    ranks: Int[Array, "*batch items"],
) -> tuple[Bool[Array, "*batch items"], Int[Array, "*batch items"]]:
    """Which items were ranked; and the ranks, at least int32, with gaps set to the largest number, which no rank is."""
    known = ranks >= 0
    ranks = ranks.astype(jnp.promote_types(ranks.dtype, jnp.int32))
    return known, jnp.where(known, ranks, jnp.iinfo(ranks.dtype).max)


def _fit_words(ranks: Rankings) -> bool:
    """Whether a GPU has a crowd that is large enough for words to be faster than bytes."""
    fewest_items, fewest_users = _MIN_IN_WORDS
    users, items = ranks.shape
    return not on_cpu() and users >= fewest_users and fewest_items <= items <= BEYOND


def _small(ranks: Rankings, gap: int) -> UInt32[Array, "users items"]:
    """Ranks that a byte holds below those of gaps; what is larger is :data:`WIDE`."""
    small = jnp.where(ranks < BEYOND, ranks, WIDE).astype(jnp.uint32)
    return jnp.where(ranks < 0, jnp.uint32(gap), small)


def _count_in_words(
    ranks: Rankings, missing: str
) -> tuple[Int[Array, "items items"], Bool[Array, ""]]:
    """How many users rank i before j, and whether any rank is too large to be counted so, on a GPU, which compares the
    bytes of words without splitting these."""
    part = -(-len(ranks) // USERS)

    def words(gap: int) -> UInt32[Array, "words items"]:
        small = [_small(ranks[k * part : (k + 1) * part], gap) for k in range(USERS)]
        whole = [jnp.pad(x, ((0, part - len(x)), (0, 0))) for x in small]
        return jax.lax.optimization_barrier(joined(whole))

    ahead = words(GAP)
    behind = ahead if missing == "last" else words(0)
    return _count_in_steps(ahead, behind, words=True), any_wide(ahead)


def _count_in_steps(
    ahead: Shaped[Array, "rows items"], behind: Shaped[Array, "rows items"], *, words: bool = False
) -> Int[Array, "items items"]:
    """How many rows have ahead_i < behind_j, on a GPU; ``words`` if each row holds the bytes of four users.

    Threads that run together compare all pairs of items of a few rows, which the nearest cache holds, and each counts
    those of one pair in some rows one after the other.
    """
    rows, items = ahead.shape
    steps = min(_STEPS_ON_GPU, rows)
    kind = jnp.dtype(jnp.uint32 if words else jnp.uint8)
    tables = -(-rows // steps)
    together = min(tables, at_once(1, items**2 * kind.itemsize))
    turns = -(-tables // together)
    fill = turns * together * steps - rows  # rows that tie all items

    def by_step(ranks: Array) -> Shaped[Array, "turns steps tables items"]:
        return jnp.pad(ranks, ((0, fill), (0, 0))).reshape(turns, steps, together, items)

    def less(first: Array, second: Array) -> Array:
        return (~at_least(first, second) & HIGHEST) >> 7 if words else first < second

    def turn(total: Array, now: tuple[Array, Array]) -> tuple[Array, None]:
        first, second = now
        found = jnp.zeros((together, items, items), kind)
        for step in range(steps):
            found += less(first[step, :, :, None], second[step, :, None]).astype(kind)
        # Of two axes: of three, XLA lays them out by tables, and each thread reads rows of its own.
        found = jax.lax.optimization_barrier(found.reshape(together, -1))
        parts = [found >> 8 * k & 255 for k in range(USERS)] if words else [found]
        return total + sum(jnp.sum(part, axis=0, dtype=jnp.int32) for part in parts), None

    first = by_step(ahead)
    both = first, first if behind is ahead else by_step(behind)
    return jax.lax.scan(turn, jnp.zeros(items**2, jnp.int32), both)[0].reshape(items, items)


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

    def in_lanes(ranks: Array) -> Array:
        ranks = jnp.pad(ranks, ((0, fill), (0, 0)))  # padding users tie all items
        ranks = ranks.reshape(turns * together, steps * lanes, items)
        ranks = jnp.swapaxes(ranks, 1, 2)
        if lanes > 1:  # else rows are read as they are
            ranks = materialized(ranks)
        return ranks.reshape(turns, -1, items, steps, lanes)

    first = in_lanes(ahead)
    second = first if behind is ahead else in_lanes(behind)
    if turns == 1:
        return _count_in_tables(first[0], second[0])

    def turn(total: Array, now: tuple[Array, Array]) -> tuple[Array, None]:
        return total + _count_in_tables(*now), None

    return jax.lax.scan(turn, jnp.zeros((items, items), jnp.int32), (first, second))[0]


def _count_in_tables(
    ahead: Shaped[Array, "tables items steps lanes"],
    behind: Shaped[Array, "tables items steps lanes"],
) -> Int[Array, "items items"]:
    """How many users have ahead_i < behind_j, by one table of bytes for each block of users and lane."""

    tables, items, steps, lanes = ahead.shape
    tile = _tile(items, steps * lanes * ahead.dtype.itemsize)

    def count(ahead: Array, behind: Array) -> UInt8[Array, "tables tiles items tile lanes"]:
        ahead = ahead[:, None, :, None]
        behind = behind.reshape(tables, items // tile, 1, tile, steps, lanes)
        found = jnp.zeros((tables, items // tile, items, tile, lanes), jnp.uint8)
        for step in range(steps):
            found += (ahead[..., step, :] < behind[..., step, :]).astype(jnp.uint8)
        return found

    def add_tables(found: Array) -> Int[Array, "tiles items tile lanes"]:
        return jnp.sum(found, axis=0, dtype=jnp.int32)

    if lanes == 1:  # rows are read as they are
        by_tile = add_tables(count(ahead, behind))[..., 0]
    else:
        by_tile = jnp.sum(apart(add_tables, apart(count, ahead, behind)), axis=3, dtype=jnp.int32)
    return jnp.swapaxes(by_tile, 0, 1).reshape(items, items)


def _tile(items: int, bytes_each: int) -> int:
    """Items that are compared with each other one while a cache holds them: a divisor of their number, or that."""
    few = [
        tile for tile in range(5, items) if items % tile == 0 and tile * bytes_each <= NEAR_BYTES
    ]
    return max(few, default=items)


def _lanes(users: int, items: int, itemsize: int) -> int:
    """Users side by side: a few vectors of bytes of many, fewer of few, of wide integers, or of very many items."""
    if users < 32 or items * items * 16 > _TABLES:
        return 1
    if users < 128:
        return 8
    return 64 if itemsize == 1 and users >= 1024 else 16
