from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax._workarounds.xla import compiled, fixed, materialized, out_of_memory


def test_derivatives_go_through(key):
    values = jax.random.normal(key, (5,))
    slope = jax.jit(jax.grad(lambda x: jnp.sum(materialized(jnp.sin(x)) ** 2)))(values)
    np.testing.assert_allclose(slope, 2 * np.sin(values) * np.cos(values), rtol=1e-6)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="elsewhere it is a barrier")
def test_what_follows_is_another_kernel():
    def pairs(keep):
        def count(x):
            y = keep(jnp.sin(x))
            return jnp.sum(y[:, None] < y, axis=0)

        return jax.jit(count).lower(np.ones(8, np.float32)).compile().as_text()

    assert "conditional(" in pairs(materialized)
    assert "conditional(" not in pairs(jax.lax.optimization_barrier)


def test_a_barrier_keeps_values_in_the_memory_of_a_gpu():
    program = jax.jit(lambda x: materialized(jnp.sin(x)) + 1).trace(np.ones(8))
    assert "optimization_barrier" in program.lower(lowering_platforms=("cuda",)).as_text()


def test_constants_are_not_folded_behind_a_barrier():
    table = np.arange(1000.0)

    def total(keep):
        found = jax.jit(lambda x: x + jnp.sum(jnp.sin(keep(table)))).lower(1.0)
        return found.compile().as_text()

    assert "sine" in total(fixed)
    assert "sine" not in total(jnp.asarray)
    np.testing.assert_array_equal(fixed(table), table)


def test_running_out_of_memory_is_told_from_other_errors():
    assert out_of_memory(RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes."))
    assert not out_of_memory(RuntimeError("INVALID_ARGUMENT: nothing fits"))


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="elsewhere programs are optimized")
def test_without_optimization_only_where_all_options_are_known():
    asked, lowered = [], jax.jit(jnp.sin).lower(1.0)

    def compiling(options=None, failure="INVALID_ARGUMENT: No such compile option: 'x'"):
        asked.append(options)
        if options:
            raise jax.errors.JaxRuntimeError(failure)
        return "program"

    for optimized, level in ((False, 0), ("some", 1)):
        assert float(compiled(lowered, optimized=optimized)(1.0)) == pytest.approx(np.sin(1.0))
        older = SimpleNamespace(compile=lambda compiler_options=None: compiling(compiler_options))
        assert compiled(older, optimized=optimized) == "program"
        assert asked[0]["xla_backend_optimization_level"] == level
        assert asked[0]["xla_cpu_use_fusion_emitters"] is False
        assert asked[1:] == [None]
        asked.clear()
    full = SimpleNamespace(
        compile=lambda compiler_options: compiling(compiler_options, "no memory")
    )
    with pytest.raises(jax.errors.JaxRuntimeError, match="no memory"):
        compiled(full, optimized=False)
