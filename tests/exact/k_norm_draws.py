"""Comparison of draws of exact K-norm noise with its law."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter

import numpy as np
from scipy import stats

from privrank_jax.exact.spanning_trees import Graph
from tests.exact.graphs import GRAPHS
from tests.exact.laws import LESS, RATE, assert_mean, assert_shares, power
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


def failures(name, rate, drawn):
    """The comparisons that draws of noise on a small graph fail: of points, gauges, tail, items, pairs of items."""
    points, gauges, chances = table(name, rate)
    pairs, items = GRAPHS[name]
    known = {tuple(point): place for place, point in enumerate(points.tolist())}
    places = np.array([known.get(tuple(point), len(points)) for point in drawn.tolist()])
    seen = np.minimum(naive.gauges(drawn, pairs, items), gauges.max() + 1)
    of_gauge = with_rest(np.bincount(gauges, chances))
    far = int(np.argmax(np.cumsum(of_gauge) > 0.98))

    def lattice():
        for members in Graph(pairs, items).components:
            assert not drawn[:, members].sum(axis=1).any()
        assert np.all((places < len(points)) == (seen <= gauges.max()))

    def of_points():
        if len(drawn) * chances.max() > 40:  # else all points are one cell
            assert_shares(np.bincount(places, minlength=len(points) + 1), with_rest(chances))

    def of_gauges():
        assert_shares(np.bincount(seen, minlength=of_gauge.size), of_gauge)

    def tail():
        beyond = int(np.sum(seen > far))
        assert stats.binomtest(beyond, len(drawn), of_gauge[far + 1 :].sum()).pvalue > RATE

    def each_item():
        for column, values in zip(drawn.T, points.T):
            low, high = values.min(), values.max()
            law = np.bincount(values - low, chances)
            if law.size > 1:
                inside = np.clip(column - low, 0, high - low)
                assert_shares(np.bincount(inside, minlength=law.size), law / law.sum())

    def covariance():
        for i, j in itertools.combinations_with_replacement(range(items), 2):
            product = points[:, i] * points[:, j]
            mean = np.sum(chances * product)
            deviation = math.sqrt(np.sum(chances * product**2) - mean**2)
            if deviation:
                assert_mean(drawn[:, i] * drawn[:, j], mean, deviation)

    found = []
    for check in (lattice, of_points, of_gauges, tail, each_item, covariance):
        try:
            check()
        except AssertionError:
            found.append(check.__name__)
    return found


def assert_uniform_forests(name, draws=10_000):
    """Forests of a small graph are drawn equally often."""
    pairs, items = GRAPHS[name]
    graph = Graph(pairs, items)
    found = Counter(tuple(sorted(graph.draw_forest().edge.tolist())) for _ in range(draws))
    expected = naive.spanning_forests(edges_of(graph), items)
    assert set(found) <= set(expected)
    counts = [found[forest] for forest in expected]
    assert_shares(counts, np.full(len(expected), 1 / len(expected)))


def with_rest(chances):
    return np.append(chances, 1 - np.sum(chances))


def laws_of_entries(dimension, rate):
    """P(x) of an entry, x = -1000, ..., 1000: uniform within the radius."""
    radii = np.arange(1001)
    shares = naive.radius_law(dimension, rate, 1000) / (2 * radii + 1)
    above = np.cumsum(shares[::-1])[::-1]
    return np.append(above[:0:-1], above)


def assert_gauges(seen, law_at, rate):
    """Gauges have the law of their rate; with 5 % less noise the test of the mean would fail."""
    law, less = law_at(float(rate)), law_at(float(rate) / LESS)
    right, wrong = moments(law), moments(less)
    assert power(seen.size, right, wrong) > 0.99
    assert_mean(seen, *right)
    assert_shares(np.bincount(seen, minlength=law.size), law)
    far = int(np.argmax(np.cumsum(law) > 0.98))
    assert stats.binomtest(int(np.sum(seen > far)), seen.size, law[far + 1 :].sum()).pvalue > RATE


def moments(law):
    places = np.arange(law.size)
    mean = np.sum(law * places)
    return mean, math.sqrt(np.sum(law * places**2) - mean**2)
