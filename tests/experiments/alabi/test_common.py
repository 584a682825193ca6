"""Worlds and errors against slow twins."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights
from privrank_jax.experiments.alabi import common as alabi_common
from privrank_jax.experiments.alabi.common import World
from privrank_jax.simulate.result import StudyResult
from tests.experiments.alabi.shared import KEY, row


def costs(w):
    """Kemeny scores of all rankings of w, slowly: ranks to score."""
    items = len(w)
    return {
        ranks: sum(w[j][i] for i in range(items) for j in range(items) if ranks[i] < ranks[j])
        for ranks in itertools.permutations(range(items))
    }


def test_errors_are_those_of_a_slow_twin():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.uniform(size=(4, 4)), 1)
    w = upper + np.tril(1 - upper.T, -1)
    table = costs(w)
    least = min(table.values())
    fixed, truth = (2, 0, 3, 1), (0, 1, 2, 3)
    world = World(PairWeights(jnp.asarray(w), 10, jnp.ones(4, bool)), jnp.asarray(truth))
    found = alabi_common.errors(
        KEY, world, {"fixed": lambda key, world, epsilon: jnp.asarray(fixed)}, jnp.asarray(1.0), ()
    )
    assert found["fixed"]["excess_cost"] == pytest.approx((table[fixed] - least) / 6)
    apart = sum(fixed[i] > fixed[j] for i, j in itertools.combinations(range(4), 2))
    assert found["fixed"]["kendall_error"] == pytest.approx(apart / 6)
    borda = tuple(np.argsort(np.argsort(-w.sum(1))))
    assert found[alabi_common.PLAIN]["excess_cost"] == pytest.approx((table[borda] - least) / 6)


def test_worst_world_counts_the_users_that_count():
    ranks = alabi_common.worst_ranks(KEY, 50, 2, 3, 0.4)
    np.testing.assert_array_equal(np.sort(ranks, axis=1), np.tile(np.arange(7), (50, 1)))
    world = jax.jit(lambda n: alabi_common.worst_world(KEY, n, 50, 2, 3, 0.4))(20)
    np.testing.assert_allclose(
        world.weights.matrix, PairWeights.from_ranks(ranks[:20]).matrix, atol=1e-12
    )
    # Only the outer items move; each of the two pairs leans by 0.4 to one side.
    many = alabi_common.worst_world(KEY, 20_000, 20_000, 2, 3, 0.4).weights.matrix
    np.testing.assert_allclose(many[2, 3:5], 1.0)
    np.testing.assert_allclose(np.abs(2 * many[[0, 1], [5, 6]] - 1), 0.4, atol=0.05)


def test_data_world_is_a_random_subset_with_gaps_last():
    ranks = np.array([[0, 1, 2], [2, 1, 0], [0, -1, -1], [1, 0, -1]])
    world = alabi_common.data_world(KEY, jnp.asarray(ranks), 4)
    np.testing.assert_allclose(
        world.weights.matrix, PairWeights.from_ranks(ranks).matrix, atol=1e-12
    )
    seen = [
        np.asarray(alabi_common.data_world(key, jnp.asarray(ranks), 2).weights.matrix)
        for key in jax.random.split(KEY, 12)
    ]
    possible = [
        np.asarray(PairWeights.from_ranks(ranks[list(pair)]).matrix)
        for pair in itertools.combinations(range(4), 2)
    ]
    assert all(any(np.allclose(w, other) for other in possible) for w in seen)
    assert any(not np.allclose(w, seen[0]) for w in seen)


def test_mallows_world_shuffles_real_items_only():
    cell = {"num_items": 4, "max_items": 6, "num_users": 3000, "max_users": 3000}
    world = alabi_common.mallows_world(KEY, cell, 8.0)
    truth = np.asarray(world.truth)
    assert sorted(truth[:4]) == [0, 1, 2, 3]
    assert truth[4:].tolist() == [4, 5]
    ahead = truth[:4, None] < truth[None, :4]
    assert np.all(np.asarray(world.weights.matrix)[:4, :4][ahead] > 0.5)


@pytest.mark.parametrize(
    ("means", "holds"),
    [([0.1, 0.0], True), ([0.1, -0.1], False), ([0.0005, 0.0], None), ([0.1, -0.0009], True)],
)
def test_cheaper_wants_a_gain_and_no_loss(means, holds):
    claim = alabi_common.cheaper("b never costs more than a", "b", "a", study="s")
    table = StudyResult("t", [row(mean) for mean in means] + [row(-1.0, study="other")])
    assert claim.check(table).holds is holds
    assert claim.check(StudyResult("t", [row(1.0, study="other")])).holds is None
