"""The cars of Xu, Sun and Cheng: full ranking errors of all methods (Table 2), errors against ε (Figure 14)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import data
from privrank_jax._types import Key
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments import claims
from privrank_jax.experiments.study import P, word
from privrank_jax.experiments.xu import common, dots
from privrank_jax.experiments.xu import printed as xu_printed
from privrank_jax.experiments.xu.common import ADRR, CLASSIC, COUNT, ERRORS, LAPLACE, RANKING
from privrank_jax.metrics import kendall_distance
from privrank_jax.pairwise.debiased_fit import debiased_sums
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.privacy.local import laplace_reports, randomized_response, report_information
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.study import Metrics
from privrank_jax.simulate.table_files import Row

DATA = (
    "25 of the 2,700 answers are missing and masked; the 298 control rows, which ask pairs again, are left out (the "
    "paper does not say). BTL, TM and counts then agree on the printed ranking of Table 1"
)


def answers_of(table: data.Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """Answers, and which of them were given, ``(users, pairs)`` bool, pairs in the order of ``np.triu_indices(m, 1)``.

    Raises:
        ValueError: ties, or a user who compared a pair twice.
    """
    if table.ties:
        raise ValueError(f"{table.name} has {table.ties} ties: a report is yes or no")
    size = table.num_items
    position = np.zeros((size, size), int)
    position[np.triu_indices(size, 1)] = np.arange(size * (size - 1) // 2)
    first = np.minimum(table.winners, table.losers)
    pair = position[first, np.maximum(table.winners, table.losers)]
    shape = (table.num_users, size * (size - 1) // 2)
    given = np.zeros(shape, int)
    np.add.at(given, (table.users, pair), 1)
    if given.max() > 1:
        raise ValueError(f"a user of {table.name} compared a pair twice: drop the repeats")
    answers = np.zeros(shape, bool)
    answers[table.users, pair] = table.winners == first
    return answers, given > 0


def load(p: P) -> Mapping[str, Any]:
    """The survey: answers, which were given, and without privacy the ranking and the scores ``(2, m)``, BTL and TM.

    Raises:
        ValueError: the data are missing, or BTL, TM and counts rank differently, so that there is no common truth.
    """
    table = data.load(p.data)
    answers, observed = map(jnp.asarray, answers_of(table))
    wins = WinCounts.from_comparisons(table.winners, table.losers, num_items=table.num_items)
    scores = jnp.stack([mle(wins, link).value for link in common.LINKS.values()])
    rankings = [np.asarray(ranks_from_scores(values)) for values in (*scores, wins.totals)]
    if any(np.any(ranks != rankings[0]) for ranks in rankings):
        raise ValueError(f"BTL, TM and counts rank {p.data} differently: {rankings}")
    ranks = jnp.asarray(rankings[0])
    return {"answers": answers, "observed": observed, "ranks": ranks, "scores": scores}


def with_statistics(p: P, rows: list[Row]) -> Iterator[Row]:
    """The rows with paired t statistics of differences and their p-values, ours and printed (BTL).

    p-values are two-sided, of Student's law with one degree of freedom less than there are replicates.
    """
    del p
    import scipy.stats

    for row in rows:
        method, minus_, _ = row["estimator"].partition(" minus ") if row["estimator"] else "   "
        tested = claims.is_difference(row) and row["standard_error"] > 0
        statistic = row["mean"] / row["standard_error"] if tested else math.nan
        value = float(2 * scipy.stats.t.sf(abs(statistic), max(row["replicates"] - 1, 1)))
        known = row["link"] == "BTL" and minus_ and method in xu_printed.TABLE_2_T
        told = {
            "printed_t_statistic": xu_printed.TABLE_2_T[method] if known else math.nan,
            "printed_p_value": xu_printed.TABLE_2_P[method] if known else math.nan,
        }
        yield {**row, "t_statistic": statistic, "p_value": value, **told}


CARS: dict[str, Any] = {
    **common.levels(0.2, 2.0, 1.0),
    "data": word("cars", "named data set", among=("cars",)),
    "prepare": load,
    "cells": lambda p: [{}],
    "optimized": False,
}


@common.declare(
    "xu-table2",
    "Cars: full ranking errors of ADRR, counts, classic RR and Laplace, paired t tests",
    "Table 2",
    **CARS,
    rows=with_statistics,
    printed=xu_printed.TABLE_2,
    claims=[
        *(
            claims.close_to_printed(f"{common.NOT_WORSE}: {method}", estimator=method)
            for method in (ADRR, COUNT, CLASSIC, LAPLACE)
        ),
        *(
            claims.beats(
                f"ADRR ranks better than {method}", claims.minus(method, ADRR), metric=RANKING
            )
            for method in (COUNT, CLASSIC, LAPLACE)
        ),
    ],
    picture={
        "x": "estimator",
        "y": {RANKING: common.LABELS[RANKING]},
        "panel": ("link",),
        **common.DOTS,
    },
    outline=("replicates", "link"),
    differences=(
        common.RIDGE,
        common.UNWEIGHTED,
        "full ranking error: Kendall's normalized distance",
        "truth and weights: the truth is the ranking of these 60 users with equal weights, from which weighing them "
        "by ε moves away; what the weights gain over classic randomized response is lost again (a difference of "
        "-0.0005 to -0.0010 ± 0.0005 at 2,000 replicates)",
        DATA,
    ),
)
def table_2(key: Key, p: P) -> Metrics:
    """One replicate: full ranking errors of all methods on one draw of ε, and paired differences."""
    level_key, flip_key, noise_key, tie_key = jax.random.split(key, 4)
    epsilon = common.spread_levels(jax.random.split(level_key), p, len(p.answers))
    reports = randomized_response(flip_key, p.answers, epsilon)
    noisy = laplace_reports(noise_key, p.answers, epsilon)
    adaptive = debiased_sums(reports, p.observed, epsilon)
    plain = debiased_sums(reports, p.observed, epsilon, weighted=False, debiased=False)
    laplace = debiased_sums(noisy, p.observed, epsilon, weighted=False, mechanism="laplace")
    stacked = common.stacked(adaptive, laplace, plain)
    plain_gamma = p.gamma / jnp.mean(report_information(epsilon))
    gammas = jnp.stack([jnp.asarray(p.gamma, float), plain_gamma, plain_gamma])

    def error(values: Array) -> Array:
        ranks = ranks_from_scores(values, key=tie_key)
        return kendall_distance(ranks, p.ranks, normalized=True)

    counts = error(plain.wins.sum(-1))

    def one(_: int, link: str) -> tuple[Metrics, Array]:
        values, codes = common.fits(stacked, link, gammas)
        named = zip((ADRR, LAPLACE, CLASSIC), values, strict=True)
        errors = {method: error(value) for method, value in named} | {COUNT: counts}
        every = claims.with_differences(errors, [(name, ADRR) for name in errors][1:])
        return {name: {RANKING: value} for name, value in every.items()}, codes

    return common.by_link(one)


@common.declare(
    "xu-fig14",
    "Cars: errors of ADRR against 1/√B(ε)",
    "Figure 14",
    **CARS,
    each=True,
    rows=dots.placed,
    claims=[dots.linear("estimation errors grow linearly with 1/√B(ε)", ERRORS)],
    picture=dots.PICTURE,
    outline=("x", "link"),
    differences=(
        common.RIDGE,
        "truth: the maximum likelihood scores of all answers without privacy (the paper does not say)",
        DATA,
    ),
)
def figure_14(key: Key, p: P) -> Metrics:
    """One replicate: 1/√B(ε), and the distance of ADRR from the fit without privacy."""
    level_key, flip_key = jax.random.split(key)
    epsilon = common.spread_levels(jax.random.split(level_key), p, len(p.answers))
    reports = randomized_response(flip_key, p.answers, epsilon)
    sums = debiased_sums(reports, p.observed, epsilon)
    return dots.errors_at(epsilon, [sums] * len(common.LINKS), [*p.scores], p.gamma)
