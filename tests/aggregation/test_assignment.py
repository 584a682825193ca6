from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from privrank_jax.aggregation.footrule import assignment
from tests.reference import footrule as reference


def least(costs):
    chosen = linear_sum_assignment(np.asarray(costs, float))
    return np.asarray(costs, object)[chosen].sum()


def total(costs, ranks):
    assert sorted(ranks.tolist()) == list(range(len(costs)))
    return np.asarray(costs, object)[np.arange(len(costs)), np.asarray(ranks)].sum()


@pytest.mark.parametrize("items", [1, 2, 3, 5])
def test_small_problems_against_all_permutations(items):
    rng = np.random.default_rng(items)
    batch = rng.integers(-3, 4, (200, items, items))
    for costs, ranks in zip(batch, np.asarray(jax.vmap(assignment)(batch))):
        assert total(costs, ranks) == reference.least_cost(costs.tolist())


@pytest.mark.parametrize("kind", ["few values", "any", "positions"])
def test_batches_of_integers_are_solved_exactly(kind):
    rng = np.random.default_rng(7)
    items, problems = 12, 300
    if kind == "positions":
        shares = rng.integers(0, 50, (problems, items, items))
        costs = shares @ np.abs(np.arange(items)[:, None] - np.arange(items))
    else:
        costs = rng.integers(0, 3 if kind == "few values" else 2**21, (problems, items, items))
    found = np.asarray(jax.vmap(assignment)(costs.astype(np.int32)))
    for one, ranks in zip(costs, found):
        assert total(one, ranks) == least(one)


def test_largest_integers_are_solved_exactly():
    """All costs are one of two extremes: paths and duals are as long as they get."""
    rng = np.random.default_rng(3)
    costs = (2**22 - 2) * (rng.random((200, 9, 9)) < 0.6).astype(np.int64) - (2**21 - 1)
    found = np.asarray(jax.vmap(assignment)(costs.astype(np.int32)))
    for one, ranks in zip(costs, found):
        assert total(one, ranks) == least(one)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_floating_point(dtype):
    costs = np.random.default_rng(1).normal(size=(50, 12, 12)).astype(dtype)
    found = np.asarray(jax.jit(jax.vmap(assignment))(costs))
    for one, ranks in zip(costs, found):
        assert total(one, ranks) == pytest.approx(least(one), abs=1e-4)


def test_equal_costs_end_too():
    for dtype in (np.int32, np.float32):
        assert sorted(assignment(np.zeros((6, 6), dtype)).tolist()) == list(range(6))
    assert assignment(jnp.full((3, 3), 7.0)).dtype == jnp.int32


def test_nested_batches_agree_with_single_problems():
    """Optima of real costs are unique."""
    costs = np.random.default_rng(12).normal(size=(9, 12, 12)).astype(np.float32)
    alone = np.array([linear_sum_assignment(one)[1] for one in costs])
    np.testing.assert_array_equal(assignment(costs[0]), alone[0])
    nested = jax.vmap(jax.vmap(assignment))(costs.reshape(3, 3, 12, 12))
    np.testing.assert_array_equal(nested.reshape(9, 12), alone)


def test_traced_costs_that_are_not_finite_end_too():
    bad = np.full((2, 4, 4), np.inf)
    bad[1] = np.nan
    for ranks in np.asarray(jax.jit(jax.vmap(assignment))(bad)):
        assert sorted(ranks) == [0, 1, 2, 3]


def test_bad_costs_are_refused():
    for costs, match in (
        (np.zeros((2, 3)), "square"),
        (np.zeros((2, 2, 2)), "vmap"),
        (np.array([[0.0, np.nan], [0.0, 0.0]]), "finite"),
    ):
        with pytest.raises(ValueError, match=match):
            assignment(costs)
