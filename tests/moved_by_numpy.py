"""Primitives that only move or convert numbers, by NumPy where they are called outside of a program.

JAX compiles a program for each new shape and each new number of axes that is inserted, sliced or converted, 13 ms each:
thousands in the suite, which run once. What NumPy copies is the same, bit for bit. Everything else goes the usual way:
arrays on several devices or on one that was asked for, keys, results of weak type, numbers of few bits, and conversions
in which rounding could differ (floats that are denormal, which XLA may take for 0, and floats to integers).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax
from jax._src import array, core

Move = Callable[..., np.ndarray | None]
FLOATS = (np.float32, np.float64)


def move_by_numpy() -> None:
    """Let this process move numbers by NumPy, in releases of JAX in which that was tried."""
    if jax.__version_info__ >= (0, 11):
        return
    for primitive, move in MOVES.items():
        primitive.def_impl(moved_by_numpy(primitive, move))


def moved_by_numpy(primitive: Any, move: Move) -> Callable[..., Any]:
    """What runs the primitive outside of a program: ``move``, or the usual way where that does not apply."""
    compiled = primitive.impl

    def run(*arguments: Any, **parameters: Any) -> Any:
        if not all(map(is_plain, arguments)):
            return compiled(*arguments, **parameters)
        told, _ = primitive.abstract_eval(*map(core.typeof, arguments), **parameters)
        if told.weak_type:
            return compiled(*arguments, **parameters)
        found = move(*map(np.asarray, arguments), **parameters)
        if found is None or (found.shape, found.dtype) != (told.shape, told.dtype):
            return compiled(*arguments, **parameters)
        return jax.device_put(np.array(found, order="C"))

    return run


def is_plain(value: Any) -> bool:
    """Whether it is a NumPy array, or an array on the one device that JAX chose."""
    if isinstance(value, array.ArrayImpl):
        return not value.committed and value.dtype.kind in "biuf"
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf"


def _broadcast(x: np.ndarray, *sizes: Any, shape, broadcast_dimensions, sharding):
    if sizes or sharding is not None:
        return None
    inserted = np.ones(len(shape), int)
    inserted[list(broadcast_dimensions)] = x.shape
    return np.broadcast_to(x.reshape(inserted), shape)


def _convert(x: np.ndarray, *, new_dtype, weak_type, sharding):
    if sharding is not None:
        return None
    if x.dtype.kind == "f" and x.dtype != new_dtype:
        least = np.finfo(np.float32).tiny
        if {x.dtype.type, np.dtype(new_dtype).type} - set(FLOATS) or np.any(
            (x != 0) & (np.abs(x) < least)
        ):
            return None
    with np.errstate(over="ignore"):
        return x.astype(new_dtype)


def _dynamic_slice(x: np.ndarray, *starts: Any, slice_sizes):
    if len(starts) != x.ndim:
        return None
    first = [
        min(max(int(start), 0), size - length)
        for start, size, length in zip(starts, x.shape, slice_sizes)
    ]
    return x[tuple(slice(one, one + length) for one, length in zip(first, slice_sizes))]


def _slice(x: np.ndarray, *, start_indices, limit_indices, strides):
    steps = strides or (1,) * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, steps))]


def _reshape(x: np.ndarray, *sizes: Any, new_sizes, dimensions, sharding):
    if sizes or dimensions is not None or sharding is not None:
        return None
    return x.reshape(new_sizes)


MOVES: dict[Any, Move] = {
    lax.broadcast_in_dim_p: _broadcast,
    lax.concatenate_p: lambda *parts, dimension: np.concatenate(parts, dimension),
    lax.convert_element_type_p: _convert,
    lax.dynamic_slice_p: _dynamic_slice,
    lax.reshape_p: _reshape,
    lax.slice_p: _slice,
    lax.squeeze_p: lambda x, *, dimensions: np.squeeze(x, dimensions),
    lax.transpose_p: lambda x, *, permutation: np.transpose(x, permutation),
}
