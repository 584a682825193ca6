"""``privrank aggregate --rule`` and ``--matrix``: the file of weights, and files of synthetic rankings."""

from __future__ import annotations

import csv
import json

import numpy as np
import openpyxl
import pytest

from privrank_jax import aggregation
from privrank_jax.jobs.rules import RULES, scores_by

REHEARSAL = ("--simulate", "--seed", 1)


@pytest.fixture
def votes(write):
    """Forty users rank items, one of whose names is that of the first column of a matrix."""
    lines = [f"u{k},{'1,2,3' if k % 4 else '2,1,3' if k % 8 else '1,2,'}" for k in range(40)]
    return write(*lines, header='user,item,"b, or not",=c')


def matrix_of(path, delimiter=","):
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file, delimiter=delimiter)
    assert head[1:] == [row[0] for row in rows]
    return head, np.array([row[1:] for row in rows], float)


def test_the_matrix_is_what_the_rule_was_given(privrank, votes, tmp_path):
    """The same whatever the rule: each order follows from the file."""
    files, head = [], None
    for rule in ("kemeny", *RULES):
        path = tmp_path / f"{rule}.csv"
        run = ("aggregate", votes, "--epsilon", 30, "--rule", rule, "--matrix", path, "--json")
        result = privrank(*run, *REHEARSAL)
        assert result.code == 0, result.err
        order = [row["item"] for row in result.json()["ranking"]]
        head, weights = matrix_of(path)
        assert head == ["item_", "=c", "b, or not", "item"]
        ranks = (
            aggregation.kemeny(np.clip(weights, 0, 1)).ranks
            if rule == "kemeny"
            else np.argsort(np.argsort(-scores_by(rule, weights), kind="stable"))
        )
        assert order == [head[1:][item] for item in np.argsort(ranks)]
        files.append(path.read_bytes())
    assert len({*files}) == 1
    np.testing.assert_allclose(weights + weights.T, 1 - np.eye(3), atol=1e-12)


def test_other_forms_of_the_file(privrank, votes, tmp_path):
    run = ("aggregate", votes, "--epsilon", 30, "--method", "noise-all", *REHEARSAL, "--matrix")
    paths = {suffix: tmp_path / f"m{suffix}" for suffix in (".csv", ".tsv", ".xlsx", ".json")}
    for path in paths.values():
        assert privrank(*run, path).code == 0
    _, weights = matrix_of(paths[".csv"])
    np.testing.assert_array_equal(matrix_of(paths[".tsv"], "\t")[1], weights)
    document = json.loads(paths[".json"].read_text())
    assert document["weights"] == weights.tolist()
    assert document["items"] == ["=c", "b, or not", "item"]
    assert (document["guarantee"]["epsilon"], document["diagnostics"]["rule"]) == (30, "kemeny")
    book = openpyxl.load_workbook(paths[".xlsx"])
    _, *rows = book.worksheets[0].iter_rows(values_only=True)
    assert [row[0] for row in rows] == document["items"]
    np.testing.assert_allclose([row[1:] for row in rows], weights, rtol=1e-15)
    about = {row[0]: row[1] for row in book["guarantee"].iter_rows(values_only=True)}
    assert about["weights"].startswith("shares of users")
    assert "Differentially private with epsilon = 30" in about["guarantee"]
    added = ("aggregate", votes, "--epsilon", 30, "--adjacency", "add-remove", *REHEARSAL)
    assert privrank(*added, "--matrix", paths[".xlsx"]).code == 0
    rows = openpyxl.load_workbook(paths[".xlsx"])["guarantee"].iter_rows(values_only=True)
    assert next(rows)[1].startswith("half of how many more users")


def test_without_privacy_it_is_exact(privrank, votes, tmp_path):
    path = tmp_path / "m.csv"
    assert privrank("aggregate", votes, "--method", "none", "--matrix", path).code == 0
    _, weights = matrix_of(path)
    np.testing.assert_array_equal(weights, [[0, 0, 0], [1, 0, 1 / 8], [1, 7 / 8, 0]])


def test_synthetic_rankings_are_ranked_by_debiased_pairs(privrank, write, tmp_path):
    rows = [f"u{k},{8 + k % 2},{'1,2,3' if k % 3 else '3,1,2'}" for k in range(40)]
    synthetic = write(*rows, header="user,synthetic_epsilon,a,b,c", name="synthetic.csv")
    path = tmp_path / "m.csv"
    run = ("aggregate", synthetic, "--json")
    for rule in RULES:
        result = privrank(*run, "--rule", rule, "--matrix", path)
        assert result.code == 0, result.err
        facts = result.json()["diagnostics"]
        assert (facts["rule"], facts["method"]) == (rule, "debiased pairs")
        assert "certificate" not in facts
        head, weights = matrix_of(path)
        ranks = np.argsort(np.argsort(-scores_by(rule, weights), kind="stable"))
        order = [row["item"] for row in result.json()["ranking"]]
        assert order == [head[1:][item] for item in np.argsort(ranks)]
    assert "Kemeny" in privrank("aggregate", synthetic, "--matrix", path).out
    for options, words in (
        (("--method", "borda", "--rule", "schulze"), "is of debiased pairs: leave --method out"),
        (("--rule", "irv"), "need whole ballots"),
    ):
        refused = privrank(*run, *options)
        assert refused.code == 2
        assert words in refused.err
