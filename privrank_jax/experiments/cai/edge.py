"""Figures 1 to 3 of Cai, Chakraborty and Wang: edge differential privacy on simulated tournaments."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax
from jaxtyping import Array

from privrank_jax._types import Key
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments.cai import claims as cai_claims
from privrank_jax.experiments.cai import pictures as cai_pictures
from privrank_jax.experiments.cai.common import (
    AXES,
    EDGE_DIFFERENCES,
    PAPER,
    Unit,
    errors,
)
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.simulate import worlds
from privrank_jax.simulate.study import Metrics, Parameters, Study, grid

# Tournaments fitted at once on a CPU: two keep two cores busy, four hide most of the waiting, more exceed the cache.
BATCH = 4


@dataclass(frozen=True)
class EdgeConfig:
    """Grid of a study under edge DP: every pair of items is compared at most once.

    Attributes:
        name: name of the study.
        items: n.
        probabilities: p, the chance that a pair is compared.
        epsilons: ε; ∞ means no privacy.
        programs: number of sizes that the n are padded to, each compiled once: fewer compile faster and run slower.
        dtype: ``"float32"`` or, where x64 is enabled, ``"float64"``.
    """

    name: str
    items: tuple[int, ...]
    probabilities: tuple[float, ...]
    epsilons: tuple[float, ...]
    programs: int = 3
    dtype: str = "float32"


def tournament(key: Key, cell: Parameters, dtype: str) -> tuple[WinCounts, Array, Array]:
    """Draw scores and one tournament: win counts, θ ``(m,)``, and the size k of the top set."""
    world_key, data_key = jax.random.split(key)
    theta, mask = worlds.cai_scores(world_key, cell["num_items"], cell["max_items"], dtype)
    wins = worlds.tournament(data_key, theta, cell["probability"], mask=mask)
    return wins, theta, worlds.cai_top_k(cell["num_items"])


def trial(key: Key, cell: Parameters, *, epsilons: tuple[float, ...], dtype: str) -> Metrics:
    """One replicate: the errors of all calibrations and ε on one tournament."""
    data_key, noise_key, tie_key = jax.random.split(key, 3)
    wins, theta, top = tournament(data_key, cell, dtype)
    return errors((noise_key, tie_key), wins, theta, top, Unit(), epsilons)


def padded_sizes(sizes: Sequence[int], groups: int) -> dict[int, int]:
    """Map each size to its padded size, the largest of its group of neighbors.

    >>> padded_sizes([10, 20, 30, 40], 2)
    {10: 20, 20: 20, 30: 40, 40: 40}
    """
    ordered = sorted(set(sizes))
    each = math.ceil(len(ordered) / groups)
    return {
        size: ordered[min(k - k % each + each, len(ordered)) - 1] for k, size in enumerate(ordered)
    }


def build(config: EdgeConfig) -> tuple[Study, ...]:
    """Build one study; cells with the same padded size share a compilation."""
    run = functools.partial(trial, epsilons=config.epsilons, dtype=config.dtype)
    padded = padded_sizes(config.items, config.programs)
    cells = tuple(
        cell
        for items in config.items
        for cell in grid(
            num_items=items,
            probability=config.probabilities,
            max_items=padded[items],
        )
    )
    return (Study(config.name, run, cells, static=("max_items",), axes=AXES),)


_MORE_PROBABILITIES = tuple(round(0.1 + 0.075 * step, 3) for step in range(13))

EXPERIMENTS = (
    Experiment(
        name="cai-fig1",
        title="Edge DP: errors against the number of items, p = 1",
        paper=f"{PAPER}, Experiment 1 and Figure 1",
        config=EdgeConfig(
            "cai-fig1", tuple(range(100, 701, 75)), (1.0,), (0.5, 1.0, 2.5, math.inf)
        ),
        build=build,
        claims=(
            *cai_claims.trends("decrease as the number of items grows", "num_items", -1),
            *cai_claims.counts_against_mle(),
            *cai_claims.closeness(),
        ),
        draw=functools.partial(cai_pictures.errors_by_epsilon, x="num_items", x_label="items n"),
        outline=("num_items", "epsilon"),
        differences=EDGE_DIFFERENCES,
        batch_size=BATCH,
    ),
    Experiment(
        name="cai-fig2",
        title="Edge DP: errors against the chance p that a pair is compared, 300 items",
        paper=f"{PAPER}, Experiment 2 and Figure 2",
        config=EdgeConfig("cai-fig2", (300,), _MORE_PROBABILITIES, (0.5, 1.0, 2.5, math.inf)),
        build=build,
        claims=(
            *cai_claims.trends("decrease as p grows", "probability", -1),
            *cai_claims.counts_against_mle(),
            *cai_claims.closeness(),
        ),
        draw=functools.partial(
            cai_pictures.errors_by_epsilon, x="probability", x_label="chance p of a comparison"
        ),
        outline=("probability", "epsilon"),
        differences=EDGE_DIFFERENCES,
        batch_size=BATCH,
    ),
    Experiment(
        name="cai-fig3",
        title="Edge DP: errors against ε at four chances p of a comparison, 300 items",
        paper=f"{PAPER}, Experiment 3 and Figure 3",
        config=EdgeConfig(
            "cai-fig3",
            (300,),
            (0.25, 0.5, 0.75, 1.0),
            (1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0, 3 / 2, 2.0, 5 / 2, 5.0, math.inf),
        ),
        build=build,
        claims=(
            *cai_claims.trends("decrease as ε grows", "epsilon", -1),
            *cai_claims.counts_against_mle(),
            *cai_claims.closeness(),
        ),
        draw=functools.partial(
            cai_pictures.errors_against_epsilon, curve="probability", curve_label="p"
        ),
        outline=("epsilon", "probability"),
        differences=EDGE_DIFFERENCES,
        batch_size=BATCH,
    ),
)
