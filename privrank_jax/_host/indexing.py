"""JAX's primitives that read and write at computed places, by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from privrank_jax._host.numbers import Params, Result, Rule


def _starts(
    sizes: Sequence[int], lengths: Sequence[int], given: Sequence[np.ndarray]
) -> list[slice]:
    """Slices of these lengths, moved to where they lie within the array."""
    found = []
    for size, length, start in zip(sizes, lengths, given):
        first = min(max(int(start), 0), size - length)
        found.append(slice(first, first + length))
    return found


def _dynamic_slice(params: Params, value: np.ndarray, *starts: np.ndarray) -> Result:
    return value[tuple(_starts(value.shape, params["slice_sizes"], starts))]


def _dynamic_update_slice(
    _: Params, value: np.ndarray, update: np.ndarray, *starts: np.ndarray
) -> Result:
    found = value.copy()
    found[tuple(_starts(value.shape, update.shape, starts))] = update
    return found


def _whole(axes: Sequence[Any]) -> tuple[int, ...]:
    """Axes, which JAX may hold as NumPy's integers, as Python's."""
    return tuple(map(int, axes))


def _places(
    shape: Sequence[int],
    indices: np.ndarray,
    sizes: Sequence[int],
    *,
    mapped: Sequence[int],
    batched: Sequence[int],
    over: Sequence[int],
    dropped: Sequence[int],
    mode: Any,
) -> tuple[tuple[np.ndarray, ...], np.ndarray | None]:
    """Places in the array, one for each axis, of shape (axes of the indices, axes of the slice); which are inside.

    Args:
        shape: of the array.
        indices: where slices start, the coordinates in the last axis.
        sizes: of a slice along each axis of the array.
        mapped: axis of the array for each coordinate.
        batched: axes of the array along which the slices of a batch go.
        over: axes of the indices that belong to them.
        dropped: axes of the array that a slice of the result does not have.
        mode: what happens to slices that are not inside.
    """
    batch, window = indices.ndim - 1, [d for d in range(len(shape)) if d not in dropped]
    drops = str(mode).rsplit(".", 1)[-1].lower().startswith("fill")
    start: list[Any] = [0] * len(shape)
    for k, axis in enumerate(mapped):
        start[axis] = indices[..., k].astype(np.intp)
    for axis, of in zip(batched, over):
        start[axis] = np.arange(shape[axis]).reshape([-1 if i == of else 1 for i in range(batch)])
    inside: Any = True
    found = []
    for axis, size in enumerate(shape):
        first, last = start[axis], size - sizes[axis]
        if axis in mapped and np.size(first) and (first.min() < 0 or first.max() > last):
            if drops:
                inside = inside & (first >= 0) & (first <= last)
            first = np.clip(first, 0, max(last, 0))
        first = (
            np.reshape(first, (*np.shape(first), *[1] * len(window))) if np.ndim(first) else first
        )
        if axis in window:
            steps = np.arange(sizes[axis])
            first = first + steps.reshape([-1 if d == axis else 1 for d in window])
        found.append(np.asarray(first))
    if inside is True or np.all(inside):
        return tuple(found), None
    return tuple(found), np.reshape(inside, (*np.shape(inside), *[1] * len(window)))


def _gather(params: Params, value: np.ndarray, indices: np.ndarray) -> Result:
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    batched = _whole(numbers.operand_batching_dims)
    dropped = {*_whole(numbers.collapsed_slice_dims), *batched}
    places, inside = _places(
        value.shape,
        indices,
        sizes,
        mapped=_whole(numbers.start_index_map),
        batched=batched,
        over=_whole(numbers.start_indices_batching_dims),
        dropped=sorted(dropped),
        mode=params["mode"],
    )
    window = tuple(size for axis, size in enumerate(sizes) if axis not in dropped)
    shape = (*indices.shape[:-1], *window)
    found = np.broadcast_to(_read(value, places), shape)
    if inside is not None:
        found = np.where(inside, found, _fill(params.get("fill_value"), value.dtype))
    batch, offset = indices.ndim - 1, numbers.offset_dims
    order = iter(range(batch))
    own = {axis: batch + i for i, axis in enumerate(offset)}
    return found.transpose([own[i] if i in own else next(order) for i in range(len(shape))])


def _read(value: np.ndarray, places: Sequence[np.ndarray]) -> Result:
    """Like ``value[places]``; one flat place takes less time than one for each axis."""
    flat: Any = 0
    for place, size in zip(places, value.shape):
        flat = flat * size + place
    return np.ravel(value).take(flat, mode="clip")


def _fill(given: Any, dtype: np.dtype) -> Any:
    """What JAX reads outside of an array."""
    if given is not None:
        return np.asarray(given, dtype)
    if dtype.kind == "f":
        return np.asarray(np.nan, dtype)
    if dtype.kind == "b":
        return np.asarray(True)
    return np.asarray(np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max, dtype)


def _scatter(write: Callable[[np.ndarray, Any, np.ndarray], object]) -> Rule:
    def run(params: Params, value: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> Result:
        numbers = params["dimension_numbers"]
        batched = _whole(numbers.operand_batching_dims)
        dropped = sorted({*_whole(numbers.inserted_window_dims), *batched})
        window = [axis for axis in range(value.ndim) if axis not in dropped]
        sizes = [1] * value.ndim
        for axis, of in zip(window, numbers.update_window_dims):
            sizes[axis] = updates.shape[of]
        places, inside = _places(
            value.shape,
            indices,
            sizes,
            mapped=_whole(numbers.scatter_dims_to_operand_dims),
            batched=batched,
            over=_whole(numbers.scatter_indices_batching_dims),
            dropped=dropped,
            mode=params["mode"],
        )
        of_window = list(numbers.update_window_dims)
        outer = [axis for axis in range(updates.ndim) if axis not in of_window]
        given = updates.transpose(*outer, *of_window)
        found = value.copy()
        if not value.ndim:
            places = ()
        shape = given.shape
        everywhere = tuple(np.broadcast_to(place, shape) for place in places)
        if inside is not None:
            kept = np.broadcast_to(inside, shape)
            everywhere, given = tuple(place[kept] for place in everywhere), given[kept]
        if not everywhere:
            if given.size:
                write(found, ..., given.reshape(-1)[-1])
            return found
        write(found, everywhere, given)
        return found

    return run


def _set(target: np.ndarray, places: Any, values: np.ndarray) -> None:
    target[places] = values


INDEXING: dict[str, Rule] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter(_set),
    "scatter-add": _scatter(np.add.at),
    "scatter_add": _scatter(np.add.at),
    "scatter-mul": _scatter(np.multiply.at),
    "scatter_mul": _scatter(np.multiply.at),
    "scatter_min": _scatter(np.minimum.at),
    "scatter-min": _scatter(np.minimum.at),
    "scatter_max": _scatter(np.maximum.at),
    "scatter-max": _scatter(np.maximum.at),
}
"""Each rule by the name of its primitive."""
