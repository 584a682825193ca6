"""Scenario V of Xu, Sun and Cheng: ADRR against other methods, Tables 10 and 11; m and L random, one program."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._types import Count, Key, Mask, Scalar
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments.claims import beats, close_to_printed, minus, with_differences
from privrank_jax.experiments.study import P, whole
from privrank_jax.experiments.xu import common
from privrank_jax.experiments.xu import printed as xu_printed
from privrank_jax.experiments.xu.common import (
    ADRR,
    CLASSIC,
    COUNT,
    ERRORS,
    LAPLACE,
    LINKS,
    RANKING,
    declare,
)
from privrank_jax.mechanism.data import Facts
from privrank_jax.metrics import kendall_distance
from privrank_jax.pairwise import fit
from privrank_jax.pairwise.debiased_fit import DebiasedSums
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.perturbed_fit import perturbed_mle
from privrank_jax.privacy.local import report_information
from privrank_jax.privacy.noise import gaussian
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.study import Metrics
from privrank_jax.simulate.table_files import Row
from privrank_jax.simulate.worlds import reports

NOISY, NOISY_TIGHT = "NoisyObj", "NoisyObj tight"
DELTA = 1e-6
_OBJECTIVE = "has smaller errors than objective perturbation at min ε (BTL)"


def named_rows(p: P, rows: list[Row]) -> list[Row]:
    """The rows with a column ``scores``, which says how θ was chosen."""
    del p
    return [
        {
            "study": row["study"],
            "scores": "even" if row["even"] else "drawn",
            **{c: v for c, v in row.items() if c not in ("study", "even")},
        }
        for row in rows
    ]


@declare(
    "xu-table10 xu-table11",
    "Scenario V: ADRR, objective perturbation, Laplace, classic RR and counts, random m and L",
    "Tables 10 and 11, Figures 8, 9 and 13",
    items=whole((10, 30), "smallest and largest m; m is drawn in every replicate", 2, span=True),
    users=whole((150, 400), "smallest and largest L; L is drawn in every replicate", span=True),
    **common.levels(0.2, 2.0),
    probability=common.ASKED,
    cells=lambda p: [{"even": False}, {"even": True}],
    optimized=True,
    rows=named_rows,
    printed=xu_printed.TABLES_10_11,
    claims=[
        *(
            close_to_printed(
                f"{common.NOT_WORSE}: {method}, estimation errors {metric}",
                estimator=method,
                metric=metric,
                scores="drawn",
            )
            for method in (ADRR, NOISY, LAPLACE, CLASSIC)
            for metric in ERRORS
        ),
        *(
            close_to_printed(
                f"{common.NOT_WORSE}: full ranking errors, θ {how}", metric=RANKING, scores=scores
            )
            for how, scores in (("~ Unif(-1, 1)", "drawn"), ("evenly spaced in [-1, 1]", "even"))
        ),
        *(
            beats(f"ADRR {text}", minus(method, ADRR), metric=metric, scores=scores)
            for text, method, metric, scores in (
                ("has smaller errors than Laplace on comparisons", LAPLACE, ERRORS, "drawn"),
                ("has smaller errors than classic randomized response", CLASSIC, ERRORS, "drawn"),
                (f"{_OBJECTIVE}, noise as published", NOISY, ERRORS, "drawn"),
                (f"{_OBJECTIVE}, tight noise", NOISY_TIGHT, ERRORS, "drawn"),
                ("ranks better than counts (θ drawn)", COUNT, RANKING, "drawn"),
                ("ranks better than counts (θ even)", COUNT, RANKING, "even"),
            )
        ),
    ],
    picture={
        "x": "estimator",
        "lines": (
            {"y": {m: common.LABELS[m] for m in ERRORS}, "where": {"scores": "drawn"}},
            {"y": {RANKING: common.LABELS[RANKING]}},
        ),
        "panel": ("scores", "link"),
        **common.DOTS,
    },
    outline=("replicates", "scores"),
    differences=(
        common.RIDGE,
        common.DRAWN_ANEW,
        common.DEVIATIONS,
        common.HALF,
        "the noises of the mechanisms are coupled (one uniform per answer), so paired differences are sharper",
        f"{NOISY}: Gaussian objective perturbation at min ε_l and δ = {DELTA:g} as Kifer, Smith and Thakurta (2012) "
        "calibrate it, with the least ridge that they allow (the paper prints neither; more ridge would lower its ℓ∞ "
        f"error); {NOISY_TIGHT}: the tight noise and the default ridge of this library (who compared what is public)",
        "θ ~ Unif(-1, 1), as the paper states, gives two to three times the printed full ranking errors; θ evenly "
        "spaced, as in Scenario IV, gives the printed ones. Both are run",
        common.UNWEIGHTED,
    ),
)
def scenario_5(key: Key, p: P) -> Metrics:
    """One replicate with its own m and L: errors of all methods on the same answers, and paired differences."""
    keys = jax.random.split(key, 7)
    padded, most = p.items[1], p.users[1]
    items = jax.random.randint(keys[0], (), p.items[0], padded + 1)
    users = jax.random.randint(keys[1], (), p.users[0], most + 1)
    drawn, mask = reports.uniform_scores(keys[2], items, padded)
    theta = jnp.where(p.even, even_scores(items, mask), drawn)
    epsilon = jax.random.uniform(keys[3], (most,), minval=p.low, maxval=p.high)
    counted = jnp.arange(most) < users
    information = jnp.sum(jnp.where(counted, report_information(epsilon), 0))
    plain_gamma = p.gamma * users / information  # λ = γ/(2 L B) with weights 1/L
    smallest = jnp.min(jnp.where(counted, epsilon, jnp.inf))
    promise = Privacy(smallest, unit="comparison", adjacency="flip", delta=DELTA)
    truth = ranks_from_scores(theta, mask)

    def ranking_error(value: Array) -> Array:
        ranks = ranks_from_scores(value, mask, keys[6])
        return kendall_distance(ranks, truth, normalized=True, mask=mask)

    # Both links share the uniforms of the answers, and all logistic fits are one batch.
    chances = jnp.stack([reports.pair_chances(theta, link) for link in LINKS.values()])
    draw = functools.partial(reports.mechanism_sums, keys[4])
    both = jax.vmap(lambda chance: draw(chance, epsilon, users, p.probability, mask))(chances)
    gammas = jnp.stack([jnp.asarray(p.gamma, float), plain_gamma, plain_gamma])

    def one(row: int, link: str) -> tuple[dict[str, Any], Array]:
        sums = jax.tree.map(lambda leaf: leaf[row], both)
        stacked = common.stacked(sums.adaptive, sums.laplace, sums.plain)
        methods = [ADRR, LAPLACE, CLASSIC]
        if link == "BTL":
            methods += [NOISY, NOISY_TIGHT]
            values, codes = _logistic_fits(keys[5], stacked, gammas, sums.wins, promise)
        else:
            values, codes = common.fits(stacked, link, gammas)
        errors = jax.vmap(functools.partial(common.score_errors, theta=theta, mask=mask))(values)
        table = jnp.stack([errors[metric] for metric in ERRORS], axis=-1)
        ranking = jnp.stack([ranking_error(values[0]), ranking_error(sums.plain.wins.sum(-1))])
        return named_errors(methods, table, ranking), codes

    return common.by_link(one)


def _logistic_fits(
    key: Key, sums: DebiasedSums, gammas: Array, wins: WinCounts, privacy: Privacy
) -> tuple[Array, Array]:
    """Fits of :func:`~.common.fits` to stacked sums, then of objective perturbation, published and tight, ``(K, m)``.

    The logistic link needs the sums' totals alone, and objective perturbation is the fit to noisy totals.
    """
    noises = [
        published_noise(privacy.epsilon),
        perturbed_mle.scale(privacy, Facts(wins.num_items), "gaussian", numbers=wins),
    ]
    totals = [
        wins.totals - gaussian(key, wins.totals.shape, scale, wins.matrix.dtype)
        for scale, _ in noises
    ]
    ridges = jnp.stack([jnp.asarray(ridge, gammas.dtype) for _, ridge in noises])
    found = jax.vmap(lambda met, *told: fit(Counts(met, wins.item_mask), *told))(
        jnp.concatenate([sums.weights, *[wins.comparisons[None]] * len(noises)]),
        jnp.concatenate([sums.wins.sum(-1), jnp.stack(totals)]),
        jnp.concatenate([gammas, ridges]),
    )
    return found.value, jnp.sum(found.diagnostics.code >= 2)


def published_noise(epsilon: Scalar) -> tuple[Scalar, Scalar]:
    """Noise scale and ridge of objective perturbation as Kifer, Smith and Thakurta (2012, Algorithm 1) calibrate it.

    A comparison's gradient has norm at most ζ = √2, its Hessian norm at most 1/2: noise of standard deviation
    ζ √(8 log(2/δ) + 4ε)/ε per coordinate, ridge γ = 2 (1/2)/ε.
    """
    return jnp.sqrt(2 * (8 * math.log(2 / DELTA) + 4 * epsilon)) / epsilon, 1 / epsilon


def named_errors(methods: Sequence[str], table: Array, ranking: Array) -> dict[str, Any]:
    """Errors by method and metric, and their differences from ADRR's, the first method.

    ``table``: ``(K, 2)`` estimation errors; ``ranking``: ranking errors of ADRR and of counts.
    """
    named = dict(zip(methods, table, strict=True))
    named = with_differences(named, [(method, ADRR) for method in methods[1:]])
    found: dict[str, Any] = {method: labeled(row, ERRORS) for method, row in named.items()}
    found[ADRR] = {**found[ADRR], RANKING: ranking[0]}
    found[COUNT] = {RANKING: ranking[1]}
    found[minus(COUNT, ADRR)] = {RANKING: ranking[1] - ranking[0]}
    return found


def even_scores(items: Count, mask: Mask) -> Array:
    """Scores from 1 down to -1 in equal steps."""
    steps = jnp.arange(mask.shape[0], dtype=float) / (items - 1)
    return jnp.where(mask, 1 - 2 * steps, 0).astype(float)
