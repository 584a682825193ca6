"""``privrank rank`` by scores: the fit of the library, exact releases, and what of them is public."""

from __future__ import annotations

import csv
import itertools
import json
import math

import jax
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.data import Comparisons, read
from privrank_jax.pairwise.intervals import confidence_intervals
from privrank_jax.pairwise.private_design import design_scale
from privrank_jax.pairwise.uncertainty import standard_errors
from privrank_jax.privacy import Privacy
from tests.cli.results import assert_schema, items
from tests.parquet import as_parquet
from tests.promises import promise
from tests.quick import thorough

MLE = ("--method", "scores", "--adjacency", "flip")
FIT = ("--side", "left", "--covariate", "length")
DRAWS = ("--ties", "davidson")
NONE = ("--method", "none", "--json")
COLUMNS = {"covariates": ("length",), "side": "left", "tie": "drawn"}


@pytest.fixture
def choices(write):
    """240 choices from two or three of four items, two by each user."""
    rng = np.random.default_rng(5)
    rows = []
    for k in range(240):
        items = rng.choice(4, rng.integers(2, 4), replace=False)
        odds = np.exp(-0.7 * items)
        one = rng.choice(items, p=odds / odds.sum())
        rows.append(f"u{k // 2},{'abcd'[one]},{'|'.join('abcd'[i] for i in items)}")
    return write(*rows, header="user,chosen,shown")


@pytest.fixture
def battles(write):
    """300 battles of three items; longer answers win, every third is drawn, and each user judges three."""
    rng = np.random.default_rng(3)
    rows = []
    for k in range(300):
        i, j = rng.choice(3, 2, replace=False)
        length = round(float(rng.normal()), 2)
        ahead = rng.random() < 1 / (1 + np.exp(0.8 * (i - j) - length))
        names = ("abc"[i], "abc"[j]) if ahead else ("abc"[j], "abc"[i])
        rows.append(f"u{k // 3},{','.join(names)},{'abc'[i]},{length},{int(k % 3 == 0)}")
    return write(*rows, header="user,winner,loser,left,length,drawn")


def scores_of(document):
    """In the order of the names of items."""
    return [row["score"] for row in sorted(document["ranking"], key=lambda row: row["item"])]


# --- without privacy -------------------------------------------------------------------------------


@pytest.mark.slow
def test_choices_have_the_fit_of_the_library(privrank, choices, write):
    result = privrank("rank", choices, *NONE)
    document = result.json()
    assert_schema(document)
    found = pairwise.mle(read(choices).choices()).value
    np.testing.assert_allclose(scores_of(document), found, atol=1e-6)
    assert all("low" in row for row in document["ranking"])
    assert "'shown'" in result.err
    path = write("u,a,a|b", "v,a,a|b|c", "w,b,b|c", header="user,chosen,shown")
    ridge = privrank("rank", path, *NONE)
    assert ridge.json()["diagnostics"]["gamma"] == 1.0
    assert "no finite" in " ".join(ridge.err.split())


@pytest.mark.slow
def test_covariates_and_ties_have_the_fit_of_the_library(privrank, battles):
    document = privrank("rank", battles, *FIT, *DRAWS, "--tie", "drawn", *NONE).json()
    assert_schema(document)
    table = Comparisons.read(battles, **COLUMNS).covariate_table()
    found = pairwise.mle(table, ties="davidson").value
    known = confidence_intervals(standard_errors(found, table.design))
    np.testing.assert_allclose(scores_of(document), found.scores, atol=1e-8)
    facts = document["diagnostics"]
    assert [*facts["covariates"]] == ["length", "left"]
    for k, one in enumerate(facts["covariates"].values()):
        ends = known.coefficients.low[k], known.coefficients.high[k]
        told = one["coefficient"], one["low"], one["high"]
        np.testing.assert_allclose(told, (found.coefficients[k], *ends), atol=1e-6)
    ends = facts["tie_parameter_low"], facts["tie_parameter_high"]
    np.testing.assert_allclose(ends, np.exp([known.log_tie.low, known.log_tie.high]), rtol=1e-6)
    assert facts["tie_parameter"] == pytest.approx(float(found.tie), abs=1e-8)


# --- releases --------------------------------------------------------------------------------------


def test_choices_are_released_exactly(privrank, choices):
    """The scale is (4 + V)L/ε, V = 2/3."""
    run = ("rank", choices, "--epsilon", 2, "--max-per-user")
    document = privrank(*run, 2, "--json").json()
    assert_schema(document)
    assert document["guarantee"]["numerics"] == "exact"
    assert document["diagnostics"]["noise_scale"] == pytest.approx(14 / 3)
    assert any("shown" in note for note in document["diagnostics"]["notes"])
    assert "120 of 240 choices" in " ".join(privrank(*run, 1).err.split())


def test_a_tenth_of_epsilon_buys_intervals(privrank, write):
    """Forty users with the same ten comparisons of three items each; the scale of all of epsilon is 2L/ε."""
    pairs = ("a,b", "b,c", "c,a", "a,c", "a,b") * 2
    path = write(*(f"u{k},{pair}" for k in range(40) for pair in pairs))
    run = ("rank", path, "--epsilon 1 --max-per-user 10 --adjacency add-remove --json")
    document, alone = privrank(*run).json(), privrank(*run, "--intervals", "none").json()
    facts = document["diagnostics"]
    assert (facts["method"], facts["link"], facts["noise"]) == ("scores", "logistic", "Laplace")
    assert alone["guarantee"] == document["guarantee"]
    assert facts["design_epsilon"] == pytest.approx(0.1)
    part = Privacy(0.1, unit="user", adjacency="add-remove", contributions=10)
    scale = design_scale(part, [row["score"] for row in document["ranking"]])
    assert facts["design_noise_scale"] == pytest.approx(float(scale))
    assert facts["noise_scale"] == pytest.approx(20 / 0.9)
    assert facts["gamma"] >= facts["noise_scale"]
    assert "design_epsilon" not in alone["diagnostics"]
    assert not any("low" in row for row in alone["ranking"])
    assert alone["diagnostics"]["noise_scale"] == pytest.approx(20)
    assert privrank(*run, "--gamma", 60).json()["diagnostics"]["gamma"] == 60


# --- covariates ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_fits_with_covariates_are_exact_and_these_are_public(privrank, battles):
    """Ties as an outcome of their own cost no noise where users share nothing."""
    run = ("rank", battles, *MLE, *FIT, "--unit comparison --epsilon 50 --noise gaussian")
    document = privrank(*run, "--delta 1e-6 --json").json()
    assert_schema(document)
    guarantee, facts = document["guarantee"], document["diagnostics"]
    told = (guarantee["numerics"], guarantee["unit"], guarantee["adjacency"])
    assert told == ("exact", "comparison", "flip")
    assert guarantee["public"] == ["covariates"]
    assert document["ranking"][0]["item"] == "a"
    assert facts["covariates"]["length"]["coefficient"] > 0.3
    drawn = privrank(*run, "--delta 1e-6 --json", *DRAWS).json()
    assert drawn["guarantee"] == guarantee
    tied = drawn["diagnostics"]
    assert tied["noise_scale"] == pytest.approx(facts["noise_scale"], rel=0.01)
    assert tied["tie_parameter_low"] < tied["tie_parameter"] < tied["tie_parameter_high"]


def test_private_covariates_are_released_exactly(privrank, battles):
    """Two features: the scale is (4 + 2/2)L/ε; so large a budget gives nearly the fit without noise."""
    run = ("rank", battles, "--side", "left", "--covariate", "length:-3:3", *DRAWS, "--json")
    document = privrank(*run, "--epsilon", 50, "--max-per-user", 3).json()
    assert_schema(document)
    assert document["guarantee"]["numerics"] == "exact"
    assert document["guarantee"]["public"] == ["items"]
    facts = document["diagnostics"]
    assert facts["noise_scale"] == pytest.approx(0.3)
    assert all("low" not in row for row in document["ranking"])
    assert "tie_parameter" in facts
    table = Comparisons.read(battles, **COLUMNS).covariate_table({"length": (-3, 3)}, private=True)
    free = promise(math.inf, "comparison", "replace")
    exact = pairwise.perturbed_covariates(jax.random.key(0), table, free, ties="davidson")
    for found, sure in zip(facts["covariates"].values(), exact.value.coefficients, strict=True):
        assert found == {"coefficient": pytest.approx(float(sure), abs=0.3)}


# --- probabilities ---------------------------------------------------------------------------------


def test_files_of_probabilities_hold_what_the_release_implies(privrank, votes, tmp_path):
    table, document = tmp_path / "p.csv", tmp_path / "p.json"
    run = (
        "rank",
        votes,
        "--epsilon 9 --max-per-user 2 --adjacency flip --simulate --seed 4 --json",
    )
    found = [privrank(*run, "--probabilities", path).json() for path in (table, document)]
    with table.open(newline="", encoding="utf-8") as file:
        (_, *items), *rows = csv.reader(file)
    assert items == [row[0] for row in rows]
    above = np.array([row[1:] for row in rows], float)
    np.testing.assert_allclose(above + above.T, 1 - np.eye(3), atol=2e-4)
    written = json.loads(document.read_text())
    assert (written["items"], written["guarantee"]["epsilon"]) == (items, 9)
    np.testing.assert_allclose(written["probabilities"], above)
    ranks = np.array(written["ranks"])
    np.testing.assert_allclose([ranks.sum(0), ranks.sum(1)], 1, atol=1e-3)
    np.testing.assert_allclose(ranks @ np.arange(3), above.sum(0), atol=0.05)
    order = [items.index(row["item"]) for row in found[0]["ranking"]]
    assert np.all(above[order[:-1], order[1:]] > 0.5)


# --- randomized reports ----------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["logistic", thorough("laplace")])
def test_scores_and_guarantee_are_those_of_debiased_rr(privrank, write, link):
    """Reports of 60 users on pairs of 3 items, two in three of them observed, at three budgets."""
    rng, pairs = np.random.default_rng(0), list(itertools.combinations("abc", 2))
    reports, observed = rng.random((60, 3)) < 0.65, rng.random((60, 3)) < 0.67
    epsilon = np.repeat([0.5, 1.0, 3.0], 20)
    lines = [
        f"u{user},{','.join(pairs[pair])},{int(reports[user, pair])},{epsilon[user]}"
        for user, pair in zip(*np.nonzero(observed))
    ]
    path = write(*lines, header="user,item_1,item_2,report,epsilon")
    run = ("--link", link, "--gamma", 8, "--json")
    result = privrank("rank", path, *run)
    assert result.code == 0, result.err
    document = result.json()
    assert_schema(document)
    expected = pairwise.debiased_rr(reports, observed, epsilon, link=link, gamma=8)
    np.testing.assert_allclose(scores_of(document), expected.value, atol=1e-5)
    guarantee = document["guarantee"]
    assert guarantee["epsilon"] == 3
    assert guarantee["also"][0]["epsilon"] == float(expected.guarantee.also[0].epsilon)
    assert (guarantee["trust"], guarantee["numerics"]) == ("local", "unknown")
    facts = document["diagnostics"]
    assert (facts["reports"], facts["users"], facts["gamma"]) == (
        observed.sum(),
        observed.any(axis=1).sum(),
        8,
    )
    for row in document["ranking"]:
        assert row["low"] < row["score"] < row["high"]
    anonymous = privrank("rank", path, "--user", "none", *run).json()
    assert "also" not in anonymous["guarantee"]
    assert any("names no users" in note for note in anonymous["diagnostics"]["notes"])
    if link == "laplace":  # with an item more, of which nothing is known
        found = privrank("rank", as_parquet(path), "--items", "c,b,a,d", "--json").json()
        assert set(items(found)) == set("abcd")
        assert (found["diagnostics"]["components"], found["diagnostics"]["gamma"]) == (2, 2.0)
        assert "low" not in found["ranking"][0]
