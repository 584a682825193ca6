"""Pairwise comparison of ranks: the order of a pair for one user, and the shares of all users."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from privrank_jax._types import Integers, PairMatrix, Rankings


def order_lead(item_ranks: Integers, pivot_ranks: Integers, missing: str) -> Integers:
    """1, 0 or -1: whether the user ranks the item before, beside or behind the pivot; ranks below 0 are missing."""
    item, pivot = item_ranks >= 0, pivot_ranks >= 0
    lead = (item & pivot) * ((item_ranks < pivot_ranks) * 1 - (item_ranks > pivot_ranks) * 1)
    return lead if missing == "unknown" else lead + item * 1 - pivot * 1


@functools.partial(jax.jit, static_argnames="missing")
def share_matrix(ranks: Rankings, missing: str) -> PairMatrix:
    """Share of users who rank i before j, ties counting half."""
    known, ranks = gaps_last(ranks)
    # The comparison ahead_ui < behind_uj must fail for what is unknown, whatever it is compared with.
    behind = (ranks if missing == "last" else jnp.where(known, ranks, -1)).T

    def count(ahead: Array) -> Array:
        return jnp.sum(ahead < behind, axis=1, dtype=jnp.int32)

    before = jax.lax.map(count, ranks.T)  # one item after another: a fifth of the time on a CPU
    lead = (before - before.T).astype(jnp.result_type(float))
    half = 0.5 * (1 - jnp.eye(len(before), dtype=lead.dtype))
    # A compiler may multiply by 1/users, rounded, and not round before the sum: unanimous pairs then end beside 0.
    return jnp.clip(half + 0.5 * lead / len(ranks), 0, 1)


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
    """Twice the positions of items, tied ones in the middle of theirs: with items not ranked tied in last place, and
    where they are ``"unknown"``, in first place; under ``"last"`` both are the same."""
    known, ranks = gaps_last(ranks)

    def add(twice: Array, other: Array) -> tuple[Array, None]:
        return twice + (other[:, None] < ranks) + (other[:, None] <= ranks), None

    last = jax.lax.scan(add, jnp.full(ranks.shape, -1, jnp.int32), ranks.T)[0]
    if missing == "last":
        return last, last
    number = jnp.sum(known, axis=1, keepdims=True, dtype=jnp.int32)
    return last, last + 2 * jnp.where(known, ranks.shape[1] - number, -number)
