"""The Xu studies: replicates against public estimators, printed tables against their files, claims on made-up rows."""

from __future__ import annotations

import csv
import dataclasses
import math

import jax
import numpy as np
import pytest
import scipy.stats

from privrank_jax import experiments, rankings
from privrank_jax.datasets import ComparisonTable, load
from privrank_jax.experiments import claims, printed
from privrank_jax.experiments.xu import dots as xu_dots
from privrank_jax.experiments.xu import extensions as xu_extensions
from privrank_jax.experiments.xu import figures as xu_figures
from privrank_jax.experiments.xu import methods as xu_methods
from privrank_jax.experiments.xu import printed as xu_printed
from privrank_jax.experiments.xu import real as xu_real
from privrank_jax.experiments.xu import scenarios as xu_scenarios
from privrank_jax.experiments.xu import times as xu_times
from privrank_jax.pairwise import debiased_rr, mixed_effects, report_counts
from privrank_jax.simulate import Study
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.worlds import reports
from tests import reference
from tests.experiments.estimates import placed

KEY = jax.random.key(20261122)
NAMES = [f"xu-table{n}" for n in range(2, 12)] + [f"xu-fig{n}" for n in (3, 5, 10, 14)]


def test_every_table_and_figure_is_registered():
    found = [name for name in experiments.names() if name.startswith("xu")]
    assert sorted(NAMES) == found
    for name in NAMES:
        one = experiments.get(name)
        assert one.claims, name
        assert one.differences, name
        assert len({claim.text for claim in one.claims}) == len(one.claims), name
        assert one.paper.startswith("Xu, Sun and Cheng")


# --- printed tables ------------------------------------------------------------------------------

FILES = {
    "TABLE_2": ("table02_cars", 7),
    "TABLE_3": ("table03_mixed_effects", 18),
    "TABLE_4": ("table04_model_selection", 12),
    "TABLE_5": ("table05_scenario1", 48),
    "TABLES_6_7": ("table06_07_scenario3", 144),
    "TABLES_8_9": ("table08_09_scenario4", 105),
    "TABLES_10_11": ("table10_11_scenario5", 18),
}
METRICS = {
    "l2": "l2_error",
    "linf": "linf_error",
    "theta_l2": "l2_error",
    "sigma_abs": "sigma_error",
}
COLUMNS = {"num_items": "items", "num_users": "users", "estimator": "method"}


@pytest.mark.parametrize("name", list(FILES))
def test_printed_tables_are_complete(name, request):
    """Counts of cells always; every value where the folder of targets lies beside that of the data."""
    file, count = FILES[name]
    table = getattr(xu_printed, name)
    assert len(table.cells) == count
    folder = request.getfixturevalue("data_folder").parent / "targets"
    if not folder.is_dir():
        pytest.skip("printed tables: there is no folder `targets` beside PRIVRANK_DATA")
    with (folder / f"xu_rank_aggregation_{file}.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == count
    for row in rows:
        row["metric"] = METRICS.get(row.get("metric", "full_ranking_error"), row.get("metric"))
        row["metric"] = row["metric"] or "full_ranking_error"
        cell = tuple(xu_printed._value(row[COLUMNS.get(c, c)]) for c in table.columns)
        mean = row.get("mean") or row.get("mean_full_ranking_error") or row["fraction_correct"]
        error = row.get("standard_error")
        if error is None and "sd" in row:
            error = float(row["sd"]) / math.sqrt(200)
        found = table.cells[cell]
        assert found[0] == float(mean), cell
        if error is not None:
            np.testing.assert_allclose(found[1], float(error), rtol=1e-12)


# --- replicates ----------------------------------------------------------------------------------


def same(ours, naive, atol=2e-4):
    for name, value in naive.items():
        np.testing.assert_allclose(float(ours[name]), value, rtol=0, atol=atol, err_msg=name)


def uniforms(key, users, pairs):
    """The draws of the first block of users."""
    assert users <= reports.BLOCK
    shape = (reports.BLOCK, pairs)
    return np.asarray(jax.random.uniform(jax.random.fold_in(key, 0), shape, "float32"))[:users]


def errors(value, theta):
    gap = np.asarray(value) - np.asarray(theta)
    return {"l2_error": math.sqrt(np.mean(gap**2)), "linf_error": np.abs(gap).max()}


@pytest.mark.slow
def test_scenario_one_is_the_public_estimator_on_the_reports_of_each_user():
    config = xu_scenarios.ScenarioConfig("small", items=(4,), users=(20, 40))
    ours = jax.jit(
        lambda key: xu_scenarios.trial(key, {"num_items": 4, "max_items": 4}, config=config)
    )(KEY)
    world_key, epsilon_key, report_key = jax.random.split(KEY, 3)
    theta, _ = reports.uniform_scores(world_key, 4, 4, "float32")
    epsilon = jax.random.uniform(epsilon_key, (40,), "float32", 1, 5)
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


@pytest.mark.slow
def test_mixed_effects_are_not_moved_by_padding():
    config = xu_extensions.MixedConfig("small", items=(4, 5), users=(20, 30))
    cell = {"num_items": 4, "num_users": 20, "max_items": 5, "max_users": 30}
    ours = jax.jit(lambda key: xu_extensions.mixed_trial(key, cell, config=config))(KEY)
    world_key, user_key, answer_key = jax.random.split(KEY, 3)
    theta, _ = reports.uniform_scores(world_key, 4, 5, "float32")
    lean = np.asarray(jax.random.normal(user_key, (30,), "float32"))
    first, second = np.triu_indices(5, 1)
    logits = lean[:, None] + np.asarray(theta[first] - theta[second])
    answers = np.asarray(jax.random.uniform(answer_key, (30, 10), "float32")) < 1 / (
        1 + np.exp(-logits)
    )
    estimate = mixed_effects(answers[:20, second < 4].astype(np.float32)).value
    naive = {
        ("two-step", "l2_error"): errors(estimate.scores, theta[:4])["l2_error"],
        ("two-step", "sigma_error"): abs(float(estimate.sigma) - 1),
    }
    same(placed(ours, ("estimator", "metric")), naive, atol=1e-3)


def test_schemes_agree_at_the_anchor_and_have_their_orders_elsewhere():
    config = xu_scenarios.SchemeConfig("x", anchor=2.0)
    for power in (2, 0, -2):
        np.testing.assert_allclose(
            xu_scenarios.scheme_epsilon(config, power, 10, 100), 2, rtol=1e-6
        )
        ratio = xu_scenarios.scheme_epsilon(config, power, 20, 800) / 2
        expected = (math.log(16000) / math.log(1000)) ** power / math.sqrt(16)
        np.testing.assert_allclose(ratio, expected, rtol=1e-5)


# --- cars ----------------------------------------------------------------------------------------


def small_table(**changes):
    fields = {
        "users": [0, 0, 1], "winners": [2, 0, 1], "losers": [0, 1, 0], "tied": [False] * 3,
        "item_names": "abc", "user_names": "uv", "name": "small",
    }  # fmt: skip
    return ComparisonTable(**{**fields, **changes})


def test_answers_are_laid_out_by_pairs():
    answers, observed = xu_real.answers_of(small_table())  # pairs 01, 02, 12
    assert observed.tolist() == [[True, True, False], [True, False, False]]
    assert answers.tolist() == [[True, False, False], [False, False, False]]
    with pytest.raises(ValueError, match="1 ties"):
        xu_real.answers_of(small_table(tied=[True, False, False]))
    with pytest.raises(ValueError, match="twice"):
        xu_real.answers_of(small_table(users=[0, 0, 0]))


def test_cars_have_the_printed_ranking_and_missing_answers(data_folder):
    """Table 1: the ranks of cars 1 to 10 by all three methods."""
    config = xu_real.CarsConfig("x", data_folder=str(data_folder))
    survey = xu_real.load(config)
    assert (np.asarray(survey.ranks) + 1).tolist() == [8, 3, 10, 9, 7, 1, 5, 4, 6, 2]
    assert survey.answers.shape == (60, 45)
    assert int(survey.observed.sum()) == len(load("cars", data_folder)) == 2675


# --- tables, dots and claims ---------------------------------------------------------------------


def rows_of(means, error=0.01, printed=0.1, printed_error=0.0, replicates=200, **columns):
    return [
        {
            "study": "s", "metric": "l2_error", "estimator": "ADRR", "mean": mean, "standard_error": error,
            "replicates": replicates, "nonfinite": 0, "printed": printed,
            "printed_standard_error": printed_error, "verdict": "", **columns,
        }
        for mean in means
    ]  # fmt: skip


def judged(rows, claim, least=True):
    rows = [{**row, "verdict": printed.verdict(row, least)} for row in rows]
    return claim.check(StudyResult("s", rows))


def test_a_cell_holds_up_to_three_standard_errors_of_both():
    claim = printed.beside_printed("x")
    assert judged(rows_of([0.05, 0.129]), claim).holds is True
    failing = judged(rows_of([0.05, 0.131]), claim)
    assert failing.holds is False
    assert "1 of 2 cells" in failing.evidence
    assert "0.1310 against 0.1000 (+3.1 SE)" in failing.evidence
    assert judged(rows_of([0.131], printed_error=0.01), claim).holds is True
    assert judged(rows_of([0.131], replicates=10), claim).holds is None
    assert judged(rows_of([0.131], error=math.nan), claim).holds is None
    most = printed.beside_printed("x", least=False)
    assert [judged(rows_of([m]), most, False).holds for m in (0.2, 0.05)] == [True, False]


def test_paired_differences_and_trends_are_judged():
    claim = claims.paired("x", "B minus A", metric="l2_error", link="BTL")
    for mean, verdict in ((0.04, True), (0.02, None), (-0.04, False)):
        rows = rows_of([mean], estimator="B minus A", link="BTL")
        assert claim.check(StudyResult("s", rows)).holds is verdict
    falling = claims.trend("x", "num_users", -1, metric="l2_error")
    rows = [r for users in (1, 2) for r in rows_of([1 / users], num_users=users, printed=users)]
    assert falling.check(StudyResult("s", rows)).holds is True


def test_lines_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 3, 40)
    y = 2 * x - 1 + rng.normal(0, 0.3, 40)
    ours, theirs = xu_dots.Line.through(x, y), scipy.stats.linregress(x, y)
    np.testing.assert_allclose(
        [ours.slope, ours.intercept, ours.correlation, ours.slope_error],
        [theirs.slope, theirs.intercept, theirs.rvalue, theirs.stderr],
    )
    middle, half = ours.predict([2.0])
    fresh = [2 * 2 - 1 + rng.normal(0, 0.3) for _ in range(4000)]
    assert 0.9 < np.mean(np.abs(np.array(fresh) - middle) < half) < 0.99


def toy_trial(key, cell):
    noise = jax.random.normal(key)
    return {"x": noise, "BTL": {"ADRR": {"l2_error": cell["slope"] * noise}}}


def test_every_replicate_has_its_row_and_its_place():
    experiment = dataclasses.replace(
        experiments.get("xu-fig5"),
        build=lambda config: (
            Study("toy", toy_trial, ({"slope": 2.0},), axes=("link", "estimator", "metric")),
        ),
    )
    rows = experiment.table(xu_dots.per_replicate(KEY, experiment, 40)).rows
    assert len({row["x"] for row in rows}) == len(rows) == 40
    np.testing.assert_allclose([r["mean"] for r in rows], [2 * r["x"] for r in rows], rtol=1e-6)
    verdict = xu_dots.linear("x", ("l2_error",), 0.9).check(StudyResult("toy", rows[:39]))
    assert "slope 2.0000" in verdict.evidence


def test_curvature_is_judged_by_a_line():
    def table(power):
        rows = [
            row
            for items in (10, 20, 30)
            for row in rows_of([items**power] * 30, metric=xu_figures.EIGENVALUE, num_items=items)
        ]
        return StudyResult("s", [{**row, "study": "xu-fig3 num_items"} for row in rows])

    assert xu_figures.straight(table(1), column="num_items").holds is True
    assert xu_figures.straight(table(3), column="num_items").holds is False


def test_exponents_of_cost_are_told_from_what_a_call_costs():
    rows = [
        {"metric": "least_data_seconds", "num_users": users, "num_items": items, "mean": seconds}
        for users in (100, 200, 400)
        for items in (10, 20, 40, 80)
        for seconds in [1e-3 + 1e-7 * users * items**2]
    ]
    rows[3]["mean"] *= 2  # delayed by other work
    table = StudyResult("s", rows)
    found, _ = xu_times.exponents(table)
    np.testing.assert_allclose(found, [1, 2], atol=0.1)
    assert xu_times.grows(table, which=1, expected=2.0).holds is True
    assert xu_times.grows(table, which=1, expected=1.0).holds is False
    assert xu_times.grows(StudyResult("s", rows[:4]), which=1, expected=2.0).holds is None


@pytest.mark.slow
def test_cost_is_measured_in_every_cell(tmp_path):
    result = experiments.run(KEY, "xu-fig10", 2, folder=tmp_path, items=(3, 4), users=(5, 100))
    seconds = [row["mean"] for row in result.table.rows if row["metric"] == "seconds"]
    assert len(seconds) == 4
    assert min(seconds) > 0
    assert result.paths["picture"].stat().st_size > 10_000


def test_a_small_run_stands_beside_the_printed_table(tmp_path):
    result = experiments.run(KEY, "xu-table5", 3, folder=tmp_path, items=(10,), users=(100,))
    assert result.diagnostics["compilations"] == 1
    row = result.table.row("l2_error", link="TM")
    assert (row["printed"], row["verdict"]) == (0.0779, "holds")
    np.testing.assert_allclose(row["printed_standard_error"], 0.0203 / math.sqrt(200))
    assert {verdict.holds for _, verdict in result.verdicts} == {None}  # three replicates
    header, body = result.outline()
    assert len(body) == 4
    assert header[:2] == ["metric", "link"]
