"""JAX's primitives that move, reduce, sort or multiply arrays, by NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from privrank_jax._host.numbers import Params, Result, Rule

_FEW = 4096  # copies of so many numbers are made sooner than a view that repeats them


def _broadcast_in_dim(params: Params, value: np.ndarray, *_: np.ndarray) -> Result:
    shape, places = params["shape"], params["broadcast_dimensions"]
    held = [1] * len(shape)
    for place, size in zip(places, value.shape):
        held[place] = size
    row = value.reshape(held)
    if row.shape == shape:
        return row
    if math.prod(shape) > _FEW:
        return np.broadcast_to(row, shape)
    copies = np.empty(shape, value.dtype)
    copies[...] = row
    return copies


def _iota(params: Params, *_: np.ndarray) -> Result:
    shape, axis = params["shape"], params["dimension"]
    row = np.arange(shape[axis], dtype=params["dtype"])
    return np.broadcast_to(row.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)


def _slice(params: Params, value: np.ndarray) -> Result:
    steps = params["strides"] or (1,) * value.ndim
    starts, ends = params["start_indices"], params["limit_indices"]
    return value[tuple(map(slice, starts, ends, steps))]


def _pad(params: Params, value: np.ndarray, fill: np.ndarray) -> Result:
    for axis, (low, high, inner) in enumerate(params["padding_config"]):
        size = value.shape[axis]
        length = low + high + size + max(size - 1, 0) * inner
        target = np.full((*value.shape[:axis], length, *value.shape[axis + 1 :]), fill)
        to = low + np.arange(size) * (inner + 1)
        kept = (to >= 0) & (to < length)
        np.moveaxis(target, axis, 0)[to[kept]] = np.moveaxis(value, axis, 0)[kept]
        value = target
    return value


def _dot_general(params: Params, left: np.ndarray, right: np.ndarray) -> Result:
    (of_left, of_right), (left_batch, right_batch) = params["dimension_numbers"]
    kind = params.get("preferred_element_type") or np.result_type(left, right)

    def grouped(
        value: np.ndarray, batch: tuple[int, ...], inner: tuple[int, ...]
    ) -> tuple[np.ndarray, tuple[int, ...]]:
        """Shape (batch, free, contracted), and the free sizes."""
        free = [axis for axis in range(value.ndim) if axis not in (*batch, *inner)]
        sizes = [tuple(value.shape[axis] for axis in group) for group in (batch, free, inner)]
        flat = [*sizes[0], int(np.prod(sizes[1])), int(np.prod(sizes[2]))]
        return value.transpose(*batch, *free, *inner).reshape(flat), sizes[1]

    a, free_left = grouped(left.astype(kind), tuple(left_batch), tuple(of_left))
    b, free_right = grouped(right.astype(kind), tuple(right_batch), tuple(of_right))
    found = a @ np.swapaxes(b, -1, -2)
    return found.reshape((*a.shape[: len(left_batch)], *free_left, *free_right))


def _reduced(function: Callable[..., Any]) -> Rule:
    return lambda params, value: function(value, axis=tuple(params["axes"]))


def _extremum(function: Callable[..., Any], least: bool) -> Rule:
    """The extremum of nothing is the other end of the type."""

    def reduce(params: Params, value: np.ndarray) -> Result:
        if value.size:
            return function(value, axis=tuple(params["axes"]))
        if value.dtype.kind == "f":
            other: Any = np.inf if least else -np.inf
        elif value.dtype == bool:
            other = least
        else:
            other = np.iinfo(value.dtype).max if least else np.iinfo(value.dtype).min
        return function(value, axis=tuple(params["axes"]), initial=other)

    return reduce


def _place_of(function: Callable[..., Any]) -> Rule:
    return lambda params, value: function(value, axis=params["axes"][0])


def _cumulative(function: Callable[..., Any]) -> Rule:
    def run(params: Params, value: np.ndarray) -> Result:
        if not params["reverse"]:
            return function(value, axis=params["axis"], dtype=value.dtype)
        turned = np.flip(value, params["axis"])
        return np.flip(function(turned, axis=params["axis"], dtype=value.dtype), params["axis"])

    return run


def _unstack(params: Params, value: np.ndarray) -> list[np.ndarray]:
    parts = np.moveaxis(value, params["axis"], 0)
    return [parts[place, ...] for place in range(len(parts))]


def _sort(params: Params, *values: np.ndarray) -> list[np.ndarray]:
    axis = params["dimension"]
    keys = values[: params["num_keys"]]
    if len(keys) == 1:
        order = np.argsort(keys[0], axis=axis, kind="stable")
    else:
        order = np.lexsort(keys[::-1], axis=axis)
    return [np.take_along_axis(value, order, axis) for value in values]


def _cholesky(params: Params, matrix: np.ndarray) -> Result:
    if params.get("symmetrize_input"):
        matrix = (matrix + np.swapaxes(matrix, -1, -2)) / 2
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        if matrix.ndim == 2:
            return np.full_like(matrix, np.nan)
        return np.stack([_cholesky({}, one) for one in matrix])


def _triangular_solve(params: Params, matrix: np.ndarray, right: np.ndarray) -> Result:
    """By elimination on the triangle, which is all that is read."""
    matrix = np.tril(matrix) if params["lower"] else np.triu(matrix)
    if params["unit_diagonal"]:
        matrix = matrix + np.eye(matrix.shape[-1]) * (1 - matrix)
    if params["transpose_a"]:
        matrix = np.swapaxes(matrix, -1, -2)
    if not params["left_side"]:
        matrix, right = np.swapaxes(matrix, -1, -2), np.swapaxes(right, -1, -2)
    try:
        found = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        found = np.full_like(right, np.nan)
    return found if params["left_side"] else np.swapaxes(found, -1, -2)


def _eigh(params: Params, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(matrix, "L" if params["lower"] else "U")
    return vectors, values


def _platform_index(params: Params) -> int:
    """The branch for a CPU, else the default."""
    platforms = params["platforms"]
    own = [i for i, names in enumerate(platforms) if names is not None and "cpu" in names]
    return (own or [platforms.index(None)])[0]


def _unchanged(_: Params, *values: np.ndarray) -> tuple[np.ndarray, ...]:
    return values


ARRAYS: dict[str, Rule] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": lambda params, value, *_: value.reshape(params["new_sizes"]),
    "squeeze": lambda params, value: value.squeeze(tuple(params["dimensions"])),
    "expand_dims": lambda params, value: np.expand_dims(value, tuple(params["dimensions"])),
    "transpose": lambda params, value: value.transpose(params["permutation"]),
    "rev": lambda params, value: np.flip(value, tuple(params["dimensions"])),
    "concatenate": lambda params, *values: np.concatenate(values, params["dimension"]),
    "stack": lambda params, *values: np.stack(values, params["axis"]),
    "split": lambda params, value: np.split(
        value, np.cumsum(params["sizes"])[:-1], axis=params["axis"]
    ),
    "iota": _iota,
    # Of any content; a literal in older versions of JAX.
    "empty": lambda params, *_: np.zeros(params["shape"], params["dtype"]),
    "slice": _slice,
    "pad": _pad,
    "dot_general": _dot_general,
    "reduce_sum": lambda params, value: np.add.reduce(value, tuple(params["axes"]), value.dtype),
    "reduce_prod": lambda params, value: np.multiply.reduce(
        value, tuple(params["axes"]), value.dtype
    ),
    "reduce_max": _extremum(np.maximum.reduce, least=False),
    "reduce_min": _extremum(np.minimum.reduce, least=True),
    "reduce_and": _reduced(np.bitwise_and.reduce),
    "reduce_or": _reduced(np.bitwise_or.reduce),
    "reduce_xor": _reduced(np.bitwise_xor.reduce),
    "argmax": _place_of(np.argmax),
    "argmin": _place_of(np.argmin),
    "cumsum": _cumulative(np.cumsum),
    "cumprod": _cumulative(np.cumprod),
    "cummax": _cumulative(np.maximum.accumulate),
    "cummin": _cumulative(np.minimum.accumulate),
    "cumlogsumexp": _cumulative(np.logaddexp.accumulate),
    "sort": _sort,
    "unstack": _unstack,
    "cholesky": _cholesky,
    "triangular_solve": _triangular_solve,
    "eigh": _eigh,
    "platform_index": _platform_index,
    "optimization_barrier": _unchanged,
    "device_put": _unchanged,
}
"""Each rule by the name of its primitive; those of several results return all of them."""
