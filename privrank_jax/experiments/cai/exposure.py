"""Crowds that compare some items far more often than others: what each way of ranking makes of them, and intervals.

Arenas and shops show popular items most, and often against items near in strength. Win totals then follow how often an
item was shown. All ways have the same promise, unit user under replacement, but for the perturbed MLE under flips.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax import pairwise
from privrank_jax._types import Key, PairMatrix, Scores
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments import claims
from privrank_jax.experiments.cai import pictures
from privrank_jax.experiments.cai.common import PAPER
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.metrics import kendall_distance
from privrank_jax.pairwise.intervals import intervals_of
from privrank_jax.pairwise.private_design import (
    DESIGN_SHARE,
    errors_under_private_design,
    noisy_design,
)
from privrank_jax.pairwise.score_stream import product_design, shrunk_design
from privrank_jax.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate import worlds
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.study import Metrics, Parameters, Study

PLAIN, TOTALS, PRODUCT, PAIRS = "no privacy", "win totals", "wins and losses", "pair counts"
REPLACE, FLIP = "perturbed MLE", "perturbed MLE, flips"
KENDALL, COVERAGE, WIDTH = "kendall_distance", "coverage", "width"
NEARBY = "opponents near in strength"
NEAR_SPREAD = 0.5  # of the strengths of opponents, where they are near


@dataclass(frozen=True)
class ExposureConfig:
    """Crowds, each with its own number of items, users and comparisons per user.

    Attributes:
        crowds: m, users, L, ε, the power a of the exposure 1/rank^a, and whether opponents are near in strength.
    """

    crowds: tuple[tuple[int, int, int, float, float, bool], ...]


def trial(key: Key, cell: Parameters) -> Metrics:
    """Kendall's distance of every way on one crowd."""
    data_key, *keys = jax.random.split(key, 6)
    theta, wins = crowd(data_key, cell)
    asked = {
        adjacency: Privacy(
            cell["epsilon"], unit="user", adjacency=adjacency, contributions=cell["per_user"]
        )
        for adjacency in ("replace", "flip")
    }
    found = {
        PLAIN: pairwise.mle(wins, gamma=1e-2).value,
        TOTALS: pairwise.noisy_counts(keys[0], wins, asked["replace"]).value,
        PRODUCT: by_product(keys[1], wins, asked["replace"]),
        PAIRS: by_pairs(keys[2], wins, asked["replace"]),
        REPLACE: pairwise.perturbed_mle(keys[3], wins, asked["replace"]).value,
        FLIP: pairwise.perturbed_mle(keys[4], wins, asked["flip"]).value,
    }
    truth = ranks_from_scores(theta)
    far = [
        kendall_distance(ranks_from_scores(scores), truth, normalized=True)
        for scores in found.values()
    ]
    return {KENDALL: labeled(jnp.stack(far), tuple(found))}


def crowd(key: Key, cell: Parameters) -> tuple[Scores, WinCounts]:
    """True scores and comparisons of one crowd."""
    total = cell["num_users"] * cell["per_user"]
    return worlds.exposed_comparisons(
        key, cell["num_items"], total, cell["exposure"], cell["near"], NEAR_SPREAD
    )


def by_product(key: Key, wins: WinCounts, privacy: Privacy, share: float = 1.0) -> Scores:
    """Scores fitted to noisy wins and losses, as if opponents had met in proportion to their appearances.

    A comparison moves wins and losses by 1 each, so Laplace noise of scale 4L/ε on both serves under replacement.
    """
    gap, appearances, scale = _wins_and_losses(key, wins, privacy, share)
    return _fitted(gap, product_design(appearances), scale)


def by_pairs(key: Key, wins: WinCounts, privacy: Privacy) -> Scores:
    """The same with half of ε for pair counts, towards which the product is moved as far as their noise allows."""
    first, second = jax.random.split(key)
    gap, appearances, scale = _wins_and_losses(first, wins, privacy, 0.5)
    of_pairs = 2 * privacy.comparisons_per_unit / (0.5 * privacy.epsilon)
    draws = jnp.triu(jax.random.laplace(second, wins.matrix.shape, wins.matrix.dtype), 1)
    seen = wins.comparisons + of_pairs * (draws + draws.T)
    moved = shrunk_design(product_design(appearances), seen, 2 * of_pairs**2)
    return _fitted(gap, moved, scale)


def _wins_and_losses(
    key: Key, wins: WinCounts, privacy: Privacy, share: float
) -> tuple[Scores, Scores, Array]:
    """Half of noisy wins less losses, noisy appearances of at least 1, and the scale of the noise."""
    scale = jnp.asarray(4 * privacy.comparisons_per_unit / (share * privacy.epsilon))
    noise = scale * jax.random.laplace(key, (2, wins.num_items), wins.matrix.dtype)
    won, lost = jnp.stack([wins.matrix.sum(1), wins.matrix.sum(0)]) + noise
    return (won - lost) / 2, jnp.maximum(won + lost, 1.0), scale


def _fitted(gap: Scores, design: PairMatrix, scale: Array) -> Scores:
    totals = gap + design.sum(-1) / 2
    return pairwise.fit(pairwise.Counts(design), totals, scale).value


def cover(key: Key, cell: Parameters) -> Metrics:
    """Shares of true scores in their 95 % intervals, and median widths, of the perturbed MLE on one crowd."""
    data_key, first, second = jax.random.split(key, 3)
    theta, wins = crowd(data_key, cell)

    def part(share: float) -> Privacy:
        epsilon = share * cell["epsilon"]
        return Privacy(epsilon, unit="user", adjacency="replace", contributions=cell["per_user"])

    fit = pairwise.perturbed_mle(first, wins, part(1 - DESIGN_SHARE))
    design = noisy_design(second, wins, part(DESIGN_SHARE)).value
    facts = fit.diagnostics
    told = {"noise_scale": facts.noise_scale, "gamma": facts.gamma}
    errors = errors_under_private_design(fit.value, design, **told)
    found = intervals_of(fit.value, errors)
    inside = jnp.mean((found.low <= theta) & (theta <= found.high))
    return {
        COVERAGE: {REPLACE: inside},
        WIDTH: {REPLACE: jnp.median(found.high - found.low)},
    }


def by_opponents(
    run: Callable[[Key, Parameters], Metrics],
    crowds: Sequence[Sequence[Any]],
    names: Sequence[str],
    axes: tuple[str, ...],
) -> tuple[Study, ...]:
    """One study per kind of opponents that a crowd has, by its last value; ``names`` are those of the values."""
    return tuple(
        Study(
            study,
            run,
            tuple(dict(zip(names, crowd)) for crowd in crowds if crowd[-1] == near),
            ("num_items", "near"),
            axes,
        )
        for near, study in ((False, "random opponents"), (True, NEARBY))
        if any(crowd[-1] == near for crowd in crowds)
    )


def build(
    config: ExposureConfig, run: Callable[[Key, Parameters], Metrics] = trial
) -> tuple[Study, ...]:
    """Build one study per kind of opponents, of distances or, by another trial, of intervals."""
    names = ("num_items", "num_users", "per_user", "epsilon", "exposure", "near")
    return by_opponents(run, config.crowds, names, ("metric", "estimator"))


_USUAL = (
    (30, 20_000, 10),
    (100, 20_000, 10),
    (100, 50_000, 20),
)
CROWDS = (
    *((*size, 1.0, 1.0, near) for near in (False, True) for size in _USUAL),
    *((30, 20_000, 10, 1.0, power, near) for near in (False, True) for power in (0.0, 2.0)),
    *((30, 20_000, 10, epsilon, 1.0, near) for near in (False, True) for epsilon in (0.3, 3.0)),
)
COVERED = tuple(
    (*size, 1.0, 1.0, near)
    for near in (False, True)
    for size in ((10, 2_000, 10), (30, 20_000, 10), (100, 20_000, 10), (100, 50_000, 20))
)
_ARENA = {"metric": KENDALL, "exposure": 1.0, "epsilon": 1.0}

EXPERIMENTS = (
    Experiment(
        name="cai-exposure",
        title="Crowds that compare some items far more often: Kendall's distance of every way to rank them",
        paper=f"{PAPER} (whose simulations compare all items equally often)",
        config=ExposureConfig(CROWDS),
        build=build,
        claims=(
            claims.between(
                "exposure 1/rank: noisy win totals put 0.3 to 0.55 of all pairs in the wrong order, as a coin would",
                estimator=TOTALS,
                least=0.3,
                most=0.55,
                **_ARENA,
            ),
            claims.between(
                "exposure 1/rank: the perturbed MLE under the same promise has at most 0.025 with 30 items",
                estimator=REPLACE,
                num_items=30,
                most=0.025,
                **_ARENA,
            ),
            claims.between(
                "exposure 1/rank: and at most 0.09 with 100",
                estimator=REPLACE,
                num_items=100,
                most=0.09,
                **_ARENA,
            ),
            claims.between(
                "opponents near in strength: wins and losses, as if opponents were random, have at least 0.1",
                estimator=PRODUCT,
                study=NEARBY,
                least=0.1,
                **_ARENA,
            ),
            claims.between(
                "who compared what public: the perturbed MLE has at most 0.05",
                estimator=FLIP,
                most=0.05,
                **_ARENA,
            ),
            claims.trend(
                "perturbed MLE: Kendall's distance falls with ε",
                "epsilon",
                -1,
                estimator=REPLACE,
                metric=KENDALL,
                num_items=30,
                exposure=1.0,
            ),
        ),
        draw=pictures.exposure,
        outline=("num_items", "estimator"),
        replicates=30,
    ),
    Experiment(
        name="cai-intervals",
        title="Coverage of 95 % intervals of the perturbed MLE where who compared what is private",
        paper=f"{PAPER} (no intervals there)",
        config=ExposureConfig(COVERED),
        build=functools.partial(build, run=cover),
        claims=(
            claims.between(
                "95 % intervals hold at least 93 % of true scores, for both kinds of opponents at every size",
                estimator=REPLACE,
                metric=COVERAGE,
                least=0.93,
                slack=0.0,
            ),
        ),
        draw=pictures.coverage,
        outline=("num_items", "metric"),
        replicates=300,
    ),
)
