"""Synthetic rankings: pairs kept against Laplace noise (``rdp-fig2``); ε estimated by counting (``rdp-fig4``)."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import mallows
from privrank_jax._backend import product
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.experiments import old_claims as claims
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.experiments.old_claims import Claim, Verdict, minus
from privrank_jax.experiments.rdp import common
from privrank_jax.experiments.rdp import pictures as rdp_pictures
from privrank_jax.experiments.rdp.common import LAPLACE, MALLOWS
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, Parameters, Study, grid
from privrank_jax.simulate.table_files import Row

KEPT, EPSILON_HAT = "concordant_pairs", "estimated_epsilon"
GAIN = minus(MALLOWS, LAPLACE)
_CHUNK = 1 << 15  # rankings drawn at once
_MOST_ITEMS = 7
_NULLS = 4000  # number of estimates from exact probabilities, for the band
_OUTSIDE = 1e-3  # share of them outside the band


# --- figure 2 ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConcordanceConfig:
    """Grid of ``rdp-fig2``.

    Attributes:
        name: name of the study.
        items: m.
        epsilons: ε.
    """

    name: str
    items: tuple[int, ...] = (5, 10, 20, 50)
    epsilons: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 25.0, 30.0)


def concordance_trial(key: Key, cell: Parameters) -> Metrics:
    """Randomize the ranking in index order in both ways, and count the pairs that stay in order."""
    own, other = jax.random.split(key)
    center = fixed(jnp.arange(cell["num_items"]))
    kept = {
        MALLOWS: _in_order(mallows.sample(own, center, cell["epsilon"])),
        LAPLACE: _in_order(mallows.laplace_ranks(other, center, cell["epsilon"])),
    }
    kept[GAIN] = kept[MALLOWS] - kept[LAPLACE]
    return {KEPT: kept}


def _in_order(ranks: Array) -> Array:
    """Pairs i < j with i ahead."""
    return jnp.sum(jnp.triu(ranks[:, None] < ranks, 1), dtype=jnp.int32)


def build_concordance(config: ConcordanceConfig) -> tuple[Study, ...]:
    """Build one study, with a program per m."""
    cells = grid(num_items=config.items, epsilon=config.epsilons)
    return (Study(config.name, concordance_trial, cells, ("num_items",), common.AXES),)


def with_expectations(config: ConcordanceConfig, rows: list[Row]) -> list[Row]:
    """Add the exact expectation to the rows."""
    del config
    result = [dict(row) for row in rows]
    for row in result:
        items, epsilon = int(row["num_items"]), float(row["epsilon"])
        exact = {
            MALLOWS: float(mallows.expected_concordance(items, epsilon)),
            LAPLACE: common.laplace_concordance(items, epsilon),
        }
        exact[GAIN] = exact[MALLOWS] - exact[LAPLACE]
        row["exact"] = exact[row["estimator"]]
    return result


def keeps_more(table: StudyResult) -> Verdict:
    """Is the exact gain positive in every cell, and does the sample not contradict it?"""
    rows = [row for row in table.rows if row["estimator"] == GAIN]
    if not rows:
        return Verdict(None, "no cells")
    least = min(rows, key=lambda row: row["exact"])
    seen = sum(row["mean"] > claims.SLACK * row["standard_error"] for row in rows)
    against = sum(row["mean"] < -claims.SLACK * row["standard_error"] for row in rows)
    evidence = (
        f"exact gains are positive in {sum(row['exact'] > 0 for row in rows)} of {len(rows)} cells, least "
        f"{least['exact']:.2g} pairs (m = {least['num_items']}, ε = {least['epsilon']:g}); sampled gains exceed 0 by "
        f"more than {claims.SLACK:g} SE in {seen}, are below it by as much in {against}"
    )
    return Verdict(all(row["exact"] > 0 for row in rows) and not against, evidence)


def gain_grows(table: StudyResult, *, share: bool) -> Verdict:
    """Does the exact gain, in pairs or as a share of all pairs, grow with m at every ε?"""
    rows = [row for row in table.rows if row["estimator"] == GAIN]
    curves = {
        epsilon: [row["exact"] / (_pairs(row) if share else 1) for row in sorted(some, key=_items)]
        for (epsilon,), some in claims.groups(rows, "epsilon").items()
    }
    if not curves or any(len(curve) < 2 for curve in curves.values()):
        return Verdict(None, "fewer than two m")
    growing = [e for e, curve in curves.items() if all(a < b for a, b in itertools.pairwise(curve))]
    middle = sorted(curves)[len(curves) // 2]
    spelled = ", ".join(f"{value:.3g}" for value in curves[middle])
    unit = "share of pairs" if share else "pairs"
    sizes = ", ".join(str(m) for m in sorted({row["num_items"] for row in rows}))
    evidence = f"grows over m = {sizes} at {len(growing)} of {len(curves)} ε; at ε = {middle:g}: {spelled} ({unit})"
    return Verdict(len(growing) == len(curves), evidence)


def _items(row: Row) -> int:
    return row["num_items"]


def _pairs(row: Row) -> float:
    return row["num_items"] * (row["num_items"] - 1) / 2


# --- figure 4 ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountingConfig:
    """Grid of ``rdp-fig4``.

    Attributes:
        name: name of the study.
        items: m.
        epsilons: ε.
        draws: N of each input.
    """

    name: str
    items: tuple[int, ...] = (3, 4, 5)
    epsilons: tuple[float, ...] = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
    draws: int = 10_000_000

    def __post_init__(self) -> None:
        if max(self.items) > _MOST_ITEMS:
            raise ValueError(
                f"items must be at most {_MOST_ITEMS}, as all m! rankings are counted; got {max(self.items)}"
            )


def counting_trial(key: Key, cell: Parameters, *, config: CountingConfig) -> Metrics:
    """Count N rankings of each input: the largest log-ratio of counts over neighbors and rankings."""
    centers = jnp.asarray(common.neighbors(cell["num_items"]))
    keys = jax.random.split(key, len(centers))

    def counted(each: tuple[Array, Array]) -> Array:
        return count_rankings(each[0], each[1], cell["epsilon"], config.draws)

    counts = jax.lax.map(counted, (keys, centers))
    return {EPSILON_HAT: {MALLOWS: largest_ratio(counts)}}


def count_rankings(key: Key, center: Array, epsilon: Array, draws: int) -> Array:
    """Count how often each ranking occurs, ``(m!,)`` int32, in lexicographic order of ranks."""
    items = center.shape[0]
    place = items ** np.arange(items - 1)  # the last rank follows from the others
    every = common.all_rankings(items)

    def chunk(number: Array, counts: Array) -> Array:
        keys = jax.random.split(jax.random.fold_in(key, number), _CHUNK)
        ranks = jax.vmap(mallows.sample, (0, None, None))(keys, center, epsilon)
        codes = product(ranks[:, :-1], jnp.asarray(place, jnp.int32))
        wanted = number * _CHUNK + jnp.arange(_CHUNK) < draws
        return counts.at[jnp.where(wanted, codes, len(counts))].add(1, mode="drop")

    counts = jnp.zeros(items ** (items - 1), jnp.int32)
    counts = jax.lax.fori_loop(0, -(-draws // _CHUNK), chunk, counts)
    return counts[every[:, :-1] @ place]


def largest_ratio(counts: Array) -> Array:
    """The estimator (8): max over rows k >= 1 and columns of \\|log(counts_0/counts_k)\\|; 0/0 is left out."""
    logs = jnp.log(counts.astype(float))
    ratios = jnp.abs(logs[:1] - logs[1:])
    return jnp.max(jnp.where(jnp.isnan(ratios), 0, ratios))


def build_counting(config: CountingConfig) -> tuple[Study, ...]:
    """Build one study, with a program per m."""
    trial = functools.partial(counting_trial, config=config)
    cells = grid(num_items=config.items, epsilon=config.epsilons)
    return (Study(config.name, trial, cells, ("num_items",), common.AXES),)


def with_band(config: CountingConfig, rows: list[Row]) -> list[Row]:
    """Add the exact ε, the expected estimate, and the band in which estimates fall by chance to the rows."""
    result = [dict(row) for row in rows]
    for row in result:
        items, epsilon = int(row["num_items"]), float(row["epsilon"])
        law = common.mallows_law(items, epsilon)
        row["exact"] = float(np.max(np.abs(np.log(law[:1] / law[1:]))))
        by_chance = null_means(law, config.draws, row["replicates"])
        row["expected"] = float(np.mean(by_chance))
        row["low"], row["high"] = np.quantile(by_chance, [_OUTSIDE / 2, 1 - _OUTSIDE / 2]).tolist()
    return result


def null_means(law: np.ndarray, draws: int, replicates: int) -> np.ndarray:
    """Means of ``replicates`` estimates (8) from counts drawn from the exact law, ``_NULLS`` times, at a fixed seed.

    Counts are Gaussian with the covariance of multinomial ones: right to a few percent of their spread where the
    rarest ranking is drawn a thousand times, as in the paper's grid.
    """
    rng = np.random.default_rng(8)
    found = np.empty(_NULLS)
    for start in range(0, _NULLS, 100):
        noise = rng.standard_normal((100, *law.shape)) * np.sqrt(law)
        noise -= law * noise.sum(axis=-1, keepdims=True)
        logs = np.log(np.maximum(law + noise / math.sqrt(draws), 1 / (2 * draws)))
        found[start : start + 100] = np.max(np.abs(logs[:, :1] - logs[:, 1:]), axis=(1, 2))
    if replicates > 1:
        found = np.mean([rng.choice(found, _NULLS) for _ in range(replicates)], axis=0)
    return found


def within_band(table: StudyResult) -> Verdict:
    """Is every estimate within the band of chance?"""
    rows = [row for row in table.rows if math.isfinite(row["mean"])]
    if not rows:
        return Verdict(None, "no estimates")
    outside = [row for row in rows if not row["low"] <= row["mean"] <= row["high"]]
    gap = max(rows, key=lambda row: abs(row["mean"] - row["expected"]))
    spelled = "; ".join(
        f"m = {row['num_items']}, ε = {row['epsilon']:g}: {row['mean']:.4f} not in {row['low']:.4f} to "
        f"{row['high']:.4f}"
        for row in outside[:3]
    )
    evidence = (
        f"{len(rows) - len(outside)} of {len(rows)} estimates in their bands, which {1 - _OUTSIDE:.1%} of estimates "
        f"from counts of the exact law fall into; farthest from what is expected: {gap['mean']:.4f} against "
        f"{gap['expected']:.4f} (m = {gap['num_items']}, ε = {gap['epsilon']:g})"
    )
    return Verdict(not outside, evidence + (f". Outside: {spelled}" if outside else ""))


def exact_loss(table: StudyResult) -> Verdict:
    """Is the exact largest log-ratio equal to ε?"""
    rows = table.rows
    if not rows:
        return Verdict(None, "no cells")
    gap = max(abs(row["exact"] - row["epsilon"]) for row in rows)
    evidence = f"largest difference over {len(rows)} cells {gap:.1g}, by enumeration of all neighbors and rankings"
    return Verdict(gap < 1e-9, evidence)


def perfect_match(table: StudyResult) -> Verdict:
    """Is the estimate unbiased, compared with the mean of (8) under the exact law?"""
    rows = table.rows
    if not rows:
        return Verdict(None, "no cells")
    above = sum(row["mean"] > row["exact"] for row in rows)
    most = max(rows, key=lambda row: row["expected"] - row["exact"])
    evidence = (
        f"estimates exceed ε in {above} of {len(rows)} cells; to be expected: up to "
        f"{most['expected'] - most['exact']:+.4f} (m = {most['num_items']}, ε = {most['epsilon']:g}), a maximum of "
        f"noise over {(most['num_items'] - 1) ** 2 * math.factorial(most['num_items']):,} ratios"
    )
    biased = all(row["expected"] - row["exact"] > 0 for row in rows)
    return Verdict(False if biased and above > 0.9 * len(rows) else None, evidence)


# --- registered ----------------------------------------------------------------------------------

_COUNTS = CountingConfig("rdp-fig4")

EXPERIMENTS = (
    Experiment(
        name="rdp-fig2",
        title="Pairs that synthetic rankings keep, beside Laplace noise on ranks",
        paper=f"{common.PAPER}, Figure 2 and Lemma 4",
        config=ConcordanceConfig("rdp-fig2"),
        build=build_concordance,
        annotate=with_expectations,
        claims=(
            claims.claim(
                "sampled means are those of the closed forms",
                common.matches_exact,
                where=lambda row: True,
            ),
            claims.claim("Lemma 4: Mallows keeps more pairs than Laplace noise", keeps_more),
            claims.claim("the gain grows with m, counted in pairs", gain_grows, share=False),
            claims.claim("the gain grows with m, as a share of pairs", gain_grows, share=True),
        ),
        draw=rdp_pictures.concordance,
        replicates=20_000,
        outline=("epsilon", "num_items"),
        differences=(
            "the paper prints neither m nor its grid of ε: m and grid are ours",
            "exact expectations are shown for comparison: of Mallows by its steps, of Laplace by the law of the "
            "difference of two noises",
        ),
    ),
    Experiment(
        name="rdp-fig4",
        title="ε of synthetic rankings, estimated by counting them",
        paper=f"{common.PAPER}, section 6.1 and Figure 4",
        config=_COUNTS,
        build=build_counting,
        annotate=with_band,
        claims=(
            Claim("Lemma 1: the exact loss is ε", exact_loss),
            Claim("estimates match ε within what chance allows", within_band),
            Claim("the estimator (8) matches ε without bias", perfect_match),
        ),
        draw=rdp_pictures.counting,
        replicates=1,
        batch_size=1,  # on a CPU one cell at a time fits into the cache
        outline=("epsilon", "num_items"),
        differences=(
            f"{_COUNTS.draws:,} draws for the ranking and for each of its (m-1)² neighbors, as in the paper",
            "the maximum over neighbors and rankings picks up noise: (8) is biased upward; the band is where it "
            "falls if the law is exact",
        ),
    ),
)
