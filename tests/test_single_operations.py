from __future__ import annotations

import itertools
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests import single_operations
from tests.single_operations import ARITHMETIC, CALLS, NAMES, OTHERS, computed

pytestmark = pytest.mark.skipif(
    jax.__version_info__ >= (0, 11) or bool(os.environ.get("PRIVRANK_TEST_OPTIMISED")),
    reason="not tried with this release of JAX, or everything is compiled",
)

FLOATS = np.array([0.0, -0.0, 1 / 3, -2.5, 7e30, -np.inf, np.inf, np.nan, 1e-30, 1.0])
WHOLE = np.array([0, 1, -1, 5, 2**31 - 1, -(2**31), 7, 3, 2, -9])
TWO = [
    jnp.add, jnp.subtract, jnp.multiply, jnp.true_divide, jnp.equal, jnp.not_equal, jnp.less, jnp.less_equal,
    jnp.greater, jnp.greater_equal, jnp.maximum, jnp.minimum, lambda x, y: jnp.where(x > 0, x, y),
    lambda x, y: jnp.stack([x, y], 1), lambda x, y: jnp.concatenate([x, y])[3:12:2], jnp.logical_and, jnp.logical_or,
]  # fmt: skip
ONE = [
    jnp.negative, jnp.abs, jnp.square, jnp.isnan, jnp.logical_not, jnp.ravel, lambda x: x**2, lambda x: x[:, None],
    lambda x: jnp.squeeze(x[None]), jnp.atleast_2d, lambda x: jnp.eye(3), lambda x: jnp.arange(9), lambda x: x * 2.5,
    lambda x: list(x)[4], lambda x: jnp.where(x == x, x, 0), lambda x: x.reshape(2, 5).T, lambda x: jnp.invert(x > 0),
]  # fmt: skip


def leaves(run, *values):
    return [np.asarray(x) for x in jax.tree.leaves(run(*values))]


def test_results_are_those_of_programs_bit_for_bit(monkeypatch):
    seen = set()

    def recorded(name, program, arguments):
        found = computed(name, program, arguments)
        if found is not None:
            seen.update(single_operations._operations(program.jaxpr))
        return found

    cases = [(run, 1) for run in ONE] + [(run, 2) for run in TWO]
    for (run, number), dtype in itertools.product(
        cases, (np.float32, np.float64, np.int32, np.int64)
    ):
        x = jnp.asarray((FLOATS if np.issubdtype(dtype, np.floating) else WHOLE).astype(dtype))
        values = (x, x[::-1])[:number]
        wanted = leaves(jax.jit(run), *values)
        monkeypatch.setattr(single_operations, "computed", recorded)
        single_operations._calls.clear()
        found = leaves(run, *values)
        monkeypatch.undo()
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
            if one.dtype.kind == "f":
                real = ~np.isnan(one)
                np.testing.assert_array_equal(np.signbit(one[real]), np.signbit(other[real]))
    assert {*ARITHMETIC, *OTHERS} <= seen, {*ARITHMETIC, *OTHERS} - seen


@pytest.mark.parametrize(
    ("run", "values"),
    [
        (jnp.multiply, (np.array([1e-300, 1.0]), np.array([1e-10, 1.0]))),  # denormal result
        (jnp.greater, (np.array([5e-324]), np.array([0.0]))),
        (jnp.maximum, (np.array([0.0]), np.array([-0.0]))),
        (jnp.maximum, (np.array([np.nan]), np.array([1.0]))),
    ],
)
def test_what_may_differ_is_compiled(run, values):
    def outer(x, y):
        return run(x, y)

    found = jax.make_jaxpr(outer)(*values)
    named = [e for e in found.jaxpr.eqns if e.primitive.name == "jit"]
    program = named[0].params["jaxpr"] if named else found
    assert computed("add", program, values) is None
    plain = (np.ones(1), np.ones(1)) if len(values[0]) == 1 else (np.ones(2), np.ones(2))
    again = jax.make_jaxpr(lambda x, y: run(x, y))(*plain)
    assert computed("add", again, plain) is not None


def test_fused_operations_others_functions_and_loops_are_compiled():
    values = (np.ones(3), np.ones(3))
    fused = jax.make_jaxpr(lambda x, y: x * y + 1.0)(*values)
    single = jax.make_jaxpr(lambda x, y: x * y)(*values)
    assert computed("add", fused, values) is None
    assert "my_own" not in NAMES
    assert computed("my_own", single, values) is None
    committed = jax.device_put(jnp.ones(3), jax.devices()[0])
    assert computed("add", single, (committed, committed)) is None
    calls = [computed("add", single, values) is not None for _ in range(CALLS + 2)]
    assert calls == [True] * CALLS + [False] * 2
