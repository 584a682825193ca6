"""Synthetic rankings: pairs kept against Laplace noise (``rdp-fig2``); ε estimated by counting (``rdp-fig4``)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import mallows
from privrank_jax._backend import product
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.experiments import claims
from privrank_jax.experiments.rdp import common
from privrank_jax.experiments.rdp.common import LAPLACE, MALLOWS
from privrank_jax.experiments.study import P, number, study, whole
from privrank_jax.mallows.distribution import expected_concordance
from privrank_jax.mallows.laplace import laplace_ranks
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, grid
from privrank_jax.simulate.table_files import Row

KEPT, EPSILON_HAT = "concordant_pairs", "estimated_epsilon"
GAIN = claims.minus(MALLOWS, LAPLACE)
_CHUNK = 1 << 15  # rankings drawn at once
_MOST_ITEMS = 7
_NULLS = 4000  # number of estimates from exact probabilities, for the band
_OUTSIDE = 1e-3  # share of them outside the band


# --- figure 2 ------------------------------------------------------------------------------------


def with_expectations(p: P, rows: list[Row]) -> Iterator[Row]:
    """Add the exact expectation to the rows."""
    del p
    for row in rows:
        items, epsilon = int(row["num_items"]), float(row["epsilon"])
        exact = {
            MALLOWS: float(expected_concordance(items, epsilon)),
            LAPLACE: common.laplace_concordance(items, epsilon),
        }
        exact[GAIN] = exact[MALLOWS] - exact[LAPLACE]
        yield {**row, "exact": exact[row["estimator"]]}


def keeps_more(table: StudyResult) -> claims.Verdict:
    """Is the exact gain positive in every cell, and does the sample not contradict it?"""
    rows = claims.selected(table.rows, {"estimator": GAIN})
    sampled = claims.beats("", GAIN, "some").check(table)
    positive = sum(row["exact"] > 0 for row in rows)
    evidence = f"exact gains are positive in {positive} of {len(rows)} cells. {sampled.evidence}"
    holds = positive == len(rows) and sampled.holds is not False
    return claims.Verdict(holds if rows else None, evidence)


def gain_grows(table: StudyResult, share: bool) -> claims.Verdict:
    """Does the exact gain, in pairs or as a share of all pairs, grow with m at every ε?"""
    rows = claims.selected(table.rows, {"estimator": GAIN})
    rows.sort(key=lambda row: row["num_items"])
    found = {
        epsilon: [row["exact"] / (_pairs(row) if share else 1) for row in some]
        for (epsilon,), some in claims.groups(rows, "epsilon").items()
    }
    if not found or any(len(gains) < 2 for gains in found.values()):
        return claims.Verdict(None, "fewer than two m")
    growing = sum(all(a < b for a, b in itertools.pairwise(gains)) for gains in found.values())
    middle = sorted(found)[len(found) // 2]
    spelled = ", ".join(f"{value:.3g}" for value in found[middle])
    evidence = f"grows at {growing} of {len(found)} ε; at ε = {middle:g}: {spelled}"
    return claims.Verdict(growing == len(found), evidence)


def _pairs(row: Row) -> float:
    return row["num_items"] * (row["num_items"] - 1) / 2


def _shared(row: Row) -> Row:
    """A row in shares of all pairs, but for gains."""
    by = 1 if claims.is_difference(row) else _pairs(row)
    return {**row, **{name: row[name] / by for name in ("mean", "standard_error", "exact")}}


@study(
    "rdp-fig2",
    "Pairs that synthetic rankings keep, beside Laplace noise on ranks",
    f"{common.PAPER}, Figure 2 and Lemma 4",
    items=whole((5, 10, 20, 50), "m", least=2),
    epsilons=number((0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 25.0, 30.0), "ε"),
    cells=lambda p: grid(num_items=p.items, epsilon=p.epsilons),
    static=("num_items",),
    rows=with_expectations,
    claims=[
        claims.close_to(
            "sampled means are those of the closed forms", "exact", common.Z, rare=12.0
        ),
        claims.claim("Lemma 4: Mallows keeps more pairs than Laplace noise", keeps_more),
        claims.claim("the gain grows with m, counted in pairs", gain_grows, share=False),
        claims.claim("the gain grows with m, as a share of pairs", gain_grows, share=True),
    ],
    picture={
        "x": "epsilon",
        "lines": (
            {"y": {KEPT: "pairs in order, share"}, "where": {"estimator": (MALLOWS, LAPLACE)}},
            {"y": {KEPT: "gain of Mallows, pairs"}, "where": {"estimator": GAIN}},
        ),
        "panel": ("num_items",),
        "change": _shared,
        "exact": "exact",
        "log_x": True,
        "note": "marks: sampled means; dashed: exact expectations",
    },
    replicates=20_000,
    outline=("epsilon", "num_items"),
    differences=(
        "the paper prints neither m nor its grid of ε: m and grid are ours",
        "exact expectations: of Mallows by its steps, of Laplace by the law of the difference of two noises",
    ),
)
def figure_2(key: Key, p: P) -> Metrics:
    """Randomize the ranking in index order in both ways, and count the pairs that stay in order."""
    own, other = jax.random.split(key)
    center = fixed(jnp.arange(p.num_items))
    kept = {
        MALLOWS: _in_order(mallows.sample(own, center, p.epsilon)),
        LAPLACE: _in_order(laplace_ranks(other, center, p.epsilon)),
    }
    return {KEPT: {**kept, GAIN: kept[MALLOWS] - kept[LAPLACE]}}


def _in_order(ranks: Array) -> Array:
    """Pairs i < j with i ahead."""
    return jnp.sum(jnp.triu(ranks[:, None] < ranks, 1), dtype=jnp.int32)


# --- figure 4 ------------------------------------------------------------------------------------


def with_band(p: P, rows: list[Row]) -> Iterator[Row]:
    """Add the exact ε, the expected estimate, and the band in which estimates fall by chance to the rows."""
    for row in rows:
        law = common.mallows_law(int(row["num_items"]), float(row["epsilon"]))
        by_chance = null_means(law, p.draws, row["replicates"])
        low, high = np.quantile(by_chance, [_OUTSIDE / 2, 1 - _OUTSIDE / 2]).tolist()
        exact = float(np.max(np.abs(np.log(law[:1] / law[1:]))))
        told = {"exact": exact, "expected": float(np.mean(by_chance)), "low": low, "high": high}
        yield {**row, **told}


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


def exact_loss(table: StudyResult) -> claims.Verdict:
    """Is the exact largest log-ratio equal to ε?"""
    gap = max((abs(row["exact"] - row["epsilon"]) for row in table.rows), default=math.nan)
    evidence = f"largest difference {gap:.1g}, by enumeration of all neighbors and rankings"
    return claims.Verdict(gap < 1e-9 if table.rows else None, evidence)


def within_band(table: StudyResult) -> claims.Verdict:
    """Is every estimate within the band of chance?"""
    rows = [row for row in table.rows if math.isfinite(row["mean"])]
    if not rows:
        return claims.NO_CELLS
    inside = sum(row["low"] <= row["mean"] <= row["high"] for row in rows)
    gap = max(rows, key=lambda row: abs(row["mean"] - row["expected"]))
    evidence = (
        f"{inside} of {len(rows)} estimates in their bands, which {1 - _OUTSIDE:.1%} of estimates from counts of the "
        f"exact law fall into; farthest from what is expected: {gap['mean']:.4f} against {gap['expected']:.4f} (m = "
        f"{gap['num_items']}, ε = {gap['epsilon']:g})"
    )
    return claims.Verdict(inside == len(rows), evidence)


def perfect_match(table: StudyResult) -> claims.Verdict:
    """Is the estimate unbiased, compared with the mean of (8) under the exact law?"""
    if not table.rows:
        return claims.NO_CELLS
    above = sum(row["mean"] > row["exact"] for row in table.rows)
    bias = [row["expected"] - row["exact"] for row in table.rows]
    evidence = (
        f"estimates exceed ε in {above} of {len(bias)} cells; to be expected: by {min(bias):+.4f} to "
        f"{max(bias):+.4f}, a maximum of noise over many ratios"
    )
    biased = min(bias) > 0 and above > 0.9 * len(bias)
    return claims.Verdict(False if biased else None, evidence)


def _beyond(row: Row) -> Row:
    """A row less ε."""
    less = ("mean", "low", "high", "expected")
    return {**row, **{name: row[name] - row["epsilon"] for name in less}}


@study(
    "rdp-fig4",
    "ε of synthetic rankings, estimated by counting them",
    f"{common.PAPER}, section 6.1 and Figure 4",
    items=whole((3, 4, 5), "m; all m! rankings are counted", least=2, most=_MOST_ITEMS),
    epsilons=number((0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0), "ε"),
    draws=whole(10_000_000, "N of each input"),
    cells=lambda p: grid(num_items=p.items, epsilon=p.epsilons),
    static=("num_items",),
    rows=with_band,
    claims=[
        claims.Claim("Lemma 1: the exact loss is ε", exact_loss),
        claims.Claim("estimates match ε within what chance allows", within_band),
        claims.Claim("the estimator (8) matches ε without bias", perfect_match),
    ],
    picture={
        "x": "epsilon",
        "y": {EPSILON_HAT: "estimate of ε, less ε"},
        "panel": ("num_items",),
        "change": _beyond,
        "exact": "expected",
        "band": ("low", "high"),
        "level": 0.0,
        "note": "dashed: expected of the estimator; gray: where 99.9 % fall if the law is exact",
    },
    replicates=1,
    batch=1,  # on a CPU one cell at a time fits into the cache
    outline=("epsilon", "num_items"),
    differences=(
        "10,000,000 draws for the ranking and for each of its (m-1)² neighbors, as in the paper",
        "(8) is biased upward, as a maximum of noise; the band is where it falls if the law is exact",
    ),
)
def figure_4(key: Key, p: P) -> Metrics:
    """Count N rankings of each input: the largest log-ratio of counts over neighbors and rankings."""
    centers = jnp.asarray(common.neighbors(p.num_items))
    keys = jax.random.split(key, len(centers))

    def counted(each: tuple[Array, Array]) -> Array:
        return count_rankings(each[0], each[1], p.epsilon, p.draws)

    return {EPSILON_HAT: {MALLOWS: largest_ratio(jax.lax.map(counted, (keys, centers)))}}


def count_rankings(key: Key, center: Array, epsilon: Array, draws: int) -> Array:
    """Count how often each ranking occurs, ``(m!,)`` int32, in lexicographic order of ranks."""
    items = center.shape[0]
    place = items ** np.arange(items - 1)  # the last rank follows from the others
    every = common.all_rankings(items)

    def chunk(start: Array, counts: Array) -> Array:
        keys = jax.random.split(jax.random.fold_in(key, start), _CHUNK)
        ranks = jax.vmap(mallows.sample, (0, None, None))(keys, center, epsilon)
        codes = product(ranks[:, :-1], jnp.asarray(place, jnp.int32))
        wanted = start * _CHUNK + jnp.arange(_CHUNK) < draws
        return counts.at[jnp.where(wanted, codes, len(counts))].add(1, mode="drop")

    counts = jnp.zeros(items ** (items - 1), jnp.int32)
    counts = jax.lax.fori_loop(0, -(-draws // _CHUNK), chunk, counts)
    return counts[every[:, :-1] @ place]


def largest_ratio(counts: Array) -> Array:
    """The estimator (8): max over rows k >= 1 and columns of \\|log(counts_0/counts_k)\\|; 0/0 is left out."""
    logs = jnp.log(counts.astype(float))
    ratios = jnp.abs(logs[:1] - logs[1:])
    return jnp.max(jnp.where(jnp.isnan(ratios), 0, ratios))
