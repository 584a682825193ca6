from __future__ import annotations

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


class Lowered:
    """A lowered program that knows only some options."""

    def __init__(self, known):
        self.known, self.asked = known, []

    def compile(self, compiler_options=None):
        self.asked.append(compiler_options)
        for name in compiler_options or ():
            if name not in self.known:
                raise jax.errors.JaxRuntimeError(
                    f"INVALID_ARGUMENT: No such compile option: '{name}'"
                )
        return "program"


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="elsewhere programs are optimized")
def test_without_optimization_only_where_all_options_are_known():
    level, emitters = "xla_backend_optimization_level", "xla_cpu_use_fusion_emitters"
    knows, lacks = Lowered({level, emitters}), Lowered({level})
    assert compiled(knows, optimized=False) == compiled(lacks, optimized=False) == "program"
    assert knows.asked == [{level: 0, emitters: False}]
    assert lacks.asked[-1] is None
    assert compiled(knows, optimized="some") == compiled(lacks, optimized="some") == "program"
    assert knows.asked[-1] == {level: 1, emitters: False}
    assert lacks.asked[-1] is None
    assert compiled(knows) == "program"
    assert knows.asked[-1] is None

    class Failing(Lowered):
        def compile(self, compiler_options=None):
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: no")

    with pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED"):
        compiled(Failing(()), optimized=False)
    for optimized in (False, "some"):
        found = compiled(jax.jit(jnp.sin).lower(1.0), optimized=optimized)(1.0)
        assert float(found) == pytest.approx(np.sin(1.0))
