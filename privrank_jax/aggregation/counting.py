"""Pairwise comparison of ranks: the order of a pair for one user, and the shares of all users."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, DTypeLike, Int

from privrank_jax._backend import at_once
from privrank_jax._types import Integers, PairMatrix, Rankings
from privrank_jax._workarounds.xla import materialized

_COMPARED = 64  # up to so many items, ranks are compared with those of every other item
_STEPS = 128  # users behind each other, whose number a byte holds


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


@functools.partial(jax.jit, static_argnames=("missing", "kind"))
def share_matrix(ranks: Rankings, missing: str, kind: DTypeLike) -> PairMatrix:
    """Share of users who rank i before j, ties counting half; compared as ``kind``, whose largest number no rank is."""
    known = ranks >= 0
    ranks = jnp.where(known, ranks.astype(kind), jnp.iinfo(kind).max)
    # The comparison ahead_ui < behind_uj must fail for what is unknown, whatever it is compared with.
    behind = ranks if missing == "last" else jnp.where(known, ranks, -1)
    before = _count_less(ranks, behind)
    lead = (before - before.T).astype(jnp.result_type(float))
    half = 0.5 * (1 - jnp.eye(len(before), dtype=lead.dtype))
    # A compiler may multiply by 1/users, rounded, and not round before the sum: unanimous pairs then end beside 0.
    return jnp.clip(half + 0.5 * lead / len(ranks), 0, 1)


def _count_less(ahead: Rankings, behind: Rankings) -> Int[Array, "items items"]:
    """How many users have ahead_i < behind_j, in tables of bytes: one on a CPU, elsewhere as many as fit at once."""
    users, items = ahead.shape
    steps = min(_STEPS, users)
    tables = -(-users // steps)
    together = min(tables, at_once(1, items * items))
    turns = -(-tables // together)
    fill = turns * together * steps - users  # users who tie all items

    def by_step(ranks: Rankings) -> Array:
        ranks = jnp.pad(ranks, ((0, fill), (0, 0)))
        return ranks.reshape(turns, steps, together, items)

    def turn(total: Array, now: tuple[Array, Array]) -> tuple[Array, None]:
        # Each in memory of its own: of two views of one array, a CPU compares one number at a time.
        first, second = map(materialized, now)

        def compare(step: Int[Array, ""], found: Array) -> Array:
            less = first[step, :, :, None] < second[step, :, None]
            return found + less.astype(jnp.uint8)

        found = jnp.zeros((together, items, items), jnp.uint8)
        found = jax.lax.fori_loop(0, steps, compare, found, unroll=8)
        return total + jnp.sum(found, axis=0, dtype=jnp.int32), None

    parts = by_step(ahead), by_step(behind)
    return jax.lax.scan(turn, jnp.zeros((items, items), jnp.int32), parts)[0]


def gaps_last(
    ranks: Int[Array, "*batch items"],
) -> tuple[Bool[Array, "*batch items"], Int[Array, "*batch items"]]:
    """Which items were ranked; and the ranks, at least int32, with gaps set to the largest number, which no rank is."""
    known = ranks >= 0
    ranks = ranks.astype(jnp.promote_types(ranks.dtype, jnp.int32))
    return known, jnp.where(known, ranks, jnp.iinfo(ranks.dtype).max)


def twice_positions(
    ranks: Rankings, missing: str
) -> tuple[Int[Array, "users items"], Int[Array, "users items"]]:
    """Twice the positions of items: with items not ranked in last place; and where they are unknown, in first place.

    An item has the middle of the positions that it shares with those that the user ties with it.

    Args:
        ranks: ``(n, m)``, 0 = best, negative = not ranked.
        missing: ``"last"``, for which both are the same, or ``"unknown"``.
    """
    known, ranks = gaps_last(ranks)
    last = _ahead_and_tied(ranks) - 1
    if missing == "last":
        return last, last
    number = jnp.sum(known, axis=1, keepdims=True, dtype=jnp.int32)
    return last, last + 2 * jnp.where(known, ranks.shape[1] - number, -number)


def _ahead_and_tied(ranks: Rankings) -> Int[Array, "users items"]:
    """How many items are ahead of each, plus how many are ahead or beside."""
    if ranks.shape[1] <= _COMPARED:  # far faster than sorting each row
        twice = jnp.zeros(ranks.shape, jnp.int32)
        for other in ranks.T[:, :, None]:
            twice += (other < ranks).astype(jnp.int32) + (other <= ranks).astype(jnp.int32)
        return twice

    def sorted_search(row: Array) -> Array:
        ordered = jnp.sort(row)
        ahead = jnp.searchsorted(ordered, row, side="left")
        return ahead + jnp.searchsorted(ordered, row, side="right")

    return jax.vmap(sorted_search)(ranks).astype(jnp.int32)
