"""Intervals of the perturbed MLE in crowds that compare some items far more often than others (``cai-intervals``).

Arenas and shops show popular items most, and often against items near in strength. Who compared what is private: the
promise is unit user under replacement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from privrank_jax import pairwise
from privrank_jax._types import Key
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments import old_claims as claims
from privrank_jax.experiments.cai import pictures
from privrank_jax.experiments.cai.common import PAPER
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.experiments.old_claims import Verdict
from privrank_jax.pairwise.intervals import confidence_intervals
from privrank_jax.pairwise.private_design import (
    DESIGN_SHARE,
    errors_under_private_design,
    noisy_design,
)
from privrank_jax.privacy import Privacy
from privrank_jax.simulate import worlds
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, Parameters, Study

ESTIMATOR = "perturbed MLE"
COVERAGE, WIDTH, ERROR = "coverage", "half width", "mean squared error"
ADJACENT, PAIRS = "adjacent items told apart", "pairs told apart"
RANDOM, NEARBY = "random opponents", "opponents near in strength"
_NEAR_SPREAD = 0.5  # of the strengths of opponents, where they are near
_LEAST = 0.93  # coverage of 95 % intervals
_LONGEST = 3.0  # half width, in root mean squares of the scores' errors
_CONCENTRATED, _STILL = 2.0, 0.88  # exposure 1/rank², and coverage there


@dataclass(frozen=True)
class IntervalsConfig:
    """Crowds of several sizes, each with random opponents and with such that are near in strength.

    Every size is tried at the first exposure, ε and number of games, and with each of the others alone.

    Attributes:
        sizes: m, users and L.
        exposures: powers a of the exposure 1/rank^a.
        epsilons: ε.
        games: games of a comparison, whose outcome is their mean: two are a tie where both items win one.
    """

    sizes: tuple[tuple[int, int, int], ...] = ((30, 20_000, 10), (30, 3_000, 10), (100, 20_000, 10))
    exposures: tuple[float, ...] = (1.0, 0.0, 2.0)
    epsilons: tuple[float, ...] = (1.0, 0.3, 3.0)
    games: tuple[int, ...] = (1, 2)


def trial(key: Key, cell: Parameters) -> Metrics:
    """Of one crowd: share of true scores in their 95 % intervals, mean half width, errors, and what is told apart."""
    data_key, first, second = jax.random.split(key, 3)
    total = cell["games"] * cell["num_users"] * cell["per_user"]
    theta, wins = worlds.exposed_comparisons(
        data_key, cell["num_items"], total, cell["exposure"], cell["near"], _NEAR_SPREAD
    )
    wins = WinCounts(wins.matrix / cell["games"])

    def part(share: float) -> Privacy:
        epsilon = share * cell["epsilon"]
        return Privacy(epsilon, unit="user", adjacency="replace", contributions=cell["per_user"])

    fit = pairwise.perturbed_mle(first, wins, part(1 - DESIGN_SHARE))
    design = noisy_design(second, wins, part(DESIGN_SHARE), fit.value).value
    facts = fit.diagnostics
    errors, _ = errors_under_private_design(
        fit.value, design, noise=facts.noise_scale, gamma=facts.gamma
    )
    found = confidence_intervals(errors)
    best = jnp.argsort(-fit.value)
    pairs = 0.5 * theta.size * (theta.size - 1)
    measured = {
        COVERAGE: jnp.mean((found.low <= theta) & (theta <= found.high)),
        WIDTH: 0.5 * jnp.mean(found.high - found.low),
        ERROR: jnp.mean((fit.value - theta) ** 2),
        ADJACENT: jnp.mean(found.better[best[:-1], best[1:]]),
        PAIRS: jnp.sum(found.better) / pairs,
    }
    return {metric: {ESTIMATOR: value} for metric, value in measured.items()}


def build(config: IntervalsConfig) -> tuple[Study, ...]:
    """Build one study per kind of opponents."""
    static, axes = ("num_items", "near"), ("metric", "estimator")
    return tuple(
        Study(study, trial, tuple(_cells(config, near)), static, axes)
        for study, near in ((RANDOM, False), (NEARBY, True))
    )


def _cells(config: IntervalsConfig, near: bool) -> Iterator[Parameters]:
    varied = {"exposure": config.exposures, "epsilon": config.epsilons, "games": config.games}
    usual = {name: values[0] for name, values in varied.items()}
    others = [{name: value} for name, values in varied.items() for value in values[1:]]
    for items, users, per_user in config.sizes:
        for other in ({}, *others):
            sizes = {"num_items": items, "num_users": users, "per_user": per_user}
            yield {**sizes, **usual, **other, "near": near}


def covered(table: StudyResult) -> Verdict:
    """Does every mean share of true scores in their intervals reach ``_LEAST``, but where one item is in most pairs?"""
    rows = claims.selected(table.rows, {"metric": COVERAGE})
    means = sorted(row["mean"] for row in rows if row["exposure"] < _CONCENTRATED)
    hard = [row["mean"] for row in rows if row["exposure"] >= _CONCENTRATED]
    if not means:
        return Verdict(None, "no such cells")
    said = f"{len(means)} means from {means[0]:.3f} to {means[-1]:.3f}"
    if hard:
        said += f"; {min(hard):.3f} or more at exposure 1/rank^2"
    return Verdict(means[0] >= _LEAST and min(hard, default=1.0) >= _STILL, said)


def fits(table: StudyResult) -> Verdict:
    """Are half widths at most ``_LONGEST`` root mean square errors of the scores, at the usual ε and exposure?"""
    usual = {"epsilon": 1.0, "exposure": 1.0, "games": 1}
    widths, squares = (
        [row["mean"] for row in claims.selected(table.rows, {"metric": metric, **usual})]
        for metric in (WIDTH, ERROR)
    )
    if not widths:
        return Verdict(None, "no such cells")
    found = sorted(width / square**0.5 for width, square in zip(widths, squares, strict=True))
    return Verdict(found[-1] <= _LONGEST, f"from {found[0]:.2f} to {found[-1]:.2f}")


EXPERIMENTS = (
    Experiment(
        name="cai-intervals",
        title="Coverage of 95 % intervals of the perturbed MLE where who compared what is private",
        paper=f"{PAPER} (no intervals there)",
        config=IntervalsConfig(),
        build=build,
        claims=(
            claims.claim(
                "95 % intervals hold at least 93 % of true scores for both kinds of opponents, at every size and ε, "
                "with ties, and at least 88 % where exposure falls as 1/rank²",
                covered,
            ),
            claims.claim(
                "at ε = 1 and exposure 1/rank half widths are at most 3 times the root mean square error of the scores",
                fits,
            ),
        ),
        draw=pictures.coverage,
        outline=("num_items", "metric"),
        replicates=200,
    ),
)
