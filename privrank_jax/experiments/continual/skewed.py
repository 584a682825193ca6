"""Leaderboards of crowds that compare some items far more often than others: win totals, scores, and one release."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax import pairwise
from privrank_jax._types import Key
from privrank_jax.experiments import claims
from privrank_jax.experiments.cai.exposure import NEAR_SPREAD, by_opponents
from privrank_jax.experiments.continual import pictures
from privrank_jax.experiments.continual.common import KENDALL, ONE, PLAIN
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.metrics import kendall_distance
from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.pairwise.perturbed_fit import least_risk_gamma
from privrank_jax.pairwise.score_stream import continual_sums, fit_score_sums, score_sums
from privrank_jax.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate import worlds
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.study import Metrics, Parameters, Study

TOTALS, SCORES, FLIP = "win totals", "scores", "scores, flips"
AXES = ("steps", "estimator", "metric")


@dataclass(frozen=True)
class SkewedConfig:
    """Grid of ``continual-exposure``.

    Attributes:
        crowds: m, users, L, and whether opponents are near in strength; exposure is ∝ 1/rank.
        epsilon: ε of all steps together.
        delta: δ of all steps together.
        steps: T.
    """

    crowds: tuple[tuple[int, int, int, bool], ...]
    epsilon: float
    delta: float = 1e-6
    steps: tuple[int, ...] = (1, 52, 365)


def trial(key: Key, cell: Parameters, *, config: SkewedConfig) -> Metrics:
    """Kendall's distance of the last of T leaderboards, by every way to publish them.

    All comparisons arrive in the last step: noise does not depend on the data, so the last leaderboard has the law that
    it has where comparisons arrive evenly.
    """
    items = cell["num_items"]
    data_key, one_key, noise_key = jax.random.split(key, 3)
    total = cell["num_users"] * cell["per_user"]
    theta, wins = worlds.exposed_comparisons(data_key, items, total, 1.0, cell["near"], NEAR_SPREAD)
    asked = Privacy(
        config.epsilon,
        unit="user",
        adjacency="replace",
        delta=config.delta,
        contributions=cell["per_user"],
    )
    flips = dataclasses.replace(asked, adjacency="flip")
    sums = score_sums(wins)

    def far(scores: Array) -> Array:
        return kendall_distance(
            ranks_from_scores(scores), ranks_from_scores(theta), normalized=True
        )

    once = [pairwise.mle(wins, gamma=1e-2), pairwise.perturbed_mle(one_key, wins, asked)]
    found = []
    for steps, own_key in zip(config.steps, jax.random.split(noise_key, len(config.steps))):
        keys = jax.random.split(own_key, 3)

        def last(values: Array, steps: int = steps) -> Array:
            return jnp.zeros((steps, values.size)).at[-1].set(values)

        totals = continual_totals(keys[0], last(wins.totals), asked).value[-1]
        streamed = continual_sums(keys[1], last(sums), asked, num_items=items)
        told = streamed.diagnostics
        pairs = 0.0 if told.pair_deviations is None else told.pair_deviations[-1]
        scores = fit_score_sums(streamed.value[-1], items, told.deviations[-1], pairs)
        public = continual_totals(keys[2], last(wins.totals), flips)
        spread = jnp.square(public.diagnostics.deviations[-1])
        ridge = least_risk_gamma(jnp.sum(wins.comparisons) / items, spread)
        fit = pairwise.fit(pairwise.Counts(wins.comparisons), public.value[-1], ridge)
        found.append([far(one) for one in (*(e.value for e in once), totals, scores, fit.value)])
    values = jnp.stack([jnp.stack(row) for row in found])[:, :, None]
    return labeled(values, config.steps, (PLAIN, ONE, TOTALS, SCORES, FLIP), (KENDALL,))


def build(config: SkewedConfig) -> tuple[Study, ...]:
    """Build one study per kind of opponents that a crowd has."""
    names = ("num_items", "num_users", "per_user", "near")
    return by_opponents(functools.partial(trial, config=config), config.crowds, names, AXES)


SIZES = ((30, 20_000, 10), (100, 20_000, 10))

EXPERIMENTS = (
    Experiment(
        name="continual-exposure",
        title="The last of many leaderboards, where items are shown unequally often",
        paper="Fichtenberger, Henzinger and Upadhyay, Constant matters (2023; no leaderboards there)",
        config=SkewedConfig(
            tuple((*size, near) for near in (False, True) for size in SIZES), epsilon=1.0
        ),
        build=build,
        claims=(
            claims.between(
                "win totals put 0.3 to 0.55 of all pairs in the wrong order, as a coin would",
                estimator=TOTALS,
                least=0.3,
                most=0.55,
            ),
            claims.between(
                "30 items: scores put at most 0.2 of all pairs in the wrong order, after up to 365 steps",
                estimator=SCORES,
                num_items=30,
                most=0.2,
            ),
            claims.between(
                "random opponents: scores have at most 0.25, with 100 items as well",
                estimator=SCORES,
                study="random opponents",
                most=0.25,
            ),
            claims.between(
                "who compared what public: scores have at most 0.2",
                estimator=FLIP,
                most=0.2,
            ),
        ),
        draw=pictures.last_of_many,
        replicates=30,
        outline=("num_items", "steps"),
        differences=(
            "worlds, grid and claims are ours",
            "L comparisons of each user, exposure 1/rank, as in the study cai-exposure",
            f"{ONE}: the perturbed MLE with Laplace noise, and no leaderboard before it",
            f"{FLIP}: who compared what, and when, is public",
        ),
    ),
)
