"""The central model: all private consensus methods compared over users, items and ε (study ``alabi-central``)."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._types import Key
from privrank_jax.aggregation.dp_kwiksort import kwiksort_plan
from privrank_jax.aggregation.hay_kwiksort import hay_plan
from privrank_jax.aggregation.noisy_sort import NoisySort, SortPlan, noisy_sort
from privrank_jax.experiments.alabi import common, crowds
from privrank_jax.experiments.alabi import pictures as alabi_pictures
from privrank_jax.experiments.alabi.common import BORDA, Answer, Method, Methods, Search
from privrank_jax.experiments.alabi.crowds import Draw, Draws, World
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.simulate.study import Metrics, Parameters, Study
from privrank_jax.simulate.table_files import Row

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
AXES = (*common.AXES, "epsilon")
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
        FOOTRULE: common.footrule("tree"),
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
        even, may_exceed = kwiksort_plan(weights, privacy)
        approximate = common.replaced_user(epsilon, delta)
        made = {
            KWIK: lambda: even,
            KWIK_UNEVEN: lambda: kwiksort_plan(weights, privacy, split=0.9)[0],
            KWIK_GAUSS: lambda: kwiksort_plan(weights, approximate, noise="gaussian")[0],
            HAY: lambda: hay_plan(weights, privacy),
        }
        plans = [made[name]() for name in names]
        plan = jax.tree.map(lambda *x: jnp.stack([jnp.asarray(one) for one in x]), *plans)

        def sort(key: Key, plan: SortPlan) -> NoisySort:
            return noisy_sort(key, jnp.asarray(weights.matrix), plan, world.mask, shuffled=True)

        found = jax.vmap(sort)(keys, plan)
        if not may_exceed:
            return [*found.ranks]

        def fallback(key: Key, share: Array) -> Search:
            noisy = aggregation.noise_all(key, weights, common.replaced_user(share)).value
            return common.searched(noisy, world)

        count = len(names) - (HAY in names)  # the others come first
        instead = jax.vmap(fallback)(found.left_key[:count], plan.of_fallback[:count])
        kept = ~found.exceeded[:count]
        ready = -found.ranks[:count].astype(instead.start.dtype)
        start = jnp.where(kept[:, None], ready, instead.start)
        searches = Search(jnp.where(kept[:, None, None], 0, instead.weights), start)
        each = [jax.tree.map(operator.itemgetter(number), searches) for number in range(count)]
        return [*each, *found.ranks[count:]]

    return method


def trial(
    key: Key, cell: Parameters, *, draws: Mapping[int, Draws], config: CentralConfig
) -> Metrics:
    """One crowd of the cell's world, all methods, all ε; worlds of as many items share a program.

    Args:
        key: PRNG key.
        cell: parameters; ``world`` is a place in :func:`worlds`.
        draws: the worlds of each ``max_items``, see :func:`crowds.world_of`.
        config: the grid.
    """
    world_key, noise_key = jax.random.split(key)
    world = crowds.world_of(world_key, cell, draws[cell["max_items"]])
    return _judged(noise_key, world, config)


def mallows_draw(key: Key, cell: Parameters, *, config: CentralConfig, padded: int) -> World:
    """A Mallows crowd."""
    sizes = {**cell, "max_items": padded}
    return crowds.mallows_world(key, sizes, config.strength, positions=True)


def worst_draw(key: Key, cell: Parameters, *, config: CentralConfig, padded: int) -> World:
    """The hard instance of the lower bounds: d pairs, each far apart, on whose order users disagree."""
    users, most = cell["num_users"], cell["max_users"]
    shape = config.flips, config.buffer, config.lean
    found = crowds.worst_world(key, users, most, *shape, positions=True)
    return crowds.padded_world(found, padded)


def data_draw(key: Key, cell: Parameters, *, ranks: np.ndarray, padded: int) -> World:
    """A subset of the users of a data set, drawn anew in every replicate."""
    found = crowds.data_world(key, jnp.asarray(ranks), cell["num_users"], positions=True)
    return crowds.padded_world(found, padded)


def _judged(key: Key, world: World, config: CentralConfig) -> Metrics:
    usable = methods(config, world.weights.num_items)
    return common.errors(key, world, usable, config.epsilons, PAIRS)


def worlds(config: CentralConfig) -> tuple[str, ...]:
    """Names of the worlds: values of the column ``study``."""
    return (common.MALLOWS, common.WORST, *config.data)


def build(config: CentralConfig) -> tuple[Study, ...]:
    """Build one study of all worlds, with a program for each of the sizes that :func:`crowds.padded_items` pads to."""
    most = max(config.users)
    ranks = {name: crowds.data_ranks(name) for name in config.data}
    given = {name: found for name, found in ranks.items() if found is not None}
    hard = 2 * config.flips + config.buffer if config.flips else 0
    every = {*config.items, hard, *(found.shape[1] for found in given.values())}
    cells: list[Parameters] = []
    draws: dict[int, dict[tuple[int, ...], Draw]] = {}

    def add(world: str, draw: Callable[..., World], items: int, numbers: Sequence[int]) -> None:
        number, padded = worlds(config).index(world), crowds.padded_items(items, every)
        drawn = functools.partial(draw, padded=padded)
        draws.setdefault(padded, {})[number,] = drawn
        sizes = {"num_items": items, "max_items": padded, "max_users": most, "world": number}
        cells.extend({**sizes, "num_users": users} for users in numbers)

    for items in config.items:
        add(common.MALLOWS, functools.partial(mallows_draw, config=config), items, config.users)
    if config.flips:
        add(common.WORST, functools.partial(worst_draw, config=config), hard, config.users)
    for name, found in given.items():
        users = [number for number in config.users if number < len(found)] + [len(found)]
        add(name, functools.partial(data_draw, ranks=found), found.shape[1], users)
    run = functools.partial(trial, draws=draws, config=config)
    static, optimized = ("max_items", "max_users"), common.optimized(crowds.EXPONENTIAL_ITEMS)
    return (Study(config.name, run, tuple(cells), static, AXES, optimized),)


def by_world(config: CentralConfig, rows: list[Row]) -> list[Row]:
    """The rows with the name of their world as study."""
    return common.by_world(worlds(config), rows)


# --- registered ----------------------------------------------------------------------------------

_ON_MALLOWS = {"study": common.MALLOWS}
_PLACED_CLAIMS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("Mallows", BORDA_SHAPED, FOOTRULE, _ON_MALLOWS),
    ("Mallows", BORDA_GAUSS, FOOTRULE_GAUSS, _ON_MALLOWS),
    ("Mallows", FOOTRULE, KWIK, _ON_MALLOWS),
    ("Mallows", FOOTRULE_GAUSS, KWIK_GAUSS, _ON_MALLOWS),
    ("Mallows, 50 and 100 items", FOOTRULE, ALL_SHAPED, {**_ON_MALLOWS, "num_items": (50, 100)}),
    ("data", ALL_SHAPED, FOOTRULE, {"study": common.DATA}),
    ("data", BORDA_SHAPED, FOOTRULE, {"study": common.DATA}),
    ("worst case", FOOTRULE, BORDA_SHAPED, {"study": common.WORST}),
    ("worst case", FOOTRULE_GAUSS, BORDA_GAUSS, {"study": common.WORST}),
)

EXPERIMENTS = (
    Experiment(
        name="alabi-central",
        title="Private consensus in the central model: which algorithm, where",
        paper=f"{common.PAPER}, Table 2 (no experiments of its own)",
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
            *(
                common.cheaper(f"{name}: {best} never costs more than {other}", best, other, **at)
                for name, best, other, at in _PLACED_CLAIMS
            ),
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
            "Borda and noise-all have Laplace noise, as in the paper, unless another is named; footrule has noise in a "
            "tree, or Gaussian noise",
            f"Mallows crowds: θ = {CentralConfig('x').strength:g}/m; a pair is judged alike at every m",
        ),
    ),
)
