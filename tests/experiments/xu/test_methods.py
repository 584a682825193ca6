"""The methods of scenario five against the public functions."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest
import scipy.stats

from privrank_jax import rankings
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments.xu import methods as xu_methods
from privrank_jax.pairwise.debiased_rr import debiased_rr, report_counts
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.fit import fit
from privrank_jax.pairwise.perturbed_mle import perturbed_mle
from privrank_jax.simulate.worlds import reports
from tests import reference
from tests.experiments.estimates import placed
from tests.experiments.xu.shared import KEY, errors, same, uniforms
from tests.promises import promise


def noisy_objective(key, asked, answer, epsilon):
    """Objective perturbation of the true answers, (users, pairs), at the smallest ε: published and tight noise."""
    first, second = np.triu_indices(4, 1)
    wins = np.zeros((4, 4), np.float32)
    wins[first, second] = (asked & answer).sum(0)
    wins[second, first] = (asked & ~answer).sum(0)
    counts = WinCounts.from_matrix(wins)
    privacy = promise(float(epsilon), adjacency="flip", delta=1e-6)
    deviation = math.sqrt(2) * math.sqrt(8 * math.log(2e6) + 4 * epsilon) / epsilon
    totals = wins.sum(1) - deviation * jax.random.normal(key, (4,), "float32")
    return {
        "NoisyObj": fit(Counts(wins + wins.T), totals, 1 / float(epsilon)),
        "NoisyObj tight": perturbed_mle(key, counts, privacy, noise="gaussian"),
    }


@pytest.mark.slow
def test_scenario_five_is_the_public_methods_on_the_same_answers():
    config = xu_methods.MethodConfig("small", items=(4, 4), users=(30, 40))
    ours = jax.jit(lambda key: xu_methods.method_trial(key, {"even": False}, config=config))(KEY)
    keys = jax.random.split(KEY, 7)
    users = int(jax.random.randint(keys[1], (), 30, 41))
    theta, _ = reports.uniform_scores(keys[2], 4, 4, "float32")
    epsilon = np.asarray(jax.random.uniform(keys[3], (40,), "float32", 0.2, 2.0))[:users]
    drawn = uniforms(keys[4], users, 6)
    chance = np.asarray(reports.pair_chances(theta))
    asked, answer = drawn < 0.5, drawn < 0.5 * chance
    place = np.where(answer, drawn, drawn - 0.5 * chance) / (
        0.5 * np.where(answer, chance, 1 - chance)
    )
    said = answer ^ (place < 1 / (np.exp(epsilon[:, None]) + 1))
    noise = scipy.stats.laplace.ppf(np.clip(place, 1e-6, 1 - 1e-6), scale=1 / epsilon[:, None])
    plain = {"weighted": False, "debiased": False}
    found = {
        "ADRR": debiased_rr(said, asked, epsilon),
        "Classic RR": debiased_rr(said, asked, epsilon, **plain),
        "Laplace": debiased_rr(
            np.where(asked, answer + noise, 0).astype(np.float32), asked, epsilon,
            weighted=False, mechanism="laplace",
        ),
        **noisy_objective(keys[5], asked, answer, epsilon.min()),
    }  # fmt: skip
    naive = {
        ("BTL", method, metric): value
        for method, estimate in found.items()
        for metric, value in errors(estimate.value, theta).items()
    }
    truth = rankings.ranks_from_scores(theta)
    counts = report_counts(said, asked, epsilon).value
    for method, value in (("ADRR", found["ADRR"].value), ("Count", counts)):
        ranks = np.asarray(rankings.ranks_from_scores(value, None, keys[6]))
        wrong = reference.kendall_distance(ranks, np.asarray(truth)) / 6
        naive["BTL", method, "full_ranking_error"] = wrong
    gap = naive["BTL", "Laplace", "l2_error"] - naive["BTL", "ADRR", "l2_error"]
    naive["BTL", "Laplace minus ADRR", "l2_error"] = gap
    same(placed(ours, ("link", "estimator", "metric")), naive, atol=2e-3)
