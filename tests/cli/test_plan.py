"""``privrank plan``: words and numbers of each kind, and its files."""

from __future__ import annotations

import csv
import io

import pytest

SURVEY = ("plan", "--items", 5, "--users", 100, "--epsilon", 1, "--target", 0.3)
CURATOR = ("--trust", "central", "--max-per-user", 3)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--epsilon", 1, "--target", 0.15, "--users", 100), "more users"),
        (("--users", 10_000, "--target", 0.15), "users may each have epsilon"),
        (("--epsilon", 1, "--users", 900, *CURATOR, "--adjacency", "flip"), "--adjacency"),
        (("--epsilon", 1, "--target", 0.2, *CURATOR, "--error", "first", "--top-k", 2), "the first 2 are not"),
        (("--rankings", "--epsilon", 1, "--users", 90), "proven of exponential (none): mean cost at most"),
        (("--points", "0-1", "--epsilon", 1, "--target", 0.05), "with probability 0.95"),
    ],
)  # fmt: skip
def test_in_words(privrank, more, words):
    result = privrank("plan", "--items", 6, "--draws", 50, *more)
    assert result.code == 0, result.err
    assert words in " ".join(result.out.split())


@pytest.mark.parametrize(
    "words",
    [
        ("--items", 5, "--points", "0-5", "--users", 90),
        ("--items", 5, "--rankings", "--rule", "kemeny", "--method", "weights", "--users", 90),
        SURVEY[1:],
    ],
)
def test_a_plan_is_written(privrank, tmp_path, words):
    out = tmp_path / "plan.csv"
    found = privrank("plan", *words, "--draws", 50, "--epsilon", 1, "--json", "--out", out).json()
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    if "methods" in found:
        assert [float(row["proven_cost"]) for row in rows] == [
            row["proven_cost"] for row in found["methods"]
        ]
    else:
        assert int(rows[0]["users"]) == found["users"]
    if words == SURVEY[1:]:
        assert float(rows[0]["error_largest_mean"]) == found["error"]["largest"]["mean"]
        assert int(rows[0]["users_needed"]) == found["users_needed"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "plan.exe"), ".csv"),
        (("--out", "plan.svg"), "--out"),
        (("--trust", "local", "--delta", 1e-6), "--delta"),
        (("--link", "logistc"), "--link"),
    ],
)
def test_refusals(privrank, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = privrank(*SURVEY, *words)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert not list(tmp_path.iterdir())
