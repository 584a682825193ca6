from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax._workarounds.linalg import solve_positive_definite


def _systems(shape, size, columns=None):
    generator = np.random.default_rng(5)
    root = generator.normal(size=(*shape, size, size))
    right = generator.normal(size=(*shape, size) if columns is None else (*shape, size, columns))
    return root @ np.swapaxes(root, -1, -2) + np.eye(size), right


@pytest.mark.parametrize(("size", "count"), [(1, 3), (4, 7), (30, 100), (70, 3)])
def test_batches_of_every_size_agree_with_numpy(size, count):
    matrix, right = _systems((count,), size)
    found = jax.jit(jax.vmap(solve_positive_definite))(matrix, right)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right[..., None])[..., 0], rtol=1e-8)


def test_nested_and_partial_batches():
    matrix, right = _systems((6, 5), 4, columns=2)
    nested = jax.jit(jax.vmap(jax.vmap(solve_positive_definite)))(matrix, right)
    np.testing.assert_allclose(nested, np.linalg.solve(matrix, right), rtol=1e-8)
    shared = jax.jit(jax.vmap(solve_positive_definite, (None, 0)))(matrix[0, 0], right[0])
    np.testing.assert_allclose(shared, np.linalg.solve(matrix[0, 0], right[0]), rtol=1e-8)
    one = jax.jit(jax.vmap(solve_positive_definite, (0, None)))(matrix[0], right[0, 0])
    np.testing.assert_allclose(one, np.linalg.solve(matrix[0], right[0, 0]), rtol=1e-8)


def test_derivatives_in_both_modes_and_through_vmap():
    matrix, right = _systems((3,), 4)

    def total(matrix, right):
        return jnp.sum(jnp.sin(solve_positive_definite(matrix, right)))

    def plain(matrix, right):
        return jnp.sum(jnp.sin(jnp.linalg.solve(matrix, right)))

    @jax.jit
    @jax.vmap
    def derivatives(matrix, right):
        ways = jax.grad(plain, (0, 1)), jax.grad(total, (0, 1)), jax.jacfwd(total, (0, 1))
        return [way(matrix, right) for way in ways]

    wanted, *found = derivatives(matrix, right)
    for one in found:
        for place in (0, 1):
            np.testing.assert_allclose(one[place], wanted[place], rtol=1e-8)


def test_an_indefinite_matrix_gives_nan():
    assert np.all(np.isnan(jax.jit(solve_positive_definite)(-np.eye(2), np.ones(2))))


def test_no_lapack_call_is_large_enough_to_wait_for_the_thread_pool():
    """Two such calls at once hang a machine of two cores (module docstring)."""

    def batches(function, *arrays):
        text = jax.jit(jax.vmap(function)).lower(*arrays).compile().as_text()
        assert "lapack" in text
        return set(re.findall(r"f64\[(\d+),12,12\][^\n]* custom-call\([^\n]*lapack", text))

    with jax.default_device(jax.devices("cpu")[0]):
        matrix, right = _systems((500,), 12)
        assert batches(jnp.linalg.cholesky, matrix) == {"500"}
        assert batches(solve_positive_definite, matrix, right) == set()
