"""Single operations of ``jax.numpy`` outside of a program, by NumPy: sums, products, comparisons, choices, stacks.

What :mod:`tests.moved_by_numpy` says of moved numbers holds of them too: thousands of programs that run once. Only
operations that IEEE 754 rounds exactly are computed here, and at most one of them that could be fused with another; so
the results are those of XLA bit for bit. Where they may differ, JAX compiles as usual: around denormal numbers, which
XLA takes for 0, and between zeros of both signs. So it does from the thirtieth call on, which is faster then, and for
all functions that aren't JAX's own.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax
from jax._src import config, core, pjit
from jax._src.lax import lax as operations

from tests.moved_by_numpy import MOVES, is_plain

CALLS = 30  # by NumPy, of one function and shape
# Functions of jax.numpy, by the names of their programs, and primitives that are called by themselves.
NAMES = frozenset(
    {
        "abs", "absolute", "add", "atleast_1d", "atleast_2d", "bitwise_and", "bitwise_not",
        "bitwise_or", "_broadcast_arrays", "concatenate", "div", "eq", "equal", "expand_dims",
        "eye", "ge", "greater", "greater_equal", "gt", "integer_pow", "iota", "invert", "isnan",
        "le", "less", "less_equal", "logical_and", "logical_not", "logical_or", "lt", "max",
        "maximum", "min", "minimum", "moveaxis", "mul", "multiply", "ne", "neg", "negative",
        "not_equal", "ravel", "select_n", "square", "_squeeze", "squeeze", "stack", "sub",
        "subtract", "swapaxes", "true_divide", "_where", "unstack",
    }
)  # fmt: skip


class _Unsure(Exception):
    """XLA's result may be another."""


def _sure(*values: np.ndarray) -> None:
    for x in values:
        if x.dtype.kind == "f":
            size = np.abs(x)
            if np.any((size > 0) & (size < np.finfo(x.dtype).tiny)):
                raise _Unsure


def _rounded(operation: Callable[..., Any], kinds: str = "iuf") -> Callable[..., np.ndarray]:
    """An operation on whole numbers, or one that IEEE 754 rounds exactly."""

    def run(*values: np.ndarray, **settings: Any) -> np.ndarray:
        if any(x.dtype.kind not in kinds or x.dtype.itemsize < 4 for x in values):
            raise _Unsure
        if any(v is not None for v in settings.values()):
            raise _Unsure
        with np.errstate(all="ignore"):
            found = np.asarray(operation(*values))
        _sure(*values, found)
        return found

    return run


def _compared(operation: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def run(*values: np.ndarray) -> np.ndarray:
        _sure(*values)
        return np.asarray(operation(*values))

    return run


def _extreme(operation: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def run(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        _sure(x, y)
        if x.dtype.kind == "f" and np.any(np.isnan(x) | np.isnan(y) | ((x == 0) & (y == 0))):
            raise _Unsure
        return np.asarray(operation(x, y))

    return run


def _power(x: np.ndarray, *, y: int) -> np.ndarray:
    if y != 2:
        raise _Unsure
    return _rounded(np.multiply)(x, x)


def _chosen(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    if which.dtype != bool or len(cases) != 2:
        raise _Unsure
    return np.where(which, cases[1], cases[0])


def _iota(*sizes: Any, dtype, shape, dimension, sharding) -> np.ndarray:
    if sizes or sharding is not None:
        raise _Unsure
    along = [length if axis == dimension else 1 for axis, length in enumerate(shape)]
    return np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(along), shape)


def _logical(operation: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def run(*values: np.ndarray) -> np.ndarray:
        return np.asarray(operation(*values))

    return run


ARITHMETIC = {
    lax.add_p: _rounded(np.add),
    lax.sub_p: _rounded(np.subtract),
    lax.mul_p: _rounded(np.multiply),
    lax.div_p: _rounded(np.divide, "f"),
    lax.square_p: _rounded(lambda x: x * x),
    lax.integer_pow_p: _power,
}
OTHERS = {
    lax.abs_p: _rounded(np.abs, "if"),
    lax.neg_p: _rounded(np.negative, "if"),
    lax.eq_p: _compared(operator.eq),
    lax.ne_p: _compared(operator.ne),
    lax.lt_p: _compared(operator.lt),
    lax.le_p: _compared(operator.le),
    lax.gt_p: _compared(operator.gt),
    lax.ge_p: _compared(operator.ge),
    lax.max_p: _extreme(np.maximum),
    lax.min_p: _extreme(np.minimum),
    lax.and_p: _logical(operator.and_),
    lax.or_p: _logical(operator.or_),
    lax.not_p: _logical(np.invert),
    lax.select_n_p: _chosen,
    lax.iota_p: _iota,
    operations.stack_p: lambda *parts, axis: np.stack(parts, axis),
    operations.unstack_p: lambda x, *, axis: [np.take(x, place, axis) for place in range(x.shape[axis])],
}  # fmt: skip
RULES: dict[Any, Callable[..., Any]] = {**MOVES, **ARITHMETIC, **OTHERS}

_calls: Counter[Any] = Counter()


def compute_single_operations() -> None:
    """Let this process compute single operations by NumPy, in releases of JAX in which that was tried."""
    if jax.__version_info__ >= (0, 11):
        return
    compiled = pjit._pjit_call_impl_python

    def run(*arguments: Any, **settings: Any) -> Any:
        found = computed(settings["name"], settings["jaxpr"], arguments)
        return compiled(*arguments, **settings) if found is None else (found, None, None, [])

    pjit._pjit_call_impl_python = run


def computed(name: str, program: Any, arguments: tuple[Any, ...]) -> list[jax.Array] | None:
    """The results of a program, or None where it has to be compiled."""
    if name not in NAMES or _calls[program] >= CALLS or not _is_single(program):
        return None
    if config.debug_nans.value or config.debug_infs.value:
        return None
    if not all(isinstance(x, (bool, int, float)) or is_plain(x) for x in arguments):
        return None
    _calls[program] += 1
    kinds = [variable.aval.dtype for variable in program.jaxpr.invars]
    try:
        found = _evaluated(program.jaxpr, [np.asarray(x, k) for x, k in zip(arguments, kinds)])
    except _Unsure:
        _calls[program] = CALLS
        return None
    return [jax.device_put(np.array(x, order="C")) for x in found]


def _is_single(program: Any) -> bool:
    """Whether a program has results of its own types, known operations alone, and at most one that could be fused."""
    if program.effects or program.consts or any(one.weak_type for one in program.out_avals):
        return False
    known = _operations(program.jaxpr)
    return known is not None and sum(one in ARITHMETIC for one in known) <= 1


def _operations(jaxpr: Any) -> list[Any] | None:
    found = []
    for equation in jaxpr.eqns:
        if equation.primitive is pjit.jit_p:
            inner = equation.params["jaxpr"]
            within = None if inner.consts else _operations(inner.jaxpr)
            if within is None:
                return None
            found += within
        elif equation.primitive in RULES:
            found.append(equation.primitive)
        else:
            return None
    return found


def _evaluated(jaxpr: Any, values: list[np.ndarray]) -> list[np.ndarray]:
    known = dict(zip(jaxpr.invars, values))

    def read(variable: Any) -> np.ndarray:
        if isinstance(variable, core.Literal):
            return np.asarray(variable.val, variable.aval.dtype)
        return known[variable]

    for equation in jaxpr.eqns:
        inputs = list(map(read, equation.invars))
        if equation.primitive is pjit.jit_p:
            found = _evaluated(equation.params["jaxpr"].jaxpr, inputs)
        else:
            found = RULES[equation.primitive](*inputs, **equation.params)
            found = found if isinstance(found, list) else [found]
        for variable, value in zip(equation.outvars, found):
            told = variable.aval
            if value is None or (value.shape, value.dtype) != (told.shape, told.dtype):
                raise _Unsure
            known[variable] = value
    return list(map(read, jaxpr.outvars))
