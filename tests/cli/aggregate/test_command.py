"""``privrank aggregate``: the rule for items not ranked, files of weights, approvals, and synthetic rankings."""

from __future__ import annotations

import csv
import json

import numpy as np
import openpyxl
import pytest

from privrank_jax import mallows
from tests.cli.results import assert_schema, items
from tests.of_rankings import CONSENSUS
from tests.quick import thorough_but

REHEARSAL = ("--simulate", "--seed", 1)
PRIVATE = [
    (method.name, trust)
    for method in CONSENSUS.values()
    for trust in method.trusts
    if trust != "shuffled"
]


@pytest.mark.parametrize(
    ("method", "trust"),
    thorough_but(PRIVATE, ("borda", "central")),
)
def test_every_method_heeds_the_rule(privrank, write, method, trust):
    """32 rank a alone, 8 rank b before a: a beats b by 32 to 8, or, where nothing else is known, loses by 0 to 8."""
    times = 10 if trust == "local" else 1  # there a tie is a coin
    path = write(*["1,,"] * 32 * times, *["2,1,"] * 8 * times, header="a,b,c")
    run = ("aggregate", path, "--user none --epsilon 40 --json", *REHEARSAL, "--method", method)
    run += ("--trust", trust)
    for missing, order in (("last", "ab"), ("unknown", "ba")):
        document = privrank(*run, "--missing", missing).json()
        assert_schema(document, scores=document["ranking"][0]["score"] is not None)
        found = items(document)
        assert found.index(order[0]) < found.index(order[1])
        guarantee, facts = document["guarantee"], document["diagnostics"]
        told = (guarantee["epsilon"], guarantee["unit"], guarantee["trust"], facts["missing"])
        assert told == (40, "user", trust, missing)
        assert (guarantee["numerics"], facts["seed"]) == ("simulation", 1)


@pytest.fixture
def votes(write):
    """Forty users rank items, one of whose names is that of the first column of a matrix; some leave one out."""
    lines = [f"u{k},{'1,2,3' if k % 4 else '2,1,3' if k % 8 else '1,2,'}" for k in range(40)]
    return write(*lines, header='user,item,"b, or not",=c')


def test_a_release_never_repeats_and_is_exact(privrank, votes):
    run = ("aggregate", votes, "--epsilon", 0.001, "--json")
    first, second = privrank(*run).json(), privrank(*run).json()
    for document in (first, second):
        assert document["guarantee"]["numerics"] == "exact"
        facts = document["diagnostics"]
        assert (facts["noise"], facts["users"]) == ("discrete K-norm", 40)
        assert facts["noise_scale"] == pytest.approx(1 / (0.001 * 40))
        totals = [2 * 40 * row["score"] for row in document["ranking"]]
        np.testing.assert_allclose(totals, np.round(totals), atol=1e-6)
    # Discrete noise of scale 2000 on three items is equal twice with probability below 1e-7.
    assert first != second
    facts = privrank(*run, "--method", "borda", "--noise", "laplace").json()["diagnostics"]
    # Sensitivity of n times the scores: ⌊9/2⌋ = 4.
    assert facts["noise_scale"] == pytest.approx(4 / (0.001 * 40))


# --- files of weights ------------------------------------------------------------------------------


def matrix_of(path, delimiter=","):
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file, delimiter=delimiter)
    assert head[1:] == [row[0] for row in rows]
    assert head[0] == ("item_" if "item" in head[1:] else "item")
    return head[1:], np.array([row[1:] for row in rows], float)


def test_forms_of_the_matrix(privrank, votes, tmp_path):
    """The same whatever the form and the rule."""
    paths = [tmp_path / f"m{suffix}" for suffix in (".csv", ".tsv", ".xlsx", ".json")]
    run = ("aggregate", votes, "--epsilon", 30, *REHEARSAL, "--matrix")
    for path, rule in zip(paths, ("borda", "copeland", "schulze", "kemeny")):
        assert privrank(*run, path, "--rule", rule).code == 0
    names, weights = matrix_of(paths[0])
    assert names == ["=c", "b, or not", "item"]
    np.testing.assert_allclose(weights + weights.T, 1 - np.eye(3), atol=1e-12)
    np.testing.assert_array_equal(matrix_of(paths[1], "\t")[1], weights)
    document = json.loads(paths[3].read_text())
    assert (document["items"], document["weights"]) == (names, weights.tolist())
    assert (document["guarantee"]["epsilon"], document["diagnostics"]["rule"]) == (30, "kemeny")
    book = openpyxl.load_workbook(paths[2])
    _, *rows = book.worksheets[0].iter_rows(values_only=True)
    assert [row[0] for row in rows] == names
    np.testing.assert_allclose([row[1:] for row in rows], weights, rtol=1e-15)
    about = {row[0]: row[1] for row in book["guarantee"].iter_rows(values_only=True)}
    assert "epsilon = 30" in about["guarantee"]
    assert privrank("aggregate", votes, "--method", "none", "--matrix", paths[0]).code == 0
    exact = [[0, 0, 0], [1, 0, 1 / 8], [1, 7 / 8, 0]]
    np.testing.assert_array_equal(matrix_of(paths[0])[1], exact)


# --- approvals -------------------------------------------------------------------------------------


def test_the_winners_of_an_approval_vote_alone(privrank, write, tmp_path):
    """A set has no ranks, in text, JSON and HTML; its release is paid for once."""
    path = write(*(f"u{k},1,{k % 2},0" for k in range(40)), header="user,a,b,c")
    ledger, page = tmp_path / "votes.ledger", tmp_path / "page.html"
    assert privrank("ledger", ledger, "--data", path, "--budget", 90).code == 0
    asked = ("aggregate", path, "--approvals", "--epsilon", 40, "--top-k", 2, "--json")
    found = privrank(*asked, "--ledger", ledger, "--out", page).json()
    assert found["ranking"] == [{"rank": None, "item": item, "score": None} for item in "ab"]
    facts = found["diagnostics"]
    assert (facts["method"], facts["selected_by"], facts["noise_scale"]) == (
        "top-k",
        "canonical",
        0.1,
    )
    assert found["guarantee"]["epsilon"] == 40
    assert "in no order" in page.read_text(encoding="utf-8")
    lists = privrank(*asked, "--method", "one-shot", "--ledger", ledger).json()["ranking"]
    assert [row["rank"] for row in lists] == [1, 2]


# --- synthetic rankings ----------------------------------------------------------------------------


def test_synthetic_rankings_are_debiased_at_no_further_cost(privrank, write, tmp_path):
    """Of 400 users at two budgets."""
    epsilon, names = np.where(np.arange(400) % 4 < 2, 4.0, 8.0), "abc"
    drawn = np.random.default_rng(0).permuted(np.tile(np.arange(3), (400, 1)), axis=1)
    lines = [
        ",".join([f"u{user}", f"{budget:g}", *(str(rank + 1) for rank in row)])
        for user, (row, budget) in enumerate(zip(drawn, epsilon))
    ]
    path = write(*lines, header="user,synthetic_epsilon," + ",".join(names))
    document = privrank("aggregate", path, "--json").json()
    assert_schema(document)
    scores = {row["item"]: row["score"] for row in document["ranking"]}
    expected = mallows.debiased_borda(drawn, epsilon).value
    np.testing.assert_allclose([scores[name] for name in names], expected, atol=1e-9)
    guarantee = document["guarantee"]
    told = (guarantee["epsilon"], guarantee["unit"], guarantee["numerics"])
    assert told == (8, "rank", "unknown")
    assert guarantee["also"][0]["epsilon"] == 12
    assert guarantee["public"] == guarantee["also"][0]["public"] == ["budgets"]
    best = privrank("aggregate", path, "--method", "none", "--json").json()
    assert best["guarantee"]["epsilon"] == 8
    assert best["diagnostics"]["certificate"]["ratio"] == 1
    matrix = tmp_path / "m.csv"
    ruled = privrank("aggregate", path, "--rule", "borda", "--matrix", matrix, "--json").json()
    order, weights = matrix_of(matrix)
    assert items(ruled) == [order[k] for k in np.argsort(-weights.sum(1), kind="stable")]
