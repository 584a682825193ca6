"""Shared parts of the aggregation studies: worlds of rankings, the error measure, errors, paired differences.

The paper of Alabi and others has no experiments; these studies are ours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import aggregation, datasets
from privrank_jax._backend import product
from privrank_jax._types import Count, Key, Mask, Numbers, Scalar
from privrank_jax.aggregation import PairWeights
from privrank_jax.experiments import claims
from privrank_jax.experiments.claims import Claim, Wanted, minus
from privrank_jax.metrics import kendall_distance
from privrank_jax.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.axes import Labeled, labeled
from privrank_jax.simulate.study import Parameters
from privrank_jax.simulate.table_files import Row
from privrank_jax.simulate.worlds.hard_rankings import hard_ranking
from privrank_jax.simulate.worlds.rankings import mallows_rankings, mallows_weights

PAPER = "Alabi, Ghazi, Kumar and Manurangsi, Private rank aggregation in central and local models"
EXCESS, KENDALL = "excess_cost", "kendall_error"
METRICS = (EXCESS, KENDALL)
AXES = ("estimator", "metric")
BORDA, PLAIN = "Borda", "Borda, no privacy"
MALLOWS, WORST = "Mallows", "worst case"
DATA = ("sushi", "apa")
NEGLIGIBLE = 0.001  # of all pairs
EXPONENTIAL_ITEMS = 10  # most items for which the exponential mechanism is drawn
_EXACT = 10  # most items for which the least cost is computed exactly

YARDSTICK = (
    "excess cost: (K(σ, w) - OPT) over the number of pairs; OPT exact for at most "
    f"{_EXACT} items, else the least of two local searches (from Borda, from the center), which certificates "
    "confirm where they were tried"
)


def replaced_user(epsilon: Numbers, delta: float = 0.0) -> Privacy:
    """The promise of every method here: a user's whole ranking may be replaced."""
    return Privacy(epsilon, unit="user", adjacency="replace", delta=delta)


class World(NamedTuple):
    """One data set of a replicate.

    Attributes:
        weights: weights of n users, with the mask of real items.
        truth: ``(m,)`` ranks of the center; None takes the best ranking for the weights themselves as the truth.
        centered: scalar bool, may be traced; False takes that ranking too, whatever ``truth`` holds.
        ranks: ``(n, m)`` rankings of the users, where methods need them.
    """

    weights: PairWeights
    truth: Array | None
    centered: Array | bool = True
    ranks: Array | None = None

    @property
    def mask(self) -> Array:
        """``(m,)`` real items."""
        return self.weights.item_mask


Method = Callable[[Key, World, Array], Array]  # key, world and ε to a ranking, or to weights
# A method, or several that are one program: keys, world and ε to a stack of rankings.
Methods = Mapping[str, Method] | Mapping[str | tuple[str, ...], Method]

Draw = Callable[[Key, Parameters], World]
Draws = Mapping[tuple[int, ...], Draw]  # by the numbers of the worlds that it draws


def world_of(key: Key, cell: Parameters, draws: Draws) -> World:
    """A crowd of the world that the cell asks for; all have as many items.

    Several worlds share a program, which draws a crowd of each and keeps one.

    Args:
        key: PRNG key.
        cell: parameters; ``world`` is a number, may be traced.
        draws: functions of key and cell, by the numbers of the worlds that they draw.

    Returns:
        The :class:`World`.
    """
    (_, first), *others = draws.items()
    world = first(key, cell)
    if others:
        world = _centered(world)
    for numbers, draw in others:
        here = jnp.any(cell["world"] == jnp.array(numbers))
        other = _centered(draw(key, cell))
        world = jax.tree.map(functools.partial(jnp.where, here), other, world)
    return world


def _centered(world: World) -> World:
    """The same world in the form of all others: with the ranks of a center, and whether it has one."""
    if world.truth is not None:
        return world._replace(centered=jnp.bool_(True))
    return world._replace(truth=jnp.arange(world.weights.num_items), centered=jnp.bool_(False))


def by_world(names: Sequence[str], rows: list[Row]) -> list[Row]:
    """The rows with the name of their world as study, by its number."""
    return [
        {name: value for name, value in row.items() if name != "world"}
        | {"study": names[row["world"]]}
        for row in rows
    ]


def mallows_world(key: Key, cell: Parameters, strength: Scalar) -> World:
    """Users around a center at θ = ``strength``/m, so that crowds of all m disagree equally; items in random order."""
    crowd_key, order_key = jax.random.split(key)
    users, items, padded = cell["num_users"], cell["num_items"], cell["max_items"]
    crowd = mallows_weights(
        crowd_key, users, items, strength / items, max_users=cell["max_users"], max_items=padded
    )
    mask = crowd.item_mask
    place = jnp.where(mask, jax.random.permutation(order_key, padded), jnp.arange(padded) + padded)
    place = jnp.argsort(place)  # real items first, shuffled
    return World(PairWeights(crowd.matrix[place][:, place], users, mask), place)


def best_ranks(world: World) -> Array:
    """The best known ranking: the optimum for few items, otherwise the better of two local searches."""
    weights = world.weights
    if weights.num_items <= _EXACT:
        return aggregation.exact_kemeny(weights)
    starts = -aggregation.borda_scores(weights)[None]
    if world.truth is not None:
        center = jnp.where(world.centered, world.truth.astype(starts.dtype), starts[0])
        starts = jnp.append(starts, center[None], axis=0)
    found = jax.vmap(lambda start: aggregation.local_search(weights, start))(starts)
    return found[jnp.argmin(jax.vmap(lambda ranks: cost(ranks, world))(found))]


def cost(ranks: Array, world: World) -> Array:
    """K(σ, w) over the number of pairs of real items."""
    items = jnp.sum(world.mask)
    return aggregation.kemeny_score(ranks, world.weights.matrix) / (items * (items - 1) / 2)


def borda_ranks(key: Key, world: World) -> Array:
    """The ranking by the weights themselves."""
    return ranks_from_scores(aggregation.borda_scores(world.weights), world.mask, key)


def promise_of(noise: str, delta: float) -> Callable[[Numbers], Privacy]:
    """The promise of :func:`replaced_user` for each ε, with δ for Gaussian noise only."""
    return functools.partial(replaced_user, delta=delta if noise == "gaussian" else 0.0)


def borda(noise: str, delta: float = 0.0) -> Method:
    """The ranking by private Borda scores."""
    promise = promise_of(noise, delta)

    def method(key: Key, world: World, epsilon: Array) -> Array:
        found = aggregation.dp_borda(key, world.weights, promise(epsilon), noise=noise)
        return ranks_from_scores(found.value, world.mask)

    return method


def noise_all(noise: str, delta: float = 0.0) -> Method:
    """Private weights of all pairs."""
    promise = promise_of(noise, delta)

    def method(key: Key, world: World, epsilon: Array) -> Array:
        return aggregation.noise_all(key, world.weights, promise(epsilon), noise=noise).value

    return method


def exponential() -> Method:
    """The ranking of the exponential mechanism, for at most :data:`EXPONENTIAL_ITEMS` items."""

    def method(key: Key, world: World, epsilon: Array) -> Array:
        return aggregation.exponential_kemeny(key, world.weights, replaced_user(epsilon)).value

    return method


def solved(found: Mapping[str, Array], mask: Mask) -> dict[str, Array]:
    """Keep rankings, and solve weights by local search, with one copy of the search in the program for all of them."""
    weights = {name: value for name, value in found.items() if value.ndim == 2}
    if not weights:
        return dict(found)
    search = jax.vmap(lambda w: aggregation.local_search(w, mask=mask))
    return {**found, **dict(zip(weights, search(jnp.stack(list(weights.values()))), strict=True))}


def names_of(methods: Methods) -> list[str]:
    """The names of all methods."""
    return [name for names in methods for name in ((names,) if isinstance(names, str) else names)]


def outcomes(
    keys: Mapping[str, Key], world: World, methods: Methods, epsilon: Array
) -> dict[str, Array]:
    """What each method returns, by its name, with its own key."""
    found: dict[str, Array] = {}
    for names, method in methods.items():
        if isinstance(names, str):
            found[names] = method(keys[names], world, epsilon)
        else:
            stacked = method(jnp.stack([keys[name] for name in names]), world, epsilon)
            found |= dict(zip(names, stacked, strict=True))
    return found


def errors(
    key: Key,
    world: World,
    methods: Methods,
    epsilon: Array,
    pairs: Sequence[tuple[str, str]],
) -> Labeled:
    """Compute both errors of every method, and paired differences between methods, along ``AXES``.

    Args:
        key: PRNG key.
        world: the data set.
        methods: name to function ``(key, world, epsilon) -> ranks``, or to weights ``(m, m)``, which are solved by
            local search; see :data:`Methods`.
        epsilon: ε, may be traced.
        pairs: methods whose first minus second is wanted; those that did not run are left out.
    """
    names = names_of(methods)
    plain_key, *keys = jax.random.split(key, len(names) + 1)
    found = outcomes(dict(zip(names, keys, strict=True)), world, methods, epsilon)
    found = solved({**found, PLAIN: borda_ranks(plain_key, world)}, world.mask)
    best = best_ranks(world)
    target = best if world.truth is None else jnp.where(world.centered, world.truth, best)
    least = cost(best, world)

    def judge(ranks: Array) -> Array:
        far = kendall_distance(ranks, target, normalized=True, mask=world.mask)
        return jnp.stack([cost(ranks, world) - least, far])

    # One copy of the evaluation in the program, and one array of all errors.
    judged = jax.vmap(judge)(jnp.stack(list(found.values())))
    place = {name: number for number, name in enumerate(found)}
    pairs = [(one, other) for one, other in pairs if one in names and other in names]
    first, second = (np.array([place[pair[side]] for pair in pairs], int) for side in (0, 1))
    table = jnp.concatenate([judged, judged[first] - judged[second]])
    return labeled(table, (*found, *(minus(one, other) for one, other in pairs)), METRICS)


def over_levels(found: Labeled, epsilons: Sequence[float]) -> Labeled:
    """Errors at several ε, whose axis comes first in the array, with ε as the last label."""
    return labeled(jnp.moveaxis(found.array, 0, -1), *found.labels, epsilons)


def cheaper(text: str, better: str, worse: str, **wanted: Wanted) -> Claim:
    """Claim: ``better`` never costs more than ``worse``, and somewhere less, by more than ``NEGLIGIBLE``."""
    chosen = {"metric": EXCESS, "estimator": minus(worse, better), **wanted}
    evidence = functools.partial(_saved, better, worse)
    return claims.claim(
        text,
        claims.judge_signs,
        wanted=chosen,
        evidence=evidence,
        everywhere=False,
        least=NEGLIGIBLE,
    )


def _saved(better: str, worse: str, rows: list[Row], won: int, lost: int) -> str:
    ends = [pick(rows, key=lambda row: row["mean"]) for pick in (max, min)]
    spelled = "; ".join(
        f"{row['mean']:+.4f} ± {row['standard_error']:.4f} at {row['study']}, m = {row['num_items']:g}, n = "
        f"{row['num_users']}, ε = {row['epsilon']:g}"
        for row in ends
    )
    return (
        f"{better} costs less than {worse} in {won} and more in {lost} of {len(rows)} cells "
        f"(by more than {claims.SLACK:g} SE and {NEGLIGIBLE:g}); the largest and the smallest difference: {spelled}"
    )


def falls(text: str, x: str, estimators: Sequence[str], **wanted: Wanted) -> Claim:
    """Claim: the excess cost of every one of these estimators falls with x."""
    wanted = {"metric": EXCESS, "estimator": tuple(estimators), **wanted}
    return claims.trend(text, x, -1, where=None, **wanted)


def worst_ranks(key: Key, users: int, flips: int, buffer: int, lean: float) -> Array:
    """The hard instance: d pairs far apart, whose order each user reverses with probability (1 ± lean)/2."""
    side_key, user_key = jax.random.split(key)
    sides = jax.random.rademacher(side_key, (flips,), jnp.float32)
    chance = 0.5 * (1 + lean * sides)
    signs = 2 * jax.random.bernoulli(user_key, chance, (users, flips)).astype(jnp.int32) - 1
    return hard_ranking(signs, buffer)


def worst_world(
    key: Key, users: Count, max_users: int, flips: int, buffer: int, lean: float
) -> World:
    """The hard instance; n may be traced."""
    ranks = worst_ranks(key, max_users, flips, buffer, lean)
    counts = (jnp.arange(max_users) < users)[:, None]
    items = ranks.shape[1]
    # Users who do not count tie all pairs: half a user for either side.
    padded = PairWeights.from_ranks(jnp.where(counts, ranks, 0)).matrix
    idle = 0.5 * (1 - jnp.eye(items)) * (max_users - users)
    matrix = (padded * max_users - idle) / users
    return World(PairWeights(matrix, users, jnp.ones(items, bool)), None)


def camps_world(key: Key, users: int, items: int, strength: float) -> World:
    """Three camps of Mallows users at θ = ``strength``/m, centers rotated by a third of the items; n and m static."""
    crowd_key, order_key = jax.random.split(key)
    ranks = mallows_rankings(crowd_key, users, items, strength / items)
    shift = (jnp.arange(users) % 3) * (items // 3)
    place = (jnp.arange(items) + shift[:, None]) % items
    ranks = jnp.take_along_axis(ranks, place, axis=1)[:, jax.random.permutation(order_key, items)]
    return World(
        PairWeights(PairWeights.from_ranks(ranks).matrix, users, jnp.ones(items, bool)), None
    )


# --- data ----------------------------------------------------------------------------------------


def data_ranks(name: str) -> np.ndarray | None:
    """Ranks ``(n, m)`` of a named data set, -1 for items not ranked; None if the data are missing."""
    try:
        table = datasets.load_rankings(name)
    except datasets.DataError:
        return None
    return np.asarray(table.ranks)


def data_world(key: Key, ranks: Array, users: Count) -> World:
    """A random subset of the users of a data set; unranked items come after ranked ones."""
    chosen = jax.random.permutation(key, len(ranks)) < users
    ahead = product(chosen.astype(jnp.float32), _pair_wins(ranks))
    items = ranks.shape[1]
    upper = np.triu_indices(items, 1)
    share = ahead.astype(jnp.result_type(float)) / users
    w = jnp.zeros((items, items), share.dtype).at[upper].set(share)
    w = w.at[upper[::-1]].set(1 - share)
    return World(PairWeights(w, users, jnp.ones(items, bool)), None)


def _pair_wins(ranks: Array) -> Array:
    """Whether i is ahead of j for each user and pair i < j: 1, 1/2 or 0, ``(n, pairs)``."""
    ranks = jnp.where(ranks < 0, ranks.shape[1], ranks)
    first, second = np.triu_indices(ranks.shape[1], 1)
    return 0.5 * (1 - jnp.sign(ranks[:, first] - ranks[:, second])).astype(jnp.float32)


def crowd(key: Key, users: int, items: int, strength: float) -> tuple[Array, Array]:
    """Rankings of Mallows users, ``(n, m)``, and the ranks of their center."""
    crowd_key, order_key = jax.random.split(key)
    place = jax.random.permutation(order_key, items)
    return mallows_rankings(crowd_key, users, items, strength / items)[:, place], place
