"""The local model: consensus from locally randomized reports, over users, items and ε (study ``alabi-local``)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.aggregation.subset_designs import MAX_ITEMS
from privrank_jax.experiments.alabi import common, crowds, reports
from privrank_jax.experiments.alabi import pictures as alabi_pictures
from privrank_jax.experiments.alabi.common import BORDA, MALLOWS, Methods
from privrank_jax.experiments.alabi.crowds import Draw, Draws, World
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.simulate.study import Metrics, Parameters, Study

BORDA_UNIT = "Borda, PrivUnit"
ALL, ALL_UNIT = "noise-all", "noise-all, PrivUnit"
RESPONSE, KWIK = "response on every pair", "KwikSort"
BORDA_SETS = "Borda, subset selection"  # up to MAX_ITEMS
METHODS = (BORDA, BORDA_UNIT, ALL, ALL_UNIT, RESPONSE, KWIK, BORDA_SETS)
PAIRS = (
    *((other, BORDA) for other in METHODS if other != BORDA),
    (KWIK, ALL),
    (ALL, ALL_UNIT),
    (BORDA, BORDA_UNIT),
    (BORDA_UNIT, BORDA_SETS),
    (RESPONSE, ALL),
    (BORDA, BORDA_SETS),
)
_NEVER = "never costs more than"
_CHEAPER: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    *((f"Borda {_NEVER} {other}", BORDA, other, {}) for other in (ALL, RESPONSE, KWIK)),
    (f"Borda: PrivUnit {_NEVER} Duchi's mechanism", BORDA_UNIT, BORDA, {}),
    (f"Borda: subset selection {_NEVER} Duchi's mechanism", BORDA_SETS, BORDA, {}),
    (f"noise-all: PrivUnit {_NEVER} Duchi's mechanism", ALL_UNIT, ALL, {}),
    (f"noise-all {_NEVER} KwikSort", ALL, KWIK, {}),
    (f"noise-all {_NEVER} a response on every pair", ALL, RESPONSE, {}),
)
_LOOKS = {
    BORDA: (0, 0),
    ALL: (1, 0),
    KWIK: (2, 0),
    RESPONSE: (3, 0),
    BORDA_UNIT: (0, 1),
    ALL_UNIT: (1, 1),
    BORDA_SETS: (0, 2),
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


def methods(num_items: int) -> Methods:
    """Local consensus methods for so many items; see :func:`common.errors`."""
    found: dict[str | tuple[str, ...], Callable[..., Any]] = {
        BORDA: reports.borda(aggregation.ldp_borda),
        BORDA_UNIT: reports.borda(aggregation.ldp_borda_privunit),
        (ALL, KWIK): reports.weights_and_sort(),
        ALL_UNIT: reports.weights(aggregation.local_weights_privunit),
        RESPONSE: reports.weights(aggregation.local_weights_rr),
    }
    if num_items <= MAX_ITEMS:
        found[BORDA_SETS] = reports.borda(aggregation.ldp_borda_subsets)
    return found


def trial(key: Key, cell: Parameters, *, draws: Mapping[int, Draws]) -> Metrics:
    """One crowd of the cell's world at one ε; worlds of as many items share a program, whatever their users.

    Args:
        key: PRNG key.
        cell: parameters; ``world`` is a place in :func:`worlds`.
        draws: the worlds of each m, see :func:`crowds.world_of`.
    """
    world_key, noise_key = jax.random.split(key)
    drawn = crowds.world_of(world_key, cell, draws[cell["num_items"]])
    usable = methods(cell["num_items"])
    return common.errors(noise_key, reports.weighed(drawn), usable, cell["epsilon"], PAIRS)


def mallows_draw(key: Key, cell: Parameters, *, config: LocalConfig) -> World:
    """A Mallows crowd."""
    most, items = cell["max_users"], cell["num_items"]
    return _world(cell, *crowds.crowd(key, most, items, config.strength))


def worst_draw(key: Key, cell: Parameters, *, config: LocalConfig) -> World:
    """The hard instance of the lower bounds."""
    ranks = crowds.worst_ranks(key, cell["max_users"], config.flips, config.buffer, config.lean)
    return _world(cell, ranks, None)


def data_draw(key: Key, cell: Parameters, *, ranks: np.ndarray) -> World:
    """All users of a data set."""
    more = cell["max_users"] - len(ranks)
    return _world(cell, fixed(np.pad(ranks, ((0, more), (0, 0)))), None)


def _world(cell: Parameters, ranks: Array, truth: Array | None) -> World:
    """A world of the first users of these rankings, whose weights are yet to be counted."""
    items = ranks.shape[1]
    dtype = jnp.result_type(float)
    users = jnp.asarray(cell["num_users"], jnp.int32)
    weights = aggregation.PairWeights(
        jnp.zeros((items, items), dtype), users, jnp.ones(items, bool)
    )
    return World(weights, truth, ranks=ranks.astype(jnp.int32))


def worlds(config: LocalConfig) -> tuple[str, ...]:
    """Names of the worlds: values of the column ``study``."""
    return (MALLOWS, common.WORST, *config.data)


def build(config: LocalConfig) -> tuple[Study, ...]:
    """Build one study of all worlds, with a program for each number of items."""
    draws: dict[int, dict[Draw, tuple[int]]] = {}
    sized: list[tuple[int, int, int]] = []

    def add(world: str, draw: Draw, items: int, users: int) -> None:
        number = worlds(config).index(world)
        draws.setdefault(items, {})[draw] = (number,)
        sized.append((items, users, number))

    mallows = functools.partial(mallows_draw, config=config)  # one for crowds of all sizes
    for items, users in config.sizes:
        add(MALLOWS, mallows, items, users)
    if config.flips:
        hard = functools.partial(worst_draw, config=config)
        add(common.WORST, hard, 2 * config.flips + config.buffer, config.worst_users)
    for name, ranks in crowds.given_ranks(config.data).items():
        users, items = ranks.shape
        add(name, functools.partial(data_draw, ranks=ranks), items, users)
    cells: list[Parameters] = []
    for items, users, number in sized:
        most = max(other for same, other, _ in sized if same == items)
        sizes = {"num_items": items, "num_users": users, "max_users": most, "world": number}
        cells.extend({**sizes, "epsilon": epsilon} for epsilon in config.epsilons)
    run = functools.partial(trial, draws=draws)
    static = ("num_items", "max_users")
    return (Study(config.name, run, tuple(cells), static, common.AXES, optimized="some"),)


# --- registered ----------------------------------------------------------------------------------

EXPERIMENTS = (
    Experiment(
        name="alabi-local",
        title="Consensus in the local model: which algorithm, where",
        paper=f"{common.PAPER}, Table 3 (no experiments of its own)",
        config=LocalConfig("alabi-local"),
        build=build,
        annotate=lambda config, rows: crowds.by_world(worlds(config), rows),
        claims=(
            *common.each_cheaper(*_CHEAPER),
            common.falls("excess costs fall with ε", "epsilon", METHODS),
            common.falls(
                "excess costs fall with users", "num_users", METHODS, study=MALLOWS, num_items=10
            ),
        ),
        draw=functools.partial(
            alabi_pictures.by_crowd,
            looks=_LOOKS,
            label="reports",
            styles=("Duchi et al.", "PrivUnit", "sets of items"),
        ),
        replicates=30,
        data_optional=True,
        outline=("epsilon", "num_items"),
        differences=(
            "the paper has no experiments: worlds, grid and claims are ours",
            common.YARDSTICK,
            "noised weights are clipped into [0, 1] and solved by local search from their Borda ranking",
            f"Mallows crowds: θ = {LocalConfig('x').strength:g}/m; a pair is judged alike at every m",
        ),
    ),
)
