"""Crowds of the studies against slow twins."""

from __future__ import annotations

import itertools

import jax
import numpy as np

from privrank_jax.aggregation import PairWeights, PositionHistograms
from privrank_jax.aggregation.footrule import footrule_costs
from privrank_jax.experiments.alabi import crowds
from privrank_jax.experiments.study import P
from tests.experiments.alabi.shared import KEY


def test_worst_world_counts_the_users_that_count():
    users = 20_000
    ranks = np.asarray(jax.jit(lambda key: crowds.worst_ranks(key, users, 2, 3, 0.4))(KEY))
    np.testing.assert_array_equal(np.sort(ranks, axis=1), np.tile(np.arange(7), (users, 1)))
    shape = {"flips": 2, "buffer": 3, "lean": 0.4}
    sizes = {"max_users": users, "max_items": 9}
    drawn = jax.jit(lambda n: crowds.worst_world(KEY, P(num_users=n, **sizes), **shape))
    world = drawn(np.int64(20))
    np.testing.assert_allclose(
        world.weights.matrix[:7, :7], PairWeights.from_ranks(ranks[:20]).matrix, atol=1e-12
    )
    counts = PositionHistograms.from_ranks(ranks[:20]).counts
    np.testing.assert_array_equal(world.positions[:7, :7], counts)
    assert world.histograms.num_users == 20
    footrule_costs(world.histograms)  # which checks them
    # Only the outer items move; each of the two pairs leans by 0.4 to one side.
    many = np.asarray(drawn(np.int64(users)).weights.matrix)
    np.testing.assert_allclose(many[2, 3:5], 1.0)
    np.testing.assert_allclose(np.abs(2 * many[[0, 1], [5, 6]] - 1), 0.4, atol=0.05)


def test_data_world_is_a_random_subset_with_gaps_last():
    ranks = np.array([[0, 1, 2], [2, 1, 0], [0, -1, -1], [1, 0, -1]])
    whole = jax.jit(lambda key: crowds.data_world(key, P(num_users=4, max_items=3), ranks=ranks))
    world = whole(KEY)
    np.testing.assert_array_equal(world.positions, PositionHistograms.from_ranks(ranks).counts)
    np.testing.assert_allclose(
        world.weights.matrix, PairWeights.from_ranks(ranks).matrix, atol=1e-12
    )
    two = P(num_users=2, max_items=3)
    half = jax.jit(jax.vmap(lambda key: crowds.data_world(key, two, ranks=ranks).weights.matrix))
    seen = np.asarray(half(jax.random.split(KEY, 12)))
    possible = [
        np.asarray(PairWeights.from_ranks(ranks[list(pair)]).matrix)
        for pair in itertools.combinations(range(4), 2)
    ]
    assert all(any(np.allclose(w, other) for other in possible) for w in seen)
    assert any(not np.allclose(w, seen[0]) for w in seen)


def test_mallows_world_shuffles_real_items_only():
    p = P(num_items=4, max_items=6, num_users=3000, max_users=3000)
    world = jax.jit(lambda key: crowds.mallows_world(key, p, 80.0))(KEY)
    truth = np.asarray(world.truth)
    histograms = world.histograms
    footrule_costs(histograms)  # which checks them
    # At so large a θ nearly all users put each item at its place.
    assert np.argmax(histograms.counts, axis=1)[:4].tolist() == truth[:4].tolist()
    assert sorted(truth[:4]) == [0, 1, 2, 3]
    assert truth[4:].tolist() == [4, 5]
    ahead = truth[:4, None] < truth[None, :4]
    assert np.all(np.asarray(world.weights.matrix)[:4, :4][ahead] > 0.5)
