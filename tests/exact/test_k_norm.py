"""Exact K-norm noise: each lattice point once, uniform trees, the law of radius, noise and gauge, tight privacy."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privrank_jax.exact import k_norm
from privrank_jax.exact.k_norm import (
    Tile,
    cube_noise,
    discrete_cube,
    discrete_zonotope,
    draw_radius,
    zonotope_noise,
)
from privrank_jax.exact.spanning_trees import Forest, Graph
from tests.exact.graphs import ALARM, GRAPHS
from tests.reference import geometry as naive

POINTS = {("K3", 1): 19, ("K3", 2): 61, ("K3", 3): 127, ("K4", 1): 201, ("K2", 4): 9}


@pytest.mark.parametrize(
    ("name", "radius"),
    [
        *POINTS,
        ("cycle", 1),
        ("asked again", 2),
        ("path", 2),
        ("two components", 1),
        ("an item alone", 2),
    ],
)
def test_each_lattice_point_comes_from_exactly_one_tile(name, radius):
    pairs, items = GRAPHS[name]
    graph = Graph(pairs, items)
    edges = [tuple(edge) for edge in graph.edges.tolist()]
    forests = naive.spanning_forests(edges, items)
    assert len(forests) == graph.count_forests()
    seen = Counter()
    for chosen in forests:
        tile = Tile(graph, Forest(graph, naive.rooted(chosen, edges, graph.components)))
        for inside in itertools.product(range(2 * radius + 1), repeat=graph.dimension):
            point, kept = tile.place(np.array(inside), radius)
            if kept:
                seen[tuple(point.tolist())] += 1
    points = naive.lattice_points(edges, items, radius)
    assert set(seen) == points
    assert set(seen.values()) == {1}
    if (name, radius) in POINTS:
        assert len(points) == POINTS[name, radius]


@pytest.mark.parametrize(
    ("dimension", "epsilon"),
    [(1, 0.5), (2, 1.0), (9, 1.0), (45, 3.0), (4950, 0.3), (3, 40.0), (9, 12.0)],
)
def test_the_radius_has_its_law(dimension, epsilon):
    rate = Fraction(epsilon) / 2
    law = k_norm._radius(dimension, rate)
    drawn = np.array([law.draw() for _ in range(1000)])
    expected = naive.radius_law(dimension, epsilon / 2, 3 * law.mode + 400)
    assert law.mode == expected.argmax()
    assert p_value(drawn, expected) > ALARM
    if expected.max() < 0.9:  # else next to nothing is drawn but 0
        wrong = naive.radius_law(dimension, 1.05 * epsilon / 2, 3 * law.mode + 400)
        assert p_value(drawn, wrong) < (ALARM if dimension > 100 else 1.0)


def p_value(drawn, law):
    """Of a χ² test, cells merged from the left until 20 draws are to be expected."""
    counts = np.bincount(drawn, minlength=law.size)[: law.size]
    cells, observed, expected, rest = [], 0, 0.0, drawn.size * law
    for count, want in zip(counts, rest):
        observed, expected = observed + count, expected + want
        if expected >= 20:
            cells.append((observed, expected))
            observed, expected = 0, 0.0
    if not cells:
        return 1.0
    cells[-1] = (cells[-1][0] + observed, cells[-1][1] + expected)
    found, wanted = np.array(cells).T
    found = np.append(found, drawn.size - found.sum())
    wanted = np.append(wanted, drawn.size - wanted.sum())
    keep = wanted > 1e-9
    assert not np.any(found[~keep])
    statistic = np.sum((found[keep] - wanted[keep]) ** 2 / wanted[keep])
    return float(stats.chi2.sf(statistic, max(keep.sum() - 1, 1)))


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_the_loss_is_epsilon_and_no_more(epsilon):
    """Over all pairs of whole answers of two users to three questions: the loss of the gauge is at most 2 units."""
    pairs, items = GRAPHS["K3"]
    differences = {
        tuple(np.sum([t * (np.eye(3, dtype=int)[i] - np.eye(3, dtype=int)[j]) for t, (i, j) in zip(ts, pairs)], axis=0))
        for ts in itertools.product((-2, -1, 0, 1, 2), repeat=3)
    }  # fmt: skip
    points = sorted(naive.lattice_points(pairs, items, 4))
    worst = 0
    for point in points:
        here = naive.zonotope_gauge(point, pairs, items)
        for difference in differences:
            there = naive.zonotope_gauge(np.add(point, difference), pairs, items)
            worst = max(worst, there - here)
    assert worst == 2  # times rate = epsilon / 2
    rate = Fraction(epsilon) / 2
    assert float(worst * rate) == epsilon


def test_large_graphs_and_budgets():
    graph = Graph.of_all_pairs(60)
    noise = zonotope_noise(graph, Fraction(1, 2))
    assert noise.sum() == 0
    assert noise.any()
    assert not zonotope_noise(Graph.of_all_pairs(3), Fraction(500)).any()
    assert draw_radius(1, Fraction(1, 10**9)) > 0


def test_mechanisms_add_noise_at_their_rate(monkeypatch):
    asked = []
    for name in ("cube_noise", "zonotope_noise"):
        monkeypatch.setattr(
            k_norm,
            name,
            lambda shape, rate: (asked.append((shape, rate)), np.array([8, -8]))[1],
        )
    graph, values = Graph([(0, 1)], 2), np.array([2**60 + 1, 3])
    for epsilon in (0.3, 8.0):
        mechanisms = discrete_cube(2, 2, epsilon), discrete_zonotope(graph, 2, epsilon)
        for (add_noise, scale), shape in zip(mechanisms, (2, graph)):
            assert add_noise(values).tolist() == [float(2**60 + 9), -5.0]
            assert asked.pop() == (shape, Fraction(epsilon) / 2)
            assert scale == 2 / epsilon


def test_large_epsilons_have_fine_grids(monkeypatch):
    """ε/c halves until it is at most 4, on a lattice as many times as fine."""
    asked = []
    monkeypatch.setattr(
        k_norm, "zonotope_noise", lambda _, rate: (asked.append(rate), np.array([8, -8]))[1]
    )
    graph = Graph([(0, 1)], 2)
    above = math.nextafter(8.0, 9.0)
    for epsilon, parts in ((above, 2), (16.0, 2), (100.0, 16), (2.0**19, 2**16), (1e300, 2**16)):
        add_noise, scale = discrete_zonotope(graph, 2, epsilon)
        assert add_noise(np.array([2, 3])).tolist() == [2 + 8 / parts, 3 - 8 / parts]
        spent = min(Fraction(epsilon), 2**19)
        assert asked.pop() == spent / (2 * parts)
        assert scale == pytest.approx(float(2 / spent))


def test_noise_beyond_64_bits_is_refused(monkeypatch):
    graph = Graph.of_all_pairs(30)
    for build in (
        lambda epsilon: discrete_cube(435, 2, epsilon),
        lambda epsilon: discrete_zonotope(graph, 2, epsilon),
    ):
        build(1e-9)
        with pytest.raises(ValueError, match="exceeds 64 bits"):
            build(1e-15)
    monkeypatch.setattr(k_norm, "draw_radius", lambda *_: 2**60)
    for draw in (
        lambda: cube_noise(3, Fraction(1, 2)),
        lambda: zonotope_noise(graph, Fraction(1, 2)),
    ):
        with pytest.raises(OverflowError, match="as likely for all data"):
            draw()


@pytest.mark.parametrize("name", GRAPHS)
def test_tiles_are_those_of_exact_fractions(name):
    """Points and decisions at radii from 1 to the largest for which there is room, at walls and between them."""
    pairs, items = GRAPHS[name]
    graph = Graph(pairs, items)
    edges = [tuple(edge) for edge in graph.edges.tolist()]
    generator = np.random.default_rng(len(name))
    largest = 2**62 // max(len(edges), 4) - 1
    for radius in (1, 2, 10**6, largest):
        for chosen in naive.spanning_forests(edges, items):
            forest = Forest(graph, naive.rooted(chosen, edges, graph.components))
            ends = generator.choice(
                [0, 1, radius, 2 * radius - 1, 2 * radius], (6, graph.dimension)
            )
            for inside in ends:
                point, kept = Tile(graph, forest).place(inside, radius)
                given = [int(inside[forest.edge.tolist().index(index)]) for index in chosen]
                wanted = naive.place(chosen, edges, items, given, radius)
                assert (point.tolist(), kept) == wanted


def test_graphs_are_equal_where_their_pairs_are():
    assert Graph([(0, 1), (1, 2)], 3) == Graph([(2, 1), (1, 0)], 3)
    assert hash(Graph([(0, 1), (1, 2)], 3)) == hash(Graph([(2, 1), (1, 0)], 3))
    assert Graph([(0, 1)], 3) != Graph([(0, 1)], 2)
    assert Graph([(0, 1)], 3) != Graph([(0, 1), (0, 1)], 3)
    assert Graph([(0, 1)], 2) != "a graph"
