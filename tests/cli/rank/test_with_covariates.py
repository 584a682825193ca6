"""``privrank rank --covariate ... --side ...``."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.data import Comparisons
from privrank_jax.pairwise.intervals import confidence_intervals
from privrank_jax.pairwise.uncertainty import standard_errors
from tests.cli.results import assert_schema
from tests.promises import promise

HEADER = "user,winner,loser,left,length"
FIT = ("--side", "left", "--covariate", "length")
MLE = ("--method", "scores", "--adjacency", "flip")
GIVEN = ("--side", "left", "--covariate", "length:-3:3")


@pytest.fixture(scope="module")
def battles(tmp_path_factory):
    """300 battles of three items; longer answers win, and each user judges three."""
    rng = np.random.default_rng(3)
    rows = []
    for k in range(300):
        i, j = rng.choice(3, 2, replace=False)
        length = round(float(rng.normal()), 2)
        ahead = rng.random() < 1 / (1 + np.exp(0.8 * (i - j) - length))
        names = ("abc"[i], "abc"[j]) if ahead else ("abc"[j], "abc"[i])
        rows.append(f"u{k // 3},{names[0]},{names[1]},{'abc'[i]},{length}")
    path = tmp_path_factory.mktemp("battles") / "battles.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def test_without_privacy_it_is_the_fit_of_the_library(privrank, battles):
    result = privrank("rank", battles, "--method", "none", *FIT, "--json")
    document = result.json()
    assert_schema(document)
    rows = Comparisons.read(battles, covariates=("length",), side="left")
    table = rows.covariate_table()
    found = pairwise.mle(table)
    ends = confidence_intervals(standard_errors(found.value, table.design)).coefficients
    scores = {row["item"]: row["score"] for row in document["ranking"]}
    np.testing.assert_allclose([scores[item] for item in "abc"], found.value.scores, atol=1e-8)
    assert [*document["diagnostics"]["covariates"]] == ["length", "left"]
    for k, told in enumerate(document["diagnostics"]["covariates"].values()):
        assert told["coefficient"] == pytest.approx(float(found.value.coefficients[k]), abs=1e-8)
        assert (told["low"], told["high"]) == pytest.approx(
            (float(ends.low[k]), float(ends.high[k])), abs=1e-6
        )


def test_a_release_is_exact_and_says_what_is_public(privrank, battles):
    result = privrank("rank", battles, *MLE, *FIT, "--epsilon", 5, "--max-per-user", 2, "--json")
    assert result.code == 0, result.err
    document = result.json()
    assert_schema(document)
    guarantee = document["guarantee"]
    assert guarantee["numerics"] == "exact"
    assert (guarantee["unit"], guarantee["adjacency"]) == ("user", "flip")
    assert guarantee["public"] == ["covariates"]
    assert document["ranking"][0]["item"] == "a"
    assert document["diagnostics"]["covariates"]["length"]["coefficient"] > 0.3
    assert "100 of 300 comparisons were left out" in result.err
    assert (
        privrank("rank", battles, *MLE, *FIT, "--epsilon", 5, "--max-per-user", 2, "--json").out
        != result.out
    )


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """40 users answer the same six questions on four items, of which either is shown first; every seventh is tied."""
    rng = np.random.default_rng(5)
    rows = []
    for user, (i, j) in itertools.product(range(40), itertools.combinations(range(4), 2)):
        left = (i, j)[int(rng.integers(2))]
        ahead = rng.random() < 1 / (1 + np.exp(0.6 * (i - j) - 0.5 * (1 if left == i else -1)))
        names = ("abcd"[i], "abcd"[j]) if ahead else ("abcd"[j], "abcd"[i])
        rows.append(f"u{user},{names[0]},{names[1]},{'abcd'[left]},{int(len(rows) % 7 == 0)}")
    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    path.write_text("\n".join(["user,winner,loser,left,tie", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("ties", "change"), [((), 11), (("--ties", "davidson"), 13)])
def test_common_questions_cost_less_than_all_comparisons_one_by_one(privrank, survey, ties, change):
    """Six pairs of four items: 2·4 of a cut, or 6 + 4 with ties, and six halves for the side; one by one 6·2.5 = 15."""
    run = ("rank", survey, *MLE, "--side", "left", "--epsilon", 4, *ties, "--simulate", "--seed", 1)
    facts = privrank(*run, "--max-per-user", 6, "--json").json()
    assert_schema(facts)
    found = facts["diagnostics"]
    assert (found["noise"], found["noise_scale"]) == ("Laplace", change / 4)
    left = found["covariates"]["left"]
    assert left["low"] < 0.5 < left["high"]


@pytest.mark.parametrize(("adjacency", "scale"), [("replace", 0.3), ("add-remove", 0.15)])
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_private_covariates_are_released_exactly(privrank, battles, adjacency, scale, ties):
    """Two features: the scale is (4 + 2/2)L/ε or half of it; so large a budget gives nearly the fit without noise."""
    shared = ("--adjacency", adjacency, "--ties", ties, "--max-per-user", 3)
    document = privrank("rank", battles, *GIVEN, *shared, "--epsilon", 50, "--json").json()
    assert_schema(document)
    assert document["guarantee"]["numerics"] == "exact"
    assert document["guarantee"]["public"] == ["items"]
    facts = document["diagnostics"]
    assert facts["noise_scale"] == pytest.approx(scale)
    assert "solver" not in facts
    assert all("low" not in row for row in document["ranking"])
    rows = Comparisons.read(battles, covariates=("length",), side="left")
    table = rows.covariate_table({"length": (-3, 3)}, private=True)
    free = promise(math.inf, "comparison", adjacency)
    expected = pairwise.perturbed_covariates(jax.random.key(0), table, free, ties=ties).value
    for found, sure in zip(facts["covariates"].values(), expected.coefficients, strict=True):
        assert found == {"coefficient": pytest.approx(float(sure), abs=0.3)}
    assert ("tie_parameter" in facts) == (ties == "davidson")


def test_files_of_two_items_and_an_outcome_have_covariates_too(privrank, battles, tmp_path):
    """As arenas write them, with a column for each item or one for their difference: the same fit."""
    rows = [line.split(",") for line in battles.read_text().splitlines()[1:]]
    lines = ["user,model_a,model_b,winner,length,model_a_length,model_b_length"]
    for user, ahead, behind, left, length in rows:
        right = behind if left == ahead else ahead
        won = "model_a" if left == ahead else "model_b"
        lines.append(f"{user},{left},{right},{won},{length},{length},0")
    path = tmp_path / "arena.csv"
    path.write_text("\n".join(lines) + "\n")

    def told(source, side, ignored):
        options = ("--covariate", "length:-3:3", "--side", side, "--ignore", ignored)
        document = privrank("rank", source, "--method", "none", *options, "--json").json()
        found = document["diagnostics"]["covariates"]
        scores = {row["item"]: row["score"] for row in document["ranking"]}
        return [*(scores[item] for item in "abc"), *(one["coefficient"] for one in found.values())]

    usual = told(battles, "left", "user")
    assert told(path, "model_a", "length") == pytest.approx(usual, abs=1e-6)
    assert told(path, "model_a", "model_a_length") == pytest.approx(usual, abs=1e-6)
    shared = ("--covariate", "length:-3:3", "--max-per-user", 2)
    private = privrank("rank", path, *shared, "--epsilon", 1, "--json")
    assert private.json()["guarantee"]["numerics"] == "exact"


def test_perfect_prediction_is_told_without_privacy(privrank, write):
    path = write(*["u,a,b,a", "u,b,a,b"] * 5, header="user,winner,loser,left")
    result = privrank("rank", path, "--method", "none", "--side", "left")
    assert result.code == 0
    assert "no finite fit" in result.err
    assert "a ridge fit with gamma = 1" in " ".join(result.err.split())


@pytest.fixture(scope="module")
def drawn_battles(battles, tmp_path_factory):
    """The same, every third battle a tie."""
    head, *rows = battles.read_text(encoding="utf-8").splitlines()
    told = [f"{row},{int(k % 3 == 0)}" for k, row in enumerate(rows)]
    path = tmp_path_factory.mktemp("drawn") / "drawn.csv"
    path.write_text("\n".join([f"{head},tie", *told]) + "\n", encoding="utf-8")
    return path


def test_ties_beside_covariates_without_privacy(privrank, drawn_battles):
    run = ("rank", drawn_battles, "--method", "none", *FIT, "--ties", "davidson", "--json")
    document = privrank(*run).json()
    assert_schema(document)
    rows = Comparisons.read(drawn_battles, covariates=("length",), side="left")
    table = rows.covariate_table()
    found = pairwise.mle(table, ties="davidson")
    known = confidence_intervals(standard_errors(found.value, table.design))
    facts = document["diagnostics"]
    scores = {row["item"]: row["score"] for row in document["ranking"]}
    np.testing.assert_allclose([scores[item] for item in "abc"], found.value.scores, atol=1e-8)
    ends = facts["tie_parameter_low"], facts["tie_parameter_high"]
    assert facts["tie_parameter"] == pytest.approx(float(found.value.tie), abs=1e-8)
    assert ends == pytest.approx(tuple(np.exp([known.log_tie.low, known.log_tie.high])), rel=1e-6)
    told = facts["covariates"]["length"]
    assert (told["low"], told["high"]) == pytest.approx(
        (float(known.coefficients.low[0]), float(known.coefficients.high[0])), abs=1e-6
    )


@pytest.mark.parametrize("noise", [(), ("--noise", "gaussian", "--delta", 1e-6)])
def test_a_release_of_ties_beside_covariates_is_exact(privrank, drawn_battles, noise):
    run = ("rank", drawn_battles, *MLE, *FIT, "--epsilon", 50, "--unit", "comparison", *noise)
    result = privrank(*run, "--ties", "davidson", "--json")
    assert result.code == 0, result.err
    document, halves = result.json(), privrank(*run, "--json").json()
    assert_schema(document)
    facts = document["diagnostics"]
    assert document["guarantee"] == halves["guarantee"]
    assert document["guarantee"]["numerics"] == "exact"
    assert facts["noise_scale"] == pytest.approx(halves["diagnostics"]["noise_scale"], rel=0.01)
    assert 0.5 < facts["tie_parameter"] < 3
    assert facts["tie_parameter_low"] < facts["tie_parameter"] < facts["tie_parameter_high"]
    assert "nu = " in " ".join(privrank(*run, "--ties", "davidson").out.split())


def test_counted_rows_with_covariates_are_the_longer_file(privrank, write):
    rows = [("u1,a,b,1,2", 2), ("u2,b,a,3,1", 1), ("u3,b,c,2,2", 3), ("u4,c,b,1,4", 2), ("u5,c,a,0,1", 1)]  # fmt: skip
    header = "user,winner,loser,winner_len,loser_len"
    counted = write(*(f"{row},{n}" for row, n in rows), header=f"{header},n", name="n.csv")
    longer = write(*(row for row, n in rows for _ in range(n)), header=header)
    run = ("--method", "none", "--covariate", "len", "--gamma", 1, "--json")
    one = privrank("rank", counted, *run, "--count", "n").json()
    assert one["ranking"] == privrank("rank", longer, *run).json()["ranking"]
