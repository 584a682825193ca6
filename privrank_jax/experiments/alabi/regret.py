"""One release for every crowd: private weights against the better of Borda and noise-all (study ``alabi-regret``)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._types import Key
from privrank_jax.aggregation.split_weights import shrunk_weights
from privrank_jax.experiments import claims
from privrank_jax.experiments.alabi import common, crowds
from privrank_jax.experiments.alabi import pictures as alabi_pictures
from privrank_jax.experiments.alabi.common import BORDA, EXCESS, NEGLIGIBLE, Answer, Methods
from privrank_jax.experiments.alabi.crowds import World
from privrank_jax.experiments.claims import Verdict
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Parameters, Study

ALL, WEIGHTS, EXPONENTIAL = "noise-all", "weights", "exponential"
BORDA_GAUSS, ALL_GAUSS, WEIGHTS_GAUSS = (f"{name} (ε, δ)" for name in (BORDA, ALL, WEIGHTS))
UNSHRUNK, UNSHRUNK_GAUSS = "weights, not shrunk", "weights, not shrunk (ε, δ)"
PURE = (BORDA, ALL, UNSHRUNK, WEIGHTS)
GAUSSIAN = (BORDA_GAUSS, ALL_GAUSS, UNSHRUNK_GAUSS, WEIGHTS_GAUSS)
PAIRS = (
    *((other, WEIGHTS) for other in (BORDA, ALL, UNSHRUNK, EXPONENTIAL)),
    *((other, WEIGHTS_GAUSS) for other in (BORDA_GAUSS, ALL_GAUSS, UNSHRUNK_GAUSS)),
)
CAMPS, STRONG = "camps", "strong Mallows"
_LOOKS = {
    **{name: (color, 0) for color, name in enumerate((*PURE, EXPONENTIAL))},
    **{name: (color, 1) for color, name in enumerate(GAUSSIAN)},
}


@dataclass(frozen=True)
class RegretConfig:
    """Grid of ``alabi-regret``.

    Attributes:
        name: name of the study.
        items: m of the Mallows crowds and of the camps.
        users: n.
        epsilons: ε.
        delta: δ of the Gaussian variants.
        strength: θm of the Mallows crowds.
        strong: θm of the strong Mallows crowds.
        camps: θm within each of three camps, whose centers are rotations of one order by a third of the items.
        lean: of the worst case, with m/4 pairs of items that change places.
        data: named data sets.
    """

    name: str
    items: tuple[int, ...] = (5, 10, 20, 30, 50)
    users: int = 1000
    epsilons: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
    delta: float = 1e-6
    strength: float = 5.0
    strong: float = 20.0
    camps: float = 1000.0
    lean: float = 0.4
    data: tuple[str, ...] = common.DATA


def weights(noise: str, delta: float = 0.0) -> Callable[[Key, World, Array], list[Answer]]:
    """Private weights, unshrunk and shrunk, of one release that draws with the last of the keys."""
    promise = common.promise_of(noise, delta)

    def method(keys: Key, world: World, epsilon: Array) -> list[Answer]:
        found = aggregation.private_weights(
            keys[-1], world.weights, promise(epsilon), noise=noise, shrink="none"
        )
        shrunk, _ = shrunk_weights(found.value, found.diagnostics.cycle_scale, world.mask)
        return [common.searched(value, world) for value in (found.value, shrunk)]

    return method


def methods(config: RegretConfig, num_items: int) -> Methods:
    """Borda, noise-all and private weights with K-norm and with Gaussian noise; see :func:`common.errors`."""
    found: dict[str | tuple[str, ...], Callable[..., Any]] = {}
    for names, noise in ((PURE, "k-norm"), (GAUSSIAN, "gaussian")):
        borda, noise_all, *both = names
        found[borda] = common.borda(noise, config.delta)
        found[noise_all] = common.noise_all(noise, config.delta)
        found[tuple(both)] = weights(noise, config.delta)
    if num_items <= crowds.EXPONENTIAL_ITEMS:
        found[EXPONENTIAL] = common.exponential()
    return found


def mallows_draw(key: Key, cell: Parameters, *, config: RegretConfig) -> World:
    """A Mallows crowd, or a strong one."""
    names = worlds(config)
    strong = cell["world"] % len(names) == names.index(STRONG)
    return crowds.mallows_world(key, cell, jnp.where(strong, config.strong, config.strength))


def camps_draw(key: Key, cell: Parameters, *, items: int, config: RegretConfig) -> World:
    """Three camps whose orders are rotations of each other: majorities have cycles."""
    found = crowds.camps_world(key, config.users, items, config.camps)
    return crowds.padded_world(found, cell["max_items"])


def worlds(config: RegretConfig) -> tuple[str, ...]:
    """Names of the worlds: values of the column ``study``."""
    return (common.MALLOWS, STRONG, common.WORST, CAMPS, *config.data)


def build(config: RegretConfig) -> tuple[Study, ...]:
    """Build one study of all worlds, with a program for up to 10 items and one for more."""
    given = crowds.given_ranks(config.data)
    every = {*config.items, *(ranks.shape[1] for ranks in given.values())}
    found, users = crowds.Worlds(worlds(config), every, config.users), (config.users,)
    mallows = functools.partial(mallows_draw, config=config)  # one for crowds of all sizes
    for name, items in itertools.product((common.MALLOWS, STRONG), config.items):
        found.add(name, mallows, items, users)
    for items in config.items:
        found.add(CAMPS, functools.partial(camps_draw, items=items, config=config), items, users)
        if items >= 9:
            flips = items // 4
            shape = {"flips": flips, "buffer": items - 2 * flips, "lean": config.lean}
            found.add(common.WORST, functools.partial(crowds.worst_draw, **shape), items, users)
    for name, ranks in given.items():
        draw = functools.partial(crowds.data_draw, ranks=ranks)
        found.add(name, draw, ranks.shape[1], (min(config.users, len(ranks)),))
    names = len(found.names)
    found.cells.sort(key=lambda cell: (cell["world"] % names, cell["num_items"]))
    return (common.study(config, found, functools.partial(methods, config), PAIRS),)


# --- claims --------------------------------------------------------------------------------------


def regret_at_most(
    table: StudyResult, *, method: str, others: tuple[str, ...], most: float
) -> Verdict:
    """Is the method's mean excess cost nowhere more than ``most`` times that of the best of the others?

    Costs below ``NEGLIGIBLE`` of all pairs count as this much. A cell counts against the claim if it exceeds the limit
    by more than ``SLACK`` standard errors of the method's mean.
    """
    cells = claims.groups(
        [row for row in table.rows if row["metric"] == EXCESS],
        *("study", "num_items", "num_users", "epsilon"),
    )
    ratios, wrong = [], []
    for place, rows in cells.items():
        at = {row["estimator"]: row for row in rows}
        if method not in at or not set(others) & set(at):
            continue
        best = max(min(at[name]["mean"] for name in others if name in at), NEGLIGIBLE)
        mean, error = at[method]["mean"], at[method]["standard_error"]
        ratios.append((max(mean, NEGLIGIBLE) / best, error / best, place))
        wrong += [place] if mean - claims.SLACK * error > most * best else []
    if not ratios:
        return Verdict(None, "no such cells")
    ratios.sort(reverse=True)
    spelled = "; ".join(
        f"{ratio:.2f} ± {error:.2f} at {study}, m = {items:g}, ε = {epsilon:g}"
        for ratio, error, (study, items, _, epsilon) in ratios[:3]
    )
    middle = ratios[len(ratios) // 2][0]
    return Verdict(not wrong, f"{len(ratios)} cells, median {middle:.2f}; the largest: {spelled}")


_REGRETS = (
    *(
        (
            f"{method} cost at most {most:g} times the better of Borda and noise-all",
            method,
            names[:2],
            most,
        )
        for method, names, most in ((WEIGHTS, PURE, 5.0), (WEIGHTS_GAUSS, GAUSSIAN, 3.5))
    ),
    *(
        (f"{method}: cost at most {most:g} times the better of the two", method, names[:2], most)
        for names, most in ((PURE, 5.0), (GAUSSIAN, 3.5))
        for method in names[:3]
    ),
    (
        "weights cost at most twice what the exponential mechanism does",
        WEIGHTS,
        (EXPONENTIAL,),
        2.0,
    ),
)

EXPERIMENTS = (
    Experiment(
        name="alabi-regret",
        title="One private release for every crowd: weights in two parts, with cycles shrunk",
        paper=f"{common.PAPER} (no experiments of its own)",
        config=RegretConfig("alabi-regret"),
        build=build,
        annotate=lambda config, rows: crowds.by_world(worlds(config), rows),
        claims=(
            *(
                claims.claim(text, regret_at_most, method=method, others=others, most=most)
                for text, method, others, most in _REGRETS
            ),
            *(
                common.cheaper(
                    f"{common.MALLOWS}: {method} never cost more than unshrunk ones",
                    method,
                    unshrunk,
                    study=common.MALLOWS,
                )
                for method, unshrunk in ((WEIGHTS, UNSHRUNK), (WEIGHTS_GAUSS, UNSHRUNK_GAUSS))
            ),
            common.falls("excess costs fall with ε", "epsilon", PURE[:2] + GAUSSIAN),
        ),
        draw=functools.partial(
            alabi_pictures.by_crowd, looks=_LOOKS, label="noise", styles=("K-norm", "Gaussian")
        ),
        replicates=60,
        data_optional=True,
        outline=("epsilon", "num_items"),
        differences=(
            "the paper has no experiments: worlds, grid and claims are ours",
            common.YARDSTICK,
            "noised weights are solved by local search from their Borda ranking",
            f"regret: costs below {NEGLIGIBLE:g} of all pairs count as this much",
        ),
    ),
)
