"""``privrank plan``: what is printed and written, and options that it names; plans are held in tests/jobs."""

from __future__ import annotations

import csv

import pytest

from tests.quick import thorough

SURVEY = ("--items", 5, "--users", 100, "--target", 0.3)
POINTS = ("--items", 5, "--points", "0-5", "--target", 0.3)


@pytest.mark.parametrize(
    ("words", "said"), [(POINTS, "probability 0.95"), thorough(SURVEY, "more users")]
)
def test_a_plan_is_printed_and_written(privrank, tmp_path, words, said):
    run, out = ("plan", *words, "--draws", 50, "--epsilon", 1), tmp_path / "plan.csv"
    assert said in " ".join(privrank(*run).out.split())
    found = privrank(*run, "--json", "--out", out).json()
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert int(rows[0]["users"]) == found["users"]
    if words == POINTS:
        assert 0.9 < found["error"]["largest"]["upper"] / 0.3 <= 1
    if words == SURVEY:
        assert float(rows[0]["error_largest_mean"]) == found["error"]["largest"]["mean"]
        assert int(rows[0]["users_needed"]) == found["users_needed"]
