"""Functions of small arrays, called once or twice: compiled with the least optimization, in two fifths of the time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

from privrank_jax._validate import is_traced
from privrank_jax._workarounds.xla import compiled

Value = TypeVar("Value")

_SMALL = 1 << 17  # numbers in all arguments
_MOST = 512  # programs kept
_SETTINGS = (bool, int, float, np.float64, str, type(None))  # of partial functions


def quickly(function: Callable[..., Value], *arguments: Any) -> Value:
    """``function(*arguments)``: by a program that is compiled soon where arguments are small and concrete.

    Its arrays are then NumPy's, but for keys, and concrete also where the caller is traced; the function itself, which
    :func:`jax.jit` could take, answers for traced or large arguments.

    >>> import jax.numpy as jnp
    >>> quickly(lambda x: jnp.cumsum(x)[::-1], np.arange(4)).tolist()
    [6, 3, 1, 0]
    """
    leaves, tree = jax.tree.flatten(arguments)
    if is_traced(leaves) or sum(map(np.size, leaves)) > _SMALL:
        return function(*arguments)
    program = _program(function, arguments, leaves, tree)
    with np.errstate(over="ignore"):  # of a number beyond float32, which counts as infinite there
        return jax.tree.map(_on_host, program(*arguments))


def concretely(function: Callable[..., Value], *arguments: Any) -> Value:
    """``function(*arguments)`` of a jitted function, with a concrete result also where the caller is traced."""
    found = function(*arguments)
    if not is_traced(found):
        return found
    with jax.ensure_compile_time_eval():  # takes longer, so not everywhere
        return function(*arguments)


def _program(
    function: Callable[..., Any], arguments: tuple[Any, ...], leaves: list[Any], tree: Any
) -> Callable[..., Any]:
    """Compiled for arguments of these shapes; once for functions that hold no data."""
    settled = _settled(function)
    if settled is None:
        return _compiled(function, arguments)
    kinds = tuple(jax.typeof(leaf) for leaf in leaves)
    key = (*settled, tree, kinds, jax.numpy.result_type(float))
    if key not in _PROGRAMS:
        if len(_PROGRAMS) >= _MOST:
            _PROGRAMS.pop(next(iter(_PROGRAMS)))  # the oldest
        _PROGRAMS[key] = _compiled(function, arguments)
    return _PROGRAMS[key]


_PROGRAMS: dict[Any, Callable[..., Any]] = {}


def _compiled(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    return compiled(jax.jit(function).lower(*arguments), optimized=False)


def _settled(function: Callable[..., Any]) -> tuple[Any, ...] | None:
    """A key that tells a function of a module, or one with settings, from others; None for one that may hold data."""
    if isinstance(function, functools.partial):
        settings = (*function.args, *function.keywords.items())
        plain = (*function.args, *function.keywords.values())
        inner = _settled(function.func)
        if inner is None or not all(type(one) in _SETTINGS for one in plain):
            return None
        return (*inner, *((type(one), repr(one)) for one in settings))
    return None if "<" in getattr(function, "__qualname__", "<") else (function,)


def _on_host(leaf: Any) -> Any:
    return leaf if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)
