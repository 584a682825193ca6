"""Lower bounds compared with the algorithms' errors; Observations 15 and 16 in numbers (``alabi-lower-bounds``)."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._types import Key
from privrank_jax.aggregation import PairWeights, bounds, lower_bounds
from privrank_jax.experiments.alabi import central, common, crowds
from privrank_jax.experiments.alabi.central import methods
from privrank_jax.experiments.claims import Verdict, above, below, claim, selected
from privrank_jax.experiments.study import P, number, study, whole
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, Parameters
from privrank_jax.simulate.table_files import Row
from privrank_jax.simulate.worlds.hard_rankings import (
    hard_ranking,
    hidden_cost_bounds,
    hidden_signs,
)

COST = "cost_over_m2"
TARGET = 0.01  # the additive error of Theorem 13, as a share of m²
QUICK_ITEMS = 40  # most items of programs that are compiled with less optimization
UNANIMOUS, SIGNS = "unanimous", "hidden signs"
BELOW_15, ABOVE_16, ABOVE_PRINTED = "below_15", "above_16", "above_16_printed"

_BOUNDS: Mapping[str, Callable[..., bounds.Bound]] = {
    central.BORDA: functools.partial(bounds.bound, "borda", noise="laplace"),
    central.ALL: functools.partial(bounds.bound, "noise-all", noise="laplace", xi=1.0),
    central.BORDA_SHAPED: functools.partial(bounds.bound, "borda"),
    central.ALL_SHAPED: functools.partial(bounds.bound, "noise-all", xi=1.0),
    central.KWIK: functools.partial(bounds.bound, "kwiksort", split=0.5),
    central.EXPONENTIAL: functools.partial(bounds.bound, "exponential"),
}


def cells(p: P) -> dict[str, list[Parameters]]:
    """Of the lower bound and of the observations: one program per (d, t), and for some numbers of items.

    Numbers of items share a program that pads to the largest: those up to 10, and otherwise two of them.
    """
    few = [items for items in sorted(p.items) if items <= crowds.EXPONENTIAL_ITEMS]
    many = [items for items in sorted(p.items) if items > crowds.EXPONENTIAL_ITEMS]
    # From the largest on, by twos.
    shared = [few] * bool(few) + [many[max(end - 2, 0) : end] for end in range(len(many), 0, -2)]
    race = [{"num_items": m, "max_items": max(group)} for group in shared for m in group]
    shapes = [{"num_signs": d, "num_middle": t} for d, t in p.shapes]
    return {UNANIMOUS: sorted(race, key=operator.itemgetter("num_items")), SIGNS: shapes}


def beside_bounds(p: P, rows: list[Row]) -> list[Row]:
    """Add ε, Theorem 13's number of users and the cost that each algorithm's own theorem allows to the rows."""
    result = []
    privacy = common.replaced_user(p.epsilon)
    for row in rows:
        least = allowed = math.nan
        if row["study"] == UNANIMOUS:
            least = users_needed_by_any(row["num_items"], p.epsilon)
            if bound := _BOUNDS.get(row["estimator"]):
                found = bound(row["num_items"], row["num_users"], privacy)
                allowed = found.additive / row["num_items"] ** 2
        result.append({**row, "epsilon": p.epsilon, "least_users": least, "allowed": allowed})
    return result


def users_needed_by_any(items: int, epsilon: float) -> float:
    """The larger of the two bounds of Theorem 13: by codes, and directly in Kendall's metric."""
    return max(
        lower_bounds.pure_lower_bound(items, epsilon, additive=TARGET, packing=packing)
        for packing in ("codes", "rankings")
    )


def users_reached(table: StudyResult, estimator: str) -> dict[int, float]:
    """The n at which the mean cost falls to the target, by m, by log-linear interpolation; NaN if it does not."""
    found: dict[int, float] = {}
    rows = selected(table.rows, {"metric": COST, "estimator": estimator})
    rows.sort(key=operator.itemgetter("num_items", "num_users"))
    for items, held in itertools.groupby(rows, key=operator.itemgetter("num_items")):
        for before, after in itertools.pairwise(held):
            if before["mean"] > TARGET >= after["mean"]:
                low, high = (math.log(max(r["mean"], 1e-9)) for r in (before, after))
                part = (low - math.log(TARGET)) / (low - high)
                ends = math.log(before["num_users"]), math.log(after["num_users"])
                found[int(items)] = math.exp(ends[0] + part * (ends[1] - ends[0]))
    return found


def grows(table: StudyResult, estimator: str, power: float, slack: float = 0.3) -> Verdict:
    """Does n at the target grow as m^power between the two largest m? (Rounding to whole pairs distorts small m.)"""
    points = users_reached(table, estimator)
    if len(points) < 2:
        return Verdict(None, "fewer than two m reach the target within the grid")
    (small, few), (large, many) = [*points.items()][-2:]
    slope = math.log(many / few) / math.log(large / small)
    spelled = ", ".join(
        f"m = {items}: n = {users:.0f} ({users / users_needed_by_any(items, 1.0):.0f} times the bound)"
        for items, users in points.items()
    )
    evidence = (
        f"n at cost {TARGET:g} m² grows as m^{slope:.2f} from m = {small} to {large} (within {slack:g} of {power:g} "
        f"counts); {spelled}"
    )
    return Verdict(abs(slope - power) <= slack, evidence)


@study(
    "alabi-lower-bounds",
    "What no private algorithm can do, and what ours reach",
    f"{common.PAPER}, section 5: Theorem 13, Observations 15 and 16",
    epsilon=number(1.0, "ε; only nε matters to the noise"),
    items=whole((10, 20, 40, 80, 160), "m", least=2),
    users=whole((3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000), "n"),
    shapes=whole(
        ((1, 2), (1, 8), (3, 5), (5, 10), (10, 40)),
        "(d, t) of the hard instances on which the observations are tested",
    ),
    crowd=whole(7, "number of users of these instances"),
    cells=cells,
    static=("max_items", "num_signs", "num_middle"),
    axes=("metric", "estimator", "num_users"),
    optimized=lambda at: "num_signs" not in at and common.optimized(QUICK_ITEMS)(at),
    rows=beside_bounds,
    claims=[
        above(
            f"Theorem 13: with fewer users no ε-DP algorithm comes within {TARGET:g} m²",
            lambda row: TARGET if row["num_users"] < row["least_users"] else math.nan,
            metric=COST,
        ),
        below("every algorithm stays within its own upper bound", "allowed", metric=COST),
        *(
            claim(
                f"{name} meets the lower bound up to a constant: users needed grow as m",
                grows,
                estimator=name,
                power=1.0,
            )
            for name in (central.BORDA, central.BORDA_SHAPED)
        ),
        *(
            claim(f"{name} needs users that grow as m²", grows, estimator=name, power=2.0)
            for name in (central.ALL, central.ALL_SHAPED)
        ),
        below("Observation 15 holds (with t + 1)", 0.0, 0.0, metric=BELOW_15),
        below("Observation 16 holds as amended", 0.0, 0.0, metric=ABOVE_16),
        below("Observation 16 holds as printed", 0.0, 0.0, metric=ABOVE_PRINTED),
    ],
    picture={
        **common.PICTURE,
        "x": "num_users",
        "y": {COST: f"K/m² (dashed: {TARGET:g})"},
        "panel": ("num_items",),
        "level": TARGET,
        "shade": "least_users",
        "looks": {
            **{
                name: (color, 0)
                for color, name in enumerate(n for n in central.PURE if n != central.KWIK_UNEVEN)
            },
            **{central.BORDA_SHAPED: (0, 1), central.ALL_SHAPED: (1, 1)},
        },
        "note": "gray: too few users for any algorithm",
    },
    replicates=200,
    outline=("num_users", "num_items"),
    differences=(
        "the paper has no experiments: grid and claims are ours",
        "the bound: log(T - 1)/ε users, T rankings packed in Kendall's metric; the paper's packing by codes gives "
        "fewer",
        "Observation 16 as printed counts one crossing of the middle where two items cross it; amended, t for t/2",
    ),
)
def trial(key: Key, p: P) -> Metrics:
    """Costs where all agree, or by how much each observation is violated."""
    return unanimous(key, p) if p.study == UNANIMOUS else violated(key, p)


def unanimous(key: Key, p: P) -> Metrics:
    """All users hold one random ranking, the data of the proof of Theorem 13: OPT = 0, K over m² at every n."""
    order_key, noise_key = jax.random.split(key)
    mask = jnp.arange(p.max_items) < p.num_items
    truth = ranks_from_scores(jax.random.permutation(order_key, p.max_items), mask)
    w = PairWeights.from_ranks(truth[None]).matrix * (mask[:, None] & mask)
    names = (*central.PURE, *central.SHAPED)
    keys: dict[str, Key] = dict(zip(names, jax.random.split(noise_key, len(names)), strict=True))
    usable = methods(0.0, p.max_items, names)

    def at(users: Array) -> dict[str, common.Answer]:
        world = crowds.World(PairWeights(w, users, mask), truth)
        return common.outcomes(keys, world, usable, jnp.asarray(p.epsilon))

    ranks, _ = common.solved(jax.vmap(at)(jnp.asarray(p.users, w.dtype)), mask)
    judge = jax.vmap(jax.vmap(lambda one: aggregation.kemeny_score(one, w) / p.num_items**2))
    return {COST: labeled(judge(jnp.stack([*ranks.values()])), tuple(ranks), p.users)}


def violated(key: Key, p: P) -> Metrics:
    """Random signs and a random ranking: whether each observation fails."""
    half, middle = p.num_signs, p.num_middle
    sign_key, own_key, rank_key = jax.random.split(key, 3)
    signs = jax.random.rademacher(sign_key, (p.crowd, half), jnp.int32)
    mean = jnp.mean(signs.astype(float), axis=0)
    w = PairWeights.from_ranks(hard_ranking(signs, middle))
    own = jax.random.rademacher(own_key, (half,), jnp.int32)
    any_ranks = jax.random.permutation(rank_key, 2 * half + middle)
    least, _ = hidden_cost_bounds(hidden_signs(any_ranks, half), mean, middle)
    cost = aggregation.kemeny_score(hard_ranking(own, middle), w)
    _, most = hidden_cost_bounds(own, mean, middle)
    _, printed = hidden_cost_bounds(own, mean, middle, published=True)
    slack = 1e-4  # of float32 sums
    failed = {
        BELOW_15: least - aggregation.kemeny_score(any_ranks, w) > slack,
        ABOVE_16: cost - most > slack,
        ABOVE_PRINTED: cost - printed > slack,
    }
    return {metric: {"observation": wrong.astype(float)} for metric, wrong in failed.items()}
