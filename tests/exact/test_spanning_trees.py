"""Spanning forests are drawn uniformly."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from privrank_jax.exact.spanning_trees import Graph
from tests.exact.graphs import GRAPHS, edges_of
from tests.exact.laws import assert_shares
from tests.quick import thorough
from tests.reference import geometry as naive


@pytest.mark.parametrize("name", ["asked again", *map(thorough, ("K4", "cycle", "two components"))])
def test_forests_are_uniform(name):
    pairs, items = GRAPHS[name]
    graph = Graph(pairs, items)
    found = Counter(tuple(sorted(graph.draw_forest().edge.tolist())) for _ in range(10_000))
    expected = naive.spanning_forests(edges_of(graph), items)
    assert set(found) <= set(expected)
    assert graph.count_forests() == len(expected)
    counts = [found[forest] for forest in expected]
    assert_shares(counts, np.full(len(expected), 1 / len(expected)))
