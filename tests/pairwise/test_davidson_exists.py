"""Existence of a finite maximum in Davidson's model, decided by a linear program."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import graph


def counts(*outcomes):
    matrix, ties = np.zeros((4, 4)), 0.0
    for i, j, won, tied, lost in outcomes:
        matrix[i, j] += won + tied / 2
        matrix[j, i] += lost + tied / 2
        ties += tied
    return WinCounts.from_matrix(matrix, ties=ties)


@pytest.mark.parametrize(
    ("outcomes", "exists"),
    [
        ([(0, 1, 3, 2, 0)], False),  # no loss: half wins link both items, yet ν grows with the gap
        ([(0, 1, 3, 2, 1)], True),
        ([(0, 1, 3, 0, 1)], False),  # no tie
        ([(0, 1, 0, 4, 0)], False),  # nothing but ties
        ([(0, 1, 2, 1, 0), (1, 2, 2, 1, 0)], False),  # a chain of wins
        ([(0, 1, 2, 1, 0), (1, 2, 2, 1, 0), (2, 0, 1, 0, 0)], True),  # a circle of wins
        ([(0, 1, 1, 1, 1), (2, 3, 1, 1, 1)], True),  # two components, each with its maximum
        (
            [(0, 1, 1, 1, 1), (2, 3, 1, 1, 0)],
            True,
        ),  # the first pair bounds ν, and ν the gap of the second
        ([], False),
    ],
)
def test_whether_a_maximum_exists(outcomes, exists):
    assert graph.has_maximum(counts(*outcomes)) is exists


def test_large_problems_are_left_undecided(monkeypatch):
    monkeypatch.setattr(graph, "MOST_PAIRS", 1)
    assert graph.has_maximum(counts((0, 1, 1, 1, 1), (1, 2, 1, 1, 1))) is None
