from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax._workarounds.xla import apart, compiled, fixed, materialized, out_of_memory


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, bool])
def test_values_stay_what_they_are(dtype, in_place):
    values = np.arange(12).reshape(3, 4).astype(dtype)
    keep = functools.partial(materialized, in_place=in_place)
    for function in (keep, jax.jit(keep), jax.vmap(keep)):
        found = function(values)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(
    "sine", [lambda x: materialized(jnp.sin(x)), functools.partial(apart, jnp.sin)]
)
def test_derivatives_go_through(sine, key):
    values = jax.random.normal(key, (5,))
    slope = jax.jit(jax.grad(lambda x: jnp.sum(sine(x) ** 2)))(values)
    np.testing.assert_allclose(slope, 2 * np.sin(values) * np.cos(values), rtol=1e-6)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_functions_apart_return_what_they_return(kind, monkeypatch):
    monkeypatch.setattr("privrank_jax._backend.platform", lambda: kind)
    left, right = np.arange(6).reshape(2, 3), np.int32([4, 0, 1])
    less = functools.partial(apart, jnp.subtract)
    for function in (less, jax.jit(lambda a, b: less(a, b))):  # traced anew for each kind
        np.testing.assert_array_equal(function(left, right), left - right)
    crowd = jax.vmap(functools.partial(apart, jnp.subtract), (0, None))
    np.testing.assert_array_equal(crowd(left, right), left - right)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="elsewhere it is a barrier")
def test_what_follows_is_another_kernel():
    def pairs(keep):
        def count(x):
            y = keep(jnp.sin(x))
            return jnp.sum(y[:, None] < y, axis=0)

        return jax.jit(count).lower(np.ones(8, np.float32)).compile().as_text()

    def pairs_apart(x):
        y = apart(jnp.sin, x)
        return jnp.sum(y[:, None] < y, axis=0)

    branch, loop, copy = "conditional(", " while(", "= f32[8]{0} copy("
    kept, in_place = pairs(materialized), pairs(functools.partial(materialized, in_place=True))
    assert branch in kept
    assert copy in kept
    assert loop in in_place
    assert copy not in in_place
    separate = jax.jit(pairs_apart).lower(np.ones(8, np.float32)).compile().as_text()
    assert branch in separate
    assert copy not in separate
    assert not any(word in pairs(lambda x: x) for word in (branch, loop, copy))


@pytest.mark.parametrize("in_place", [False, True])
def test_a_barrier_keeps_values_in_the_memory_of_a_gpu(in_place, monkeypatch):
    monkeypatch.setattr("privrank_jax._backend.platform", lambda: "gpu")
    keep = functools.partial(materialized, in_place=in_place)
    for function in (lambda x: keep(jnp.sin(x)) + 1, lambda x: apart(jnp.sin, x) + 1):
        lowered = jax.jit(function).trace(np.ones(8)).lower(lowering_platforms=("cuda",))
        assert "optimization_barrier" in lowered.as_text()


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
