"""The central model: all private consensus methods compared over users, items and ε (study ``alabi-central``)."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._types import Key
from privrank_jax.aggregation.dp_sorting import (
    SortPlan,
    facts_of,
    hay_plan,
    kwiksort_plan,
    noisy_sort,
)
from privrank_jax.aggregation.sorting import Sorted
from privrank_jax.experiments.alabi import common, crowds
from privrank_jax.experiments.alabi.common import (
    BORDA,
    DATA,
    MALLOWS,
    WORST,
    Answer,
    Methods,
    Search,
    private,
)
from privrank_jax.experiments.alabi.crowds import World
from privrank_jax.experiments.pictures import LAST, MIDDLE
from privrank_jax.experiments.study import P, number, study, whole
from privrank_jax.simulate.study import Metrics, Parameters

BORDA_GAUSS = "Borda (ε, δ)"
ALL, ALL_GAUSS = "noise-all", "noise-all (ε, δ)"
BORDA_SHAPED, ALL_SHAPED = "Borda, K-norm", "noise-all, K-norm"
FOOTRULE, FOOTRULE_GAUSS = "footrule", "footrule (ε, δ)"
KWIK, KWIK_UNEVEN, KWIK_GAUSS = "KwikSort", "KwikSort 0.9/0.1", "KwikSort (ε, δ)"
HAY, EXPONENTIAL = "Hay et al.", "exponential"
PURE = (BORDA, ALL, KWIK, KWIK_UNEVEN, HAY, EXPONENTIAL)
GAUSSIAN = (BORDA_GAUSS, ALL_GAUSS, KWIK_GAUSS)
SHAPED = (BORDA_SHAPED, ALL_SHAPED)
PLACED = (FOOTRULE, FOOTRULE_GAUSS)
PURE_SHAPED = (*SHAPED, *(name for name in PURE if name not in (BORDA, ALL)), FOOTRULE)
"""Pure ε, with the default noise of each method."""
SORTS = (KWIK, KWIK_UNEVEN, KWIK_GAUSS, HAY)
PAIRS = (
    *((other, BORDA) for other in PURE if other != BORDA),
    *((other, BORDA_GAUSS) for other in GAUSSIAN if other != BORDA_GAUSS),
    *((KWIK, ALL), (ALL, KWIK), (BORDA, ALL)),
    *((BORDA, BORDA_SHAPED), (ALL, ALL_SHAPED), (BORDA_SHAPED, ALL_SHAPED)),
    *((other, BORDA_SHAPED) for other in PURE_SHAPED if other != BORDA_SHAPED),
    *((ALL_SHAPED, FOOTRULE), (FOOTRULE, ALL_SHAPED), (KWIK, FOOTRULE)),
    *((FOOTRULE_GAUSS, BORDA_GAUSS), (FOOTRULE_GAUSS, ALL_GAUSS), (ALL_GAUSS, FOOTRULE_GAUSS)),
    *((BORDA_SHAPED, FOOTRULE), (BORDA_GAUSS, FOOTRULE_GAUSS), (KWIK_GAUSS, FOOTRULE_GAUSS)),
)


# --- methods and worlds --------------------------------------------------------------------------


def methods(delta: float, padded: int) -> Methods:
    """Private consensus methods that are feasible for so many items, padding included; see :func:`common.errors`.

    Keys are split in this order: a new one comes last, so that the others draw what they drew.
    """
    found: dict[Any, Callable[..., Any]] = {
        BORDA: private(common.borda, "laplace"),
        BORDA_GAUSS: private(common.borda, "gaussian", delta),
        ALL: private(common.noise_all, "laplace"),
        ALL_GAUSS: private(common.noise_all, "gaussian", delta),
        SORTS: functools.partial(sorts, delta=delta),
        EXPONENTIAL: private(common.exponential),
        BORDA_SHAPED: private(common.borda, "k-norm"),
        ALL_SHAPED: private(common.noise_all, "k-norm"),
        FOOTRULE: private(common.footrule, "k-norm"),
        FOOTRULE_GAUSS: private(common.footrule, "gaussian", delta),
    }
    if padded > crowds.EXPONENTIAL_ITEMS:
        del found[EXPONENTIAL]
    return found


def sorts(keys: Key, world: World, epsilon: Array, delta: float) -> list[Answer]:
    """All :data:`SORTS` as one: what ``dp_kwiksort`` and ``hay_kwiksort`` find with these keys.

    Where a KwikSort exceeds its budget, its fallback joins the searches of all methods.
    """
    weights, privacy = world.weights, common.replaced_user(epsilon)
    _, facts = facts_of(weights, "the study")
    even, may_exceed = kwiksort_plan(privacy, facts)
    approximate = common.replaced_user(epsilon, delta)
    plans = (
        even,
        kwiksort_plan(privacy, facts, split=0.9)[0],
        kwiksort_plan(approximate, facts, noise="gaussian")[0],
        hay_plan(privacy, facts),
    )
    plan = jax.tree.map(lambda *x: jnp.stack([jnp.asarray(one) for one in x]), *plans)

    def sort(key: Key, plan: SortPlan) -> Sorted:
        return noisy_sort(key, jnp.asarray(weights.matrix), plan, world.mask, shuffled=True)

    found = jax.vmap(sort)(keys, plan)
    if not may_exceed:
        return [*found.ranks]

    def fallback(key: Key, share: Array) -> Search:
        noisy = aggregation.noise_all(key, weights, common.replaced_user(share)).value
        return common.searched(noisy, world)

    instead = jax.vmap(fallback)(found.left_key[:-1], plan.of_fallback[:-1])  # Hay et al. has none
    kept = ~found.stopped[:-1]
    ready = -found.ranks[:-1].astype(instead.start.dtype)
    start = jnp.where(kept[:, None], ready, instead.start)
    searches = Search(jnp.where(kept[:, None, None], 0, instead.weights), start)
    each = [jax.tree.map(operator.itemgetter(n), searches) for n in range(len(start))]
    return [*each, found.ranks[-1]]


def worlds(p: P) -> Mapping[str, Any]:
    """The cells of all worlds, and how each is drawn, by the ``max_items`` of its program.

    There is a program for as few items as the exponential mechanism takes, and one for more. A world's items are padded
    to the most of all that share its program; its number is that of its name, plus as many times the number of names as
    it has items.
    """
    given = crowds.given_ranks(p.data)
    hard = 2 * p.flips + p.buffer if p.flips else 0
    every = {*p.items, hard, *(found.shape[1] for found in given.values())}
    names, most = crowds.names(p), max(p.users)
    draws: dict[int, dict[crowds.Draw, list[int]]] = {}
    cells: list[Parameters] = []

    def add(name: str, draw: crowds.Draw, items: int, users: Iterable[int]) -> None:
        few = items <= crowds.EXPONENTIAL_ITEMS
        padded = max(other for other in every if (other <= crowds.EXPONENTIAL_ITEMS) == few)
        place = names.index(name) + len(names) * items
        draws.setdefault(padded, {}).setdefault(draw, []).append(place)
        sizes = {"num_items": items, "max_items": padded, "max_users": most}
        cells.extend({**sizes, "num_users": some, "world": place} for some in users)

    mallows = functools.partial(crowds.mallows_world, strength=p.strength)
    for items in p.items:
        add(MALLOWS, mallows, items, p.users)
    if p.flips:
        shape = {"flips": p.flips, "buffer": p.buffer, "lean": p.lean}
        add(WORST, functools.partial(crowds.worst_world, **shape), hard, p.users)
    for name, ranks in given.items():
        users = [some for some in p.users if some < len(ranks)] + [len(ranks)]
        add(name, functools.partial(crowds.data_world, ranks=ranks), ranks.shape[1], users)
    return {"draws": draws, "world_cells": cells}


# --- the study -----------------------------------------------------------------------------------

_WHERE: dict[str, dict[str, Any]] = {
    **{name: {"study": name} for name in (MALLOWS, WORST, *DATA)},
    "data": {"study": DATA},
    "worst case, 10,000 users": {"study": WORST, "num_users": 10_000},
    "Mallows, 50 and 100 items": {"study": MALLOWS, "num_items": (50, 100)},
    "10 items": {"num_items": 10},
    "100 items": {"num_items": 100},
    "everywhere": {},
}
_CHEAPER = (
    *((MALLOWS, BORDA, other) for other in PURE[1:]),
    *((MALLOWS, BORDA_GAUSS, other) for other in GAUSSIAN[1:]),
    *((name, BORDA, ALL) for name in DATA),
    *((WORST, ALL, BORDA), ("worst case, 10,000 users", ALL, BORDA)),
    *(("everywhere", BORDA_SHAPED, BORDA), ("everywhere", ALL_SHAPED, ALL)),
    *(("10 items", ALL, KWIK), ("100 items", KWIK, ALL)),
    *((MALLOWS, BORDA_SHAPED, FOOTRULE), (MALLOWS, BORDA_GAUSS, FOOTRULE_GAUSS)),
    *((MALLOWS, FOOTRULE, KWIK), (MALLOWS, FOOTRULE_GAUSS, KWIK_GAUSS)),
    ("Mallows, 50 and 100 items", FOOTRULE, ALL_SHAPED),
    *(("data", ALL_SHAPED, FOOTRULE), ("data", BORDA_SHAPED, FOOTRULE)),
    *((WORST, FOOTRULE, BORDA_SHAPED), (WORST, FOOTRULE_GAUSS, BORDA_GAUSS)),
)


@study(
    "alabi-central",
    "Private consensus in the central model: which algorithm, where",
    f"{common.PAPER}, Table 2 (no experiments of its own)",
    items=whole((5, 10, 20, 50, 100), "m of the Mallows crowds", least=2),
    users=whole((100, 1000, 10000), "n; for data sets, the values that they have enough users for"),
    epsilons=number((0.1, 0.3, 1.0, 3.0, 10.0), "ε"),
    delta=number(1e-6, "δ of the Gaussian variants", most=1),
    **common.WORLDS,
    data=common.NAMED,
    data_optional=True,
    prepare=worlds,
    cells=lambda p: p.world_cells,
    static=("max_items", "max_users"),
    axes=common.AXES,
    optimized=common.optimized(crowds.EXPONENTIAL_ITEMS),
    rows=crowds.named,
    claims=[
        *(
            common.cheaper(f"{at}: {best} never costs more than {other}", best, other, **_WHERE[at])
            for at, best, other in _CHEAPER
        ),
        common.costs_fall("excess costs fall with ε", "epsilon", PURE + GAUSSIAN + SHAPED),
        common.costs_fall(
            "Mallows: excess costs of footrule fall with ε", "epsilon", PLACED, study=MALLOWS
        ),
        common.costs_fall(
            "excess costs fall with users",
            "num_users",
            PURE + GAUSSIAN + SHAPED + PLACED,
            study=MALLOWS,
        ),
    ],
    picture={
        **common.PICTURE,
        "lines": (
            {
                "x": "epsilon",
                "panel": ("num_items",),
                "where": {"study": MALLOWS, "num_users": MIDDLE},
            },
            {
                "x": "num_users",
                "panel": ("num_items",),
                "where": {"study": MALLOWS, "epsilon": MIDDLE},
            },
            {
                "x": "epsilon",
                "panel": ("study",),
                "where": {"study": lambda name: name != MALLOWS, "num_users": LAST},
            },
        ),
        "looks": {
            **{name: (color, 0) for color, name in enumerate(PURE)},
            **{BORDA_GAUSS: (0, 1), ALL_GAUSS: (1, 1), KWIK_GAUSS: (2, 1)},
            **{BORDA_SHAPED: (0, 2), ALL_SHAPED: (1, 2)},
            **{FOOTRULE: (6, 2), FOOTRULE_GAUSS: (6, 1)},
        },
    },
    replicates=50,
    outline=("epsilon", "num_items"),
    differences=(
        common.OURS,
        common.YARDSTICK,
        "noised weights are solved by local search from their Borda ranking",
        "Borda and noise-all have Laplace noise, as in the paper, unless another is named; footrule has K-norm or "
        "Gaussian noise",
        common.CROWDS,
    ),
)
def trial(key: Key, p: P) -> Metrics:
    """One crowd of the cell's world, all methods, all ε; worlds of similar sizes share a program."""
    world_key, noise_key = jax.random.split(key)
    world = crowds.world_of(world_key, p, p.draws[p.max_items])
    return common.errors(noise_key, world, methods(p.delta, p.max_items), p.epsilons, PAIRS)
