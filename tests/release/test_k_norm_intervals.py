"""Exact K-norm noise on a zonotope times intervals: its law at every point, tight privacy, grids and refusals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.release import k_norm
from privrank_jax.release.k_norm import discrete_zonotope, zonotope_noise
from privrank_jax.release.spanning_trees import Graph
from tests.reference import geometry as naive
from tests.release.graphs import GRAPHS
from tests.release.laws import assert_shares

WIDTHS = (2, 0)


def gauge(point, pairs, items, widths):
    """The least whole r, by all cuts and intervals; ∞ where an interval of length 0 would have to hold more."""
    sides = [-(-abs(int(x)) // b) if b else np.inf * bool(x) for x, b in zip(point[items:], widths)]
    return max(naive.zonotope_gauge(point[:items], pairs, items), *sides)


@pytest.mark.parametrize("name", ["K2", "asked again"])
def test_the_noise_has_its_law(name):
    """1,500 draws, point by point where that is likely, by their gauge beyond; the numbers of points by enumeration."""
    pairs, items = GRAPHS[name]
    graph, rate, draws = Graph(pairs, items), Fraction(3, 2), 1500
    forests = naive.forest_numbers([tuple(edge) for edge in graph.edges.tolist()], items)
    radii = np.arange(200)
    numbers = naive.numbers_of_points(forests, 199) * (2 * radii * WIDTHS[0] + 1)
    law = naive.gauge_law(numbers, float(rate))
    drawn = [tuple(zonotope_noise(graph, rate, WIDTHS).tolist()) for _ in range(draws)]
    assert all(sum(point[:items]) == 0 == point[-1] for point in drawn)
    gauges = np.array([gauge(point, pairs, items, WIDTHS) for point in drawn])
    assert_shares(np.bincount(gauges, minlength=200)[:200], law)
    inner = sorted(naive.lattice_points(pairs, items, 1))
    near = [(*point, side, 0) for point in inner for side in range(-2, 3)]
    assert len(near) == numbers[1]
    shells = np.diff(numbers, prepend=0.0)
    chances = np.array([(law / shells)[gauge(point, pairs, items, WIDTHS)] for point in near])
    counts = [drawn.count(point) for point in near]
    assert_shares([*counts, draws - sum(counts)], [*chances, 1 - chances.sum()])


def test_neighbors_lose_epsilon_and_no_more():
    """Doubled answers of one user to three questions, one of them asked again, beside a number that moves by 2·2."""
    pairs, items = GRAPHS["path"]
    steps = np.array([np.eye(items, dtype=int)[i] - np.eye(items, dtype=int)[j] for i, j in pairs])
    turns = np.array(list(itertools.product((-2, 0, 2), repeat=len(pairs))))
    changes = np.hstack([turns @ steps, turns @ [[1, 0], [-1, 0]]])
    worst = [gauge(change, pairs, items, WIDTHS) for change in changes]
    assert max(worst) == 2  # times rate = ε/2


def test_noise_is_drawn_at_its_rate_on_its_grid(monkeypatch):
    asked = []
    monkeypatch.setattr(
        k_norm, "zonotope_noise", lambda *given: (asked.append(given), np.array([8, -8, 4]))[1]
    )
    graph = Graph([(0, 1)], 2)
    for epsilon, parts in ((0.3, 1), (8.0, 1), (16.0, 2), (1e300, 2**16)):
        add_noise, scale = discrete_zonotope(graph, 2, epsilon, (3,))
        assert add_noise(np.array([2, 3, 7])).tolist() == [
            2 + 8 / parts,
            3 - 8 / parts,
            7 + 4 / parts,
        ]
        spent = min(Fraction(epsilon), 2**19)
        assert asked.pop() == (graph, spent / (2 * parts), (3,))
        assert scale == pytest.approx(float(2 / spent))


def test_noise_beyond_64_bits_is_refused():
    graph = Graph([(0, 1)], 2)
    discrete_zonotope(graph, 2, 0.1, (2**40,))
    for widths, epsilon in (((2**40,), 1e-6), ((2**55,), 1.0), ((), 1e-16)):
        with pytest.raises(ValueError, match="exceeds 64 bits"):
            discrete_zonotope(graph, 2, epsilon, widths)
