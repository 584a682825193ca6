"""Sums over items, of one problem and of many along a trailing axis."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise.lanes import (
    add_rows,
    center,
    column_sums,
    count_items,
    dot,
    item_sum,
    real,
)
from tests.quick import quick_jit


@pytest.mark.parametrize("size", [1, 2, 7, 9, 70])  # with and without rows left over; by a product
def test_sums_of_lanes_are_those_of_each_problem(size):
    rng = np.random.default_rng(size)
    matrix, left, right = rng.normal(size=(3, size, size)), *rng.normal(size=(2, 3, size))
    wanted = {
        item_sum: (left.sum(1), (left,)),
        column_sums: (matrix.sum(1), (matrix,)),
        dot: (np.sum(left * right, axis=1), (left, right)),
    }
    for function, (found, arguments) in wanted.items():
        lanes = (jnp.moveaxis(jnp.asarray(one), 0, -1) for one in arguments)
        np.testing.assert_allclose(
            np.moveaxis(quick_jit(function)(*lanes), -1, 0), found, atol=1e-12
        )
        for place in range(3):
            one = quick_jit(function)(*(jnp.asarray(x[place]) for x in arguments))
            np.testing.assert_allclose(one, found[place], atol=1e-12)


def test_rows_are_added_by_any_term():
    left, right = np.arange(24.0).reshape(4, 3, 2), np.arange(8.0).reshape(4, 2)
    found = quick_jit(lambda *x: add_rows(lambda row, one: row - one, *x))(left, right)
    np.testing.assert_array_equal(found, (left - right[:, None]).sum(0))


@pytest.mark.parametrize("masked", [False, True])
def test_masked_scores_are_centered_over_real_items(masked):
    theta = np.array([[3.0, 1.0], [0.5, 7.0], [1.0, 0.0], [-2.0, 4.0]])  # of two problems
    mask = np.array([[True, True], [True, False], [True, True], [False, True]]) | (not masked)
    means = np.array([theta[mask[:, lane], lane].mean() for lane in range(2)])
    wanted = np.where(mask, theta - means, 0)
    given = jnp.asarray(mask) if masked else None
    np.testing.assert_allclose(center(jnp.asarray(theta), given), wanted, atol=1e-12)
    np.testing.assert_array_equal(count_items(jnp.asarray(theta), given) * np.ones(2), mask.sum(0))
    for lane in range(2):
        one = jnp.asarray(mask[:, lane]) if masked else None
        np.testing.assert_allclose(
            center(jnp.asarray(theta[:, lane]), one), wanted[:, lane], atol=1e-12
        )


def test_padding_takes_the_place_of_masked_scores():
    assert real(jnp.arange(3.0), jnp.array([True, False, True]), -1.0).tolist() == [0.0, -1.0, 2.0]
    assert int(count_items(jnp.arange(2.0), jnp.array([False, False]))) == 1
