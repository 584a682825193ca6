"""Curvature, judged by a line."""

from __future__ import annotations

import dataclasses
import math

import jax
import numpy as np
import pytest
import scipy.stats

from privrank_jax import experiments
from privrank_jax.experiments.xu import dots as xu_dots
from privrank_jax.experiments.xu import figures as xu_figures
from privrank_jax.pairwise.report_theory import convexity_bound
from privrank_jax.simulate import Study
from privrank_jax.simulate.result import StudyResult
from tests.experiments.xu.shared import KEY, rows_of


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
    found, _ = xu_figures.exponents(table)
    np.testing.assert_allclose(found, [1, 2], atol=0.1)
    assert xu_figures.grows(table, which=1, expected=2.0).holds is True
    assert xu_figures.grows(table, which=1, expected=1.0).holds is False
    assert xu_figures.grows(StudyResult("s", rows[:4]), which=1, expected=2.0).holds is None


@pytest.mark.slow
def test_cost_is_measured_in_every_cell(tmp_path):
    result = experiments.run(KEY, "xu-fig10", 2, folder=tmp_path, items=(3, 4), users=(5, 100))
    seconds = [row["mean"] for row in result.table.rows if row["metric"] == "seconds"]
    assert len(seconds) == 4
    assert min(seconds) > 0
    assert result.paths["picture"].stat().st_size > 10_000
    found = {}
    for row in result.table.rows:
        found.setdefault((row["num_items"], row["num_users"]), {})[row["metric"]] = row["mean"]
    order = ("least_seconds", *xu_figures.QUARTILES, "most_seconds")
    for cell in found.values():  # of two runs: the quartiles lie evenly between them
        times = [cell[metric] for metric in order]
        np.testing.assert_allclose(times, np.linspace(times[0], times[-1], 5), rtol=1e-9)
        assert cell["seconds"] == pytest.approx(cell["median_seconds"])


def test_eigenvalues_are_held_against_lemma_4():
    config = xu_figures.CurvatureConfig(epsilon=2.0, users=300)
    told = 300 * math.tanh(1.0) ** 2
    bound = convexity_bound(30, told, 0.2, spread=1.0, link="normal")
    assert 0.8 < bound.probability < 0.9
    cell = {
        "study": "xu-fig3",
        "num_items": 30,
        "probability": 0.2,
        "metric": "smallest_eigenvalue",
    }

    def judged(below, runs=100):
        values = [bound.eigenvalue * (0.9 if run < below else 1.1) for run in range(runs)]
        rows = [{**cell, "mean": value} for value in values]
        return xu_figures.convex(StudyResult("x", xu_figures.with_bounds(config, rows))).holds

    assert (judged(0), judged(20), judged(40), judged(0, 10)) == (True, True, False, None)
    few = xu_figures.CurvatureConfig(epsilon=2.0)  # where the lemma says nothing
    rows = xu_figures.with_bounds(few, [{**cell, "mean": 0.0}] * 100)
    assert xu_figures.convex(StudyResult("x", rows)).holds is None


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
