"""Draws from the Mallows model around a ranking: the synthetic rankings of ranking differential privacy.

Repeated insertion runs for a whole crowd at once. Random words come from a counter, and displacements from them by the
inverse distribution function. The insertion itself works on ``(items, users)`` of the smallest integers that hold a
place, so that an item is inserted for many users by one comparison and one addition.

One draw is what a user publishes, and nothing is made of all of them here, so the mechanism is a pair of functions.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int, Integer

from privrank_jax._chunks import with_batch_axis
from privrank_jax._types import (
    Count,
    Epsilon,
    Key,
    Numbers,
    NumbersLike,
    RankingsLike,
    Ranks,
    RanksLike,
)
from privrank_jax._validate import check_epsilon, check_shape, is_traced
from privrank_jax._workarounds.threefry import threefry, use_up
from privrank_jax._workarounds.xla import materialized
from privrank_jax.mallows.distribution import as_float, check_ranks, decay, signed_ranks
from privrank_jax.mechanism.program import mechanism

LARGE = 1e3  # θ beyond it is as good as ∞: no displacement has a probability of 2^-53


def _release(ranks: RankingsLike, epsilon: NumbersLike) -> Any:
    from privrank_jax.exact.mallows import synthetic_ranks

    return synthetic_ranks(ranks, epsilon)


def _scale(num_items: Numbers, epsilon: NumbersLike) -> Float[Array, "..."]:
    """1/θ: an item is moved back by so many places, on average, where there are many."""
    return 1 / decay(as_float(check_epsilon(epsilon)), num_items)


@mechanism(release=_release, scale=_scale)
def sample(key: Key, center_ranks: RanksLike, epsilon: Epsilon) -> Ranks:
    """One synthetic ranking, drawn from the Mallows model around the user's own.

    For many users use ``jax.vmap(sample)(keys, ranks, epsilon)`` with one key per user; ranks and ε may be shared.

    **Guarantee.** ε-ranking DP, local (unit the rank of one item, adjacency replace), attained; for the whole ranking
    of a user εm/2-local DP, also attained. Proofs are at the head of :mod:`privrank_jax.mallows.distribution`;
    :func:`~privrank_jax.mallows.synthetic_guarantee` states both. m is the number of items that this user ranked; which
    items those are is public.

    **Numerics.** For simulation: the probability of each displacement is accurate to about 1e-6 (1e-13 in double
    precision). For real rankings ``sample.release(ranks, epsilon)`` draws exactly (:mod:`privrank_jax.exact.mallows`),
    for users ``(n, m)`` and ε ``(n,)`` or one number. ``sample.scale(num_items, epsilon)`` is (m-1)/ε.

    Args:
        key: PRNG key.
        center_ranks: ``(m,)`` integers, the user's ranks, 0 = best, negative for items that the user did not rank.
        epsilon: ε > 0, scalar, may be traced; ∞ returns the ranking itself.

    Returns:
        ``(m,)`` int32 ranks, 0 = best; -1 for items not ranked.

    Raises:
        ValueError: ε <= 0, NaN or not a scalar; ranks that are not a ranking of the ranked items.

    Source: Xu, Sun and Cheng, Algorithm 1; repeated insertion: Doignon, Pekeč and Regenwetter (2004).

    >>> sample(jax.random.key(0), [2, 0, 1, -1], 50.0).tolist()
    [2, 0, 1, -1]
    """
    epsilon = check_epsilon(epsilon)
    check_shape("epsilon", epsilon, ())
    center = check_ranks(center_ranks, "center_ranks", "m")
    # Negative ranks need not be equal: that would be a copy of the crowd, which takes as long as a fifth of the draws.
    center = center if center.dtype == np.int32 else signed_ranks(center)
    if is_traced(epsilon):  # ranks can't be NaN: at ε <= 0 they are drawn whatever the center
        epsilon = jnp.where(jnp.isnan(epsilon), 0.0, epsilon)
    return _sample(key, center, as_float(epsilon))


@jax.jit
def _sample(key: Key, center: Array, epsilon: Array) -> Array:
    seed = jax.random.key_data(key)
    if seed.shape == (2,):
        use_up(key)
    else:  # of a generator that isn't Threefry
        seed = jax.random.bits(key, (2,), jnp.uint32)
    return _crowd(seed[None], center[None], epsilon[None])[0]


@custom_vmap
def _crowd(seeds: Array, centers: Array, epsilon: Array) -> Array:
    """Draw ranks ``(users, m)`` from seeds ``(users, 2)``, centers ``(users, m)`` and ε ``(users,)``."""
    users, items = centers.shape
    narrow = jnp.int16 if items < 2**15 else jnp.int32
    count = jnp.sum(centers >= 0, axis=1, dtype=narrow).astype(jnp.int32)
    theta = jnp.minimum(decay(epsilon, count), LARGE)
    places = materialized(insert(_codes(seeds, count, theta, items)))
    # One unsigned number for item and user: with two, XLA takes a tenth longer on a CPU.
    where = jnp.maximum(centers, 0).astype(jnp.uint32) * np.uint32(users)
    where += jnp.arange(users, dtype=jnp.uint32)[:, None]
    ranks = places.ravel().at[where].get(mode="promise_in_bounds")
    missing = centers >> 31  # MISSING, which has all bits set, where the center is negative, else 0
    return ranks.astype(jnp.int32) | missing


@_crowd.def_vmap
def _crowds(size: int, batched: list[bool], *arguments: Array) -> tuple[Array, bool]:
    """Batching rule: flatten crowds of crowds into one, so that nested ``jax.vmap`` runs a single batched program."""
    whole = with_batch_axis(size, batched, arguments)
    users = whole[0].shape[1]
    drawn = _crowd(*(x.reshape(size * users, *x.shape[2:]) for x in whole))
    return drawn.reshape(size, users, drawn.shape[1]), True


def _codes(seeds: Array, count: Array, theta: Array, items: int) -> Array:
    """Places of insertion, ``(items, users)``, in the smallest integers.

    Each block of two words of Threefry is for an item of the first half, rounded up, and one of the other, 24 bits for
    each; in double precision for one item, 53 bits. JAX's own functions take the blocks (0, 0), (0, 1), ... of a key,
    2^32 of them before any with a counter from 1 on.
    """
    small, double = np.min_scalar_type(-items), theta.dtype == jnp.float64
    rows = items if double else -(-items // 2)
    block = np.arange(rows, dtype=np.int32)[:, None]
    counter = (block + 1).astype(np.uint32)
    high, low = threefry(seeds[:, 0], seeds[:, 1], counter, jnp.uint32(0))
    mass = insertion_mass(theta, rows if double else 2 * rows)

    def places(uniform: Array, first: int) -> Array:
        part = mass[first : first + rows]
        return insertion_codes(uniform, first + block, part, count, theta).astype(jnp.int32)

    if double:
        unit = high.astype(theta.dtype) * 2.0**-32 + (low >> 11).astype(theta.dtype) * 2.0**-53
        return places(unit, 0).astype(small)
    upper = places((high >> 8).astype(theta.dtype) * 2.0**-24, 0)
    lower = places((low >> 8).astype(theta.dtype) * 2.0**-24, rows)
    bits = 8 * small.itemsize
    if bits < 32:  # side by side in memory, as words would be drawn once for each half
        upper = materialized((upper | lower << bits).astype(f"i{2 * small.itemsize}"))
        lower = upper >> bits
    return jnp.concatenate([upper, lower])[:items].astype(small)


def insert(codes: Int[Array, "items users"]) -> Int[Array, "items users"]:
    """Final places of items inserted one after another, from the place of item t among items 0..t, signed integers."""
    rows = np.arange(len(codes), dtype=np.int32)[:, None]

    def insert_one(item: Count, places: Array) -> Array:
        moved = places + (places >= codes[item]).astype(codes.dtype)
        return jnp.where(rows < item, moved, places)

    return jax.lax.fori_loop(1, len(codes), insert_one, codes, unroll=10)


def insertion_mass(theta: Float[Array, "..."], items: int) -> Array:
    """1 - q^(t+1) for t = 0..items-1, q = e^-θ: ``(items, users)`` for θ ``(users,)``, TINY <= θ <= LARGE."""
    return _masses(-jnp.expm1(-theta), items)


def _masses(first: Array, count: int, zero: bool = False) -> Array:
    """1 - q^k for k = 1..count, or from k = 0 on with ``zero``, by 1 - q^(a+b) = (1 - q^a) + q^a (1 - q^b) from
    ``first``.

    It takes less time than an exponential for each k, and no digits are lost: sums have positive terms.
    """
    before = [jnp.zeros_like(first)] if zero else []
    near = [first]
    for _ in range(min(count, 8) - 1):
        near.append(near[-1] + (1 - near[-1]) * first)
    if count <= 8:
        return jnp.stack(before + near)
    # The barrier keeps XLA from computing the values at 8, 16, ... again for each of the eight that follow.
    far = _masses(near[-1], -(-count // 8) - 1, zero=True)
    near, far = jax.lax.optimization_barrier((jnp.stack(near), far[:, None]))
    masses = (far + (1 - far) * near).reshape(8 * len(far), *first.shape)[:count]
    return jnp.concatenate([jnp.stack(before), masses]) if zero else masses


def insertion_codes(
    uniform: Array,
    items: Integer[np.ndarray, "places one"],
    mass: Array,
    count: Count | Int[Array, "users"],
    theta: Float[Array, "..."],
) -> Array:
    """Where each item is inserted: place t - back among items 0..t, P(back) ∝ e^(-θ back) on 0..t.

    From uniform numbers and :func:`insertion_mass`; items from ``count`` on keep their places at the end.
    """
    # P(back < v) = (1 - q^v)/(1 - q^(t+1)), so v = -log(1 - x)/θ. What 1 - x loses to rounding is added to its
    # logarithm, which is then accurate to rounding for small x too; for x >= 1/2 nothing is lost. No division for each
    # item: on a CPU it takes as long as the logarithm.
    x = uniform * mass
    kept = 1 - x
    back = ((x - (1 - kept)) - jnp.log(kept)) * (1 / theta)
    # No conversion to an integer and no ``minimum``: both take care of NaN, which a valid ε does not lead to.
    most = items.astype(back.dtype)
    back = jnp.floor(jnp.where(back < most, back, most))
    return jnp.where(items < count, most - back, most)
