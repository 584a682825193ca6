from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax._workarounds.scatter import add_at


@pytest.fixture(autouse=True, params=["cpu", "gpu"])
def kind(request, monkeypatch):
    """One index on a CPU, two elsewhere."""
    monkeypatch.setattr("privrank_jax._backend.platform", lambda: request.param)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("index", [np.int32, np.uint8, np.int8])
def test_sums_are_those_of_two_indices(dtype, index):
    """Repeated places, indices from the end and others beyond it on both sides."""
    rng = np.random.default_rng(0)
    low = 0 if index == np.uint8 else -7
    rows, columns = rng.integers(low, 9, (2, 500)).astype(index)
    values = rng.integers(0, 5, 500).astype(dtype)
    matrix = jnp.asarray(rng.integers(0, 5, (3, 5)).astype(dtype))
    want = matrix.at[rows, columns].add(values)
    found = add_at(matrix, jnp.asarray(rows), jnp.asarray(columns), jnp.asarray(values))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("index", [np.int8, np.uint8, np.int16, np.uint16, np.uint32])
@pytest.mark.parametrize("shape", [(100, 100), (200, 3), (2, 300), (300, 300)])
def test_small_indices_reach_into_larger_tables(index, shape):
    """Sums with the size of a table are taken in more bits than the index has."""
    low, high = np.iinfo(index).min, np.iinfo(index).max
    places = np.array([0, 1, 99, high, high - 1, low, low + 1]).astype(index)
    rows, columns = (x.ravel() for x in np.meshgrid(places, places))
    zero, one = np.zeros(shape, np.int32), jnp.ones(rows.size, jnp.int32)
    inside = [
        (i, j)
        for i, j in zip(rows.tolist(), columns.tolist())
        if -shape[0] <= i < shape[0] and -shape[1] <= j < shape[1]
    ]
    for i, j in inside:
        zero[i, j] += 1
    found = add_at(jnp.zeros(shape, jnp.int32), jnp.asarray(rows), jnp.asarray(columns), one)
    np.testing.assert_array_equal(found, zero)


@pytest.mark.parametrize("index", [np.array([1.7]), np.array([True])])
def test_other_numbers_are_no_indices(index):
    with pytest.raises((TypeError, IndexError)):
        jax.jit(lambda x: add_at(jnp.zeros((3, 3)), x, x, jnp.ones(1)))(index)


def test_places_of_two_axes_and_batches():
    rng = np.random.default_rng(1)
    rows, columns = rng.integers(0, 4, (6, 1)), rng.integers(0, 4, (6, 3))
    values = jnp.asarray(rng.random((2, 6, 3)))
    zero = jnp.zeros((4, 4), values.dtype)
    found = jax.vmap(lambda v: add_at(zero, jnp.asarray(rows), jnp.asarray(columns), v))(values)
    for one, v in zip(found, values):
        np.testing.assert_allclose(one, zero.at[rows, columns].add(v), rtol=1e-6)


def test_derivatives_are_those_of_two_indices():
    rows, columns = jnp.array([0, 1, 1, 5]), jnp.array([1, 0, 0, 0])
    slope = jax.grad(lambda v: add_at(jnp.zeros((2, 2)), rows, columns, v)[1, 0] ** 2)
    np.testing.assert_allclose(slope(jnp.arange(4.0)), [0, 6, 6, 0])


def test_tables_beyond_32_bits_take_two_indices():
    place = jnp.array([2**16])
    shape = jax.eval_shape(
        lambda x: add_at(x, place, place, jnp.ones(1, jnp.int8)),
        jax.ShapeDtypeStruct((2**17, 2**17), np.int8),
    )
    assert shape.shape == (2**17, 2**17)
