"""What functions return as named arrays, their file, and how far two recordings of them lie apart."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

Numbers = dict[str, np.ndarray]
"""Arrays by the name of what they are part of, a path of fields and keys."""

# Relative to an element, or to a millionth of the largest of its array, below which lies only what cancels out.
_ROUNDING = {"float64": 1e-12, "float32": 1e-6}
_SMALL = 1e-6
_LEFT_OVER = "gradient_norm"  # of a fit that has converged: itself rounding, so judged by its size
_PLAIN = bool | int | float | str


class Difference(NamedTuple):
    """An array that is not bit for bit as it was.

    Attributes:
        name: of the door, and of the array within.
        relative: largest relative error; ∞ where numbers can't be compared.
        beyond: whether that is more than rounding.
        words: what else there is to say.
    """

    name: str
    relative: float
    beyond: bool
    words: str


def numbers_of(found: Any) -> Numbers:
    """All arrays in a result, by name; objects are taken apart by field, and None is left out."""
    return {name: np.asarray(leaf) for name, leaf in _leaves("", found)}


def _leaves(name: str, found: Any) -> Iterator[tuple[str, Any]]:
    parts: Iterable[tuple[Any, Any]]
    if isinstance(found, Mapping):
        parts = found.items()
    elif dataclasses.is_dataclass(found):
        parts = ((one.name, getattr(found, one.name)) for one in dataclasses.fields(found))
    elif isinstance(found, tuple) and hasattr(found, "_fields"):
        parts = zip(found._fields, found)
    elif isinstance(found, list | tuple) and not all(isinstance(one, _PLAIN) for one in found):
        parts = enumerate(found)
    else:
        parts = ()
        if found is not None:  # fractions and decimals are recorded as text
            plain = isinstance(found, jax.Array | np.ndarray | np.generic | list | tuple | _PLAIN)
            yield name.strip("."), found if plain else str(found)
    for part, value in parts:
        yield from _leaves(f"{name}.{part}", value)


def joined(results: Iterable[Any]) -> Numbers:
    """The arrays of many results of one kind, those of a name one behind the other."""
    by_name: dict[str, list[np.ndarray]] = {}
    for one in results:
        for name, array in numbers_of(one).items():
            by_name.setdefault(name, []).append(array.ravel())
    return {name: np.concatenate(arrays) for name, arrays in by_name.items()}


def tried(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a function returns, or the kind of its refusal."""
    try:
        return function(*args, **options)
    except (TypeError, ValueError) as error:
        return {"refused": type(error).__name__}


def write(path: Path, recorded: Mapping[str, Numbers]) -> None:
    """Write arrays by door to one compressed file."""
    flat = {
        f"{door}|{name}": array for door, found in recorded.items() for name, array in found.items()
    }
    with path.open("wb") as file:
        np.savez_compressed(file, **flat)


def read(path: Path, wanted: Callable[[str], bool]) -> dict[str, Numbers]:
    """The arrays of all ``wanted`` doors of such a file."""
    recorded: dict[str, Numbers] = {}
    with np.load(path) as file:
        for key in file.files:
            door, _, name = key.partition("|")
            if wanted(door):
                recorded.setdefault(door, {})[name] = file[key]
    return recorded


def compare(door: str, before: Numbers, after: Numbers) -> Iterator[Difference]:
    """Where the arrays of a door differ."""
    for name in sorted(before.keys() | after.keys()):
        called = f"{door}|{name}"
        if name not in after:
            yield Difference(called, math.inf, True, "is gone")
        elif name not in before:
            yield Difference(called, math.inf, True, "is new")
        elif found := _compare_arrays(before[name], after[name]):
            relative, beyond, words = found
            if name.endswith(_LEFT_OVER) and before[name].shape == after[name].shape:
                beyond = not np.allclose(before[name], after[name], atol=_SMALL)
            yield Difference(called, relative, beyond, words)


def _compare_arrays(before: np.ndarray, after: np.ndarray) -> tuple[float, bool, str] | None:
    kinds = [f"{one.dtype}{list(one.shape)}" for one in (before, after)]
    if kinds[0] == kinds[1] and before.tobytes() == after.tobytes():
        return None
    if before.shape != after.shape or not {before.dtype.kind, after.dtype.kind} <= set("biuf"):
        same = before.dtype.kind == after.dtype.kind == "U" and np.array_equal(before, after)
        return None if same else (math.inf, True, _shown(before, after, kinds))
    errors = _relative_errors(before.astype(float).ravel(), after.astype(float).ravel())
    worst, other = int(np.argmax(errors)), before.dtype != after.dtype
    beyond = errors[worst] > _ROUNDING.get(str(before.dtype), 0.0) or other
    place = f"at {worst} of {errors.size}, {np.count_nonzero(errors)} differ"
    return float(errors[worst]), bool(beyond), " -> ".join(kinds) if other else place


def _relative_errors(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    sizes = np.maximum(np.abs(before), np.abs(after))
    with np.errstate(invalid="ignore", divide="ignore"):
        floor = _SMALL * np.max(sizes, initial=0.0, where=np.isfinite(sizes))
        errors = np.abs(before - after) / np.maximum(sizes, floor)
    return np.where(same, 0.0, np.where(np.isfinite(errors), errors, np.inf))


def _shown(before: np.ndarray, after: np.ndarray, kinds: list[str]) -> str:
    if kinds[0] != kinds[1] and before.size != 1:
        return " -> ".join(kinds)
    return " -> ".join(str(one)[:80] for one in (before, after))
