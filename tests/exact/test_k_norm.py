"""Exact K-norm noise at its limits: the rate of mechanisms, fine grids, 64 bits, tiles at any radius."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.exact import k_norm
from privrank_jax.exact.k_norm import (
    cube_noise,
    discrete_cube,
    discrete_zonotope,
    draw_radius,
    placed,
    zonotope_noise,
)
from privrank_jax.exact.spanning_trees import Forest, Graph
from tests.exact.graphs import GRAPHS, edges_of
from tests.reference import geometry as naive

PAIR = Graph([(0, 1)], 2)


@pytest.fixture
def asked(monkeypatch):
    """What noise is drawn of, which is 8 and -8."""
    found = []
    for name in ("cube_noise", "zonotope_noise"):
        drawn = lambda shape, rate: (found.append((shape, rate)), np.array([8, -8]))[1]  # noqa: E731
        monkeypatch.setattr(k_norm, name, drawn)
    return found


def test_mechanisms_add_noise_at_their_rate(asked):
    values = np.array([2**60 + 1, 3])
    for epsilon in (0.3, 8.0):
        mechanisms = discrete_cube(2, 2, epsilon), discrete_zonotope(PAIR, 2, epsilon)
        for (add_noise, scale), shape in zip(mechanisms, (2, PAIR)):
            assert add_noise(values).tolist() == [float(2**60 + 9), -5.0]
            assert asked.pop() == (shape, Fraction(epsilon) / 2)
            assert scale == 2 / epsilon


def test_large_epsilons_have_fine_grids(asked):
    """ε/c halves until it is at most 4, on a lattice as many times as fine."""
    above = math.nextafter(8.0, 9.0)
    for epsilon, parts in ((above, 2), (16.0, 2), (100.0, 16), (2.0**19, 2**16), (1e300, 2**16)):
        add_noise, scale = discrete_zonotope(PAIR, 2, epsilon)
        assert add_noise(np.array([2, 3])).tolist() == [2 + 8 / parts, 3 - 8 / parts]
        spent = min(Fraction(epsilon), 2**19)
        assert asked.pop() == (PAIR, spent / (2 * parts))
        assert scale == pytest.approx(float(2 / spent))


def test_noise_beyond_64_bits_is_refused(monkeypatch):
    graph = Graph.of_all_pairs(60)
    noise = zonotope_noise(graph, Fraction(1, 2))
    assert noise.sum() == 0
    assert noise.any()
    assert draw_radius(1, Fraction(1, 10**9)) > 0
    for build in (
        lambda epsilon: discrete_cube(435, 2, epsilon),
        lambda epsilon: discrete_zonotope(graph, 2, epsilon),
    ):
        build(1e-9)
        with pytest.raises(ValueError, match="64 bits"):
            build(1e-15)
    monkeypatch.setattr(k_norm, "draw_radius", lambda *_: 2**60)
    for draw in (
        lambda: cube_noise(3, Fraction(1, 2)),
        lambda: zonotope_noise(graph, Fraction(1, 2)),
    ):
        with pytest.raises(OverflowError, match="as likely"):
            draw()


@pytest.mark.parametrize("name", GRAPHS)
def test_tiles_are_those_of_exact_fractions(name):
    """Points and decisions at radii from 1 to the largest for which there is room, at walls and between them."""
    pairs, items = GRAPHS[name]
    graph = Graph(pairs, items)
    edges = edges_of(graph)
    generator = np.random.default_rng(len(name))
    largest = 2**62 // max(len(edges), 4) - 1
    for radius in (1, 2, 10**6, largest):
        for chosen in naive.spanning_forests(edges, items):
            forest = Forest(graph, naive.rooted(chosen, edges, graph.components))
            places = [forest.edge.tolist().index(index) for index in chosen]
            walls = [0, 1, radius, 2 * radius - 1, 2 * radius]
            for inside in generator.choice(walls, (6, graph.dimension)):
                point, kept = placed(graph, forest, inside, radius)
                wanted = naive.place(chosen, edges, items, inside[places].tolist(), radius)
                assert (point.tolist(), kept) == wanted
