"""Batches in chunks: the results are those of a loop, whatever the size of a chunk."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import _chunks as chunks
from privrank_jax._chunks import chunked


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_a_chunk_is_what_the_function_gets_and_every_result_has_its_place(of, monkeypatch):
    seen = []

    def solve(numbers, factor):
        seen.append(numbers.shape)
        return numbers * factor[:, None], jnp.sum(numbers, -1)

    monkeypatch.setattr(chunks, "_CPU_CHUNK", of * 3 * 8)
    numbers, factors = jnp.arange(14.0).reshape(7, 2), jnp.arange(7.0)
    products, sums = jax.vmap(chunked(solve))(numbers, factors)
    np.testing.assert_array_equal(products, numbers * factors[:, None])
    np.testing.assert_array_equal(sums, numbers.sum(-1))
    if jax.default_backend() == "cpu":
        assert seen[-1][0] <= of


def test_one_problem_nested_batches_and_shared_arguments():
    dot = chunked(lambda left, right: jnp.sum(left * right, -1))
    left, right = jnp.arange(6.0).reshape(2, 3), jnp.arange(12.0).reshape(4, 3)
    assert float(dot(left[0], right[1])) == float(left[0] @ right[1])
    table = jax.vmap(jax.vmap(dot, (None, 0)), (0, None))(left, right)
    np.testing.assert_array_equal(table, left @ right.T)


@pytest.mark.parametrize(
    ("batch", "items", "seen_by_a_cpu"),
    [(1, 3, (3,)), (7, 3, (3,)), (50, 3, (3, 50)), (50, 61, (61,))],
)
def test_lanes_hold_many_small_problems_and_others_are_solved_alone(batch, items, seen_by_a_cpu):
    seen = []

    def solve(numbers, factor):
        seen.append(numbers.shape)
        return numbers * factor, jnp.sum(numbers, 0)

    numbers, factors = (
        jnp.arange(1.0 * batch * items).reshape(batch, items),
        jnp.arange(1.0 * batch),
    )
    products, sums = jax.vmap(chunks.in_lanes(solve, items))(numbers, factors)
    np.testing.assert_array_equal(products, numbers * factors[:, None])
    np.testing.assert_array_equal(sums, numbers.sum(-1))
    if jax.default_backend() == "cpu":
        assert set(seen[-1:]) == {seen_by_a_cpu}
