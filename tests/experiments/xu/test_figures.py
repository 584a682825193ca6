"""Curvature, judged by a line."""

from __future__ import annotations

import dataclasses
import math

import jax
import numpy as np

from privrank_jax import experiments
from privrank_jax.experiments.xu import dots as xu_dots
from privrank_jax.experiments.xu import figures as xu_figures
from privrank_jax.pairwise.report_theory import convexity_bound
from privrank_jax.simulate.result import StudyResult
from tests.experiments.rows import p_of
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


def test_eigenvalues_are_held_against_lemma_4():
    p = p_of("xu-fig3", users=300)
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
        return xu_figures.convex(StudyResult("x", [*xu_figures.with_bounds(p, rows)])).holds

    assert (judged(0), judged(20), judged(40), judged(0, 10)) == (True, True, False, None)
    few = p_of("xu-fig3")  # where the lemma says nothing
    rows = [*xu_figures.with_bounds(few, [{**cell, "mean": 0.0}] * 100)]
    assert xu_figures.convex(StudyResult("x", rows)).holds is None


def toy_trial(key, p):
    noise = jax.random.normal(key)
    return {"x": noise, "BTL": {"ADRR": {"l2_error": p.slope * noise}}}


def test_every_replicate_has_its_row_and_its_place():
    experiment = dataclasses.replace(
        experiments.get("xu-fig5"), trial=toy_trial, cells=lambda p: [{"slope": 2.0}]
    )
    result = experiments.run(KEY, experiment, 40)
    rows = result.table.rows
    assert len({row["x"] for row in rows}) == len(rows) == result.replicates == 40
    np.testing.assert_allclose([r["mean"] for r in rows], [2 * r["x"] for r in rows], rtol=1e-6)
    verdict = xu_dots.linear("x", ("l2_error",), 0.9).check(StudyResult("toy", rows[:39]))
    assert "slope 2.0000" in verdict.evidence
