"""Sums over items, of one problem and of many along a trailing axis."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise.lanes import (
    add_rows,
    column_sums,
    dot,
    item_sum,
    row_sums,
    times,
)
from tests.quick import quick_jit


@pytest.mark.parametrize("size", [1, 2, 7, 9, 70])  # with and without rows left over; by a product
def test_sums_of_lanes_are_those_of_each_problem(size):
    rng = np.random.default_rng(size)
    matrix, left, right = rng.normal(size=(3, size, size)), *rng.normal(size=(2, 3, size))
    matrix += matrix.swapaxes(1, 2)
    wanted = {
        item_sum: (left.sum(1), (left,)),
        column_sums: (matrix.sum(1), (matrix,)),
        row_sums: (matrix.sum(2), (matrix,)),
        dot: (np.sum(left * right, axis=1), (left, right)),
        times: (np.einsum("bij,bj->bi", matrix, right), (matrix, right)),
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
