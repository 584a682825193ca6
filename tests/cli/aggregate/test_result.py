"""Consensus rankings with their certificates."""

from __future__ import annotations

import itertools

import pytest
from privrank_jax.cli.aggregate.input import read_input
from privrank_jax.cli.aggregate.request import Request
from privrank_jax.cli.aggregate.result import without_privacy

ROWS = ["u0,1,2,3", "u1,1,3,2", "u2,2,1,3", "u3,3,1,2", "u4,1,2,3"]


@pytest.fixture
def request_of(write):
    path = write(*ROWS, header="user,a,b,c", name="rankings.csv")
    return lambda **options: Request(source=str(path), method="none", **options)


def test_the_consensus_is_that_of_all_orders_and_its_certificate_proves_it(request_of):
    request = request_of()
    result = without_privacy(read_input(request), request)
    rows = [tuple(map(int, row.split(",")[1:])) for row in ROWS]

    def disagreements(order):
        return sum(
            row[first] > row[second]
            for row in rows
            for first, second in itertools.combinations(order, 2)
        )

    best = min(itertools.permutations(range(3)), key=disagreements)
    assert tuple(result.order.tolist()) == best
    certificate = result.diagnostics["certificate"]
    assert certificate["lower_bound"] == pytest.approx(certificate["cost"])
    assert certificate["ratio"] == 1
    assert result.guarantee is None
    assert result.warnings == ()
    assert result.notes[0].startswith("the average user disagrees with ")
    assert "of the 3 pairs of this order, and with at least as many of any other" in result.notes[0]


def test_facts_of_the_request_are_in_the_diagnostics(request_of):
    request = request_of(xi=0.5)
    result = without_privacy(read_input(request), request)
    assert result.diagnostics["xi"] == 0.5
    assert result.diagnostics["method"] == "none"
    assert "without privacy" in result.title


def test_what_noisy_votes_prove_is_said_of_them(privrank, write):
    path = write(*ROWS, header="user,a,b,c", name="rankings.csv")
    run = ("aggregate", path, "--method", "noise-all", "--epsilon", 1, "--simulate", "--seed", 1)
    assert "- by the noisy votes, the average user disagrees with " in privrank(*run).out
