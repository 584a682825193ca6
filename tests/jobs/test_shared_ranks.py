"""Tied items share a rank in every output, whatever the list of items has first."""

from __future__ import annotations

import csv
import itertools
import json
import re

import jax
import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.jobs.methods import KEMENY, RULES, tied_at_least_cost
from privrank_jax.jobs.result import Ranking, best_first

# Twelve ballots by which Ann and Bob are equal, and both are ahead of Cal.
PLACES = (
    "123", "123", "123", "132", "132", "231", "213", "213", "213", "312", "312", "321",
)  # fmt: skip
BALLOTS = [",".join((f"u{k}", *one)) for k, one in enumerate(PLACES)]
COMPARED = ["u,a,b", "v,b,a", "u,a,c", "v,b,c", "w,a,c", "x,b,c", "y,c,a", "z,c,b"]


def shared(ranking):
    return dict(zip(ranking.names, (row["rank"] for row in ranking.rows)))


@pytest.mark.parametrize("rule", [KEMENY, *RULES])
@pytest.mark.parametrize("items", ["Ann,Bob,Cal", "Cal,Bob,Ann"])
def test_the_list_of_items_decides_no_winner(write, rule, items):
    path = write(*BALLOTS, header="user,Ann,Bob,Cal")
    found = pr.consensus(pr.read(path, items=items.split(",")), None, rule=rule)
    assert shared(found) == {"Ann": 1, "Bob": 1, "Cal": 3}
    assert "are tied" in str(found)


@pytest.mark.parametrize("items", ["a,b,c", "c,b,a"])
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_fitted_scores_of_equal_items_are_equal_whatever_their_last_digits(write, items, ties):
    path = write(*COMPARED, "t,a,b", "s,b,a")
    found = pr.rank(pr.read(path, items=items.split(",")), None, ties=ties)
    assert shared(found) == {"a": 1, "b": 1, "c": 3}


def test_every_output_has_the_shared_ranks(privrank, write, tmp_path):
    path, out = write(*BALLOTS, header="user,Ann,Bob,Cal"), tmp_path / "out"
    files = [f"{out}.{suffix}" for suffix in ("csv", "json", "html", "svg")]
    options = [word for file in files for word in ("--out", file)]
    run = privrank("aggregate", path, "--method", "none", "--rule", "copeland", *options)
    table = [line.split()[:2] for line in run.out.splitlines() if line[:6].strip().isdigit()]
    assert table == [["1", "Ann"], ["1", "Bob"], ["3", "Cal"]]
    with open(f"{out}.csv", encoding="utf-8") as file:
        assert [row["rank"] for row in csv.DictReader(file)] == ["1", "1", "3"]
    with open(f"{out}.json", encoding="utf-8") as file:
        assert [row["rank"] for row in json.load(file)["ranking"]] == [1, 1, 3]
    assert re.search("<td[^>]*>1</td><td[^>]*>Bob</td>", (tmp_path / "out.html").read_text("utf-8"))
    assert "1. Bob" in (tmp_path / "out.svg").read_text("utf-8")


def test_ties_after_noise_are_ties(write):
    data = pr.read(write(*BALLOTS, header="user,Ann,Bob,Cal"), items="seen")
    promise = pr.Privacy(1.0, unit="user", adjacency="replace")
    met = set()
    for seed in range(40):
        found = pr.consensus(data, promise, rule="copeland", key=jax.random.key(seed))
        assert found.scores is not None
        beaten = found.scores[found.order]
        assert [row["rank"] for row in found.rows] == [int(np.sum(beaten > x)) + 1 for x in beaten]
        assert ("are tied" in str(found)) == (len({*beaten}) < 3)
        for row in found.rows:
            if "rank_low" in row and row["rank"]:
                assert row["rank_low"] <= row["rank"] <= row["rank_high"]
        met.add(len({*beaten}))
    assert met == {1, 3}


def test_scores_that_rounding_parts_keep_the_order_of_the_list():
    scores = np.array([0.5, 0.5 + 1e-12, 2.0, 0.5 - 1e-12])
    order = best_first(scores)
    assert order.tolist() == [2, 0, 1, 3]
    found = Ranking("t", ("a", "b", "c", "d"), order, None, {}, scores)
    assert found.ranks.tolist() == [1, 2, 2, 2]
    assert found.marked == ["c", "a (tied)", "b (tied)", "d (tied)"]
    assert Ranking("t", (), np.arange(0), None, {}).ranks.tolist() == []


@pytest.mark.parametrize("seed", range(6))
def test_a_tie_of_least_cost_is_one_by_enumeration(seed):
    """Items that are tied with the next one: another order of the same cost has another item there."""
    drawn = np.random.default_rng(seed).integers(0, 3, (5, 5))
    weights = np.triu(drawn, 1) + np.tril(2 - drawn.T, -1)

    def cost(order):
        return sum(weights[j, i] for k, i in enumerate(order) for j in order[k + 1 :])

    costs = {order: cost(order) for order in itertools.permutations(range(5))}
    least = [order for order, one in costs.items() if one == min(costs.values())]
    tied = tied_at_least_cost(weights, np.array(least[0]))
    for place, one in enumerate(tied):
        others = {frozenset(order[: place + 1]) for order in least}
        if one:
            assert len(others) > 1
        if len(least) == 1:
            assert not one
