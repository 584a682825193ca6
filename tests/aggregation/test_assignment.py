"""Assignments of least cost, against SciPy's."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from privrank_jax.aggregation.footrule import assignment
from tests.quick import thorough, thorough_but


def problems(items):
    """Integers of all kinds: small, few values, large, costs of positions, and two extremes (the longest paths)."""
    rng, places = np.random.default_rng(7), np.arange(12)
    if items < 9:
        yield rng.integers(-3, 4, (200, items, items))
    elif items == 9:
        yield (2**22 - 2) * (rng.random((200, 9, 9)) < 0.6) - (2**21 - 1)
    else:
        yield from (rng.integers(0, most, (300, 12, 12)) for most in (3, 2**21))
        yield rng.integers(0, 50, (300, 12, 12)) @ np.abs(places[:, None] - places)


def total(costs, ranks):
    return np.asarray(costs, object)[np.arange(len(costs)), np.asarray(ranks)].sum()


def best(costs):
    return total(costs, linear_sum_assignment(costs)[1])


@pytest.mark.parametrize("items", thorough_but([1, 2, 3, 5, 9, 12], 1, 9, 12))
def test_integers_are_solved_exactly(items):
    for batch in problems(items):
        found = np.asarray(jax.vmap(assignment)(batch.astype(np.int32)))
        for costs, ranks in zip(batch, found):
            assert sorted(ranks.tolist()) == list(range(len(costs)))
            assert total(costs, ranks) == best(costs)


@pytest.mark.parametrize("dtype", [thorough(np.float16), np.float32])
def test_floating_point_one_by_one_and_in_nested_batches(dtype):
    costs = np.random.default_rng(1).normal(size=(4, 12, 12, 12)).astype(dtype)
    found = np.asarray(jax.jit(jax.vmap(jax.vmap(assignment)))(costs)).reshape(-1, 12)
    for one, ranks in zip(costs.reshape(-1, 12, 12).astype(float), found):
        assert sorted(ranks.tolist()) == list(range(12))
        assert total(one, ranks) == pytest.approx(best(one), abs=1e-4)
    np.testing.assert_array_equal(assignment(costs[0, 0]), found[0])


def test_equal_costs_and_traced_ones_that_are_not_finite_end_too():
    assert sorted(assignment(np.zeros((6, 6), np.int32)).tolist()) == list(range(6))
    bad = np.stack([np.full((4, 4), np.inf), np.full((4, 4), np.nan), np.zeros((4, 4))])
    for ranks in np.asarray(jax.jit(jax.vmap(assignment))(bad)):
        assert sorted(ranks) == [0, 1, 2, 3]
