"""``jax.jit`` for tests that call a long program once or twice: compiled soon, not well."""

from __future__ import annotations

import functools

import jax

from privrank_jax._quickly import LEAST

quick_jit = functools.partial(jax.jit, compiler_options=LEAST)
