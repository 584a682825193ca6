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
from privrank_jax.experiments import claims
from privrank_jax.experiments.cai import pictures
from privrank_jax.experiments.cai.common import PAPER
from privrank_jax.experiments.claims import Verdict
from privrank_jax.experiments.experiment import Experiment
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

ESTIMATOR, COVERAGE, WIDTH = "perturbed MLE", "coverage", "width"
RANDOM, NEARBY = "random opponents", "opponents near in strength"
_NEAR_SPREAD = 0.5  # of the strengths of opponents, where they are near
_LEAST = 0.93  # coverage of 95 % intervals


@dataclass(frozen=True)
class IntervalsConfig:
    """Crowds of several sizes, each with random opponents and with such that are near in strength.

    Attributes:
        epsilon: ε.
        sizes: m, users and L.
        exposure: the power a of the exposure 1/rank^a.
    """

    epsilon: float
    sizes: tuple[tuple[int, int, int], ...] = (
        *((10, 2_000, 10), (30, 20_000, 10)),
        *((100, 20_000, 10), (100, 50_000, 20)),
    )
    exposure: float = 1.0


def trial(key: Key, cell: Parameters) -> Metrics:
    """Shares of true scores in their 95 % intervals, and median widths, of the perturbed MLE on one crowd."""
    data_key, first, second = jax.random.split(key, 3)
    total = cell["num_users"] * cell["per_user"]
    theta, wins = worlds.exposed_comparisons(
        data_key, cell["num_items"], total, cell["exposure"], cell["near"], _NEAR_SPREAD
    )

    def part(share: float) -> Privacy:
        epsilon = share * cell["epsilon"]
        return Privacy(epsilon, unit="user", adjacency="replace", contributions=cell["per_user"])

    fit = pairwise.perturbed_mle(first, wins, part(1 - DESIGN_SHARE))
    design = noisy_design(second, wins, part(DESIGN_SHARE)).value
    facts = fit.diagnostics
    errors = errors_under_private_design(
        fit.value, design, noise=facts.noise_scale, gamma=facts.gamma
    )
    found = confidence_intervals(errors)
    inside = jnp.mean((found.low <= theta) & (theta <= found.high))
    return {
        COVERAGE: {ESTIMATOR: inside},
        WIDTH: {ESTIMATOR: jnp.median(found.high - found.low)},
    }


def build(config: IntervalsConfig) -> tuple[Study, ...]:
    """Build one study per kind of opponents."""
    static, axes = ("num_items", "near"), ("metric", "estimator")
    return tuple(
        Study(study, trial, tuple(_cells(config, near)), static, axes)
        for study, near in ((RANDOM, False), (NEARBY, True))
    )


def _cells(config: IntervalsConfig, near: bool) -> Iterator[Parameters]:
    for items, users, per_user in config.sizes:
        sizes = {"num_items": items, "num_users": users, "per_user": per_user}
        yield {**sizes, "epsilon": config.epsilon, "exposure": config.exposure, "near": near}


def covered(table: StudyResult) -> Verdict:
    """Does every mean share of true scores in their intervals reach ``_LEAST``?"""
    means = sorted(row["mean"] for row in claims.selected(table.rows, {"metric": COVERAGE}))
    if not means:
        return Verdict(None, "no such cells")
    return Verdict(means[0] >= _LEAST, f"{len(means)} means from {means[0]:.3f} to {means[-1]:.3f}")


EXPERIMENTS = (
    Experiment(
        name="cai-intervals",
        title="Coverage of 95 % intervals of the perturbed MLE where who compared what is private",
        paper=f"{PAPER} (no intervals there)",
        config=IntervalsConfig(epsilon=1.0),
        build=build,
        claims=(
            claims.claim(
                "95 % intervals hold at least 93 % of true scores, for both kinds of opponents at every size",
                covered,
            ),
        ),
        draw=pictures.coverage,
        outline=("num_items", "metric"),
        replicates=300,
    ),
)
