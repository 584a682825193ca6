from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax._workarounds.xla import materialized
from tests.conftest import make_room, memory_maps


@pytest.mark.parametrize("dtype", [np.float32, np.int8, bool])
def test_values_stay_what_they_are(dtype):
    values = np.arange(12).reshape(3, 4).astype(dtype)
    for function in (materialized, jax.jit(materialized), jax.vmap(materialized)):
        found = function(values)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, values)


def test_derivatives_go_through(key):
    values = jax.random.normal(key, (5,))
    slope = jax.jit(jax.grad(lambda x: jnp.sum(materialized(jnp.sin(x)) ** 2)))(values)
    np.testing.assert_allclose(slope, 2 * np.sin(values) * np.cos(values), rtol=1e-6)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="elsewhere nothing is done")
def test_what_follows_is_another_kernel():
    def pairs(keep):
        def count(x):
            y = keep(jnp.sin(x))
            return jnp.sum(y[:, None] < y, axis=0)

        return jax.jit(count).lower(np.ones(8, np.float32)).compile().as_text()

    assert "conditional" in pairs(materialized)
    assert "conditional" not in pairs(lambda x: x)


@pytest.mark.skipif(not memory_maps(), reason="the system does not tell the maps of a process")
def test_the_suite_in_one_process_keeps_room_for_programs():
    programs = [jax.jit(lambda x, i=i: jnp.sin(x * i).sum()) for i in range(10)]
    for program in programs:
        program(np.ones(3))
    full = memory_maps()
    make_room(full + 100)
    assert memory_maps() > full - 10
    make_room(full // 2)
    assert memory_maps() < full - 50
