"""The central model: all private consensus methods compared over users, items and ε (study ``alabi-central``)."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from privrank_jax.experiments.alabi import pictures as alabi_pictures
from privrank_jax.experiments.alabi.common import BORDA, Answer, Method, Methods, Search
from privrank_jax.experiments.alabi.crowds import World
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.simulate.study import Metrics, Parameters, Study

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
# In the order in which keys are split among them; a new one comes last, so that the others draw what they drew.
METHODS = (BORDA, BORDA_GAUSS, ALL, ALL_GAUSS, *SORTS, EXPONENTIAL, *SHAPED, *PLACED)
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
_LOOKS = {
    **{name: (color, 0) for color, name in enumerate(PURE)},
    BORDA_GAUSS: (0, 1),
    ALL_GAUSS: (1, 1),
    KWIK_GAUSS: (2, 1),
    BORDA_SHAPED: (0, 2),
    ALL_SHAPED: (1, 2),
    FOOTRULE: (6, 2),
    FOOTRULE_GAUSS: (6, 1),
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


def methods(config: CentralConfig, padded: int, names: Collection[str] = METHODS) -> Methods:
    """Private consensus methods that are feasible for so many items; see :func:`common.errors`.

    Args:
        config: the grid.
        padded: items of a program, padding included.
        names: those that are wanted.
    """
    delta = config.delta
    sorted_by = tuple(name for name in SORTS if name in names)
    found: dict[str, Method] = {
        BORDA: common.borda("laplace"),
        BORDA_GAUSS: common.borda("gaussian", delta),
        ALL: common.noise_all("laplace"),
        ALL_GAUSS: common.noise_all("gaussian", delta),
        BORDA_SHAPED: common.borda("k-norm"),
        ALL_SHAPED: common.noise_all("k-norm"),
        FOOTRULE: common.footrule("k-norm"),
        FOOTRULE_GAUSS: common.footrule("gaussian", delta),
    }
    if padded <= crowds.EXPONENTIAL_ITEMS:
        found[EXPONENTIAL] = common.exponential()
    together: dict[str | tuple[str, ...], Callable[..., Any]] = {}
    for name in METHODS:  # keys are split in this order
        if name in sorted_by:
            together[sorted_by] = sorts(sorted_by, delta)
        elif name in names and name in found:
            together[name] = found[name]
    return together


def sorts(names: Sequence[str], delta: float) -> Callable[[Key, World, Array], list[Answer]]:
    """All these sorts as one: what ``dp_kwiksort`` and ``hay_kwiksort`` find with these keys.

    Where a KwikSort exceeds its budget, its fallback joins the searches of all methods.
    """

    def method(keys: Key, world: World, epsilon: Array) -> list[Answer]:
        weights, privacy = world.weights, common.replaced_user(epsilon)
        _, facts = facts_of(weights, "the study")
        even, may_exceed = kwiksort_plan(privacy, facts)
        approximate = common.replaced_user(epsilon, delta)
        made = {
            KWIK: lambda: even,
            KWIK_UNEVEN: lambda: kwiksort_plan(privacy, facts, split=0.9)[0],
            KWIK_GAUSS: lambda: kwiksort_plan(approximate, facts, noise="gaussian")[0],
            HAY: lambda: hay_plan(privacy, facts),
        }
        plans = [made[name]() for name in names]
        plan = jax.tree.map(lambda *x: jnp.stack([jnp.asarray(one) for one in x]), *plans)

        def sort(key: Key, plan: SortPlan) -> Sorted:
            return noisy_sort(key, jnp.asarray(weights.matrix), plan, world.mask, shuffled=True)

        found = jax.vmap(sort)(keys, plan)
        if not may_exceed:
            return [*found.ranks]

        def fallback(key: Key, share: Array) -> Search:
            noisy = aggregation.noise_all(key, weights, common.replaced_user(share)).value
            return common.searched(noisy, world)

        count = len(names) - (HAY in names)  # the others come first
        instead = jax.vmap(fallback)(found.left_key[:count], plan.of_fallback[:count])
        kept = ~found.stopped[:count]
        ready = -found.ranks[:count].astype(instead.start.dtype)
        start = jnp.where(kept[:, None], ready, instead.start)
        searches = Search(jnp.where(kept[:, None, None], 0, instead.weights), start)
        each = [jax.tree.map(operator.itemgetter(number), searches) for number in range(count)]
        return [*each, *found.ranks[count:]]

    return method


def trial(
    key: Key, cell: Parameters, *, draws: Mapping[int, crowds.Draws], config: CentralConfig
) -> Metrics:
    """One crowd of the cell's world, all methods, all ε; worlds of similar sizes share a program.

    Args:
        key: PRNG key.
        cell: parameters; ``world`` is a number of :func:`build`.
        draws: the worlds of each ``max_items``, see :func:`crowds.world_of`.
        config: the grid.
    """
    world_key, noise_key = jax.random.split(key)
    padded = cell["max_items"]
    world = crowds.world_of(world_key, cell, draws[padded])
    return common.errors(noise_key, world, methods(config, padded), config.epsilons, PAIRS)


def worlds(config: CentralConfig) -> tuple[str, ...]:
    """Names of the worlds: values of the column ``study``."""
    return (common.MALLOWS, common.WORST, *config.data)


def build(config: CentralConfig) -> tuple[Study, ...]:
    """Build one study of all worlds, with a program for as few items as the exponential mechanism takes, and for more.

    A world's items are padded to the most of all that share its program; its number is that of its name, plus as many
    times the number of names as it has items.
    """
    given = crowds.given_ranks(config.data)
    hard = 2 * config.flips + config.buffer if config.flips else 0
    every = {*config.items, hard, *(found.shape[1] for found in given.values())}
    names, most = worlds(config), max(config.users)
    draws: dict[int, dict[crowds.Draw, list[int]]] = {}
    cells: list[Parameters] = []

    def add(name: str, draw: crowds.Draw, items: int, users: Iterable[int]) -> None:
        few = items <= crowds.EXPONENTIAL_ITEMS
        padded = max(other for other in every if (other <= crowds.EXPONENTIAL_ITEMS) == few)
        number = names.index(name) + len(names) * items
        draws.setdefault(padded, {}).setdefault(draw, []).append(number)
        sizes = {"num_items": items, "max_items": padded, "max_users": most}
        cells.extend({**sizes, "num_users": some, "world": number} for some in users)

    mallows = functools.partial(crowds.mallows_world, strength=config.strength)
    for items in config.items:
        add(common.MALLOWS, mallows, items, config.users)
    if config.flips:
        shape = {"flips": config.flips, "buffer": config.buffer, "lean": config.lean}
        add(common.WORST, functools.partial(crowds.worst_draw, **shape), hard, config.users)
    for name, ranks in given.items():
        users = [number for number in config.users if number < len(ranks)] + [len(ranks)]
        add(name, functools.partial(crowds.data_draw, ranks=ranks), ranks.shape[1], users)
    run = functools.partial(trial, draws=draws, config=config)
    static, axes = ("max_items", "max_users"), (*common.AXES, "epsilon")
    optimized = common.optimized(crowds.EXPONENTIAL_ITEMS)
    return (Study(config.name, run, tuple(cells), static, axes, optimized),)


# --- registered ----------------------------------------------------------------------------------

_MALLOWS, _WORST, _DATA = ({"study": one} for one in (common.MALLOWS, common.WORST, common.DATA))
_NEVER = "never costs more than"
_CHEAPER: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    *(
        (f"Mallows: Borda {_NEVER} {other}", best, other, _MALLOWS)
        for best, others in ((BORDA, PURE), (BORDA_GAUSS, GAUSSIAN))
        for other in others
        if other != best
    ),
    *((f"{name}: Borda {_NEVER} noise-all", BORDA, ALL, {"study": name}) for name in common.DATA),
    (f"worst case: noise-all {_NEVER} Borda", ALL, BORDA, _WORST),
    (
        f"worst case, 10,000 users: noise-all {_NEVER} Borda",
        ALL,
        BORDA,
        {**_WORST, "num_users": 10_000},
    ),
    (f"K-norm noise: Borda {_NEVER} with Laplace noise", BORDA_SHAPED, BORDA, {}),
    (f"K-norm noise: {ALL} {_NEVER} with Laplace noise", ALL_SHAPED, ALL, {}),
    (f"10 items: noise-all {_NEVER} KwikSort", ALL, KWIK, {"num_items": 10}),
    (f"100 items: KwikSort at the even split {_NEVER} noise-all", KWIK, ALL, {"num_items": 100}),
    *(
        (f"{name}: {best} {_NEVER} {other}", best, other, at)
        for name, best, other, at in (
            ("Mallows", BORDA_SHAPED, FOOTRULE, _MALLOWS),
            ("Mallows", BORDA_GAUSS, FOOTRULE_GAUSS, _MALLOWS),
            ("Mallows", FOOTRULE, KWIK, _MALLOWS),
            ("Mallows", FOOTRULE_GAUSS, KWIK_GAUSS, _MALLOWS),
            (
                "Mallows, 50 and 100 items",
                FOOTRULE,
                ALL_SHAPED,
                {**_MALLOWS, "num_items": (50, 100)},
            ),
            ("data", ALL_SHAPED, FOOTRULE, _DATA),
            ("data", BORDA_SHAPED, FOOTRULE, _DATA),
            ("worst case", FOOTRULE, BORDA_SHAPED, _WORST),
            ("worst case", FOOTRULE_GAUSS, BORDA_GAUSS, _WORST),
        )
    ),
)

EXPERIMENTS = (
    Experiment(
        name="alabi-central",
        title="Private consensus in the central model: which algorithm, where",
        paper=f"{common.PAPER}, Table 2 (no experiments of its own)",
        config=CentralConfig("alabi-central"),
        build=build,
        annotate=lambda config, rows: crowds.by_world(worlds(config), rows),
        claims=(
            *common.each_cheaper(*_CHEAPER),
            common.falls("excess costs fall with ε", "epsilon", PURE + GAUSSIAN + SHAPED),
            common.falls(
                "Mallows: excess costs of footrule fall with ε",
                "epsilon",
                PLACED,
                study=common.MALLOWS,
            ),
            common.falls(
                "excess costs fall with users",
                "num_users",
                PURE + GAUSSIAN + SHAPED + PLACED,
                study=common.MALLOWS,
            ),
        ),
        draw=functools.partial(alabi_pictures.methods, looks=_LOOKS, mapped=PURE_SHAPED),
        replicates=50,
        data_optional=True,
        outline=("epsilon", "num_items"),
        differences=(
            "the paper has no experiments: worlds, grid and claims are ours",
            common.YARDSTICK,
            "noised weights are solved by local search from their Borda ranking",
            "Borda and noise-all have Laplace noise, as in the paper, unless another is named; footrule has K-norm or "
            "Gaussian noise",
            f"Mallows crowds: θ = {CentralConfig('x').strength:g}/m; a pair is judged alike at every m",
        ),
    ),
)
