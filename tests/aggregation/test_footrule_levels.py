from __future__ import annotations

import itertools

import numpy as np
import pytest

from privrank_jax.aggregation.footrule_levels import (
    footrule_levels,
    mean_square_error,
    tree_levels,
)
from tests.reference import footrule as reference

TREES = [(4, (4,)), (4, (2, 2)), (3, (2, 2)), (4, (3, 2)), (5, (2, 3)), (5, (2, 2, 2))]


@pytest.mark.parametrize(("items", "branching"), TREES)
def test_codes_count_positions_at_the_cuts_of_each_node(items, branching):
    levels = tree_levels(items, branching)
    for place in range(items):
        row = [(item + place) % items for item in range(items)]  # item 0 is at that place
        counted = reference.tree_counts(row, branching)
        assert len(counted) == len(levels)
        for level, nodes in zip(levels, counted):
            np.testing.assert_array_equal(
                level.codes[:, place], np.concatenate([n[0] for n in nodes])
            )
            sizes = [node.shape[1] for node in nodes]
            assert level.nodes.tolist() == np.repeat(np.arange(len(sizes)), sizes).tolist()


@pytest.mark.parametrize(("items", "branching"), TREES)
def test_one_user_changes_each_level_within_its_body(items, branching):
    """All pairs of users, ties and gaps under both rules up to four items; a reversal reaches the boundary."""
    full = list(itertools.permutations(range(items)))
    users = [(row, "last") for row in full]
    if items <= 4:
        orders = reference.weak_orders(items, gaps=True)
        users = [(row, missing) for row in orders for missing in ("last", "unknown")]
    counted = [reference.tree_counts(row, branching, missing) for row, missing in users]
    for level in range(len(counted[0])):
        sums = 0.0
        for node in range(len(counted[0][level])):
            values = np.array([one[level][node] for one in counted])
            moved = values[:, None] - values
            sums = sums + np.abs(moved).max(-1)
        assert np.max(sums) <= 1 + 1e-12
    ahead, behind = (reference.tree_counts(row, branching) for row in (full[0], full[-1]))
    for level, first, second in zip(tree_levels(items, branching), ahead, behind):
        in_nodes = level.codes[:, 0].any() and level.codes[:, -1].any()
        moved = reference.level_gauge([a - b for a, b in zip(first, second)])
        assert moved == 1 if in_nodes else moved <= 1


@pytest.mark.parametrize("items", [2, 5, 6, 7, 10, 13, 20, 30, 50])
def test_trees_that_are_taken_lose_all_of_epsilon_on_a_reversal(items):
    for level in footrule_levels(items):
        moved = np.abs(level.codes[:, 0] - level.codes[:, -1])
        assert sum(moved[level.nodes == node].max() for node in range(level.nodes.max() + 1)) == 1


@pytest.mark.parametrize(("items", "branching"), TREES)
def test_counts_determine_costs(items, branching):
    levels = tree_levels(items, branching)
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(items), 3)
    costs = shares @ np.abs(np.arange(items)[:, None] - np.arange(items))
    found = sum(shares @ level.codes.T @ level.response.T for level in levels)
    uniform = found - costs
    # Shares sum to 1, which adds the same to all items.
    np.testing.assert_allclose(uniform, np.broadcast_to(uniform[:1], uniform.shape), atol=1e-12)


def test_shares_sum_to_one_and_have_the_least_error():
    for items in (6, 20):
        levels = footrule_levels(items)
        shares = np.array([level.share for level in levels])
        assert shares.sum() == pytest.approx(1)
        least = mean_square_error(levels)
        for move in itertools.permutations(np.linspace(-0.01, 0.01, len(levels))):
            other = sum(level.error / (a + b) ** 2 for level, a, b in zip(levels, shares, move))
            assert other >= least
        assert least < mean_square_error(footrule_levels(items, "k-norm"))
    assert [level.share for level in footrule_levels(5)] == [1.0]
    assert footrule_levels(1) == ()


def test_single_level_is_the_cube_of_prefix_counts():
    """Mean squared error (d+1)(d+2)/3 of each count, d = m(m-1), and 2(m²-1)/(3m) costs for each."""
    for items in (2, 3, 8):
        d = items * (items - 1)
        expected = (d + 1) * (d + 2) / 3 * 2 * (items**2 - 1) / (3 * items)
        assert mean_square_error(footrule_levels(items, "k-norm")) == pytest.approx(expected)
