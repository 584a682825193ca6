"""Planted mistakes in the exact K-norm samplers: which comparison with the law finds them."""

from __future__ import annotations

import itertools
import secrets
from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.release import k_norm, spanning_trees
from privrank_jax.release import radius as radii
from privrank_jax.release.k_norm import Tile
from privrank_jax.release.spanning_trees import Forest, Graph
from tests.reference import geometry as naive
from tests.release.graphs import GRAPHS
from tests.release.k_norm_draws import (
    assert_gauges,
    assert_uniform_forests,
    edges_of,
    failures,
)
from tests.release.laws import LESS

pytestmark = pytest.mark.slow

place, radius, integers = Tile.place, k_norm.draw_radius, k_norm.uniform_integers
propose, tile = k_norm.propose, Tile.__init__


def always_kept(self, inside, radius):
    return place(self, inside, radius)[0], True


def zero_always_kept(graph, radius):
    return propose(graph, radius) if radius else np.zeros(graph.num_items, np.int64)


def radius_kept(graph, rate, widths=()):
    """A pair that is not accepted is drawn again, but not its radius."""
    drawn = radius(graph.dimension, rate)
    while True:
        if (found := propose(graph, drawn)) is not None:
            return found


def heights_of_first_pairs_alone(self, graph, forest):
    tile(self, graph, forest)
    _, forward = forest.lowest_on_paths(graph.edges)
    self._full = forward[graph.edges[:, 0], graph.edges[:, 1]]


def walls_of_one_side(self, inside, radius):
    """The rule without its condition on the far walls."""
    near = np.where(inside == 2 * radius, 2 * radius - 1, inside)
    return place(self, inside, radius)[0], place(self, near, radius)[1]


MISTAKES = {
    "no rule": (Tile, "place", always_kept),
    "rule for near walls alone": (Tile, "place", walls_of_one_side),
    "no rule at r = 0": (k_norm, "propose", zero_always_kept),
    "power p + 1": (k_norm, "draw_radius", lambda p, rate, _: radius(p + 1, rate)),
    "power p - 1": (k_norm, "draw_radius", lambda p, rate, _: radius(p - 1, rate)),
    "noise at 1.2 times the rate": (
        k_norm,
        "draw_radius",
        lambda p, rate, _: radius(p, rate * Fraction(6, 5)),
    ),
    "even coordinates": (
        k_norm,
        "uniform_integers",
        lambda count, below: 2 * integers(count, (below + 1) // 2),
    ),
    "coordinates below 2r": (
        k_norm,
        "uniform_integers",
        lambda count, below: integers(count, max(below - 1, 1)),
    ),
    "radius kept": (k_norm, "zonotope_noise", radius_kept),
    "no heights": (Tile, "__init__", heights_of_first_pairs_alone),
    "bounds of blocks not undone": (radii, "happens", lambda odds: True),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_draws_of_small_graphs_find_mistakes(mistake, monkeypatch):
    found = set()
    with monkeypatch.context() as patch:
        patch.setattr(*MISTAKES[mistake])
        for name in ("K4", "asked again"):
            rate, graph = Fraction(2), Graph(*GRAPHS[name])
            drawn = np.array([k_norm.zonotope_noise(graph, rate) for _ in range(5000)])
            found.update(failures(name, rate, drawn))
    print(f"{mistake}: {sorted(found)}")
    assert found


@pytest.mark.parametrize("shape", ["zonotope", "cube"])
def test_the_gauge_finds_five_percent_less_noise(shape):
    rate = Fraction(1, 2)
    less = rate * Fraction(20, 19)
    assert float(rate / less) == LESS
    if shape == "cube":
        drawn = np.array([k_norm.cube_noise(45, less) for _ in range(1000)])
        seen, numbers = np.abs(drawn).max(axis=1), (2.0 * np.arange(1000) + 1) ** 45 / 1e60
    else:
        graph = Graph.of_all_pairs(16)
        drawn = np.array([k_norm.zonotope_noise(graph, less) for _ in range(2000)])
        cut = np.arange(1, 16) * np.arange(1, 16)[::-1]
        sums = np.cumsum(np.sort(drawn, axis=1)[:, ::-1], axis=1)[:, :-1]
        seen = np.max(-(-sums // cut), axis=1)
        numbers = naive.numbers_of_points(naive.forest_numbers_of_all_pairs(16), 400)
    with pytest.raises(AssertionError):
        assert_gauges(seen, lambda at: naive.gauge_law(numbers, at), rate)


def path(self):
    order = list(range(self.num_items))
    secrets.SystemRandom().shuffle(order)
    steps = itertools.pairwise(order)
    return [
        (-1, order[0], -1),
        *((parent, item, self._index_of_pair(parent, item)) for parent, item in steps),
    ]


def recursive(self):
    """Each item of a random order joins any of those before it."""
    order = list(range(self.num_items))
    secrets.SystemRandom().shuffle(order)
    joined = [(-1, order[0], -1)]
    for number, item in enumerate(order[1:], start=1):
        parent = order[secrets.randbelow(number)]
        joined.append((parent, item, self._index_of_pair(parent, item)))
    return joined


def not_shuffled(self):
    drawn = spanning_trees.uniform_integers(self.num_items, self.num_items).tolist()
    parents = [min(drawn[item], item - 1) for item in range(1, self.num_items)]
    steps = zip(parents, range(1, self.num_items))
    return [(-1, 0, -1), *((i, j, self._index_of_pair(i, j)) for i, j in steps)]


def least_of_random_weights(self):
    """Minimum spanning forests of random weights, which are not uniform."""
    order, edges = list(range(len(self.edges))), edges_of(self)
    secrets.SystemRandom().shuffle(order)
    group, chosen = list(range(self.num_items)), []
    for index in order:
        i, j = edges[index]
        if group[i] != group[j]:
            chosen.append(index)
            group = [group[i] if g == group[j] else g for g in group]
    return naive.rooted(chosen, edges, self.components)


TREES = {
    "path": ("_all_pairs_tree", path, "K4"),
    "recursive": ("_all_pairs_tree", recursive, "K4"),
    "not shuffled": ("_all_pairs_tree", not_shuffled, "K4"),
    "least of random weights": ("_wilson", least_of_random_weights, "asked again"),
}


@pytest.mark.parametrize("mistake", TREES)
def test_draws_of_forests_find_mistakes(mistake, monkeypatch):
    function, wrong, name = TREES[mistake]
    monkeypatch.setattr(Graph, function, wrong)
    with pytest.raises(AssertionError):
        assert_uniform_forests(name)


def test_what_is_no_mistake():
    """Upper faces instead of lower ones, or q on the other side of the center, give the same law."""
    graph = Graph(*GRAPHS["asked again"])
    tile_before, forest_before = Tile.__init__, Forest.__init__

    def upside_down(self, graph, forest):
        tile_before(self, graph, forest)
        self._full = ~self._full

    def reversed_fraction(self, *arguments):
        forest_before(self, *arguments)
        self.leaves_last_item = ~self.leaves_last_item

    for owner, change in ((Tile, upside_down), (Forest, reversed_fraction)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, "__init__", change)
            drawn = np.array([k_norm.zonotope_noise(graph, Fraction(2)) for _ in range(5000)])
            assert failures("asked again", Fraction(2), drawn) == []
