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

MLE = ("--method", "scores", "--adjacency", "flip")
FIT = ("--side", "left", "--covariate", "length")
DRAWS = ("--ties", "davidson")
NONE = ("--method", "none", "--json")


def made(factory, name, *lines):
    path = factory.mktemp(name) / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def choices(tmp_path_factory):
    """240 choices from two or three of four items, two by each user."""
    rng = np.random.default_rng(5)
    rows = []
    for k in range(240):
        items = rng.choice(4, rng.integers(2, 4), replace=False)
        odds = np.exp(-0.7 * items)
        one = rng.choice(items, p=odds / odds.sum())
        rows.append(f"u{k // 2},{'abcd'[one]},{'|'.join('abcd'[i] for i in items)}")
    return made(tmp_path_factory, "choices", "user,chosen,shown", *rows)


@pytest.fixture(scope="module")
def battles(tmp_path_factory):
    """300 battles of three items; longer answers win, every third is drawn, and each user judges three."""
    rng = np.random.default_rng(3)
    rows = []
    for k in range(300):
        i, j = rng.choice(3, 2, replace=False)
        length = round(float(rng.normal()), 2)
        ahead = rng.random() < 1 / (1 + np.exp(0.8 * (i - j) - length))
        names = ("abc"[i], "abc"[j]) if ahead else ("abc"[j], "abc"[i])
        rows.append(f"u{k // 3},{','.join(names)},{'abc'[i]},{length},{int(k % 3 == 0)}")
    return made(tmp_path_factory, "battles", "user,winner,loser,left,length,drawn", *rows)


def scores_of(document):
    """In the order of the names of items."""
    return [row["score"] for row in sorted(document["ranking"], key=lambda row: row["item"])]


# --- without privacy -------------------------------------------------------------------------------


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


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_covariates_and_ties_have_the_fit_of_the_library(privrank, battles, ties):
    tie = "drawn" if ties == "davidson" else None
    asked = ("--ties", ties, "--tie", tie or "none")
    document = privrank("rank", battles, *FIT, *asked, *NONE).json()
    assert_schema(document)
    rows = Comparisons.read(battles, covariates=("length",), side="left", tie=tie)
    table = rows.covariate_table()
    found = pairwise.mle(table, ties=ties)
    known = confidence_intervals(standard_errors(found.value, table.design))
    np.testing.assert_allclose(scores_of(document), found.value.scores, atol=1e-8)
    facts = document["diagnostics"]
    assert [*facts["covariates"]] == ["length", "left"]
    for k, one in enumerate(facts["covariates"].values()):
        assert one["coefficient"] == pytest.approx(float(found.value.coefficients[k]), abs=1e-8)
        ends = float(known.coefficients.low[k]), float(known.coefficients.high[k])
        assert (one["low"], one["high"]) == pytest.approx(ends, abs=1e-6)
    if tie:
        assert facts["tie_parameter"] == pytest.approx(float(found.value.tie), abs=1e-8)
        ends = tuple(np.exp([known.log_tie.low, known.log_tie.high]))
        ours = facts["tie_parameter_low"], facts["tie_parameter_high"]
        assert ours == pytest.approx(ends, rel=1e-6)


# --- releases --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "scale"),
    [
        (MLE, 2.0),  # 2L/ε
        (("--method", "counts"), 2.0),
        ((), 14 / 3),  # (4 + V)L/ε, V = 2/3
        (("--adjacency", "add-remove"), 8 / 3),
    ],
)
def test_choices_are_released_exactly(privrank, choices, tmp_path, method, scale):
    ledger, out = tmp_path / "choices.ledger", tmp_path / "ranking.csv"
    adjacency = method[-1] if "--adjacency" in method else "replace"
    making = ("--data", choices, "--budget", 3, "--public", "items", "--adjacency", adjacency)
    assert privrank("ledger", ledger, *making).code == 0
    options = ("--epsilon", 2, "--max-per-user", 2, "--ledger", ledger, "--out", out, "--json")
    document = privrank("rank", choices, *method, *options).json()
    assert_schema(document)
    guarantee, facts = document["guarantee"], document["diagnostics"]
    assert (guarantee["numerics"], guarantee["adjacency"]) == ("exact", adjacency)
    assert facts["max_per_user"] == 2
    assert facts["noise_scale"] == pytest.approx(scale)
    assert "epsilon 1 is left" in facts["ledger"]
    assert any("shown" in note for note in facts["notes"])
    assert out.read_text().count("\n") == 5
    one = privrank("rank", choices, *method, "--epsilon 1 --max-per-user 1 --simulate --seed 1")
    assert "120 of 240 choices" in " ".join(one.err.split())


@pytest.fixture
def answers(write):
    """Forty users with the same ten comparisons of three items each."""
    rows = [f"u{k},{pair}" for k in range(40) for pair in ("a,b", "b,c", "c,a", "a,c", "a,b") * 2]
    return write(*rows)


@pytest.mark.parametrize(
    ("options", "law", "for_all"),
    [
        ((), "Laplace", 40),  # 4 L/epsilon
        (("--adjacency", "add-remove"), "Laplace", 20),
        (("--noise", "gaussian", "--delta", 1e-6), "Gaussian", None),
    ],
)
def test_a_tenth_of_epsilon_buys_intervals(privrank, answers, options, law, for_all):
    run = ("rank", answers, "--epsilon", 1, "--max-per-user", 10, *options, "--json")
    document = privrank(*run).json()
    facts = document["diagnostics"]
    assert (facts["method"], facts["link"], facts["noise"]) == ("scores", "logistic", law)
    assert document["guarantee"]["numerics"] == "exact"
    assert document["guarantee"]["epsilon"] == 1.0
    assert facts["design_epsilon"] == pytest.approx(0.1)
    adjacency = "add-remove" if "add-remove" in options else "replace"
    part = Privacy(facts["design_epsilon"], unit="user", adjacency=adjacency, contributions=10)
    scale = design_scale(part, [row["score"] for row in document["ranking"]])
    assert facts["design_noise_scale"] == pytest.approx(float(scale))
    alone = privrank(*run, "--intervals", "none").json()
    assert "design_epsilon" not in alone["diagnostics"]
    assert not any("low" in row for row in alone["ranking"])
    assert alone["guarantee"] == document["guarantee"]
    assert alone["diagnostics"]["noise_scale"] < facts["noise_scale"]
    if for_all is not None:
        assert facts["noise_scale"] == pytest.approx(for_all / 0.9)
        assert facts["gamma"] >= facts["noise_scale"]
        assert alone["diagnostics"]["noise_scale"] == pytest.approx(for_all)
        assert privrank(*run, "--gamma", 60).json()["diagnostics"]["gamma"] == 60


# --- covariates ------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [(), ("--noise", "gaussian", "--delta", 1e-6)])
@pytest.mark.parametrize("ties", [(), DRAWS])
def test_fits_with_covariates_are_exact_and_these_are_public(privrank, battles, noise, ties):
    """Ties as an outcome of their own cost no noise where users share nothing."""
    unit, epsilon = ("comparison", 50) if ties else ("user", 5)
    bound = () if ties else ("--max-per-user", 2)
    run = ("rank", battles, *MLE, *FIT, "--epsilon", epsilon, "--unit", unit, *bound, *noise)
    result = privrank(*run, *ties, "--json")
    assert result.code == 0, result.err
    document = result.json()
    assert_schema(document)
    guarantee, facts = document["guarantee"], document["diagnostics"]
    told = (guarantee["numerics"], guarantee["unit"], guarantee["adjacency"])
    assert told == ("exact", unit, "flip")
    assert guarantee["public"] == ["covariates"]
    assert ("100 of 300 comparisons" in " ".join(result.err.split())) == (not ties)
    assert ("tie_parameter" in facts) == bool(ties)
    if ties:
        plain = privrank(*run, "--json").json()
        assert plain["guarantee"] == guarantee
        scale = plain["diagnostics"]["noise_scale"]
        assert facts["noise_scale"] == pytest.approx(scale, rel=0.01)
        assert facts["tie_parameter_low"] < facts["tie_parameter"] < facts["tie_parameter_high"]
    elif not noise:
        assert document["ranking"][0]["item"] == "a"
        assert facts["covariates"]["length"]["coefficient"] > 0.3


@pytest.mark.parametrize(("ties", "change"), [((), 11), (("--ties", "davidson"), 13)])
def test_common_questions_cost_less_than_all_comparisons_one_by_one(privrank, write, ties, change):
    """Six pairs of four items: 2·4 of a cut, or 6 + 4 with ties, and six halves for the side; one by one 6·2.5 = 15."""
    rng, rows = np.random.default_rng(5), []
    for user, (i, j) in itertools.product(range(40), itertools.combinations(range(4), 2)):
        left = (i, j)[int(rng.integers(2))]
        ahead = rng.random() < 1 / (1 + np.exp(0.6 * (i - j) - 0.5 * (1 if left == i else -1)))
        names = ("abcd"[i], "abcd"[j]) if ahead else ("abcd"[j], "abcd"[i])
        rows.append(f"u{user},{','.join(names)},{'abcd'[left]},{int(len(rows) % 7 == 0)}")
    run = ("rank", write(*rows, header="user,winner,loser,left,tie"), *MLE, *ties)
    run = (*run, "--side left --epsilon 4 --max-per-user 6 --simulate --seed 1 --json")
    facts = privrank(*run).json()["diagnostics"]
    assert (facts["noise"], facts["noise_scale"]) == ("Laplace", change / 4)
    left = facts["covariates"]["left"]
    assert left["low"] < 0.5 < left["high"]


@pytest.mark.parametrize(("adjacency", "scale"), [("replace", 0.3), ("add-remove", 0.15)])
@pytest.mark.parametrize("ties", [(), DRAWS])
def test_private_covariates_are_released_exactly(privrank, battles, adjacency, scale, ties):
    """Two features: the scale is (4 + 2/2)L/ε or half of it; so large a budget gives nearly the fit without noise."""
    run = ("rank", battles, "--side", "left", "--covariate", "length:-3:3", *ties, "--json")
    private = ("--epsilon", 50, "--adjacency", adjacency, "--max-per-user", 3)
    document = privrank(*run, *private).json()
    assert_schema(document)
    assert document["guarantee"]["numerics"] == "exact"
    assert document["guarantee"]["public"] == ["items"]
    facts = document["diagnostics"]
    assert facts["noise_scale"] == pytest.approx(scale)
    assert all("low" not in row for row in document["ranking"])
    assert ("tie_parameter" in facts) == bool(ties)
    rows = Comparisons.read(battles, covariates=("length",), side="left", tie="drawn")
    table = rows.covariate_table({"length": (-3, 3)}, private=True)
    free = promise(math.inf, "comparison", adjacency)
    exact = pairwise.perturbed_covariates(
        jax.random.key(0), table, free, ties="davidson" if ties else "half"
    )
    for found, sure in zip(facts["covariates"].values(), exact.value.coefficients, strict=True):
        assert found == {"coefficient": pytest.approx(float(sure), abs=0.3)}


# --- probabilities ---------------------------------------------------------------------------------


def test_files_of_probabilities_hold_what_the_release_implies(privrank, tmp_path):
    table, document = tmp_path / "p.csv", tmp_path / "p.json"
    run = ("rank", "coffee", "--epsilon 2 --adjacency flip --simulate --seed 4 --json")
    found = [privrank(*run, "--probabilities", path).json() for path in (table, document)]
    with table.open(newline="", encoding="utf-8") as file:
        (_, *items), *rows = csv.reader(file)
    assert items == [row[0] for row in rows]
    above = np.array([row[1:] for row in rows], float)
    np.testing.assert_allclose(above + above.T, 1 - np.eye(6), atol=2e-4)
    written = json.loads(document.read_text())
    assert (written["items"], written["guarantee"]["epsilon"]) == (items, 2)
    np.testing.assert_allclose(written["probabilities"], above)
    ranks = np.array(written["ranks"])
    np.testing.assert_allclose([ranks.sum(0), ranks.sum(1)], 1, atol=1e-3)
    np.testing.assert_allclose(ranks @ np.arange(6), above.sum(0), atol=0.05)
    order = [items.index(row["item"]) for row in found[0]["ranking"]]
    assert np.all(above[order[:-1], order[1:]] > 0.5)


# --- randomized reports ----------------------------------------------------------------------------


@pytest.fixture
def survey():
    """Reports of 60 users on pairs of 4 items, two in three of them observed, at three budgets."""
    rng = np.random.default_rng(0)
    reports = rng.random((60, 6)) < 0.65
    observed = rng.random((60, 6)) < 0.67
    return reports, observed, np.repeat([0.5, 1.0, 3.0], 20)


@pytest.fixture
def private(write, survey):
    reports, observed, epsilon = survey
    lines, pairs = [], list(itertools.combinations(range(4), 2))
    for user, pair in zip(*np.nonzero(observed)):
        i, j = pairs[pair]
        won = int(reports[user, pair])
        if (user + pair) % 3 == 0:  # a file may name the pair the other way round
            i, j, won = j, i, 1 - won
        lines.append(f"u{user},{'abcd'[i]},{'abcd'[j]},{won},{epsilon[user]}")
    return write(*lines, header="user,item_1,item_2,report,epsilon", name="private.csv")


@pytest.mark.parametrize(("link", "gamma"), [("logistic", None), ("laplace", 8.0)])
def test_scores_and_guarantee_are_those_of_debiased_rr(privrank, private, survey, link, gamma):
    given = () if gamma is None else ("--gamma", gamma)
    result = privrank("rank", private, "--link", link, *given, "--json")
    assert result.code == 0, result.err
    document = result.json()
    assert_schema(document)
    expected = pairwise.debiased_rr(*survey, link=link, gamma=gamma)
    np.testing.assert_allclose(scores_of(document), expected.value, atol=1e-5)
    guarantee = document["guarantee"]
    assert guarantee["epsilon"] == 3
    assert guarantee["also"][0]["epsilon"] == float(expected.guarantee.also[0].epsilon)
    assert (guarantee["trust"], guarantee["numerics"]) == ("local", "unknown")
    facts = document["diagnostics"]
    assert (facts["reports"], facts["users"]) == (survey[1].sum(), 60)
    assert facts["gamma"] == (gamma or 2.0)
    for row in document["ranking"]:
        assert row["low"] < row["score"] < row["high"]


def test_items_users_and_parquet(privrank, private):
    found = privrank("rank", private, "--items", "d,c,b,a,e", "--json").json()
    assert set(items(found)) == set("abcde")
    assert found["diagnostics"]["components"] == 2
    assert "low" not in found["ranking"][0]  # nothing is known of e
    anonymous = privrank("rank", private, "--user", "none", "--json").json()
    assert "also" not in anonymous["guarantee"]
    assert any("names no users" in note for note in anonymous["diagnostics"]["notes"])
    same = privrank("rank", as_parquet(private), "--json").json()
    assert same["ranking"] == privrank("rank", private, "--json").json()["ranking"]
