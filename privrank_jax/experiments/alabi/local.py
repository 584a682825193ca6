"""The local model: consensus from locally randomized reports, over users, items and ε (study ``alabi-local``)."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.aggregation.subset_designs import MAX_ITEMS
from privrank_jax.experiments.alabi import common, crowds
from privrank_jax.experiments.alabi import pictures as alabi_pictures
from privrank_jax.experiments.alabi.common import BORDA, MALLOWS, Answer
from privrank_jax.experiments.alabi.crowds import Draw, Draws, World
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.simulate.study import Metrics, Parameters, Study, grid
from privrank_jax.simulate.table_files import Row

BORDA_UNIT = "Borda, PrivUnit"
ALL, ALL_UNIT = "noise-all", "noise-all, PrivUnit"
RESPONSE, KWIK = "response on every pair", "KwikSort"
BORDA_SETS = "Borda, subset selection"  # up to MAX_ITEMS
FOOTRULE = "footrule"
# In the order in which keys are split among them; a new one comes last, so that the others draw what they drew.
METHODS = (BORDA, BORDA_UNIT, ALL, ALL_UNIT, RESPONSE, KWIK, BORDA_SETS, FOOTRULE)
PAIRS = (
    *((other, BORDA) for other in METHODS if other != BORDA),
    (KWIK, ALL),
    (ALL, ALL_UNIT),
    (BORDA, BORDA_UNIT),
    (BORDA_UNIT, BORDA_SETS),
    (RESPONSE, ALL),
    *((other, FOOTRULE) for other in (ALL, ALL_UNIT, RESPONSE, KWIK)),
    (FOOTRULE, BORDA_UNIT),
)
_LOOKS = {
    BORDA: (0, 0),
    ALL: (1, 0),
    KWIK: (2, 0),
    RESPONSE: (3, 0),
    BORDA_UNIT: (0, 1),
    ALL_UNIT: (1, 1),
    BORDA_SETS: (0, 2),
    FOOTRULE: (4, 2),
}


@dataclass(frozen=True)
class LocalConfig:
    """Grid of ``alabi-local``.

    Attributes:
        name: name of the study.
        sizes: (m, n) of the Mallows crowds.
        epsilons: ε.
        strength: θm of the Mallows crowds.
        flips: d of the worst case (0: no worst case).
        buffer: t of the worst case.
        lean: mean of a user's ±1 for each pair in the worst case, up to sign.
        worst_users: n in the worst case.
        data: named data sets, with all of their users.
    """

    name: str
    sizes: tuple[tuple[int, int], ...] = (
        *((5, 3000), (20, 3000), (50, 1000), (100, 1000)),
        *((10, 300), (10, 3000), (10, 30_000)),
    )
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    strength: float = 5.0
    flips: int = 5
    buffer: int = 10
    lean: float = 0.4
    worst_users: int = 3000
    data: tuple[str, ...] = common.DATA


def methods(ranks: Array) -> Mapping[str, common.Method]:
    """Local consensus methods for these users, ``(n, m)``, or their weights; see :func:`common.errors`."""

    def borda(key: Key, world: World, epsilon: Array, mechanism: str) -> Answer:
        privacy = common.replaced_user(epsilon)
        return aggregation.ldp_borda(key, ranks, privacy, mechanism=mechanism).value

    def weights(key: Key, world: World, epsilon: Array, mechanism: str) -> Answer:
        privacy = common.replaced_user(epsilon)
        found = aggregation.local_weights(key, ranks, privacy, mechanism=mechanism)
        return common.searched(jnp.clip(found.value, 0, 1), world)

    def kwiksort(key: Key, world: World, epsilon: Array) -> Array:
        return aggregation.ldp_kwiksort(key, ranks, common.replaced_user(epsilon)).value

    def footrule(key: Key, world: World, epsilon: Array) -> Answer:
        privacy = common.replaced_user(epsilon)
        return common.Placed(aggregation.ldp_footrule(key, ranks, privacy).value)

    sets = {BORDA_SETS: functools.partial(borda, mechanism="subset-selection")}
    return {
        BORDA: functools.partial(borda, mechanism="duchi"),
        BORDA_UNIT: functools.partial(borda, mechanism="privunit"),
        ALL: functools.partial(weights, mechanism="duchi"),
        ALL_UNIT: functools.partial(weights, mechanism="privunit"),
        RESPONSE: functools.partial(weights, mechanism="randomized-response"),
        KWIK: kwiksort,
        **(sets if ranks.shape[1] <= MAX_ITEMS else {}),
        FOOTRULE: footrule,
    }


def trial(key: Key, cell: Parameters, *, draws: Mapping[tuple[int, int], Draws]) -> Metrics:
    """One crowd of the cell's world at one ε; worlds of as many items and users share a program.

    Args:
        key: PRNG key.
        cell: parameters; ``world`` is a place in :func:`worlds`.
        draws: the worlds of each (m, n), see :func:`crowds.world_of`.
    """
    world_key, noise_key = jax.random.split(key)
    world = crowds.world_of(world_key, cell, draws[cell["num_items"], cell["num_users"]])
    return _judged(noise_key, world, cell["epsilon"])


def data_trial(key: Key, cell: Parameters, *, ranks: np.ndarray) -> Metrics:
    """All users of a data set at one ε."""
    return _judged(key, _world(fixed(ranks), None), cell["epsilon"])


def mallows_draw(key: Key, cell: Parameters, *, config: LocalConfig) -> World:
    """A Mallows crowd."""
    return _world(*crowds.crowd(key, cell["num_users"], cell["num_items"], config.strength))


def worst_draw(key: Key, cell: Parameters, *, config: LocalConfig) -> World:
    """The hard instance of the lower bounds."""
    ranks = crowds.worst_ranks(key, cell["num_users"], config.flips, config.buffer, config.lean)
    return _world(ranks, None)


def _world(ranks: Array, truth: Array | None) -> World:
    shares = aggregation.PairWeights.from_ranks(ranks)
    everything = dataclasses.replace(shares, mask=jnp.ones(ranks.shape[1], bool))
    return World(everything, truth, ranks=ranks.astype(jnp.int32))


def _judged(key: Key, world: World, epsilon: Array) -> Metrics:
    assert world.ranks is not None
    return common.errors(key, world, methods(world.ranks), epsilon, PAIRS)


def worlds(config: LocalConfig) -> tuple[str, ...]:
    """Names of the worlds: values of the column ``study``."""
    return (MALLOWS, common.WORST, *config.data)


def build(config: LocalConfig) -> tuple[Study, ...]:
    """Build a study of all random worlds, with a program per (m, n), as the local mechanisms process every user.

    Each data set is a study of its own.
    """
    number = {world: place for place, world in enumerate(worlds(config))}
    cells: list[Parameters] = []
    draws: dict[tuple[int, int], dict[tuple[int, ...], Draw]] = {}

    def sized(world: str, size: tuple[int, int]) -> tuple[Parameters, ...]:
        items, users = size
        place = number[world]
        return grid(num_items=items, num_users=users, world=place, epsilon=config.epsilons)

    def add(world: str, draw: Callable[..., World], sizes: Sequence[tuple[int, int]]) -> None:
        for size in sizes:
            draws.setdefault(size, {})[number[world],] = functools.partial(draw, config=config)
            cells.extend(sized(world, size))

    add(MALLOWS, mallows_draw, config.sizes)
    if config.flips:
        add(
            common.WORST,
            worst_draw,
            [(2 * config.flips + config.buffer, config.worst_users)],
        )
    static = ("num_items", "num_users")
    run = functools.partial(trial, draws=draws)
    studies = [Study(config.name, run, tuple(cells), static, common.AXES, optimized="some")]
    for name in config.data:
        ranks = crowds.data_ranks(name)
        if ranks is not None:
            run = functools.partial(data_trial, ranks=ranks)
            users, items = ranks.shape
            whole = sized(name, (items, users))
            studies.append(Study(name, run, whole, static, common.AXES, optimized="some"))
    return tuple(studies)


def by_world(config: LocalConfig, rows: list[Row]) -> list[Row]:
    """The rows with the name of their world as study."""
    return common.by_world(worlds(config), rows)


# --- registered ----------------------------------------------------------------------------------

EXPERIMENTS = (
    Experiment(
        name="alabi-local",
        title="Consensus in the local model: which algorithm, where",
        paper=f"{common.PAPER}, Table 3 (no experiments of its own)",
        config=LocalConfig("alabi-local"),
        build=build,
        annotate=by_world,
        claims=(
            *(
                common.cheaper(f"Borda never costs more than {other}", BORDA, other)
                for other in (ALL, RESPONSE, KWIK)
            ),
            common.cheaper(
                "Borda: PrivUnit never costs more than Duchi's mechanism", BORDA_UNIT, BORDA
            ),
            common.cheaper(
                "Borda: subset selection never costs more than Duchi's mechanism", BORDA_SETS, BORDA
            ),
            common.cheaper(
                "noise-all: PrivUnit never costs more than Duchi's mechanism", ALL_UNIT, ALL
            ),
            common.cheaper("noise-all never costs more than KwikSort", ALL, KWIK),
            common.cheaper(
                "noise-all never costs more than a response on every pair", ALL, RESPONSE
            ),
            common.falls("excess costs fall with ε", "epsilon", METHODS),
            common.falls(
                "excess costs fall with users", "num_users", METHODS, study=MALLOWS, num_items=10
            ),
        ),
        draw=functools.partial(
            alabi_pictures.by_crowd,
            looks=_LOOKS,
            label="reports",
            styles=("Duchi et al.", "PrivUnit", "subset selection"),
        ),
        replicates=30,
        outline=("epsilon", "num_items"),
        differences=(
            "the paper has no experiments: worlds, grid and claims are ours",
            common.YARDSTICK,
            "noised weights are clipped into [0, 1] and solved by local search from their Borda ranking",
            f"Mallows crowds: θ = {LocalConfig('x').strength:g}/m; a pair is judged alike at every m",
        ),
    ),
)
