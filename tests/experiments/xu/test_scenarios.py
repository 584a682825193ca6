"""Scenarios: replicates against the public estimator, schemes of budgets."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest
import scipy.stats

from privrank_jax import experiments, rankings
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments.xu import methods
from privrank_jax.experiments.xu import printed as xu_printed
from privrank_jax.experiments.xu import scenarios as xu_scenarios
from privrank_jax.pairwise.debiased_fit import debiased_rr, debiased_sums
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.perturbed_fit import perturbed_mle
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.worlds import reports
from tests import reference
from tests.experiments.estimates import placed
from tests.experiments.rows import as_published, p_of
from tests.experiments.xu.shared import KEY, errors, same, uniforms
from tests.promises import promise


@pytest.mark.slow
def test_scenario_one_is_the_public_estimator_on_the_reports_of_each_user():
    p = p_of("xu-table5", num_items=4, max_items=4, users=(20, 40))
    ours = jax.jit(lambda key: xu_scenarios.scenario_1(key, p))(KEY)
    world_key, epsilon_key, report_key = jax.random.split(KEY, 3)
    theta, _ = reports.uniform_scores(world_key, 4, 4)
    epsilon = jax.random.uniform(epsilon_key, (40,), minval=1, maxval=5)
    drawn = uniforms(report_key, 40, 6)
    naive = {(None, None, None, "failed_fits"): 0}
    for link, spelled in (("BTL", "logistic"), ("TM", "normal")):
        chance = np.asarray(reports.pair_chances(theta, spelled))
        says = 0.5 + np.tanh(np.asarray(epsilon) / 2)[:, None] * (chance - 0.5)
        for users in (20, 40):
            estimate = debiased_rr(
                (drawn < 0.5 * says)[:users], (drawn < 0.5)[:users], epsilon[:users], spelled
            )
            for metric, value in errors(estimate.value, theta).items():
                naive[link, users, "ADRR", metric] = value
    ours = placed(ours, ("link", "num_users", "estimator", "metric"))
    assert set(ours) == set(naive)
    same(ours, naive)


def test_schemes_agree_at_the_anchor_and_have_their_orders_elsewhere():
    config = p_of("xu-table6", anchor=2.0)
    for power in (2, 0, -2):
        np.testing.assert_allclose(
            xu_scenarios.scheme_epsilon(config, power, 10, 100), 2, rtol=1e-6
        )
        ratio = xu_scenarios.scheme_epsilon(config, power, 20, 800) / 2
        expected = (math.log(16000) / math.log(1000)) ** power / math.sqrt(16)
        np.testing.assert_allclose(ratio, expected, rtol=1e-5)


def test_errors_are_held_against_the_rates_of_theorems_4_and_5():
    """B(ε) of ε in (1, 5) by a sum over ten thousand, and C of either link."""
    one = experiments.get("xu-table8")
    informed = np.mean(np.tanh(np.linspace(1, 5, 10_001) / 2) ** 2)
    row = {
        "num_items": 20,
        "num_users": 100,
        "gap": 0.1,
        "metric": "top_k_error",
        "estimator": "ADRR",
    }
    row |= {"mean": 0.1, "standard_error": 0.01, "replicates": 50, "nonfinite": 0}
    rates = {}
    for link, constant in (("BTL", 1 / 16), ("TM", 1 / (2 * math.pi))):
        (found,) = xu_scenarios.with_rates(one.p, [{**row, "link": link}])
        expected = math.exp(-constant * 20 * 100 * 0.5 * informed * 0.01)
        assert found["rate"] == pytest.approx(expected, rel=1e-3)
        rates[link] = found["rate"]
    for link, mean, holds in (("BTL", 0.9 * rates["BTL"], True), ("TM", 1.5 * rates["TM"], False)):
        found = xu_scenarios.with_rates(one.p, [{**row, "link": link, "mean": mean}])
        (claim,) = (claim for claim in one.claims if "Theorems" in claim.text)
        assert claim.check(StudyResult("x", found)).holds is holds


def test_the_printed_tables_point_to_an_anchor_of_three_point_two():
    """Errors are as 1/√B, and B of Scenario I is E tanh²(ε/2) over ε in (1, 5): what the differences say."""
    mixed = np.tanh(np.linspace(1, 5, 10_001) / 2) ** 2
    one, three = (
        table.cells[cell][0]
        for table, cell in (
            (xu_printed.TABLE_5, ("BTL", "l2_error", 10, 100)),
            (xu_printed.TABLES_6_7, ("BTL", 1, "l2_error", 10, 100)),
        )
    )
    information = np.mean(mixed) * (one / three) ** 2
    implied = 2 * math.atanh(math.sqrt(information))
    assert (round(float(np.mean(mixed)), 2), round(float(information), 2)) == (0.74, 0.85)
    assert round(implied, 1) == 3.2
    taken = p_of("xu-table6").anchor
    assert round(100 * (math.tanh(1.6) / math.tanh(taken / 2) - 1)) == 2


@pytest.mark.slow
def test_a_small_run_stands_beside_the_printed_table(tmp_path):
    study = experiments.get("xu-table5").configured(items=(10,), users=(100,))
    result = experiments.run(KEY, as_published(study), 3, folder=tmp_path)
    assert result.diagnostics["compilations"] == 1
    row = result.table.row("l2_error", link="TM")
    assert (row["printed"], row["verdict"]) == (0.0779, "undecided")
    np.testing.assert_allclose(row["printed_standard_error"], 0.0203 / math.sqrt(200))
    assert {verdict.holds for _, verdict in result.verdicts} == {None}  # three replicates
    header, body = result.beside_printed()
    assert header == ["link", "metric", "ours ± SE", "printed ± SE", "apart (SE)", "verdict"]
    (line,) = (line for line in body if line[:2] == ["TM", "l2_error"])
    error = row["standard_error"]
    assert line[2:4] == [f"{row['mean']:.4f} ± {error:.4f}", "0.0779 ± 0.0014"]
    assert float(line[4]) == round(
        (row["mean"] - 0.0779) / math.hypot(error, 0.0203 / math.sqrt(200)), 1
    )
    header, body = result.outline()
    assert len(body) == 4
    assert header[:2] == ["metric", "link"]


def noisy_objective(key, asked, answer, epsilon):
    """Objective perturbation of the true answers, (users, pairs), at the smallest ε: published and tight noise."""
    first, second = np.triu_indices(4, 1)
    wins = np.zeros((4, 4))
    wins[first, second] = (asked & answer).sum(0)
    wins[second, first] = (asked & ~answer).sum(0)
    counts = WinCounts.from_matrix(wins)
    privacy = promise(float(epsilon), adjacency="flip", delta=1e-6)
    deviation = math.sqrt(2) * math.sqrt(8 * math.log(2e6) + 4 * epsilon) / epsilon
    totals = wins.sum(1) - deviation * jax.random.normal(key, (4,))
    return {
        "NoisyObj": fit(Counts(wins + wins.T), totals, 1 / float(epsilon)),
        "NoisyObj tight": perturbed_mle(key, counts, privacy, noise="gaussian"),
    }


@pytest.mark.slow
def test_scenario_five_is_the_public_methods_on_the_same_answers():
    p = p_of("xu-table10", items=(4, 4), users=(30, 40), even=False)
    ours = jax.jit(lambda key: methods.scenario_5(key, p))(KEY)
    keys = jax.random.split(KEY, 7)
    users = int(jax.random.randint(keys[1], (), 30, 41))
    theta, _ = reports.uniform_scores(keys[2], 4, 4)
    epsilon = np.asarray(jax.random.uniform(keys[3], (40,), minval=0.2, maxval=2.0))[:users]
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
            np.where(asked, answer + noise, 0).astype(float), asked, epsilon,
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
    counts = debiased_sums(said, asked, epsilon, False, False).wins.sum(1)
    for method, value in (("ADRR", found["ADRR"].value), ("Count", counts)):
        ranks = np.asarray(rankings.ranks_from_scores(value, None, keys[6]))
        wrong = reference.kendall_distance(ranks, np.asarray(truth)) / 6
        naive["BTL", method, "full_ranking_error"] = wrong
    gap = naive["BTL", "Laplace", "l2_error"] - naive["BTL", "ADRR", "l2_error"]
    naive["BTL", "Laplace minus ADRR", "l2_error"] = gap
    same(placed(ours, ("link", "estimator", "metric")), naive, atol=2e-3)
