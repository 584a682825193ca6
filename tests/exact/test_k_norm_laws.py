"""Exact K-norm noise against its law: all draws by enumeration, all neighbors, and the output of the samplers.

*By enumeration*: what each pair of a forest and coordinates gives, through the code of the sampler, at every radius up
to 2 or 3; from it the law of the noise, and the loss of all neighbors at all outputs.

*By draws*: the noise can't be seeded; each comparison fails by chance once in 10⁹ runs (``RATE``), all of this file
together once in 10⁷.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privrank_jax.exact.k_norm import Tile, cube_noise, zonotope_noise
from privrank_jax.exact.spanning_trees import Forest, Graph
from privrank_jax.pairwise import noisy_counts, questionnaire_counts
from privrank_jax.privacy import Privacy
from tests.exact.graphs import COMPLETE, GRAPHS
from tests.exact.k_norm_draws import (
    assert_gauges,
    edges_of,
    failures,
    laws_of_entries,
)
from tests.exact.laws import LESS, RATE, assert_mean, assert_shares
from tests.promises import user
from tests.reference import geometry as naive
from tests.totals import wins_of

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
        tile = Tile(graph, Forest(graph, naive.rooted(chosen, edges, graph.components)))
        for inside in itertools.product(range(2 * radius + 1), repeat=graph.dimension):
            point, kept = tile.place(np.array(inside), radius)
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
    epsilon = 1.0
    worst = largest_loss(name, epsilon / 2)
    assert worst == pytest.approx(epsilon, abs=1e-12)
    assert largest_loss(name, epsilon / (2 * LESS)) > 1.05 * epsilon


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


@pytest.mark.parametrize("items", [2, 3, 4])
def test_rankings_with_ties_and_gaps_change_within_the_bodies(items):
    """All pairs of rankings: their totals within 2 Z(K_m), their counts within 2 [-1, 1]^d, reversals on the edge."""
    ranks = np.array(list(itertools.product(range(-1, items), repeat=items)))
    known = (ranks[:, :, None] >= 0) & (ranks[:, None, :] >= 0)
    ahead = (
        np.sign(ranks[:, None, :] - ranks[:, :, None]) * known
    )  # +1, 0, -1: twice a share, less 1
    totals = np.unique(ahead.sum(2), axis=0)
    moves = np.unique((totals[:, None] - totals[None, :]).reshape(-1, items), axis=0)
    assert naive.gauges(moves, COMPLETE[items], items).max() == 2
    reversal = 2 * (2 * np.arange(items) - items + 1)
    assert tuple(reversal) in set(map(tuple, moves.tolist()))
    assert naive.gauges(reversal[None], COMPLETE[items], items) == 2
    assert np.abs(ahead[:, None] - ahead[None, :]).max() == 2


# --- by draws ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["K3", "K4", "cycle", "asked again", "two components"])
def test_noise_on_small_graphs_has_its_law(name):
    """Each point where it is likely, the gauge and its tail, each item by itself, and all covariances."""
    rate, graph = Fraction(2), Graph(*GRAPHS[name])
    drawn = np.array([zonotope_noise(graph, rate) for _ in range(1500)])
    assert failures(name, rate, drawn) == []


@pytest.mark.parametrize(
    ("adjacency", "asked", "name", "epsilon"),
    [
        ("flip", [(0, 1), (2, 3), (3, 4), (2, 4)], "two components", 4.0),
        ("replace", [(0, 1), (1, 2)], "path or no answer", 2.0),
    ],
)
def test_noise_on_answers_to_a_questionnaire_has_its_law(adjacency, asked, name, epsilon):
    """Twice the totals change within 2 Z(G), or within Z(G⁺) with minus their sum as one more number."""
    items = GRAPHS[name][1]
    own = items - (adjacency == "replace")
    totals, counts = np.arange(own) / 2, questionnaire_counts(asked, own)
    privacy = Privacy(epsilon, unit="user", adjacency=adjacency, public=("questionnaire",))
    drawn = []
    for _ in range(1500):
        found = noisy_counts.release(wins_of(totals), privacy, questionnaire=counts)
        drawn.append(2 * (found.value - totals))
    assert found.guarantee.attained.epsilon == epsilon
    assert found.diagnostics.noise_scale == 1 / epsilon
    drawn = np.array(drawn)
    if own < items:
        drawn = np.column_stack([drawn, -drawn.sum(axis=1)])
    np.testing.assert_array_equal(drawn, np.round(drawn))
    assert failures(name, Fraction(2), drawn.astype(int)) == []


def test_what_is_attained_is_pure_and_exact():
    """A promise with δ is kept at δ = 0 and the same ε, under any adjacency that the noise covers."""
    counts = questionnaire_counts([(0, 1), (1, 2)], 3)
    asked = dataclasses.replace(user(0.7, 1e-6), public=("questionnaire",))
    flipped = dataclasses.replace(asked, adjacency="flip")
    for found in (
        noisy_counts.release(wins_of(np.zeros(3)), asked, questionnaire=counts),
        noisy_counts.release(wins_of(np.zeros(3)), flipped, questionnaire=counts),
    ):
        guarantee = found.guarantee
        assert (guarantee.attained.epsilon, guarantee.attained.delta) == (0.7, 0.0)
        assert guarantee.attained.covers(guarantee.promise)
        assert guarantee.numerics == "exact"
        assert float(found.diagnostics.noise_scale) in (1 / 0.7, pytest.approx(0.5 / 0.7))


CAMPS = [(a + i, a + j) for a in (0, 4, 8) for i, j in COMPLETE[4]]
"""Three components of four items; the first asks one pair three times."""


@pytest.mark.parametrize(
    ("items", "pairs", "draws"),
    [(16, None, 2000), (13, [*CAMPS, (0, 1), (0, 1)], 3300)],
    ids=["all pairs", "camps"],
)
def test_five_percent_less_noise_is_seen_in_the_gauge(items, pairs, draws):
    """The gauge of noise on many items: mean, cells, tail."""
    rate = Fraction(1, 2)
    graph = Graph.of_all_pairs(items) if pairs is None else Graph(pairs, items)
    drawn = np.array([zonotope_noise(graph, rate) for _ in range(draws)])
    if pairs is None:
        forests = naive.forest_numbers_of_all_pairs(items)
        cut = np.arange(1, items) * np.arange(1, items)[::-1]
        sums = np.cumsum(np.sort(drawn, axis=1)[:, ::-1], axis=1)[:, :-1]
        seen = np.max(-(-sums // cut), axis=1)
    else:
        parts = [pairs[:6] + pairs[-2:], pairs[6:12], pairs[12:18]]
        each = [naive.forest_numbers(_shifted(part), 4) for part in parts]
        forests = functools.reduce(np.convolve, each).tolist()
        seen = np.max(
            [
                naive.gauges(drawn[:, 4 * k : 4 * k + 4], _shifted(part), 4)
                for k, part in enumerate(parts)
            ],
            axis=0,
        )
        assert not drawn[:, 12].any()
    assert_gauges(
        seen, functools.partial(naive.gauge_law, naive.numbers_of_points(forests, 400)), rate
    )


def _shifted(pairs):
    least = min(map(min, pairs))
    return [(i - least, j - least) for i, j in pairs]


def test_noise_on_cubes_has_its_law():
    """The largest entry, and each entry given that: uniform up to the radius, all of them alike and independent."""
    dimension, rate, draws = 45, Fraction(1, 2), 1000
    drawn = np.array([cube_noise(dimension, rate) for _ in range(draws)])
    numbers = (2.0 * np.arange(1000) + 1) ** dimension / 1e60
    assert_gauges(np.abs(drawn).max(axis=1), functools.partial(naive.gauge_law, numbers), rate)
    entry = laws_of_entries(dimension, float(rate))
    values = np.arange(entry.size) - entry.size // 2
    deviation = math.sqrt(np.sum(entry * values**2.0))
    assert_mean(drawn, 0.0, deviation)
    edges = np.array([-1.2, -0.4, 0.4, 1.2]) * deviation
    cells = np.searchsorted(edges, drawn)
    chances = np.bincount(np.searchsorted(edges, values), entry)
    for cell in cells.T:
        assert_shares(np.bincount(cell, minlength=5), chances)
    signs = np.sign(drawn[:, :-1] * drawn[:, 1:])
    for column in signs.T:
        assert stats.binomtest(int(np.sum(column > 0)), int(np.sum(column != 0))).pvalue > RATE
