"""Worlds of whole rankings: Mallows crowds around a center, drawn by repeated insertion.

Item 0 is the best of the center. With JAX's default generator the first users are the same for any total number.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from privrank_jax._backend import map_parts, on_cpu, sum_of_parts
from privrank_jax._types import Count, Key, Scalar
from privrank_jax._validate import check_nonnegative, check_whole
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.footrule import PositionHistograms
from privrank_jax.aggregation.weights import PairWeights
from privrank_jax.mallows.distribution import TINY
from privrank_jax.mallows.sampling import LARGE, insert, insertion_codes, insertion_mass
from privrank_jax.simulate.worlds.comparisons import padded_size

BLOCK = 1024  # users of one key: another number draws other rankings
_BYTES = 12  # of the working set, for each user and item


def mallows_rankings(
    key: Key, num_users: int, num_items: int, spread: Scalar
) -> Int[Array, "users items"]:
    """Draw rankings around the center 0, 1, ..., m-1: P(π) ∝ e^(-θ d(π, center)), d Kendall's distance.

    Item t is inserted V_t places before the end of items 0..t-1, P(V_t = v) ∝ e^(-θ v) on 0..t: the distance is Σ V_t.

    Args:
        key: PRNG key.
        num_users, num_items: n and m, static.
        spread: θ >= 0, may be traced; at 0 all rankings are equally likely, at large θ all are near the center.

    Returns:
        ``(n, m)`` int16 ranks, 0 = best.

    Raises:
        ValueError: θ negative or NaN; n or m below 1; m above 32,767.

    Source: Doignon, Pekeč and Regenwetter (2004), repeated insertion.

    >>> mallows_rankings(jax.random.key(0), 2, 4, 50.0).tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    _check(num_users, num_items, spread)
    return _rankings(key, num_users, num_items, spread)


@functools.partial(jax.jit, static_argnames=("users", "items"))
def _rankings(key: Key, users: int, items: int, spread: Scalar) -> Int[Array, "users items"]:
    key, blocks = fused(key), jnp.arange(-(-users // BLOCK))
    drawn = map_parts(
        lambda block: _block(key, block, items, items, spread), blocks, _BYTES * BLOCK * items
    )
    return jnp.moveaxis(drawn, 1, 2).reshape(-1, items)[:users]


def mallows_weights(
    key: Key,
    num_users: Count,
    num_items: Count,
    spread: Scalar,
    *,
    max_users: int | None = None,
    max_items: int | None = None,
) -> PairWeights:
    """The weights of :func:`mallows_rankings` without storing the rankings; n and m may be traced.

    Args:
        key: PRNG key; the users are those of :func:`mallows_rankings` with this key and ``max_items``.
        num_users, num_items: n and m; padded items come after all others in every ranking.
        spread: θ >= 0, may be traced.
        max_users, max_items: their padded sizes, static; by default n and m.

    Returns:
        Weights of ``max_items`` items, JAX's default float, 0 where there is padding, with the mask of real items.

    Raises:
        ValueError: as :func:`mallows_rankings`; a traced size without its maximum.

    >>> weights = mallows_weights(jax.random.key(0), 100, 3, 1.0)
    >>> weights.matrix.shape, bool(weights.matrix[0, 1] > 0.5)
    ((3, 3), True)
    """
    padded: Any = {"max_users": max_users, "max_items": max_items}
    return mallows_counts(key, num_users, num_items, spread, **padded, positions=False)[0]


def mallows_counts(
    key: Key,
    num_users: Count,
    num_items: Count,
    spread: Scalar,
    *,
    max_users: int | None = None,
    max_items: int | None = None,
    positions: bool = True,
) -> tuple[PairWeights, PositionHistograms | None]:
    """The weights of :func:`mallows_weights`, and the position histograms of the same users.

    Other arguments and errors are as of :func:`mallows_weights`.

    Args:
        positions: count them; False returns None in place of histograms.

    Returns:
        Weights, and histograms of ``max_items`` items with the same mask.

    >>> weights, histograms = mallows_counts(jax.random.key(0), 100, 3, 50.0)
    >>> histograms.counts.tolist()
    [[400, 0, 0], [0, 400, 0], [0, 0, 400]]
    """
    max_items = padded_size("num_items", num_items, "max_items", max_items)
    max_users = padded_size("num_users", num_users, "max_users", max_users)
    _check(max_users, max_items, spread)
    padded = max_users, max_items
    matrix, counts, mask = _counts(key, num_users, num_items, spread, padded, positions)
    histograms = PositionHistograms(4 * counts, num_users, mask) if positions else None
    return PairWeights(matrix, num_users, mask), histograms


@functools.partial(jax.jit, static_argnums=(4, 5))
def _counts(
    key: Key, users: Count, items: Count, spread: Scalar, padded: tuple[int, int], positions: bool
) -> tuple[Array, Array, Array]:
    """Weights, users with each item at each position (if these are wanted), and the mask of real items."""
    key, (max_users, max_items) = fused(key), padded
    every = np.arange(max_items, dtype=np.int16)[:, None]
    columns = 2 * max_items if positions else max_items
    nothing = jnp.zeros((max_items, columns), jnp.int32)

    def counted(block: Int[Array, ""]) -> Int[Array, "items columns"]:
        drawn = _block(key, block, max_items, items, spread)
        counts = block * BLOCK + jnp.arange(BLOCK) < users
        ranks = jnp.where(counts, drawn, 0)  # ties with all items, so adds no wins
        places = jnp.where(counts, drawn, -1)

        def row(item: Int[Array, ""]) -> Int[Array, "columns"]:
            wins = jnp.sum(ranks[item] < ranks, axis=1, dtype=jnp.int32)
            if not positions:
                return wins
            return jnp.append(wins, jnp.sum(places[item] == every, axis=1, dtype=jnp.int32))

        def place(item: Int[Array, ""], sums: Array) -> Array:
            return sums.at[item].set(row(item))

        if not on_cpu():
            return jax.lax.map(row, jnp.arange(max_items))
        return jax.lax.fori_loop(0, jnp.int32(items), place, nothing)

    blocks = -(-max_users // BLOCK)
    # On a CPU one after the other anyway, so that blocks without users, and padded items, are left out.
    if on_cpu():
        needed = jnp.minimum(-(-jnp.int32(users) // BLOCK), blocks)
        sums = jax.lax.fori_loop(0, needed, lambda block, sums: sums + counted(block), nothing)
    else:
        sums = sum_of_parts(counted, jnp.arange(blocks), _BYTES * BLOCK * max_items)
    mask = jnp.arange(max_items) < items
    w = sums[:, :max_items].astype(jnp.result_type(float)) / users
    both = mask[:, None] & mask
    return jnp.where(both, w, 0), jnp.where(mask[:, None], sums[:, max_items:], 0), mask


def _block(
    key: Key, block: Int[Array, ""], padded: int, items: Count, spread: Scalar
) -> Int[Array, "items users"]:
    """Ranks of one block of users, item by item: ``(padded, BLOCK)`` int16."""
    uniform = jax.random.uniform(jax.random.fold_in(key, block), (padded, BLOCK), jnp.float32)
    places = np.arange(padded, dtype=np.int32)[:, None]
    theta = jnp.clip(jnp.asarray(spread, jnp.float32), TINY, LARGE)[None]
    mass = insertion_mass(theta, padded)
    return insert(insertion_codes(uniform, places, mass, items, theta).astype(jnp.int16))


def _check(users: int, items: int, spread: Scalar) -> None:
    check_nonnegative("spread", spread)
    check_whole("num_users", users)
    check_whole("num_items", items, most=np.iinfo(np.int16).max)
