"""``jax.jit`` for tests that call a long program once or twice: compiled soon, not well; and cases that are slow."""

from __future__ import annotations

import functools

import jax
import pytest

quick_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


def slow(*values):
    """A case of the thorough tier."""
    return pytest.param(*values, marks=pytest.mark.slow)
