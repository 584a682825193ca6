"""``privrank rank`` on choices from sets and on rankings of some items."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.data import read
from tests.cli.results import assert_schema

RANKS = ("u1,a,b,", "u2,b,a,c", "u3,a,c,b", "u4,c,a,", "u5,a,b,c")


@pytest.fixture(scope="module")
def choices(tmp_path_factory):
    """240 choices from two or three of four items, two by each user."""
    rng = np.random.default_rng(5)
    rows = ["user,chosen,shown"]
    for k in range(240):
        items = rng.choice(4, rng.integers(2, 4), replace=False)
        odds = np.exp(-0.7 * items)
        one = rng.choice(items, p=odds / odds.sum())
        rows.append(f"u{k // 2},{'abcd'[one]},{'|'.join('abcd'[i] for i in items)}")
    path = tmp_path_factory.mktemp("choices") / "choices.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_without_privacy_it_is_the_fit_of_the_library(privrank, choices):
    result = privrank("rank", choices, "--method", "none", "--json")
    document = result.json()
    assert_schema(document)
    found = pairwise.mle(read(choices).choices()).value
    scores = {row["item"]: row["score"] for row in document["ranking"]}
    np.testing.assert_allclose([scores[item] for item in "abcd"], found, atol=1e-6)
    assert all(row["low"] < row["score"] < row["high"] for row in document["ranking"])
    assert "'shown'" in result.err


@pytest.mark.parametrize(
    ("method", "scale"),
    [
        (("--method", "scores", "--adjacency", "flip"), 2.0),  # 2L/ε
        (("--method", "counts"), 2.0),
        ((), 14 / 3),  # (4 + V)L/ε, V = 2/3
        (("--adjacency", "add-remove"), 8 / 3),
    ],
)
def test_a_release_is_exact_and_says_what_is_public(privrank, choices, tmp_path, method, scale):
    ledger, out = tmp_path / "choices.ledger", tmp_path / "ranking.csv"
    adjacency = method[-1] if "--adjacency" in method else "replace"
    shared = ("--adjacency", adjacency)
    made = privrank(
        "ledger", ledger, "--data", choices, "--budget", 3, "--public", "items", *shared
    )
    assert made.code == 0, made.err
    options = ("--epsilon", 2, "--max-per-user", 2, "--ledger", ledger, "--out", out, "--json")
    document = privrank("rank", choices, *method, *options).json()
    assert_schema(document)
    guarantee = document["guarantee"]
    assert guarantee["numerics"] == "exact"
    assert guarantee["adjacency"] == adjacency
    assert document["diagnostics"]["max_per_user"] == 2
    assert document["diagnostics"]["noise_scale"] == pytest.approx(scale)
    assert "epsilon 1 is left of epsilon 3" in document["diagnostics"]["ledger"]
    assert any("shown" in note for note in document["diagnostics"]["notes"])
    assert out.read_text().count("\n") == 5


def test_users_keep_as_many_choices_as_was_said(privrank, choices):
    refused = privrank("rank", choices, "--epsilon", 1)
    assert refused.code == 2
    assert "--max-per-user" in refused.err
    result = privrank(
        "rank", choices, "--epsilon", 1, "--max-per-user", 1, "--simulate", "--seed", 1
    )
    assert "120 of 240 choices were left out" in " ".join(result.err.split())


def test_where_no_fit_is_finite_a_ridge_is(privrank, write_lines):
    path = write_lines("user,chosen,shown", "u,a,a|b", "v,a,a|b|c", "w,b,b|c")
    result = privrank("rank", path, "--method", "none", "--json")
    assert result.json()["diagnostics"]["gamma"] == 1.0
    assert "no finite scores" in " ".join(result.err.split())


def test_rankings_are_broken_into_pairs(privrank, write_lines):
    path = write_lines("user,rank_1,rank_2,rank_3", *RANKS)
    options = ("--epsilon", 1e3, "--max-per-user", 3, "--simulate", "--seed", 1)
    options = ("--method", "counts", *options)
    document = privrank("rank", path, *options, "--json").json()
    assert_schema(document)
    assert document["diagnostics"]["max_per_user"] == 3
    wins = read(path).comparisons().arrays().win_counts()
    scores = {row["item"]: row["score"] for row in document["ranking"]}
    np.testing.assert_allclose([scores[item] for item in "abc"], wins.totals, atol=0.2)
    assert any("k(k - 1)/2 comparisons" in note for note in document["diagnostics"]["notes"])
    refused = privrank("rank", path, "--epsilon", 1)
    assert "--max-per-user" in refused.err


@pytest.fixture
def write_lines(tmp_path):
    def write(*lines):
        path = tmp_path / "data.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write
