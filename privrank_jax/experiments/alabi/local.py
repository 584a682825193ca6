"""The local model: consensus from locally randomized reports, over users, items and ε (study ``alabi-local``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.aggregation.subset_designs import MAX_ITEMS
from privrank_jax.estimate import Estimate
from privrank_jax.experiments.alabi import common, crowds
from privrank_jax.experiments.alabi.common import BORDA, MALLOWS, WORST, Answer, Method, Methods
from privrank_jax.experiments.alabi.crowds import World
from privrank_jax.experiments.study import P, number, study, whole
from privrank_jax.simulate.study import Metrics, Parameters

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
    """Local consensus methods for so many items, on the rankings of a world; see :func:`common.errors`."""
    found = {
        BORDA: _by(aggregation.ldp_borda),
        BORDA_UNIT: _by(aggregation.vector_reports.ldp_borda_privunit),
        ALL: _by(aggregation.local_weights),
        ALL_UNIT: _by(aggregation.vector_reports.local_weights_privunit),
        RESPONSE: _by(aggregation.vector_reports.local_weights_rr),
        KWIK: _by(aggregation.ldp_kwiksort),
    }
    if num_items <= MAX_ITEMS:
        found[BORDA_SETS] = _by(aggregation.ldp_borda_subsets)
    return found


def _by(release: Callable[..., Estimate]) -> Method:
    """Scores or ranks of a release, or the search in its weights."""

    def method(key: Key, world: World, epsilon: Array) -> Answer:
        found = release(key, world.ranks, common.replaced_user(epsilon)).value
        return found if found.ndim == 1 else common.searched(jnp.clip(found, 0, 1), world)

    return method


def drawn(key: Key, p: P) -> World:
    """The cell's world: a Mallows crowd, the hard instance of the lower bounds, or all users of a data set."""
    truth = None
    if p.world == MALLOWS:
        ranks, truth = crowds.crowd(key, p.num_users, p.num_items, p.strength)
    elif p.world == WORST:
        ranks = crowds.worst_ranks(key, p.num_users, p.flips, p.buffer, p.lean)
    else:
        ranks = fixed(p.given[p.world])
    weights = aggregation.PairWeights.from_ranks(ranks)
    return World(dataclasses.replace(weights, mask=jnp.ones(p.num_items, bool)), truth, ranks=ranks)


def cells(p: P) -> list[Parameters]:
    """A cell for each world and ε; there is a program for each world."""
    worlds = [(MALLOWS, items, users) for items, users in p.sizes]
    if p.flips:
        worlds.append((WORST, 2 * p.flips + p.buffer, p.worst_users))
    worlds += [(name, ranks.shape[1], len(ranks)) for name, ranks in p.given.items()]
    return [
        {"num_items": items, "num_users": users, "world": world, "epsilon": epsilon}
        for world, items, users in worlds
        for epsilon in p.epsilons
    ]


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
    prepare=lambda p: {"given": crowds.given_ranks(p.data)},
    cells=cells,
    static=("num_items", "num_users", "world"),
    axes=common.AXES[:2],
    optimized="some",
    rows=crowds.named,
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
    """One crowd of the cell's world at one ε."""
    world_key, noise_key = jax.random.split(key)
    world = drawn(world_key, p)
    return common.errors(noise_key, world, methods(p.num_items), p.epsilon, PAIRS)
