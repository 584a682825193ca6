"""Intervals of the perturbed MLE in crowds that compare some items far more often than others (``cai-intervals``).

Arenas and shops show popular items most, and often against items near in strength. Who compared what is private: the
promise is unit user under replacement.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from privrank_jax import pairwise
from privrank_jax._types import Key
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments.cai.common import PAPER
from privrank_jax.experiments.claims import NO_CELLS, Verdict, claim, selected
from privrank_jax.experiments.study import P, number, study, whole
from privrank_jax.pairwise.intervals import confidence_intervals
from privrank_jax.pairwise.private_design import (
    DESIGN_SHARE,
    errors_under_private_design,
    noisy_design,
)
from privrank_jax.privacy import Privacy
from privrank_jax.simulate import worlds
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, Parameters

ESTIMATOR = "perturbed MLE"
COVERAGE, WIDTH, ERROR = "coverage", "half width", "mean squared error"
ADJACENT, PAIRS = "adjacent items told apart", "pairs told apart"
RANDOM, NEARBY = "random opponents", "opponents near in strength"
_NEAR_SPREAD = 0.5  # of the strengths of opponents, where they are near


def cells(p: P) -> dict[str, list[Parameters]]:
    """Every size at the first exposure, ε and number of games, and with each of the others alone."""
    varied = {"exposure": p.exposures, "epsilon": p.epsilons, "games": p.games}
    usual = {name: values[0] for name, values in varied.items()}
    others = [{}, *({name: v} for name, values in varied.items() for v in values[1:])]
    sizes = [
        dict(zip(("num_items", "num_users", "per_user"), size, strict=True)) for size in p.sizes
    ]
    return {
        name: [{**size, **usual, **other, "near": near} for size in sizes for other in others]
        for name, near in ((RANDOM, False), (NEARBY, True))
    }


def covered(table: StudyResult) -> Verdict:
    """Does every mean share reach 0.93, and 0.88 where one item is in most pairs?"""
    rows = selected(table.rows, {"metric": COVERAGE})
    means = sorted(row["mean"] for row in rows if row["exposure"] < 2)
    hard = [row["mean"] for row in rows if row["exposure"] >= 2]
    if not means:
        return NO_CELLS
    said = f"{len(means)} means from {means[0]:.3f} to {means[-1]:.3f}"
    said += f"; {min(hard):.3f} or more at exposure 1/rank^2" if hard else ""
    return Verdict(means[0] >= 0.93 and min(hard, default=1.0) >= 0.88, said)


def fits(table: StudyResult) -> Verdict:
    """Are half widths at most 3 root mean square errors of the scores, at the usual ε and exposure?"""
    usual = {"epsilon": 1.0, "exposure": 1.0, "games": 1}
    widths, squares = (
        [row["mean"] for row in selected(table.rows, {"metric": metric, **usual})]
        for metric in (WIDTH, ERROR)
    )
    if not widths:
        return NO_CELLS
    found = sorted(width / square**0.5 for width, square in zip(widths, squares, strict=True))
    return Verdict(found[-1] <= 3, f"from {found[0]:.2f} to {found[-1]:.2f}")


@study(
    "cai-intervals",
    "Coverage of 95 % intervals of the perturbed MLE where who compared what is private",
    f"{PAPER} (no intervals there)",
    sizes=whole(((30, 20_000, 10), (30, 3_000, 10), (100, 20_000, 10)), "m, users and L"),
    exposures=number((1.0, 0.0, 2.0), "powers a of the exposure 1/rank^a", least=0),
    epsilons=number((1.0, 0.3, 3.0), "ε"),
    games=whole(
        (1, 2),
        "games of a comparison, whose outcome is their mean: two are a tie where both items win one",
    ),
    cells=cells,
    static=("num_items", "near"),
    claims=[
        claim(
            "95 % intervals hold at least 93 % of true scores for both kinds of opponents, at every size and ε, with "
            "ties, and at least 88 % where exposure falls as 1/rank²",
            covered,
        ),
        claim(
            "at ε = 1 and exposure 1/rank half widths are at most 3 times the root mean square error of the scores",
            fits,
        ),
    ],
    picture={
        "lines": [
            {"x": "epsilon", "where": {"exposure": 1.0, "games": 1}, "log_x": True},
            {"x": "exposure", "where": {"epsilon": 1.0, "games": 1}},
        ],
        "y": {COVERAGE: "coverage of 95 % intervals", ADJACENT: ADJACENT},
        "panel": ("num_items", "num_users"),
        "color": "study",
    },
    outline=("num_items", "metric"),
    replicates=200,
)
def trial(key: Key, p: P) -> Metrics:
    """Of one crowd: share of true scores in their 95 % intervals, mean half width, errors, and what is told apart."""
    data_key, first, second = jax.random.split(key, 3)
    total = p.games * p.num_users * p.per_user
    theta, wins = worlds.exposed_comparisons(
        data_key, p.num_items, total, p.exposure, p.near, _NEAR_SPREAD
    )
    wins = WinCounts(wins.matrix / p.games)

    def part(share: float) -> Privacy:
        return Privacy(
            share * p.epsilon, unit="user", adjacency="replace", contributions=p.per_user
        )

    fit = pairwise.perturbed_mle(first, wins, part(1 - DESIGN_SHARE))
    design = noisy_design(second, wins, part(DESIGN_SHARE), fit.value).value
    facts = fit.diagnostics
    errors, _ = errors_under_private_design(
        fit.value, design, noise=facts.noise_scale, gamma=facts.gamma
    )
    found = confidence_intervals(errors)
    best = jnp.argsort(-fit.value)
    measured = {
        COVERAGE: jnp.mean((found.low <= theta) & (theta <= found.high)),
        WIDTH: 0.5 * jnp.mean(found.high - found.low),
        ERROR: jnp.mean((fit.value - theta) ** 2),
        ADJACENT: jnp.mean(found.better[best[:-1], best[1:]]),
        PAIRS: jnp.sum(found.better) / (0.5 * theta.size * (theta.size - 1)),
    }
    return {metric: {ESTIMATOR: value} for metric, value in measured.items()}
