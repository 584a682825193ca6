"""Small data sets and all their neighbors."""

from __future__ import annotations

import itertools

import numpy as np

from privrank_jax.aggregation import PairWeights
from privrank_jax.privacy_audit import neighbors


def test_units_of_comparisons():
    """Three items: 6 wins, 3 ties; what one comparison can be replaced, flipped or joined by."""
    contents, groups = neighbors.unit_contents(3, 1)
    assert len(contents) == 1 + 9
    assert len(set(groups.tolist())) == 1 + 3
    sizes = {
        adjacency: len(neighbors.comparisons([np.zeros((3, 3))], 1, adjacency).pairs)
        for adjacency in ("flip", "replace", "add-remove")
    }
    assert sizes == {"flip": 9, "replace": 45, "add-remove": 9}
    two = neighbors.comparisons([np.zeros((3, 3)), np.ones((3, 3))], 1, "flip")
    assert len(two.pairs) == 18
    assert all((two.data[i] - two.data[j]).sum() == 0 for i, j in two.pairs)
    assert neighbors.unit_contents(3, 2)[0].shape == (1 + 9 + 45, 3, 3)


def test_profiles_differ_in_one_user():
    orders = neighbors.weak_orders(3)
    assert len(orders) == 13
    assert len(neighbors.weak_orders(4)) == 75
    found = neighbors.profiles(orders, 2)
    assert (len(found.data), len(found.pairs)) == (13 * 13, 13 * 78)
    np.testing.assert_allclose(
        neighbors.weights(orders[:5]), PairWeights.from_ranks(orders[:5]).matrix, atol=1e-12
    )
    gaps = found.data[found.pairs[:, 0]] - found.data[found.pairs[:, 1]]
    assert np.abs(gaps).max() == 0.5


def test_rankings_with_gaps_give_all_weights_that_one_user_can():
    partial = neighbors.with_gaps(3)
    assert partial[:13].min() == 0
    assert partial[13:].min(axis=1).tolist() == [-1] * 6
    np.testing.assert_allclose(
        neighbors.weights(partial),
        PairWeights.from_ranks(partial, missing="unknown").matrix,
        atol=1e-6,
    )
    found = {neighbors.weights(one[None]).tobytes() for one in partial}
    ranks = [r for r in itertools.product(range(-1, 3), repeat=3) if max(r) >= 0]
    for missing in ("last", "unknown"):
        every = [
            np.asarray(PairWeights.from_ranks([r], missing=missing).matrix, float) for r in ranks
        ]
        assert {w.tobytes() for w in every} <= found
    assert len(found) == 19


def test_moved_ranks_agree_without_one_item():
    found = neighbors.moved_ranks(3)
    assert len(found.pairs) == 12
    orders = [np.argsort(ranks).tolist() for ranks in found.data]
    for i, j in itertools.combinations(range(6), 2):
        without = [
            [x for x in orders[i] if x != item] == [x for x in orders[j] if x != item]
            for item in range(3)
        ]
        assert ([i, j] in found.pairs.tolist()) == any(without)
    assert len(neighbors.moved_ranks(4).pairs) == 24 * 9 // 2
