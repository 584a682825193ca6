"""Crowds of users for the aggregation studies: Mallows crowds, hard instances and data sets."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import data
from privrank_jax._backend import product
from privrank_jax._types import Key, Scalar
from privrank_jax._workarounds.xla import fixed
from privrank_jax.aggregation import PairWeights, PositionHistograms
from privrank_jax.experiments.study import P
from privrank_jax.simulate.table_files import Row
from privrank_jax.simulate.worlds.hard_rankings import hard_ranking
from privrank_jax.simulate.worlds.rankings import mallows_counts, mallows_rankings

EXPONENTIAL_ITEMS = 10  # most items for which the exponential mechanism is drawn


class World(NamedTuple):
    """One data set of a replicate: weights of n users, with the mask of real items.

    ``truth`` are the ranks ``(m,)`` of the center; without one, or where ``centered`` (which may be traced) is False,
    the best ranking for the weights is the truth. Where methods need them there are the rankings of the users,
    ``(n, m)``, and four times the users who have an item at a place, ``(m, m)``.
    """

    weights: PairWeights
    truth: Array | None
    centered: Array | bool = True
    ranks: Array | None = None
    positions: Array | None = None

    @property
    def mask(self) -> Array:
        """``(m,)`` real items."""
        mask = self.weights.mask
        return jnp.ones(self.weights.num_items, bool) if mask is None else mask

    @property
    def histograms(self) -> PositionHistograms:
        """The position histograms of the users."""
        assert self.positions is not None
        return PositionHistograms(self.positions, self.weights.num_users, self.mask)


Draw = Callable[[Key, P], World]
Draws = Mapping[Draw, Collection[int]]  # with the numbers of the worlds that each draws


def names(p: P) -> tuple[str, ...]:
    """Names of the worlds: values of the column ``study``."""
    return ("Mallows", "worst case", *p.data)


def named(p: P, rows: list[Row]) -> Iterator[Row]:
    """The rows with the name of their world as study, which may stand there by its number."""
    known = names(p)
    for row in rows:
        world = row["world"]
        name = world if isinstance(world, str) else known[world % len(known)]
        yield {c: v for c, v in row.items() if c != "world"} | {"study": name}


def world_of(key: Key, p: P, draws: Draws) -> World:
    """A crowd of the world ``p.world``, which may be traced; all have as many items.

    Worlds share a program, in which each is a loop of one turn or none, so that a batch draws the worlds of its cells
    only.
    """
    if len(draws) == 1:
        return next(iter(draws))(key, p)
    empty = jax.eval_shape(lambda: _centered(next(iter(draws))(key, p)))
    world = jax.tree.map(lambda part: jnp.zeros(part.shape, part.dtype), empty)
    for draw, numbers in draws.items():
        here = jnp.any(p.world == jnp.array([*numbers])).astype(jnp.int32)

        def drawn(_: Array, __: World, draw: Draw = draw) -> World:
            return _centered(draw(key, p))

        world = jax.lax.fori_loop(0, here, drawn, world)
    return world


def _centered(world: World) -> World:
    """The same world in the form of all others: with the ranks of a center, and whether it has one."""
    if world.truth is not None:
        return world._replace(centered=jnp.bool_(True))
    return world._replace(truth=jnp.arange(world.weights.num_items), centered=jnp.bool_(False))


def padded_world(weights: PairWeights, positions: Array, max_items: int) -> World:
    """A world without a center, of these real items, and behind them items that do not exist."""
    more = max_items - weights.num_items
    matrix, mask = jnp.pad(weights.matrix, (0, more)), jnp.arange(max_items) < weights.num_items
    padded = PairWeights(matrix, weights.num_users, mask)
    return World(padded, None, positions=jnp.pad(positions, (0, more)))


def mallows_world(key: Key, p: P, strength: Scalar) -> World:
    """Users around a center at θ = ``strength``/m, so that crowds of all m disagree equally; items in random order."""
    crowd_key, order_key = jax.random.split(key)
    items, padded = p.num_items, p.max_items
    crowd, histograms = mallows_counts(
        crowd_key, p.num_users, items, strength / items,
        max_users=p.max_users, max_items=padded, positions=True,
    )  # fmt: skip
    mask = World(crowd, None).mask
    place = jnp.where(mask, jax.random.permutation(order_key, padded), jnp.arange(padded) + padded)
    place = jnp.argsort(place)  # real items first, shuffled
    assert histograms is not None
    weights = PairWeights(crowd.matrix[place][:, place], p.num_users, mask)
    return World(weights, place, positions=histograms.counts[place])


def crowd(key: Key, users: int, items: int, strength: float) -> tuple[Array, Array]:
    """Rankings of Mallows users, ``(n, m)``, and the ranks of their center."""
    crowd_key, order_key = jax.random.split(key)
    place = jax.random.permutation(order_key, items)
    return mallows_rankings(crowd_key, users, items, strength / items)[:, place], place


def worst_ranks(key: Key, users: int, flips: int, buffer: int, lean: float) -> Array:
    """The hard instance: d pairs far apart, whose order each user reverses with probability (1 ± lean)/2."""
    return hard_ranking(_worst_signs(key, users, flips, lean), buffer)


def _worst_signs(key: Key, users: int, flips: int, lean: float) -> Array:
    side_key, user_key = jax.random.split(key)
    sides = jax.random.rademacher(side_key, (flips,), jnp.float32)
    chance = 0.5 * (1 + lean * sides)
    return 2 * jax.random.bernoulli(user_key, chance, (users, flips)).astype(jnp.int32) - 1


def worst_world(key: Key, p: P, *, flips: int, buffer: int, lean: float) -> World:
    """The hard instance of the cell's users, whose number may be traced, padded to its items.

    The order of two items depends on the signs of at most two pairs: it is enough to count users by two signs.
    """
    users = p.num_users
    signs = _worst_signs(key, p.max_users, flips, lean)
    counts = jnp.arange(p.max_users) < users
    # The items between have no sign: one that is always -1.
    ups = jnp.pad(signs > 0, ((0, 0), (0, 1))) & counts[:, None]
    has = jnp.concatenate([counts[:, None] & ~ups, ups], axis=1).astype(jnp.float32)
    sign_of = np.array([*range(flips), *[flips] * buffer, *range(flips)])
    both = product(has.T, has).reshape(2, flips + 1, 2, flips + 1)[:, sign_of][..., sign_of]
    place = hard_ranking(np.array([[-1] * flips, [1] * flips]), buffer)
    before = place[:, :, None, None] < place
    ahead = jnp.sum(jnp.where(before, both, 0), axis=(0, 2))
    weights = PairWeights(ahead.astype(jnp.result_type(float)) / users, users)
    # Who exchanges the two items of a pair, and who does not.
    moved = 4 * jnp.pad(jnp.sum(ups[:, :flips], axis=0, dtype=jnp.int32), (0, 1))[sign_of]
    items, shift = np.arange(len(sign_of)), flips + buffer
    other = items + np.where(items < flips, shift, np.where(items < shift, 0, -shift))
    # n has the default integer type, which may be wider.
    kept = jnp.asarray(4 * users - moved, jnp.int32)
    counts = jnp.zeros(ahead.shape, jnp.int32).at[items, items].set(kept)
    return padded_world(weights, counts.at[items, other].add(moved), p.max_items)


def data_world(key: Key, p: P, *, ranks: np.ndarray) -> World:
    """A random subset of the users of a data set, padded to the cell's items; unranked items come after ranked ones."""
    users = p.num_users
    chosen = jax.random.permutation(key, len(ranks)) < users
    items = ranks.shape[1]
    upper = first, second = np.triu_indices(items, 1)
    place = jnp.where(jnp.asarray(ranks) < 0, items, ranks)
    # Of each user and pair 1, 1/2 or 0: whether the first item is ahead.
    wins = 0.5 * (1 - jnp.sign(place[:, first] - place[:, second])).astype(jnp.float32)
    ahead = product(chosen.astype(jnp.float32), wins)
    share = ahead.astype(jnp.result_type(float)) / users
    w = jnp.zeros((items, items), share.dtype).at[upper].set(share)
    w = w.at[upper[::-1]].set(1 - share)
    counts = PositionHistograms.from_ranks(fixed(jnp.asarray(ranks)), users=chosen).counts
    return padded_world(PairWeights(w, users), jnp.asarray(counts), p.max_items)


def given_ranks(names: Iterable[str]) -> dict[str, np.ndarray]:
    """Ranks ``(n, m)`` of the data sets that are there, -1 for items not ranked."""
    found = {}
    for name in names:
        with contextlib.suppress(data.DataError):
            found[name] = np.asarray(data.load(name).ranks)
    return found
