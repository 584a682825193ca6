"""Programs share contexts of the compiler, a bounded number each."""

from __future__ import annotations

import itertools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.shared_contexts import shared


def test_a_context_serves_so_many_programs_of_a_thread():
    numbers = itertools.count()
    make = shared(lambda: next(numbers), programs=3)
    assert [make() for _ in range(7)] == [0, 0, 0, 1, 1, 1, 2]
    found = []
    thread = threading.Thread(target=lambda: found.append(make()))
    thread.start()
    thread.join()
    assert found == [3]
    assert make() == 2


EACH_ITS_OWN = pytest.mark.skipif(
    jax.__version_info__ >= (0, 11), reason="each program has its own context"
)


@EACH_ITS_OWN
def test_a_program_is_compiled_while_another_is_lowered():
    """As JAX does with constants that it computes on the way: not into the module of the other."""
    from jax._src.interpreters.mlir import ir, make_ir_context

    with make_ir_context() as context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            assert make_ir_context() is not context
            assert jax.jit(lambda x: x + 0.12345)(np.ones(3)).shape == (3,)
        assert not list(module.body)


@EACH_ITS_OWN
def test_programs_of_this_process_share_them():
    lowered = [jax.jit(lambda x, i=i: x * i).lower(np.ones(3)) for i in range(3)]
    contexts = [program.compiler_ir("stablehlo").context for program in lowered]
    assert contexts[1] in (contexts[0], contexts[2])  # a new one may begin between two of them
    for i, program in enumerate(lowered):
        np.testing.assert_array_equal(program.compile()(jnp.ones(3)), np.full(3, i))
