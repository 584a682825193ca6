"""``privrank rank --probabilities``: what the release says of orders and ranks, in a file."""

from __future__ import annotations

import csv
import json

import jax
import numpy as np

import privrank_jax as pr
from privrank_jax.jobs.result import Certainty, Ranking

OPTIONS = ("--epsilon", 2, "--adjacency", "flip", "--simulate", "--seed", 4)


def table_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head[1:] == [row[0] for row in rows]
    return head[1:], np.array([row[1:] for row in rows], float)


def test_files_hold_what_the_release_implies(privrank, tmp_path):
    table, document = tmp_path / "p.csv", tmp_path / "p.json"
    for path in (table, document):
        found = privrank("rank", "coffee", *OPTIONS, "--probabilities", path, "--json")
        assert found.code == 0, found.err
    items, above = table_of(table)
    np.testing.assert_allclose(above + above.T, 1 - np.eye(6), atol=2e-4)
    assert {len(str(one)) for one in above.ravel()} <= {3, 4, 5, 6}
    assert np.all((above >= 0) & (above <= 1))
    written = json.loads(document.read_text())
    assert written["items"] == items
    np.testing.assert_allclose(written["probabilities"], above)
    assert written["guarantee"]["epsilon"] == 2
    ranks = np.array(written["ranks"])
    np.testing.assert_allclose([ranks.sum(0), ranks.sum(1)], 1, atol=1e-3)
    np.testing.assert_allclose(ranks @ np.arange(6), above.sum(0), atol=0.05)
    order = [items.index(row["item"]) for row in found.json()["ranking"]]
    assert np.all(above[order[:-1], order[1:]] > 0.5)


def test_the_result_has_them_too():
    data = pr.read("coffee")
    exact = pr.rank(data, None)
    assert exact.above is not None
    assert exact.rank_chances is not None
    np.testing.assert_array_equal(exact.rank_chances, pr.rank(data, None).rank_chances)
    promise = pr.Privacy(1.0, unit="user", adjacency="flip")
    totals = pr.rank(data, promise, method="counts", key=jax.random.key(0))
    assert totals.above is None
    assert totals.rank_chances is None


def test_one_item_has_no_order():
    alone = Ranking("", ("a",), np.array([0]), None, {}, np.zeros(1), certainty=Certainty())
    assert alone.above is None


def test_what_has_no_errors_is_refused(privrank, write, tmp_path):
    path = tmp_path / "p.csv"
    found = privrank("rank", "coffee", *OPTIONS, "--method", "counts", "--probabilities", path)
    assert found.code == 2
    assert "take --method scores" in found.err
    votes = write(*(f"u{k},a,{'bc'[k % 2]}" for k in range(6)))  # a never lost
    found = privrank("rank", votes, "--method", "none", "--probabilities", path)
    assert "there are no probabilities" in found.err
    assert not path.exists()
    assert "a" in found.out
