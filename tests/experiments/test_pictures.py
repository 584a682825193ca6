"""Every claim finds its cells and every picture its curves, on made-up tables."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

from privrank_jax import experiments
from privrank_jax.data import Comparisons
from privrank_jax.simulate.axes import columns, flatten
from privrank_jax.simulate.result import StudyResult, joined
from tests.experiments.conftest import RUN_KEY
from tests.quick import thorough_but

SMALL = {
    "cai-fig1": {"items": (8, 12)},
    "cai-fig2": {"items": (8,), "probabilities": (0.5, 1.0)},
    "cai-fig3": {"items": (8,), "probabilities": (0.5, 1.0)},
    "cai-fig4": {"items": (8, 12), "fixed_items": 8},
    "cai-fig5": {"items": (5, 6), "users": (20,)},
    "cai-fig6": {"items": (6,), "users": (20, 30)},
    "cai-fig7": {"items": (6,), "users": (20, 30)},
    "cai-fig8": {},
}


@pytest.fixture
def survey_data(monkeypatch):
    """Two small surveys in the place of the real ones."""
    pairs = [(0, 1), (0, 2), (1, 2)]
    winners, losers = zip(*pairs)
    table = Comparisons(
        [0, 0, 0],
        winners,
        losers,
        [False, False, True],
        ("a", "b", "c"),
        user_names=("u",),
        questionnaire=pairs,
    )
    monkeypatch.setattr("privrank_jax.data.load", lambda name: table)


def made_up(name, mean):
    """The table of an experiment on a small grid: the metrics of its trials, with means from ``mean``."""
    experiment = experiments.get(name).configured(**SMALL.get(name, {}))
    rows = []
    for study in experiment.runs(3)[0]:
        for group in study.groups():
            first = study.cells[group[0]]  # a program returns the same names for all of its cells
            static = {key: first[key] for key in study.static}
            traced = {key: value for key, value in first.items() if key not in static}

            traces = []

            def trial(key, traced, study=study, static=static, traces=traces):
                traces.append(flatten(study.trial(key, {**traced, **static}), study.axes))

            jax.eval_shape(trial, RUN_KEY, traced)
            for index, labels in itertools.product(group, traces[0].labels):
                row = {"study": study.name, **study.cells[index], **columns(labels, study.axes)}
                tail = {"standard_error": 1e-5, "replicates": 100, "nonfinite": 0}
                rows.append({**row, "mean": mean(row), **tail})
    return experiment, experiment.table(StudyResult(name, joined(rows)))


def hardness(row):
    """Errors that grow with fewer items, users, pairs and with less privacy budget; MLE and one-shot the worse."""
    if row["metric"] == "failed_fits":
        return 0.0
    what, estimator, calibration, epsilon = (
        row[axis] for axis in ("metric", "estimator", "calibration", "epsilon")
    )
    if "minus" in estimator:
        return 0.1
    size = sum(1 / row.get(name, 1.0) for name in ("num_items", "num_users", "probability"))
    scale = {"counts": 1.0, "mle": 2.0}.get(estimator, 3.0) + len(calibration) / 30
    return 0.015 * scale * (size + 1 / min(epsilon, 20.0) ** 1.5) * (2 - ("log" in what))


@pytest.mark.parametrize("name", thorough_but(SMALL, "cai-fig8"))
def test_every_claim_finds_its_cells_and_every_picture_its_curves(name, survey_data):
    experiment, table = made_up(name, hardness)
    lost = ("no such cells", "fewer than two values", "no cell has")
    for claim in experiment.claims:
        verdict = claim.check(table)
        assert not any(words in verdict.evidence for words in lost), (claim.text, verdict)
    # With these results every claim holds, but for Figure 5: there the errors are said to grow with n.
    wrong = [c.text for c in experiment.claims if c.check(table).holds is not True]
    assert len(wrong) == (3 if name == "cai-fig5" else 0), wrong
    assert all("increase" in text for text in wrong)

    figure = experiment.draw(table)
    if len(figure.axes) < 9:  # the others are drawn as that of a run is
        figure.draw_without_rendering()
    drawn = [axis for axis in figure.axes if axis.axison]
    assert len(drawn) == {"cai-fig4": 12, "cai-fig8": 6}.get(name, 9)
    for axis in drawn:
        values = [y for line in axis.get_lines() for y in np.atleast_1d(line.get_ydata())]
        assert values
        assert np.all(np.isfinite(np.asarray(values, float)))
        assert axis.get_title() or axis.get_ylabel() or axis.get_xlabel() or len(drawn) == 9
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(labels) == len(set(labels)) > 2

    header, body = experiments.ExperimentResult(experiment, table, (), 100, {}, {}).outline()
    assert all(len(line) == len(header) for line in body)
    assert all(any(line[-2:]) for line in body)
    assert len(body) == len({tuple(line[: len(header) - 2]) for line in body})


XU = [name for name in experiments.names() if name.startswith("xu-")]


@pytest.mark.parametrize("name", thorough_but(XU, "xu-fig3"))
def test_every_panel_shows_each_study_beside_the_printed_means(name, data_folder):
    """Errors differ between estimators, items and users; every panel has a curve, dots or boxes."""
    random = np.random.default_rng(0)
    experiment, table = made_up(name, lambda row: random.uniform(0.1, 0.2))
    figure = experiment.draw(table)
    figure.draw_without_rendering()
    drawn = [axis for axis in figure.axes if axis.axison]
    assert len(drawn) >= 2
    assert all(axis.lines or axis.containers for axis in drawn)
    crosses = [line for axis in drawn for line in axis.lines if line.get_marker() == "x"]
    assert bool(crosses) == (experiment.printed is not None)
    header, body = experiments.ExperimentResult(experiment, table, (), 100, {}, {}).outline()
    assert body
    assert all(len(line) == len(header) for line in body)
