"""The law of exact K-norm noise on small graphs, point by point."""

from __future__ import annotations

import functools

import numpy as np

from privrank_jax.exact.spanning_trees import Graph
from tests.exact.graphs import GRAPHS
from tests.exact.laws import assert_shares
from tests.reference import geometry as naive


def edges_of(graph):
    return [tuple(edge) for edge in graph.edges.tolist()]


@functools.cache
def table(name, rate):
    """Points of the lattice ``(K, m)``, their gauges and probabilities; those farther out have 1e-6 together."""
    pairs, items = GRAPHS[name]
    edges = edges_of(Graph(pairs, items))
    numbers = naive.numbers_of_points(naive.forest_numbers(edges, items), 200)
    law = naive.gauge_law(numbers, float(rate))
    reach = int(np.argmax(np.cumsum(law) > 1 - 1e-6))
    degree = [sum(item in pair for pair in pairs) for item in range(items)]
    spans = [np.arange(-reach * d, reach * d + 1) for d in degree]
    last = [members[-1] for members in Graph(pairs, items).components]
    free = [item for item in range(items) if item not in last]
    grid = np.stack(np.meshgrid(*(spans[item] for item in free), indexing="ij"), -1)
    points = np.zeros((grid[..., 0].size, items), np.int64)
    points[:, free] = grid.reshape(-1, len(free))
    for members in Graph(pairs, items).components:
        points[:, members[-1]] = -points[:, members[:-1]].sum(1)
    gauges = naive.gauges(points, pairs, items)
    points, gauges = points[gauges <= reach], gauges[gauges <= reach]
    return points, gauges, law[gauges] / np.diff(numbers, prepend=0.0)[gauges]


def assert_law(name, rate, drawn):
    """χ² of the points, of their gauges, of each item, and of the products of two items."""
    points, gauges, chances = table(name, rate)
    pairs, items = GRAPHS[name]
    seen = np.minimum(naive.gauges(drawn, pairs, items), gauges.max() + 1)
    for members in Graph(pairs, items).components:
        assert not drawn[:, members].sum(axis=1).any()
    known = {tuple(point): place for place, point in enumerate(points.tolist())}
    places = np.array([known.get(tuple(point), len(points)) for point in drawn.tolist()])
    assert np.all((places < len(points)) == (seen <= gauges.max()))
    if len(drawn) * chances.max() > 40:  # else all points are one cell
        assert_shares(np.bincount(places, minlength=len(points) + 1), with_rest(chances))
    assert_shares(seen_often(seen, gauges.max() + 2), with_rest(np.bincount(gauges, chances)))
    for one, other in np.ndindex(items, items):
        of_law, of_draws = (
            x[:, one] * (x[:, other] if other != one else 1) for x in (points, drawn)
        )
        low, high = of_law.min(), of_law.max()
        law = np.bincount(of_law - low, chances)
        if high > low:
            inside = np.clip(of_draws, low, high) - low
            assert_shares(seen_often(inside, law.size), law / law.sum())


def seen_often(places, size):
    return np.bincount(places, minlength=size)


def with_rest(chances):
    return np.append(chances, 1 - np.sum(chances))
