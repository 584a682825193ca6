"""Clouds of replicates and their lines."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import scipy.stats

from privrank_jax import experiments
from privrank_jax.experiments.xu import dots as xu_dots
from privrank_jax.simulate import Study
from privrank_jax.simulate.result import StudyResult
from tests.experiments.xu.shared import KEY


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
