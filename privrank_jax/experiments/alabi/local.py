"""The local model: consensus from locally randomized reports, over users, items and ε (study ``alabi-local``)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
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
from privrank_jax.experiments.alabi.common import BORDA, MALLOWS, WORST, Methods
from privrank_jax.experiments.alabi.crowds import Draw, World
from privrank_jax.experiments.study import P, number, study, whole
from privrank_jax.simulate.study import Metrics

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
_CHEAPER = (
    *((f"Borda never costs more than {other}", BORDA, other) for other in (ALL, RESPONSE, KWIK)),
    ("Borda: PrivUnit never costs more than Duchi's mechanism", BORDA_UNIT, BORDA),
    ("Borda: subset selection never costs more than Duchi's mechanism", BORDA_SETS, BORDA),
    ("noise-all: PrivUnit never costs more than Duchi's mechanism", ALL_UNIT, ALL),
    ("noise-all never costs more than KwikSort", ALL, KWIK),
    ("noise-all never costs more than a response on every pair", ALL, RESPONSE),
)


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


def mallows_draw(key: Key, p: P) -> World:
    """A Mallows crowd."""
    return _world(p, *crowds.crowd(key, p.max_users, p.num_items, p.strength))


def worst_draw(key: Key, p: P) -> World:
    """The hard instance of the lower bounds."""
    return _world(p, crowds.worst_ranks(key, p.max_users, p.flips, p.buffer, p.lean), None)


def data_draw(key: Key, p: P, *, ranks: np.ndarray) -> World:
    """All users of a data set."""
    more = p.max_users - len(ranks)
    return _world(p, fixed(np.pad(ranks, ((0, more), (0, 0)))), None)


def _world(p: P, ranks: Array, truth: Array | None) -> World:
    """A world of the first users of these rankings, whose weights are yet to be counted."""
    items, dtype = p.num_items, jnp.result_type(float)
    users = jnp.asarray(p.num_users, jnp.int32)
    weights = aggregation.PairWeights(
        jnp.zeros((items, items), dtype), users, jnp.ones(items, bool)
    )
    return World(weights, truth, ranks=ranks.astype(jnp.int32))


def worlds(p: P) -> Mapping[str, Any]:
    """The cells of all worlds, and how each is drawn, by its number of items, for each of which there is a program."""
    draws: dict[int, dict[Draw, tuple[int]]] = {}
    sized: list[tuple[int, int, int]] = []

    def add(world: str, draw: Draw, items: int, users: int) -> None:
        place = crowds.names(p).index(world)
        draws.setdefault(items, {})[draw] = (place,)
        sized.append((items, users, place))

    for items, users in p.sizes:
        add(MALLOWS, mallows_draw, items, users)
    if p.flips:
        add(WORST, worst_draw, 2 * p.flips + p.buffer, p.worst_users)
    for name, ranks in crowds.given_ranks(p.data).items():
        users, items = ranks.shape
        add(name, functools.partial(data_draw, ranks=ranks), items, users)
    cells = []
    for items, users, place in sized:
        most = max(other for same, other, _ in sized if same == items)
        sizes = {"num_items": items, "num_users": users, "max_users": most, "world": place}
        cells += [{**sizes, "epsilon": epsilon} for epsilon in p.epsilons]
    return {"draws": draws, "world_cells": cells}


@study(
    "alabi-local",
    "Consensus in the local model: which algorithm, where",
    f"{common.PAPER}, Table 3 (no experiments of its own)",
    sizes=whole(
        (
            *((5, 3000), (20, 3000), (50, 1000), (100, 1000)),
            *((10, 300), (10, 3000), (10, 30_000)),
        ),
        "(m, n) of the Mallows crowds",
    ),
    epsilons=number((0.5, 1.0, 2.0, 4.0), "ε"),
    **common.WORLDS,
    worst_users=whole(3000, "n in the worst case"),
    data=common.NAMED,
    data_optional=True,
    prepare=worlds,
    cells=lambda p: p.world_cells,
    static=("num_items", "max_users"),
    axes=common.AXES[:2],
    optimized="some",
    rows=crowds.by_world,
    claims=[
        *(common.cheaper(text, best, other) for text, best, other in _CHEAPER),
        common.costs_fall("excess costs fall with ε", "epsilon", METHODS),
        common.costs_fall(
            "excess costs fall with users", "num_users", METHODS, study=MALLOWS, num_items=10
        ),
    ],
    picture={
        **common.PICTURE,
        "x": "epsilon",
        "panel": ("study", "num_items", "num_users"),
        "looks": {
            **{BORDA: (0, 0), ALL: (1, 0), KWIK: (2, 0), RESPONSE: (3, 0)},
            **{BORDA_UNIT: (0, 1), ALL_UNIT: (1, 1), BORDA_SETS: (0, 2)},
        },
        "wide": 4,
    },
    replicates=30,
    outline=("epsilon", "num_items"),
    differences=(
        common.OURS,
        common.YARDSTICK,
        "noised weights are clipped into [0, 1] and solved by local search from their Borda ranking",
        common.CROWDS,
    ),
)
def trial(key: Key, p: P) -> Metrics:
    """One crowd of the cell's world at one ε; worlds of as many items share a program, whatever their users."""
    world_key, noise_key = jax.random.split(key)
    drawn = crowds.world_of(world_key, p, p.draws[p.num_items])
    usable = methods(p.num_items)
    return common.errors(noise_key, reports.weighed(drawn), usable, p.epsilon, PAIRS)
