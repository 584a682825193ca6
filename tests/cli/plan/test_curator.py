"""``privrank plan --trust central``: scores that a curator publishes."""

from __future__ import annotations

import csv

import pytest

USUAL = ("plan", "--trust", "central", "--items", 10, "--max-per-user", 10)


def test_two_give_the_third(privrank):
    """Users for ε and a target, ε for users and the target, the error for both."""
    first = privrank(*USUAL, "--epsilon", 1, "--target", 0.1, "--json").json()
    users = first["users_needed"]
    assert (first["users"], first["trust"], first["adjacency"]) == (users, "central", "replace")
    assert first["error"]["expected"] == pytest.approx(0.1, rel=1e-3)
    assert first["noise_scale"] == pytest.approx(40 / 0.9)
    assert 0 < first["users_needed_without_privacy"] < users
    second = privrank(*USUAL, "--users", users, "--target", 0.1, "--json").json()
    assert second["epsilon"] == pytest.approx(1, rel=1e-2)
    third = privrank(*USUAL, "--users", users, "--epsilon", 1, "--json").json()
    assert third["error"] == pytest.approx(first["error"])
    assert third["target"] is None


@pytest.mark.parametrize(("adjacency", "scale"), [("flip", 20), ("add-remove", 20 / 0.9)])
def test_the_promise_decides_the_noise(privrank, adjacency, scale):
    run = (*USUAL, "--users", 900, "--epsilon", 1, "--adjacency", adjacency, "--json")
    assert privrank(*run).json()["noise_scale"] == pytest.approx(scale)


def test_pairs_in_the_wrong_order_files_and_words(privrank, tmp_path):
    out, plot = tmp_path / "plan.csv", tmp_path / "plan.png"
    run = (*USUAL, "--epsilon", 1, "--target", 0.02, "--error", "pairs", "--exposure", 1, "--near")
    result = privrank(*run, "--out", out, "--plot", plot)
    assert result.code == 0, result.err
    words = " ".join(result.out.split())
    assert "at most 0.02 of all pairs in the wrong order" in words
    assert "shown ∝ 1/rank^1, opponents near in strength" in words
    assert "a curator sees all answers" in words
    (row,) = csv.DictReader(out.open())
    assert float(row["error_wrong_pairs"]) == pytest.approx(0.02, rel=5e-3)
    assert plot.stat().st_size > 5000
    more = privrank(*run, "--users", 10)
    assert "more users" in more.out
    assert "too large for the theory" in more.err
    assert "are enough" in privrank(*run, "--users", 10**6).out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--trust", "central", "--items", 5, "--epsilon", 1, "--target", 0.1), "--max-per-user L"),
        ((*USUAL[1:], "--epsilon", 1, "--target", 0.1, "--max-per-user", 0), "--max-per-user L"),
        ((*USUAL[1:], "--epsilon", 1, "--target", 0.6, "--error", "pairs"), "below 0.5"),
        ((*USUAL[1:], "--epsilon", 1, "--target", 0.1, "--error", "rms"), "--error"),
        ((*USUAL[1:], "--epsilon", 1, "--target", 0.1, "--exposure", -1), "--exposure"),
        ((*USUAL[1:], "--epsilon", 1, "--target", 0.1, "--adjacency", "rank"), "--adjacency"),
        ((*USUAL[1:], "--epsilon", 1, "--target", 0.1, "--link", "laplace"), "--link does not"),
        ((*USUAL[1:], "--users", 3, "--target", 0.01), "3 users are too few"),
        ((*USUAL[1:], "--epsilon", 1e-5, "--target", 1e-9), "takes more than"),
        (("--items", 5, "--epsilon", 1, "--target", 0.1, "--exposure", 1), "add --trust central"),
        (("--rankings", "--items", 5, "--epsilon", 1, "--users", 9, "--max-per-user", 2), "add"),
    ],
)
def test_what_can_not_be_planned_is_refused_with_a_remedy(privrank, options, words):
    result = privrank("plan", *options)
    assert (result.code, result.out) == (2, "")
    assert words in " ".join(result.err.split())
