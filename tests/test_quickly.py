"""Functions that are compiled soon: what comes back, and which programs are kept."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import _quickly
from privrank_jax._quickly import concretely, quickly


def scaled(x, factor=1.0, root=False):
    found = factor * x
    return jnp.sqrt(found) if root else found


@pytest.fixture
def compilations(monkeypatch):
    """The functions that are compiled from here on."""
    found, compiled = [], _quickly._compiled
    monkeypatch.setattr(_quickly, "_PROGRAMS", {})
    monkeypatch.setattr(_quickly, "_compiled", lambda f, a: found.append(f) or compiled(f, a))
    return found


def test_arrays_of_numpy_come_back_and_keys_stay_keys():
    key = jax.random.key(3)
    drawn, left = quickly(lambda key: (jax.random.normal(key, (4,)), jax.random.split(key)), key)
    assert isinstance(drawn, np.ndarray)
    np.testing.assert_allclose(drawn, jax.random.normal(key, (4,)), rtol=1e-12)
    assert jnp.all(left == jax.random.split(key))


def test_a_traced_caller_gets_concrete_results():
    def caller(x):
        assert quickly(scaled, np.arange(3.0)).tolist() == [0, 1, 2]
        assert concretely(jax.jit(scaled), np.arange(3.0)).tolist() == [0, 1, 2]
        return quickly(scaled, x)  # traced, so it goes to the function

    assert jax.jit(caller)(2.0) == 2


def test_settings_and_kinds_of_arguments_have_programs_of_their_own(compilations):
    four = np.array([4.0])
    for _ in range(2):
        assert quickly(scaled, four) == 4
        assert quickly(functools.partial(scaled, factor=2.0), four) == 8
        assert quickly(functools.partial(scaled, root=True), four) == 2
        assert np.signbit(quickly(functools.partial(scaled, factor=-0.0), four))
        assert not np.signbit(quickly(functools.partial(scaled, factor=0.0), four))
        assert quickly(scaled, np.array([4, 5])).tolist() == [4, 5]
    assert len(compilations) == 6


def test_functions_that_may_hold_data_are_compiled_for_each_call(compilations):
    for data in (np.array([1.0]), np.array([2.0])):
        assert quickly(lambda x, data=data: x * data, np.array([3.0])) == 3 * data
        assert quickly(functools.partial(scaled, factor=data), np.array([3.0])) == 3 * data
    assert len(compilations) == 4
    assert not _quickly._PROGRAMS


def test_large_arguments_go_to_the_function(compilations):
    assert isinstance(quickly(scaled, np.zeros(_quickly._SMALL + 1)), np.ndarray | jax.Array)
    assert not compilations
