"""The central model: all private consensus methods compared over users, items and ε (study ``alabi-central``)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._types import Key, Scalar
from privrank_jax.experiments.alabi import common
from privrank_jax.experiments.alabi import pictures as alabi_pictures
from privrank_jax.experiments.alabi.common import BORDA, Draw, Draws, Method, Methods, World
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.simulate.study import Metrics, Parameters, Study
from privrank_jax.simulate.table_files import Row

BORDA_GAUSS = "Borda (ε, δ)"
ALL, ALL_GAUSS = "noise-all", "noise-all (ε, δ)"
BORDA_SHAPED, ALL_SHAPED = "Borda, K-norm", "noise-all, K-norm"
KWIK, KWIK_UNEVEN, KWIK_GAUSS = "KwikSort", "KwikSort 0.9/0.1", "KwikSort (ε, δ)"
HAY, EXPONENTIAL = "Hay et al.", "exponential"
PURE = (BORDA, ALL, KWIK, KWIK_UNEVEN, HAY, EXPONENTIAL)
GAUSSIAN = (BORDA_GAUSS, ALL_GAUSS, KWIK_GAUSS)
SHAPED = (BORDA_SHAPED, ALL_SHAPED)
PURE_SHAPED = (*SHAPED, *(name for name in PURE if name not in (BORDA, ALL)))
"""Pure ε, with the default noise of each method."""
PAIRS = (
    *((other, BORDA) for other in PURE if other != BORDA),
    *((other, BORDA_GAUSS) for other in GAUSSIAN if other != BORDA_GAUSS),
    *((KWIK, ALL), (ALL, KWIK), (BORDA, ALL)),
    *((BORDA, BORDA_SHAPED), (ALL, ALL_SHAPED), (BORDA_SHAPED, ALL_SHAPED)),
    *((other, BORDA_SHAPED) for other in PURE_SHAPED if other != BORDA_SHAPED),
)
AXES = (*common.AXES, "epsilon")
_LOOKS = {
    **{name: (color, 0) for color, name in enumerate(PURE)},
    BORDA_GAUSS: (0, 1),
    ALL_GAUSS: (1, 1),
    KWIK_GAUSS: (2, 1),
    BORDA_SHAPED: (0, 2),
    ALL_SHAPED: (1, 2),
}


@dataclass(frozen=True)
class CentralConfig:
    """Grid of ``alabi-central``.

    Attributes:
        name: name of the study.
        items: m of the Mallows crowds.
        users: n; for data sets, the values that they have enough users for.
        epsilons: ε.
        delta: δ of the Gaussian variants.
        strength: θm of the Mallows crowds.
        flips: d of the worst case (0: no worst case), the number of pairs of items that change places.
        buffer: t of the worst case, the number of items between them.
        lean: mean of a user's ±1 for each pair in the worst case, up to sign.
        data: named data sets.
    """

    name: str
    items: tuple[int, ...] = (5, 10, 20, 50, 100)
    users: tuple[int, ...] = (100, 1000, 10000)
    epsilons: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0)
    delta: float = 1e-6
    strength: float = 5.0
    flips: int = 5
    buffer: int = 10
    lean: float = 0.4
    data: tuple[str, ...] = common.DATA


def methods(config: CentralConfig, padded: int) -> Methods:
    """Private consensus methods that are feasible for so many items, or their weights; see :func:`common.errors`."""

    delta = config.delta

    def kwiksort(
        key: Key, world: World, epsilon: Array, noise: str = "laplace", split: Scalar = 0.5
    ) -> Array:
        privacy = common.promise_of(noise, delta)(epsilon)
        return aggregation.dp_kwiksort(key, world.weights, privacy, noise=noise, split=split).value

    def both_splits(keys: Key, world: World, epsilon: Array) -> Array:
        def one(key: Key, split: Array) -> Array:
            return kwiksort(key, world, epsilon, split=split)

        return jax.vmap(one)(keys, jnp.array([0.5, 0.9]))

    def hay(key: Key, world: World, epsilon: Array) -> Array:
        return aggregation.hay_kwiksort(key, world.weights, common.replaced_user(epsilon)).value

    found: dict[str | tuple[str, ...], Method] = {
        BORDA: common.borda("laplace"),
        BORDA_GAUSS: common.borda("gaussian", delta),
        ALL: common.noise_all("laplace"),
        ALL_GAUSS: common.noise_all("gaussian", delta),
        (KWIK, KWIK_UNEVEN): both_splits,
        KWIK_GAUSS: functools.partial(kwiksort, noise="gaussian"),
        HAY: hay,
    }
    if padded <= common.EXPONENTIAL_ITEMS:
        found[EXPONENTIAL] = common.exponential()
    return found | {
        BORDA_SHAPED: common.borda("k-norm"),
        ALL_SHAPED: common.noise_all("k-norm"),
    }


def trial(
    key: Key, cell: Parameters, *, draws: Mapping[int, Draws], config: CentralConfig
) -> Metrics:
    """One crowd of the cell's world, all methods, all ε; worlds of as many items share a program.

    Args:
        key: PRNG key.
        cell: parameters; ``world`` is a place in :func:`worlds`.
        draws: the worlds of each ``max_items``, see :func:`common.world_of`.
        config: the grid.
    """
    world_key, noise_key = jax.random.split(key)
    world = common.world_of(world_key, cell, draws[cell["max_items"]])
    return _judged(noise_key, world, config)


def mallows_draw(key: Key, cell: Parameters, *, config: CentralConfig) -> World:
    """A Mallows crowd."""
    return common.mallows_world(key, cell, config.strength)


def worst_draw(key: Key, cell: Parameters, *, config: CentralConfig) -> World:
    """The hard instance of the lower bounds: d pairs, each far apart, on whose order users disagree."""
    users, most = cell["num_users"], cell["max_users"]
    return common.worst_world(key, users, most, config.flips, config.buffer, config.lean)


def data_draw(key: Key, cell: Parameters, *, ranks: np.ndarray) -> World:
    """A subset of the users of a data set, drawn anew in every replicate."""
    return common.data_world(key, jnp.asarray(ranks), cell["num_users"])


def _judged(key: Key, world: World, config: CentralConfig) -> Metrics:
    usable = methods(config, world.weights.num_items)
    levels = jnp.asarray(config.epsilons, world.weights.matrix.dtype)
    found = jax.vmap(lambda level: common.errors(key, world, usable, level, PAIRS))(levels)
    return common.over_levels(found, config.epsilons)


def worlds(config: CentralConfig) -> tuple[str, ...]:
    """Names of the worlds: values of the column ``study``."""
    return (common.MALLOWS, common.WORST, *config.data)


def build(config: CentralConfig) -> tuple[Study, ...]:
    """Build one study of all worlds: a program for Mallows crowds of up to 10 items, and one for each larger m.

    Worlds other than Mallows crowds join the program of their number of items, if there is one.
    """
    most = max(config.users)
    small = [m for m in config.items if m <= common.EXPONENTIAL_ITEMS]
    cells: list[Parameters] = []
    draws: dict[int, dict[tuple[int, ...], Draw]] = {}

    def add(world: str, draw: Draw, items: int, padded: int, numbers: Sequence[int]) -> None:
        number = worlds(config).index(world)
        draws.setdefault(padded, {})[number,] = draw
        sizes = {"num_items": items, "max_items": padded, "max_users": most, "world": number}
        cells.extend({**sizes, "num_users": users} for users in numbers)

    crowds = functools.partial(mallows_draw, config=config)
    for items in config.items:
        add(common.MALLOWS, crowds, items, max(small) if items in small else items, config.users)
    if config.flips:
        items = 2 * config.flips + config.buffer
        hard = functools.partial(worst_draw, config=config)
        add(common.WORST, hard, items, items, config.users)
    for name in config.data:
        ranks = common.data_ranks(name)
        if ranks is not None:
            users = [number for number in config.users if number < len(ranks)] + [len(ranks)]
            items = ranks.shape[1]
            add(name, functools.partial(data_draw, ranks=ranks), items, items, users)
    run = functools.partial(trial, draws=draws, config=config)
    return (Study(config.name, run, tuple(cells), ("max_items", "max_users"), AXES),)


def by_world(config: CentralConfig, rows: list[Row]) -> list[Row]:
    """The rows with the name of their world as study."""
    return common.by_world(worlds(config), rows)


# --- registered ----------------------------------------------------------------------------------


EXPERIMENTS = (
    Experiment(
        name="alabi-central",
        title="Private consensus in the central model: which algorithm, where",
        paper=f"{common.PAPER}, Tables 1 and 2 (no experiments of its own)",
        config=CentralConfig("alabi-central"),
        build=build,
        annotate=by_world,
        claims=(
            *(
                common.cheaper(
                    f"Mallows: Borda never costs more than {other}",
                    best,
                    other,
                    study=common.MALLOWS,
                )
                for best, others in ((BORDA, PURE), (BORDA_GAUSS, GAUSSIAN))
                for other in others
                if other != best
            ),
            *(
                common.cheaper(
                    f"{name}: Borda never costs more than noise-all", BORDA, ALL, study=name
                )
                for name in common.DATA
            ),
            common.cheaper(
                "worst case: noise-all never costs more than Borda", ALL, BORDA, study=common.WORST
            ),
            common.cheaper(
                "worst case, 10,000 users: noise-all never costs more than Borda",
                ALL,
                BORDA,
                study=common.WORST,
                num_users=10_000,
            ),
            *(
                common.cheaper(
                    f"K-norm noise: {name} never costs more than with Laplace noise", *both
                )
                for name, both in {"Borda": (BORDA_SHAPED, BORDA), ALL: (ALL_SHAPED, ALL)}.items()
            ),
            common.cheaper(
                "10 items: noise-all never costs more than KwikSort", ALL, KWIK, num_items=10
            ),
            common.cheaper(
                "100 items: KwikSort at the even split never costs more than noise-all",
                KWIK,
                ALL,
                num_items=100,
            ),
            common.falls("excess costs fall with ε", "epsilon", PURE + GAUSSIAN + SHAPED),
            common.falls(
                "excess costs fall with users",
                "num_users",
                PURE + GAUSSIAN + SHAPED,
                study=common.MALLOWS,
            ),
        ),
        draw=functools.partial(alabi_pictures.methods, looks=_LOOKS, mapped=PURE_SHAPED),
        replicates=50,
        outline=("epsilon", "num_items"),
        differences=(
            "the paper has no experiments: worlds, grid and claims are ours",
            common.YARDSTICK,
            "noised weights are solved by local search from their Borda ranking",
            "Borda and noise-all have Laplace noise, as in the paper, unless another is named",
            f"Mallows crowds: θ = {CentralConfig('x').strength:g}/m; a pair is judged alike at every m",
        ),
    ),
)
