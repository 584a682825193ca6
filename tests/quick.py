"""``jax.jit`` for tests that call a long program once or twice: compiled soon, not well."""

from __future__ import annotations

import functools

import jax

quick_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
