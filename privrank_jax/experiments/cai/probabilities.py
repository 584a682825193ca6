"""Are probabilities of an order, given a private release, calibrated?

Crowds are those of :mod:`~privrank_jax.experiments.cai.exposure`. Who compared what is public, so the errors of scores
are known as well as they can be.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from privrank_jax import pairwise
from privrank_jax._types import Key
from privrank_jax.experiments import claims
from privrank_jax.experiments.cai import pictures
from privrank_jax.experiments.cai.common import PAPER
from privrank_jax.experiments.cai.exposure import FLIP, ExposureConfig, build, crowd
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.pairwise.posterior import above_probabilities, rank_probabilities
from privrank_jax.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.study import Metrics, Parameters

BRIER, EXCESS, RANKS = "Brier score", "excess of confidence", "rank coverage"
LEVEL, DRAWS = 0.95, 1000


def trial(key: Key, cell: Parameters) -> Metrics:
    """Scores of the probabilities of all pairs and ranks on one crowd."""
    data_key, noise_key, draw_key = jax.random.split(key, 3)
    theta, wins = crowd(data_key, cell)
    asked = Privacy(cell["epsilon"], unit="user", adjacency="flip", contributions=cell["per_user"])
    fit = pairwise.perturbed_mle(noise_key, wins, asked)
    told = {"noise_scale": fit.diagnostics.noise_scale, "gamma": fit.diagnostics.gamma}
    errors = pairwise.standard_errors(fit.value, wins.comparisons, **told)
    rows, columns = jnp.triu_indices(theta.size, 1)
    above = above_probabilities(errors)[rows, columns]
    right = theta[rows] > theta[columns]
    of_truth = jnp.where(right, above, 1 - above)
    held = jnp.maximum(above, 1 - above)
    excess = held - jnp.where((above > 0.5) == right, 1.0, 0.0)
    chances = jnp.cumsum(rank_probabilities(draw_key, errors, DRAWS), -1)
    ranks = ranks_from_scores(theta)[:, None]
    up_to = jnp.take_along_axis(chances, ranks, 1)
    before = jnp.where(ranks > 0, jnp.take_along_axis(chances, ranks - 1, 1), 0.0)
    tail = (1 - LEVEL) / 2
    inside = (up_to >= tail) & (before <= 1 - tail)
    found = {
        BRIER: jnp.square(1 - of_truth),
        EXCESS: excess,
        RANKS: inside,
    }
    return {metric: {FLIP: jnp.mean(value)} for metric, value in found.items()}


CROWDS = tuple(
    (*size, epsilon, 1.0, near)
    for near in (False, True)
    for size in ((10, 300, 10), (30, 2_000, 10))
    for epsilon in (0.3, 1.0, 3.0)
)

EXPERIMENTS = (
    Experiment(
        name="cai-probabilities",
        title="Probabilities of an order, given the perturbed MLE where who compared what is public",
        paper=f"{PAPER} (no probabilities there)",
        config=ExposureConfig(CROWDS),
        build=functools.partial(build, run=trial),
        claims=(
            claims.between(
                "orders are right as often as stated, or more often, within 0.1",
                metric=EXCESS,
                most=0.1,
            ),
            claims.between(
                "the same within 0.05 from ε = 1 on",
                metric=EXCESS,
                epsilon=(1.0, 3.0),
                least=-0.05,
                most=0.05,
            ),
            claims.between(
                "central 95 % intervals of ranks hold at least 0.9 of true ranks",
                metric=RANKS,
                least=0.9,
            ),
            claims.trend("the Brier score falls with ε", "epsilon", -1, metric=BRIER),
        ),
        draw=pictures.coverage,
        outline=("num_items", "estimator"),
        replicates=200,
    ),
)
