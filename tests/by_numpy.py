"""What ``jax.jit`` is to a function, without a compiler: for tests that call a long program once or twice."""

from __future__ import annotations

import functools

import jax

from privrank_jax._host.evaluate import quickly


def by_numpy(function):
    """``function`` traced once for all its calls, and evaluated by NumPy: equal to a compiled one up to rounding.

    ``tests/host`` holds that. Many arguments, and operations that NumPy's evaluation does not know, compile it.
    """
    return functools.partial(quickly, jax.jit(function))
