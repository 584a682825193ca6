"""Exact K-norm noise against its law: all draws by enumeration, all neighbors, and the output of the samplers.

*By enumeration*: what each pair of a forest and coordinates gives, through the code of the sampler, at every radius up
to 2 or 3; from it the law of the noise, and the loss of all neighbors at all outputs.

*By draws*: the noise can't be seeded; each comparison fails by chance once in 10⁹ runs (``RATE``), all of this file
together once in 10⁷.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privrank_jax.exact.k_norm import cube_noise, placed, zonotope_noise
from privrank_jax.exact.spanning_trees import Forest, Graph
from tests.exact.graphs import GRAPHS, edges_of
from tests.exact.laws import LESS, RATE, assert_mean, assert_shares, power
from tests.quick import thorough
from tests.reference import geometry as naive

REACH = {"K2": 3, "K3": 3, "path": 3, "asked again": 3}  # radii that are enumerated; 2 for others


# --- by enumeration ------------------------------------------------------------------------------


@functools.cache
def drawn_at(name, radius):
    """How often each point comes out at a radius, over all forests and all coordinates once."""
    pairs, items = GRAPHS[name]
    graph = Graph(pairs, items)
    edges = edges_of(graph)
    forests = naive.spanning_forests(edges, items)
    if not radius:  # one in the number of forests is accepted
        return Counter({(0,) * items: Fraction(len(forests), graph.count_forests())})
    found = Counter()
    for chosen in forests:
        forest = Forest(graph, naive.rooted(chosen, edges, graph.components))
        for inside in itertools.product(range(2 * radius + 1), repeat=graph.dimension):
            point, kept = placed(graph, forest, np.array(inside), radius)
            found[tuple(point.tolist())] += int(kept)
    return found


def log_law(name, rate):
    """Log probabilities of the points within reach, up to a constant.

    P(x) ∝ Σ_r a^r (how often x comes out at r): the share of pairs that give x at r is divided by the number of pairs,
    to which the probability of r is proportional. Beyond the reach x comes out once.
    """
    reach = REACH.get(name, 2)
    weights = Counter()
    for radius in range(reach + 1):
        for point, times in drawn_at(name, radius).items():
            weights[point] += float(times) * math.exp(-rate * radius)
    beyond = math.exp(-rate * (reach + 1)) / -math.expm1(-rate)
    points = np.array(list(weights))
    return points, np.log(np.array(list(weights.values())) + beyond)


def totals_of_users(name):
    """All totals that one user's answers add, a win +1, a loss -1 and a tie 0 for the first item of each pair."""
    pairs, items = GRAPHS[name]
    steps = np.array([np.eye(items, dtype=int)[i] - np.eye(items, dtype=int)[j] for i, j in pairs])
    answers = np.array(list(itertools.product((-1, 0, 1), repeat=len(pairs))))
    return np.unique(answers @ steps, axis=0)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_law_by_enumeration(name):
    """e^{-rate·M}, M by all cuts, at each point within reach, and nothing beyond it."""
    pairs, items = GRAPHS[name]
    reach = REACH.get(name, 2)
    for rate in (0.25, 2.0):
        points, logs = log_law(name, rate)
        gauges = naive.gauges(points, pairs, items)
        assert gauges.max() == reach
        np.testing.assert_allclose(logs + rate * gauges, logs[gauges == 0][0], rtol=0, atol=1e-12)
    forests = naive.forest_numbers(edges_of(Graph(pairs, items)), items)
    np.testing.assert_array_equal(
        naive.numbers_of_points(forests, reach),
        [np.sum(gauges <= radius) for radius in range(reach + 1)],
    )


@pytest.mark.parametrize("name", GRAPHS)
def test_neighbors_lose_epsilon_and_no_more(name):
    """All pairs of one user's answers, ties included, at all outputs within reach; 5 % less noise loses more than ε."""
    assert largest_loss(name, 1 / 2) == pytest.approx(1, abs=1e-12)
    assert largest_loss(name, 1 / (2 * LESS)) > 1.05


def largest_loss(name, rate):
    points, logs = log_law(name, rate)
    totals = totals_of_users(name)
    moves = np.unique((totals[:, None] - totals[None, :]).reshape(-1, points.shape[1]), axis=0)
    low = points.min(axis=0) + moves.min(axis=0)
    sizes = points.max(axis=0) + moves.max(axis=0) - low + 1
    law = np.full(sizes, np.nan)  # of a box that holds all points, moved or not
    law[tuple((points - low).T)] = logs
    assert not np.isnan(law[tuple((moves - low).T)]).any()
    return max(np.nanmax(np.abs(law[tuple((points + move - low).T)] - logs)) for move in moves)


# --- by draws ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [thorough("K3"), "asked again", thorough("path")])
def test_noise_on_small_graphs_has_its_law(name):
    """χ² of 3,000 draws, points beyond those that are enumerated as one."""
    graph, rate = Graph(*GRAPHS[name]), Fraction(2)
    points, logs = log_law(name, float(rate))
    numbers = naive.numbers_of_points(naive.forest_numbers(edges_of(graph), GRAPHS[name][1]), 200)
    chances = np.exp(logs - logs.max()) * naive.gauge_law(numbers, float(rate))[0]
    drawn = Counter(tuple(zonotope_noise(graph, rate).tolist()) for _ in range(3000))
    seen = [drawn[tuple(point)] for point in points.tolist()]
    assert_shares([*seen, 3000 - sum(seen)], [*chances, 1 - chances.sum()])


def moments(law):
    places = np.arange(law.size)
    mean = np.sum(law * places)
    return mean, math.sqrt(np.sum(law * places**2) - mean**2)


def assert_gauges(seen, numbers, rate):
    """Gauges have the law of their rate; with 5 % less noise the test of the mean would fail."""
    law, less = (naive.gauge_law(numbers, float(rate) / factor) for factor in (1, LESS))
    assert power(seen.size, moments(law), moments(less)) > 0.99
    assert_mean(seen, *moments(law))
    assert_shares(np.bincount(seen, minlength=law.size), law)


def test_five_percent_less_noise_is_seen_in_the_gauge():
    items, rate = 16, Fraction(1, 2)
    drawn = np.array([zonotope_noise(Graph.of_all_pairs(items), rate) for _ in range(2000)])
    cut = np.arange(1, items) * np.arange(1, items)[::-1]
    sums = np.cumsum(np.sort(drawn, axis=1)[:, ::-1], axis=1)[:, :-1]
    numbers = naive.numbers_of_points(naive.forest_numbers_of_all_pairs(items), 400)
    assert_gauges(np.max(-(-sums // cut), axis=1), numbers, rate)


def test_noise_on_cubes_has_its_law():
    """The largest entry, and each entry, uniform up to the radius: all of them alike and independent."""
    dimension, rate = 45, Fraction(1, 2)
    drawn = np.array([cube_noise(dimension, rate) for _ in range(1000)])
    radii = np.arange(1001)
    assert_gauges(np.abs(drawn).max(axis=1), (2.0 * radii[:-1] + 1) ** dimension / 1e60, rate)
    above = np.cumsum((naive.radius_law(dimension, 0.5, 1000) / (2 * radii + 1))[::-1])[::-1]
    entry, values = np.append(above[:0:-1], above), np.arange(-1000, 1001)
    deviation = math.sqrt(np.sum(entry * values**2.0))
    assert_mean(drawn, 0.0, deviation)
    edges = np.array([-1.2, -0.4, 0.4, 1.2]) * deviation
    chances = np.bincount(np.searchsorted(edges, values), entry)
    for cell in np.searchsorted(edges, drawn).T:
        assert_shares(np.bincount(cell, minlength=5), chances)
    for column in np.sign(drawn[:, :-1] * drawn[:, 1:]).T:
        assert stats.binomtest(int(np.sum(column > 0)), int(np.sum(column != 0))).pvalue > RATE
