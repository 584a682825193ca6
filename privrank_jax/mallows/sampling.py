"""Draws from the Mallows model around a ranking: the synthetic rankings of ranking differential privacy.

Repeated insertion, for a whole crowd at once: random words from a counter, displacements by the inverse distribution
function, and then the insertion itself, on ``(items, users)`` of the smallest integers that hold a place, so that an
item is inserted for many users by one comparison and one addition.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Array, DTypeLike, Float, Int, Integer

from privrank_jax._backend import on_cpu, processors
from privrank_jax._blocks import blockwise, crowd_size
from privrank_jax._types import Count, Epsilon, Key, Ranks, RanksLike
from privrank_jax._validate import check_epsilon, is_traced
from privrank_jax._words import USERS, WIDTH_ON_GPU
from privrank_jax._workarounds.threefry import threefry, use_up
from privrank_jax._workarounds.xla import materialized
from privrank_jax.mallows.distribution import as_float, check_ranks, decay, signed_ranks
from privrank_jax.mallows.insertion import insert, whole_tiles

LARGE = 1e3  # θ beyond it is as good as ∞: no displacement has a probability of 2^-53
_FEW_ITEMS = 8  # so few that a block of words more would be a large part of them
# Users whose places are next to each other: a few vectors on a CPU, at distances that do not collide in its cache.
_GROUP_ON_GPU, _GROUPS_ON_CPU = USERS * WIDTH_ON_GPU, 32 * np.arange(7, 34, 2)
# Bytes of the arguments of a crowd that is drawn whole, and of a block of a larger one on a CPU.
_WHOLE_BYTES, _BLOCK_BYTES = 2**26, 2**23


def sample(key: Key, center_ranks: RanksLike, epsilon: Epsilon) -> Ranks:
    """One synthetic ranking, drawn from the Mallows model around the user's own.

    For many users use ``jax.vmap(sample)(keys, ranks, epsilon)`` with one key per user; ranks and ε may be shared.

    **Guarantee.** ε-ranking DP, local: the probability of any output changes by a factor of at most e^ε when one item
    of the ranking moves to any other place (unit the rank of one item, adjacency replace), and this bound is attained.
    For the whole ranking of a user it is εm/2-local DP, also attained: for ε-local DP of the ranking pass 2ε/m here.
    Both are proved at the head of :mod:`privrank_jax.mallows.distribution`;
    :func:`~privrank_jax.mallows.synthetic_guarantee` states them. m is the number of items that this user ranked; which
    items those are is public.

    **Numerics.** For simulation. One uniform variable of 24 bits (53 where ε is double precision) is drawn for each
    item and mapped by the inverse distribution function: the probability of each displacement is accurate to about 1e-6
    (1e-13), so one far below that may be 0, and its privacy loss is not ε. Real releases draw exactly:
    :mod:`privrank_jax.release`.

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
    if np.ndim(epsilon):
        raise ValueError(f"epsilon must be a scalar, got shape {np.shape(epsilon)}: use jax.vmap.")
    center = check_ranks(center_ranks)
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
    """Draw ranks ``(users, m)`` from seeds ``(users, 2)``, centers ``(users, m)`` and ε ``(users,)``, each of one row
    where users share it."""
    block = _BLOCK_BYTES if on_cpu() else None
    return blockwise(_block, seeds, centers, epsilon, bytes_at_once=block, whole_bytes=_WHOLE_BYTES)


@_crowd.def_vmap
def _crowds(size: int, batched: list[bool], *arguments: Array) -> tuple[Array, bool]:
    """Batching rule: flatten crowds of crowds into one, so that nested ``jax.vmap`` runs a single batched program."""
    users = crowd_size(*(x.shape[int(axis)] for x, axis in zip(arguments, batched)))
    crowd = []
    for x, axis in zip(arguments, batched):
        if axis or len(x) > 1:
            rest = x.shape[int(axis) + 1 :]
            x = jnp.broadcast_to(x if axis else x[None], (size, users, *rest))
            x = x.reshape(size * users, *rest)
        crowd.append(x)
    drawn = _crowd(*crowd)
    return drawn.reshape(size, users, drawn.shape[1]), True


def _block(seeds: Array, centers: Array, epsilon: Array) -> Array:
    """As :func:`_crowd`, for as many users as are drawn at once."""
    users, items = crowd_size(len(seeds), len(centers), len(epsilon)), centers.shape[1]
    if not users:
        return jnp.zeros((0, items), jnp.int32)
    # Kept in memory: within a loop XLA would compute it again for every item of a user.
    count = materialized(jnp.maximum(_largest(centers), -1) + 1, in_place=True)
    theta = jnp.minimum(decay(epsilon, count), LARGE)
    places = _places_in_groups(seeds.T, count, theta, items, users)
    _, rows, group = places.shape
    # One unsigned number for item and user: with two, or with a sign that may count from the end, XLA takes half as
    # long again on a CPU. It is below 2^32, as a block has at most 2^31 bytes of ranks.
    user, stride = jnp.arange(users, dtype=jnp.uint32), np.uint32(group)
    first = user // stride * np.uint32(rows * group) + user % stride
    where = jnp.maximum(centers, 0).astype(jnp.uint32) * stride + first[:, None]
    ranks = places.ravel().at[where].get(mode="promise_in_bounds")
    missing = centers >> 31  # MISSING, which has all bits set, where the center is negative, else 0
    return ranks.astype(jnp.int32) | missing


def _users_of_a_group(users: int) -> int:
    """How many users' places are next to each other: on a CPU all of a small crowd, and of a larger one as many as
    leave the busiest processor the fewest users."""
    if not on_cpu():
        return _GROUP_ON_GPU
    if users <= _GROUPS_ON_CPU[-1]:
        return users
    groups = -(-users // _GROUPS_ON_CPU)
    busiest = -(-groups // processors()) * _GROUPS_ON_CPU
    return int(_GROUPS_ON_CPU[np.argmin(busiest)])


def _places_in_groups(seeds: Array, count: Array, theta: Array, items: int, users: int) -> Array:
    """Final places, ``(groups, at least items, group)``: what a GPU's threads read together is near each other, and
    each thread of a CPU inserts all items of some users, where the one with the first items would do most."""

    group = _users_of_a_group(users)
    single = users <= group

    def grouped(x: Array) -> tuple[Array, int | None]:
        if x.shape[-1] < users:  # one row, for all of them
            return x, None
        x = jnp.pad(x, [*[(0, 0)] * (x.ndim - 1), (0, -users % group)], mode="edge")
        x = x if single else x.reshape(*x.shape[:-1], -1, group)
        return materialized(x, in_place=True), x.ndim - 2

    def placed(seeds: Array, count: Array, theta: Array) -> Array:
        return insert(_codes(seeds, count, theta, items))

    arguments, axes = zip(*map(grouped, (seeds, count, theta)))
    # Batching takes as long to trace as the draws themselves, so that one group is drawn without.
    places = placed(*arguments)[None] if single else jax.vmap(placed, axes)(*arguments)
    return materialized(places, in_place=True)


def _codes(seeds: Array, count: Array, theta: Array, items: int) -> Array:
    """Places of insertion, ``(at least items, users)``, in the smallest integers: on a CPU with rows at the end that
    fill the last tile."""
    small = np.min_scalar_type(-items)
    bits = 8 * small.itemsize
    abreast = 2 if on_cpu() and bits == 8 and items > _FEW_ITEMS else 1
    parts = _uniforms(seeds, items, theta.dtype, abreast)
    rows = len(parts[0][1])
    mass = insertion_mass(theta, parts[-1][0].start + rows)
    places = []
    for part, uniform in parts:
        here = part.start + np.arange(rows, dtype=np.int32)[:, None]
        places.append(insertion_codes(uniform, here, mass[here[:, 0]], count, theta))
    if bits * len(places) <= 32:
        packed = materialized(_side_by_side(places, bits), in_place=True)
        places = [packed >> (bits * number) for number in range(len(places))]
    codes = [place.astype(small)[: len(part)] for (part, _), place in zip(parts, places)]
    together = jnp.concatenate(codes)
    return whole_tiles(together) if on_cpu() else together


def _side_by_side(places: list[Array], bits: int) -> Array:
    """Places of all parts in one integer of at most 32 bits: they come from the same words, which are then drawn once,
    not once for each."""
    wide = np.dtype(f"u{bits * len(places) // 8}")
    # XLA limits a float before it converts it, in several operations: sums are converted, of as many as are exact.
    several = jnp.finfo(places[0].dtype).nmant // bits
    packed = jnp.zeros(places[0].shape, wide)
    for first in range(0, len(places), several):
        few = places[first : first + several]
        together = sum(place * 2.0 ** (bits * number) for number, place in enumerate(few))
        packed |= jnp.asarray(together).astype(jnp.int32).astype(wide) << (bits * first)
    return packed


def _largest(ranks: Array) -> Array:
    """The largest rank of each user, by a few side by side and then by halves that overlap: XLA does not vectorize a
    maximum of rows on a CPU."""
    if not on_cpu():
        return jnp.max(ranks, axis=1)
    users, items = ranks.shape
    if items >= 8:
        # By twos where fours would leave some over, if they are not so many that XLA does not unroll their maximum.
        abreast = 2 if items % 4 == 2 and items < 64 else 4
        several = ranks[:, : items // abreast * abreast].reshape(users, -1, abreast).max(axis=1)
        ranks = jnp.maximum(several, ranks[:, -4:]) if items % abreast else several
    while ranks.shape[1] > 1:
        half = -(-ranks.shape[1] // 2)
        ranks = jnp.maximum(ranks[:, :half], ranks[:, -half:])
    return ranks[:, 0]


def _uniforms(
    seeds: Array, items: int, dtype: DTypeLike, abreast: int = 1
) -> list[tuple[range, Array]]:
    """Uniform variables in [0, 1), 24 or 53 bits, for seeds ``(2, users)``, in parts ``(rows, users)`` of one shape,
    each with the items that it is for, of which there may be fewer than rows. In the order of the items.

    Each block of two words is for an item of the first half, rounded up, and one of the other; in double precision, for
    one item. At most ``abreast`` blocks of a user stand side by side.

    ``jax.random.uniform`` with a key for each user writes its state to memory after every few rounds and spends two
    words per variable; the same generator, fused with the steps that follow, takes a fraction of that time. JAX's own
    functions take the blocks (0, 0), (0, 1), ... of a key, 2^32 of them before any with a counter from 1 on.
    """
    double = dtype == jnp.float64
    half = items if double else -(-items // 2)
    rows = -(-half // abreast)
    upper, lower = [], []
    for first in range(0, half, rows):
        part = range(first, min(first + rows, half))
        counter = np.arange(first + 1, first + rows + 1, dtype=np.uint32)[:, None]
        high, low = threefry(seeds[0], seeds[1], counter, jnp.uint32(0))
        if double:
            unit = high.astype(dtype) * 2.0**-32 + (low >> 11).astype(dtype) * 2.0**-53
            upper.append((part, unit))
            continue
        other = range(half + part.start, min(half + part.stop, items))
        upper.append((part, (high >> 8).astype(dtype) * 2.0**-24))
        lower.append((other, (low >> 8).astype(dtype) * 2.0**-24))
    return upper + lower


def insertion_mass(theta: Float[Array, "..."], items: int) -> Array:
    """1 - q^(t+1) for t = 0..items-1, q = e^-θ: ``(items, users)`` for θ ``(users,)``, TINY <= θ <= LARGE."""
    return _masses(-jnp.expm1(-theta), items)


def _masses(first: Array, count: int, zero: bool = False) -> Array:
    """1 - q^k for k = 1..count from that for k = 1, as 1 - q^(a+b) = (1 - q^a) + q^a (1 - q^b), and before them 0, that
    for k = 0, if that is asked for.

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
    masses = (far + (1 - far) * near).reshape(-1, *first.shape)[:count]
    return jnp.concatenate([jnp.stack(before), masses]) if zero else masses


def insertion_codes(
    uniform: Array,
    items: Integer[np.ndarray, "places one"],
    mass: Array,
    count: Count | Int[Array, "users"],
    theta: Float[Array, "..."],
) -> Array:
    """Where each item is inserted: place t - back among items 0..t, P(back) ∝ e^(-θ back) on 0..t.

    Args:
        uniform: in [0, 1), ``(items, users)``.
        items: t, ``(items, 1)`` int32.
        mass: of :func:`insertion_mass` for these items and θ.
        count: how many items there are; later ones keep their places at the end.
        theta: θ ``(users,)``, TINY <= θ <= LARGE.

    Returns:
        Places, whole numbers, shape and dtype of ``uniform``.
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
