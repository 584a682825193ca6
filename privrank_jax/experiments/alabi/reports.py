"""Local methods whose number of users may be traced, so that crowds of one number of items share a program.

Users are taken in blocks, as many as there are: a report says nothing of other users, so the sum of all has the same
law as in :mod:`privrank_jax.aggregation`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from privrank_jax._types import Count, Key, Mask
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation import PairWeights, local_weights
from privrank_jax.aggregation.counting import gaps_last
from privrank_jax.aggregation.ldp_sorting import local_plan, local_sort
from privrank_jax.aggregation.vector_reports import weights_of_mean
from privrank_jax.experiments.alabi import common
from privrank_jax.experiments.alabi.common import Answer, Method, Search
from privrank_jax.experiments.alabi.crowds import World
from privrank_jax.mechanism import Local

_NUMBERS = 1 << 18  # in the reports of a block, so that they stay in a CPU's cache
_MOST = 1024  # users of a block
OfBlock = Callable[[Key, Array, Mask], PyTree]  # key, ranks and real users of a block to sums


def weighed(world: World) -> World:
    """The world with the weights of the first users of its rankings, as many as it has."""
    assert world.ranks is not None
    _, ranks = gaps_last(world.ranks)

    def twice(key: Key, ranks: Array, real: Mask) -> Array:
        one, other = ranks[:, :, None], ranks[:, None, :]
        leads = 2 * (one < other).astype(jnp.int32) + (one == other)
        return jnp.sum(jnp.where(real[:, None, None], leads, 0), axis=0)

    items, users = ranks.shape[1], world.weights.num_users
    counts = summed(jax.random.key(0), twice, ranks, users, items * items)
    matrix = counts.astype(jnp.result_type(float)) / (2 * users)
    matrix = jnp.where(jnp.eye(items, dtype=bool), 0, matrix)
    return world._replace(weights=PairWeights(matrix, users, world.mask))


def summed(
    key: Key,
    of_block: OfBlock,
    ranks: Array,
    users: Count,
    numbers: int,
) -> PyTree:
    """The sum of a function of blocks of users.

    Args:
        key: PRNG key, folded with the number of the block.
        of_block: key, ranks and mask of a block to sums over its real users.
        ranks: ``(N, m)``.
        users: n of them are real, the first; may be traced.
        numbers: that one user takes.
    """
    block = max(1, min(len(ranks), _MOST, _NUMBERS // numbers))
    blocks = -(-len(ranks) // block)
    ranks = jnp.pad(ranks, ((0, blocks * block - len(ranks)), (0, 0)))

    def part(number: Array) -> PyTree:
        start = number * block
        real = start + jnp.arange(block) < users
        own = jax.lax.dynamic_slice_in_dim(ranks, start, block)
        return of_block(jax.random.fold_in(key, number), own, real)

    shapes = jax.eval_shape(part, jax.ShapeDtypeStruct((), jnp.int32))
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    needed = jnp.minimum(-(-jnp.asarray(users, jnp.int32) // block), blocks)
    return jax.lax.fori_loop(
        0, needed, lambda number, sums: jax.tree.map(jnp.add, sums, part(number)), nothing
    )


def _mean(
    mechanism: Local, key: Key, world: World, epsilon: Array, users: Count, numbers: int
) -> Array:
    """The sum of the reports of the first ``users``, over the users of the world; ``numbers`` that one user takes."""
    assert world.ranks is not None

    def of_block(key: Key, ranks: Array, real: Mask) -> Array:
        return jnp.sum(jnp.where(real[:, None], mechanism.report(key, ranks, epsilon), 0), axis=0)

    return summed(key, of_block, world.ranks, users, numbers) / world.weights.num_users


def borda(mechanism: Local) -> Method:
    """The ranking by Borda scores of reports."""

    def method(key: Key, world: World, epsilon: Array) -> Answer:
        items, users = world.weights.num_items, world.weights.num_users
        return _mean(mechanism, key, world, epsilon, users, items) + (items - 1) / 2

    return method


def weights(mechanism: Local) -> Callable[[Key, World, Array], Search]:
    """The search in weights of reports."""

    def method(key: Key, world: World, epsilon: Array) -> Search:
        return _search(key, world, epsilon, world.weights.num_users, mechanism)

    return method


def _search(key: Key, world: World, epsilon: Array, users: Count, mechanism: Local) -> Search:
    items = world.weights.num_items
    mean = _mean(mechanism, key, world, epsilon, users, items * (items - 1) // 2)
    found = weights_of_mean(mean, items)
    return common.searched(jnp.clip(found, 0, 1), world)


def weights_and_sort() -> Callable[[Key, World, Array], list[Answer]]:
    """Weights by Duchi's mechanism, and ``ldp_kwiksort``, whose fallback are such weights.

    One copy of the mechanism is in the program; where the sort needs no fallback, no user reports for it.
    """

    def method(keys: Key, world: World, epsilon: Array) -> list[Answer]:
        assert world.ranks is not None
        users = world.weights.num_users
        real = jnp.arange(len(world.ranks)) < users
        plan = local_plan(world.weights.num_items, common.replaced_user(epsilon))
        found = local_sort(keys[1], world.ranks, plan.epsilon_per_query, plan.max_uses, users=real)
        if not plan.may_refuse:
            return [_search(keys[0], world, epsilon, users, local_weights), found.ranks]

        def of_pass(passed: tuple[Key, Array, Array]) -> Search:
            key, level, users = passed
            return _search(key, world, level, users, local_weights)

        passes = (
            jnp.stack([fused(keys[0]), found.left_key]),
            jnp.stack([epsilon, jnp.asarray(plan.fallback_epsilon, epsilon.dtype)]),
            jnp.stack([jnp.int32(users), jnp.where(found.stopped, users, 0)]),
        )
        searches = jax.lax.map(of_pass, passes)
        every, fallback = (jax.tree.map(operator.itemgetter(n), searches) for n in (0, 1))
        ready = -found.ranks.astype(fallback.start.dtype)
        start = jnp.where(found.stopped, fallback.start, ready)
        return [every, Search(jnp.where(found.stopped, fallback.weights, 0), start)]

    return method
