"""``privrank plan``: words and numbers of each kind, and its files."""

from __future__ import annotations

import csv
import io
import json

import pytest

from privrank_jax import plotting

SURVEY = ("plan", "--items", 5, "--users", 100, "--epsilon", 1, "--target", 0.3)
CONSENSUS = ("plan", "--rankings", "--items", 5, "--users", 100, "--epsilon", 1)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--epsilon", 1, "--target", 0.15, "--users", 100), "more users"),
        (("--epsilon", 1, "--target", 0.15, "--users", 10_000), "10,000 users are enough"),
        (("--users", 10_000, "--target", 0.15), "users may each have epsilon"),
        (("--epsilon", 1, "--users", 900, "--trust", "shuffled", "--delta", 1e-6), "tells nobody which"),
        (
            ("--epsilon", 1, "--users", 900, "--trust", "central", "--max-per-user", 3, "--near"),
            "opponents near in strength",
        ),
        (("--rankings", "--epsilon", 1, "--target", 0.8), "which aggregate takes by --method exponential"),
        (("--rankings", "--epsilon", 1, "--target", 0.2, "--method", "borda"), "no users found that suffices"),
        (("--rankings", "--rule", "copeland", "--epsilon", 1, "--target", 0.3), "every lead of a majority above 0.3"),
        (("--rankings", "--users", 90, "--epsilon", 1, "--adjacency", "add-remove"), "users added or removed"),
        (("--points", "0-1", "--epsilon", 1, "--target", 0.05), "For an error of every share of users of at most"),
    ],
)  # fmt: skip
def test_in_words(privrank, more, words):
    result = privrank("plan", "--items", 6, *more)
    assert result.code == 0, result.err
    assert words in " ".join(result.out.split())


@pytest.mark.parametrize(
    "words",
    [
        ("--items", 5, "--points", "0-5", "--users", 90),
        ("--items", 5, "--rankings", "--rule", "kemeny", "--users", 90),
        ("--labels", "--target", 90),
    ],
)
def test_points_and_labels_are_drawn_and_written(privrank, tmp_path, words):
    out, picture = tmp_path / "plan.csv", tmp_path / "plan.svg"
    found = privrank(
        "plan", *words, "--epsilon", 1, "--json", "--out", out, "--plot", picture
    ).json()
    (row,) = csv.DictReader(io.StringIO(out.read_text()))
    assert int(row["users"]) == found["users"]
    assert "<svg" in picture.read_text()


def test_a_survey_is_drawn_and_written(privrank, tmp_path):
    out, picture = tmp_path / "plan.csv", tmp_path / "plan.svg"
    found = privrank(*SURVEY, "--json", "--out", out, "--plot", picture).json()
    (row,) = csv.DictReader(io.StringIO(out.read_text()))
    assert float(row["error_expected"]) == found["error"]["expected"]
    assert int(row["users_needed"]) == found["users_needed"]
    assert "<svg" in picture.read_text()


def test_a_consensus_is_drawn_and_written(privrank, tmp_path, monkeypatch):
    out, drawings = tmp_path / "plan.json", []
    monkeypatch.setattr(plotting, "save", lambda figure, _: drawings.append(figure))
    found = privrank(*CONSENSUS, "--plot", "plan.svg", "--json", "--out", out).json()
    assert json.loads(out.read_text()) == found
    privrank(*CONSENSUS, "--method", "borda", "--plot", "plan.svg")
    captions = [" ".join(text.get_text() for text in one.texts) for one in drawings]
    words = "Where there is no blue mark"
    assert [words in " ".join(one.split()) for one in captions] == [True, False]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--plot", "plan.exe"), ".png"),
        (("--out", "plan.txt"), "--out"),
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
