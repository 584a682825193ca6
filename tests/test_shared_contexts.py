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


@pytest.mark.skipif(jax.__version_info__ >= (0, 11), reason="each program has its own context")
def test_programs_of_this_process_share_them():
    lowered = [jax.jit(lambda x, i=i: x * i).lower(np.ones(3)) for i in range(3)]
    contexts = [program.compiler_ir("stablehlo").context for program in lowered]
    assert contexts[1] in (contexts[0], contexts[2])  # a new one may begin between two of them
    for i, program in enumerate(lowered):
        np.testing.assert_array_equal(program.compile()(jnp.ones(3)), np.full(3, i))
