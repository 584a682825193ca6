"""Runs of experiments: what they return, write and draw."""

from __future__ import annotations

import csv
import json
import math
import re

import jax
import numpy as np
import pytest

from privrank_jax import experiments
from privrank_jax.experiments.runner import _finite
from privrank_jax.simulate.result import StudyResult
from tests.experiments.conftest import RUN_GRID, RUN_KEY

# --- a run ---------------------------------------------------------------------------------------


def test_a_changed_study_is_told_from_the_published_one(users_result):
    study = users_result.experiment
    assert study.changes == RUN_GRID
    assert users_result.table.study == "cai-fig6 with items=5,6, users=20,30, epsilons=1,2.5,inf"
    names = {path.name.partition(".")[0] for path in users_result.paths.values()}
    stem = "cai-fig6-items=5,6-users=20,30-epsilons=1,2"
    assert names == {stem}
    assert json.loads(users_result.paths["config"].read_text())["changed"]["users"] == [20, 30]
    document = users_result.as_dict()
    assert document["changed"]["epsilons"] == [1.0, 2.5, "inf"]
    assert document["note"].startswith("Changed: items=5,6, users=20,30")


def test_an_interrupted_study_is_not_taken_for_one_with_other_parameters(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    said = []
    run = {"replicates": 3, "folder": tmp_path, "notice": said.append}
    run |= {"items": (3,), "epsilons": (1.0,), "draws": 400}
    with monkeypatch.context() as patched:
        patched.setattr("privrank_jax.experiments.runner._write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            experiments.run(RUN_KEY, "rdp-fig4", **run)
    # What is written is seen below.
    monkeypatch.setattr("privrank_jax.experiments.runner._write", lambda *arguments: {})
    (left,) = tmp_path.iterdir()
    assert left.name == "rdp-fig4-items=3-epsilons=1-draws=400.unfinished"
    experiments.run(RUN_KEY, "rdp-fig4", **(run | {"draws": 500}))
    assert (said, left.exists()) == ([], True)
    experiments.run(RUN_KEY, "rdp-fig4", **run)
    assert ["resumed" in line for line in said] == [True]
    assert not left.exists()


def test_users_are_one_program_and_every_cell_has_its_rows(users_result):
    assert users_result.diagnostics["compilations"] == 1
    assert users_result.diagnostics["failed_fits"] == users_result.diagnostics["nonfinite"] == 0
    total = users_result.diagnostics["total_seconds"]
    assert total >= users_result.diagnostics["run_seconds"] > 0
    rows = users_result.table.rows
    cells = {(row["num_items"], row["num_users"]) for row in rows}
    assert cells == {(items, users) for items in (5, 6) for users in (20, 30)}
    # For three calibrations five metrics at three ε and four bends; and the count of fits that failed.
    assert len(rows) == 4 * (3 * (5 * 3 + 4) + 1)
    assert {row["replicates"] for row in rows} == {3}
    assert list(rows[0]) == [
        "study", "num_items", "num_users", "estimator", "calibration", "epsilon", "metric",
        "mean", "standard_error", "replicates", "nonfinite",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_same_key_gives_the_same_table_and_another_key_another(users_result):
    again = experiments.run(RUN_KEY, "cai-fig6", 3, **RUN_GRID)
    other = experiments.run(jax.random.key(1), "cai-fig6", 3, **RUN_GRID)
    rows = list(zip(users_result.table.rows, again.table.rows, other.table.rows, strict=True))
    assert all(ours == same for ours, same, _ in rows)
    assert any(ours["mean"] != different["mean"] for ours, _, different in rows)
    assert again.paths == {}


# --- files ---------------------------------------------------------------------------------------


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_claims_are_written_with_their_verdicts(users_result):
    assert len(read(users_result.paths["csv"])) == len(users_result.table.rows)
    written = read(users_result.paths["claims"])
    assert len(written) == len(users_result.verdicts) == len(experiments.get("cai-fig6").claims)
    for (claim, verdict), line in zip(users_result.verdicts, written, strict=True):
        assert line == {"claim": claim.text, "verdict": verdict.word, "evidence": verdict.evidence}
        assert verdict.holds is None  # three replicates are too few
        assert verdict.evidence.startswith("replicates: 3, but a verdict needs 30")


def no_constants(name):
    raise AssertionError(f"{name} is no JSON")


def test_settings_are_written_as_strict_json(users_result):
    text = users_result.paths["config"].read_text(encoding="utf-8")
    found = json.loads(text, parse_constant=no_constants)
    assert found["experiment"] == "cai-fig6"
    assert found["config"]["epsilons"] == [1.0, 2.5, "inf"]
    assert found["config"]["users"] == [20, 30]
    assert found["replicates"] == 3
    key = jax.random.wrap_key_data(np.array(found["key"], np.uint32))
    assert key == RUN_KEY
    assert _finite({"a": (1, -math.inf, [math.inf])}) == {"a": [1, "-inf", ["inf"]]}


def test_the_picture_is_written_and_shows_something(users_result):
    image = pytest.importorskip("matplotlib.image")
    pixels = image.imread(users_result.paths["picture"])[..., :3]
    height, width, _ = pixels.shape
    assert min(height, width) > 1000
    assert 0.02 < np.mean(np.any(pixels < 0.95, axis=-1)) < 0.5
    # Every panel has ink: three by three of them, above the legend.
    for rows in np.array_split(pixels[: int(0.9 * height)], 3, axis=0):
        for panel in np.array_split(rows, 3, axis=1):
            assert np.mean(np.any(panel < 0.8, axis=-1)) > 0.005


# --- every study, from made-up results -------------------------------------------------------------


def test_an_outline_shows_the_ends_of_every_curve():
    """Along n, a column for each ε; what differs between curves is named, what does not is left out."""
    rows = [
        {
            "study": "s", "num_items": items, "epsilon": epsilon, "estimator": estimator,
            "calibration": "published", "metric": "top_k_error", "mean": items / 100 + extra,
        }
        for items in (30, 10, 20)
        for epsilon in (1.0, math.inf)
        for estimator, extra in (("mle", 0.0), ("counts", 0.5), ("mle minus counts", 7.0), (None, 9.0))
        if (epsilon, estimator, items) not in ((1.0, "counts", 20), (1.0, "counts", 30))
    ]  # fmt: skip
    experiment = experiments.get("cai-fig1")
    result = experiments.ExperimentResult(experiment, StudyResult("s", rows), (), 1, {}, {})
    assert result.beside_printed()[1] == []  # nothing is printed
    header, body = result.outline()
    assert header == ["estimator", "epsilon 1", "epsilon inf"]
    cells = {line[0]: [re.findall(r"[\d.]+", cell) for cell in line[1:]] for line in body}
    assert cells == {"mle": [["0.1", "0.3"], ["0.1", "0.3"]], "counts": [["0.6"], ["0.6", "0.8"]]}
