"""Where a consensus within twice the optimum matters: footrule, Borda and private weights (study ``hillebrand``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._types import Key
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.bounds import Bound, bound
from privrank_jax.experiments.alabi import common
from privrank_jax.experiments.alabi.common import BORDA, EXCESS, Answer, cheaper, replaced_user
from privrank_jax.experiments.alabi.crowds import World
from privrank_jax.experiments.claims import NO_CELLS, Verdict, below, claim, selected
from privrank_jax.experiments.hillebrand import fixed_crowds as crowds
from privrank_jax.experiments.pictures import MIDDLE
from privrank_jax.experiments.study import P, number, study, whole, word
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics
from privrank_jax.simulate.table_files import Row

PAPER = (
    "Hillebrand, Manurangsi, Suppakitpaisarn and Vajanopath, Private rank aggregation (AAAI 2026)"
)
ALL, WEIGHTS, FOOTRULE = "noise-all", "weights", "footrule"
PLAIN_BORDA, PLAIN_FOOTRULE = f"{BORDA}, no privacy", f"{FOOTRULE}, no privacy"
PURE = (BORDA, ALL, WEIGHTS, FOOTRULE)
GAUSSIAN = BORDA_GAUSS, ALL_GAUSS, WEIGHTS_GAUSS, FOOTRULE_GAUSS = (
    f"{BORDA} (ε, δ)",
    f"{ALL} (ε, δ)",
    f"{WEIGHTS} (ε, δ)",
    f"{FOOTRULE} (ε, δ)",
)
PAIRS = (
    *((BORDA, FOOTRULE), (FOOTRULE, BORDA), (FOOTRULE, WEIGHTS), (FOOTRULE, ALL)),
    *((BORDA_GAUSS, FOOTRULE_GAUSS), (FOOTRULE_GAUSS, BORDA_GAUSS)),
    *((FOOTRULE_GAUSS, WEIGHTS_GAUSS), (FOOTRULE_GAUSS, ALL_GAUSS)),
    (PLAIN_BORDA, PLAIN_FOOTRULE),
)
FAR = 0.04  # of its cost, which Borda's order is above the optimum in crowds where it is wrong
DELTA = 1e-6


def places(p: P) -> list[tuple[str, int]]:
    """Name and number of items of each crowd, which is taken at every number of items that it has."""
    return [(name, m) for m in p.items for name in p.crowds if crowds.exists(name, m)]


def wrong(p: P) -> str:
    """What is wrong with the numbers of items."""
    missing = {*p.items} - {m for _, m in places(p)}
    return f"none of the crowds {list(p.crowds)} has {min(missing)} items" if missing else ""


def proven(num_items: int, num_users: int, epsilon: float, delta: float = 0.0) -> Bound:
    """Bound on the mean cost of footrule, with K-norm noise, or Gaussian noise where there is a δ."""
    noise = "gaussian" if delta else "k-norm"
    return bound("footrule", num_items, num_users, replaced_user(epsilon, delta), noise=noise)


def allowed(row: Row, delta: float) -> float:
    """The most that the mean cost of footrule may be above the optimum of a row's crowd, as a share of pairs."""
    found = proven(int(row["num_items"]), int(row["num_users"]), row["epsilon"], delta)
    pairs = math.comb(int(row["num_items"]), 2)
    return (found.ratio - 1) * row["optimum"] + float(found.additive) / pairs


def by_crowd(p: P, rows: list[Row]) -> list[Row]:
    """The rows with the name of their crowd, by its number, as study, and its least cost as a share of pairs."""
    found, at = [], places(p)
    for row in rows:
        name, items = at[row["crowd"]]
        rest = {column: value for column, value in row.items() if column != "crowd"}
        optimum = crowds.crowd(name, items).costs[0] / math.comb(items, 2)
        found.append(rest | {"study": name, "optimum": optimum})
    return found


def far_from_optimum(table: StudyResult) -> Verdict:
    """Is Borda's order without noise 4 % of cost above the optimum in some crowds, and in no others?"""
    rows = selected(table.rows, {"estimator": PLAIN_BORDA})
    above = {(row["study"], row["num_items"]): row["mean"] / row["optimum"] for row in rows}
    if not above:
        return NO_CELLS
    holds = all((share >= FAR) == (name in crowds.WRONG) for (name, _), share in above.items())
    spelled = (f"{name}, m = {m}: {100 * share:.1f} %" for (name, m), share in above.items())
    return Verdict(holds, "; ".join(spelled))


_MINORITIES, _CAMPS, _RIGHT = (
    {"study": one} for one in (crowds.MINORITIES, crowds.CAMPS, crowds.RIGHT)
)
_SURE = {**_MINORITIES, "num_users": 100 * crowds.VOTERS, "epsilon": (1.0, 3.0)}
_NOISES = ((FOOTRULE, BORDA, ""), (FOOTRULE_GAUSS, BORDA_GAUSS, ", (ε, δ)"))


@study(
    "hillebrand",
    "A consensus within twice the optimum: where it matters",
    f"{PAPER} (no experiments of its own)",
    items=whole((10, 30), "m", least=crowds.LEAST_ITEMS),
    copies=whole((1, 10, 100), "of the 300 voters of a crowd"),
    epsilons=number((0.1, 0.3, 1.0, 3.0), "ε"),
    delta=number(DELTA, "δ of the Gaussian variants", most=1),
    crowds=word(crowds.NAMES, "names of crowds", among=crowds.NAMES),
    check=wrong,
    prepare=lambda p: {"held": crowds.stack(places(p))},
    cells=lambda p: [
        {
            "num_items": items,
            "max_items": max(p.items),
            "crowd": place,
            "num_users": copies * crowds.VOTERS,
        }
        for place, (_, items) in enumerate(places(p))
        for copies in p.copies
    ],
    static=("max_items",),
    axes=common.AXES,
    rows=by_crowd,
    claims=[
        claim(
            "Borda's order costs 4 % above the optimum in crowds with a minority or camps, and in no others",
            far_from_optimum,
        ),
        *(
            below(
                f"{method}: mean cost within 2 - 1/(2m-1) times the optimum, plus the proven error of noise",
                lambda row, delta=delta: allowed(row, delta),
                estimator=method,
                metric=EXCESS,
            )
            for method, delta in ((FOOTRULE, 0.0), (FOOTRULE_GAUSS, DELTA))
        ),
        *(
            cheaper(
                f"{text}: without noise, the least footrule never costs more than Borda's order",
                PLAIN_FOOTRULE,
                PLAIN_BORDA,
                **where,
            )
            for text, where in (("minorities", _MINORITIES), (crowds.CAMPS, _CAMPS))
        ),
        *(
            cheaper(
                f"{text}: private footrule never costs more than private Borda{note}",
                footrule,
                borda,
                **where,
            )
            for footrule, borda, note in _NOISES
            for text, where in (
                ("minorities", _MINORITIES),
                ("minorities, 30,000 users, ε = 1 and 3", _SURE),
                (crowds.CAMPS, _CAMPS),
            )
        ),
        *(
            cheaper(
                f"{', '.join(crowds.RIGHT)}: private Borda never costs more than footrule{note}",
                borda,
                footrule,
                **_RIGHT,
            )
            for footrule, borda, note in _NOISES
        ),
        *(
            cheaper(f"{best} never cost more than {other}", best, other)
            for best, other in ((WEIGHTS, FOOTRULE), (WEIGHTS_GAUSS, FOOTRULE_GAUSS))
        ),
        common.costs_fall(
            "excess costs of footrule fall with ε", "epsilon", (FOOTRULE, FOOTRULE_GAUSS)
        ),
    ],
    picture={
        **common.PICTURE,
        "lines": (
            {"x": "epsilon", "where": {"num_users": MIDDLE}},
            {"x": "num_users", "where": {"epsilon": MIDDLE}},
        ),
        "panel": ("num_items", "study"),
        "looks": {
            **{name: (color, 0) for color, name in enumerate(PURE)},
            **{name: (color, 1) for color, name in enumerate(GAUSSIAN)},
            **{PLAIN_BORDA: (0, 2), PLAIN_FOOTRULE: (3, 2)},
        },
        "small": 1e-4,
        "wide": 7,
    },
    outline=("epsilon", "num_items"),
    differences=(
        "the paper has no experiments: crowds, grid and claims are ours",
        "excess cost: (K(σ, w) - OPT) over the number of pairs; OPT is proved for every crowd",
        "crowds are fixed, and larger ones are copies of 300 voters: replicates differ in noise alone",
        "noised weights are solved by local search from their Borda ranking",
        "pure ε: K-norm noise; (ε, δ): Gaussian noise",
    ),
)
def trial(key: Key, p: P) -> Metrics:
    """All methods and all ε on one crowd, ``p.crowd`` of :func:`places`."""
    mask = jnp.arange(p.max_items) < p.num_items
    matrix = jnp.asarray(p.held.weights, jnp.result_type(float))[p.crowd]
    counts = jnp.asarray(p.held.histograms)[p.crowd] * (p.num_users // crowds.VOTERS)
    least, *plain = jnp.asarray(p.held.costs, matrix.dtype)[p.crowd]
    world = World(PairWeights(matrix, p.num_users, mask), None, positions=counts)
    found = jax.vmap(lambda level: answers(key, world, level, p.delta))(
        jnp.asarray(p.epsilons, matrix.dtype)
    )
    ranks, _ = common.solved(found, mask)
    score = jax.vmap(jax.vmap(lambda ranks: aggregation.kemeny_score(ranks, matrix)))
    costs = score(jnp.stack([*ranks.values()]))
    without = jnp.broadcast_to(jnp.stack(plain)[:, None], (len(plain), costs.shape[1]))
    excess = (jnp.concatenate([costs, without]) - least) / (p.num_items * (p.num_items - 1) / 2)
    names = (*ranks, PLAIN_BORDA, PLAIN_FOOTRULE)
    labels, table = common.with_differences(names, excess, PAIRS)
    return labeled(table[:, None], labels, (EXCESS,), p.epsilons)


def answers(key: Key, world: World, epsilon: Array, delta: float) -> Mapping[str, Answer]:
    """The answer of each private method."""
    found: dict[str, Any] = {}
    releases = (common.borda, common.noise_all, common.private_weights, common.footrule)
    for fold, names, noise in ((0, PURE, "k-norm"), (2, GAUSSIAN, "gaussian")):
        keys = jax.random.split(jax.random.fold_in(key, fold), len(names))
        for name, release, own in zip(names, releases, keys, strict=True):
            found[name] = common.private(release, noise, delta)(own, world, epsilon)
    return found
