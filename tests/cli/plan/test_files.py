"""Pictures and tables of plans: those of the document, and what is refused before the work."""

from __future__ import annotations

import csv
import json

import duckdb
import pytest

from privrank_jax import plotting
from privrank_jax.cli.plan.files import _numbers
from privrank_jax.cli.plan.request import Design

SURVEY = ("plan", "--items", 5, "--users", 100, "--epsilon", 1, "--target", 0.3)
CONSENSUS = ("plan", "--rankings", "--items", 5, "--users", 100, "--epsilon", 1)


def drawn(privrank, folder, *words):
    picture = folder / "plan.svg"
    result = privrank(*words, "--plot", picture)
    assert result.code == 0, result.err
    return picture.read_text()


def test_a_survey_is_drawn_and_written(privrank, tmp_path):
    assert "<svg" in drawn(privrank, tmp_path, *SURVEY)
    shuffled = ("--shuffled", "--delta", 1e-6)
    assert "<svg" in drawn(
        privrank, tmp_path, "plan", "--items", 5, "--users", 100, "--epsilon", 1, *shuffled
    )
    out = tmp_path / "plan.csv"
    found = privrank(*SURVEY, "--json", "--out", out).json()
    with out.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["error_expected"]) == found["error"]["expected"]
    assert int(row["users_needed"]) == found["users_needed"]


def test_a_consensus_is_drawn_and_written(privrank, tmp_path, monkeypatch):
    assert "<svg" in drawn(privrank, tmp_path, *CONSENSUS)
    drawings = []
    monkeypatch.setattr(plotting, "save", lambda figure, _: drawings.append(figure))
    privrank(*CONSENSUS, "--plot", "plan.svg")
    privrank(*CONSENSUS, "--method", "borda", "--plot", "plan.svg")
    captions = [" ".join(text.get_text() for text in one.texts).split() for one in drawings]
    words = (
        "Where there is no blue mark, the expected cost of the method is not computed for 5 items."
    )
    assert [words in " ".join(one) for one in captions] == [True, False]
    out, document = tmp_path / "plan.parquet", tmp_path / "plan.json"
    found = privrank(*CONSENSUS, "--json", "--out", out).json()
    rows = duckdb.sql(f"SELECT method, proven_cost, expected_cost FROM '{out}'").fetchall()
    assert rows == [
        (one["method"], one["proven_cost"], one["expected_cost"]) for one in found["methods"]
    ]
    assert privrank(*CONSENSUS, "--out", document).code == 0
    assert json.loads(document.read_text()) == found


def test_users_about_a_plan():
    design = Design(items=5)
    assert _numbers(1000, design)[::4] == [100, 1000, 10_000]
    assert _numbers(1, design)[0] == 1
    assert _numbers(10**15, design)[-1] == 10**15


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--plot", "plan.exe"), "use .png"),
        (("--out", "plan.txt"), "ends in .csv"),
        (("--out", "a/plan.csv"), "there is no folder a"),
    ],
)
def test_refusals(privrank, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = privrank(*SURVEY, *words)
    assert result.code == 2
    assert message in result.err
    assert not list(tmp_path.iterdir())
