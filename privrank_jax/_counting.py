"""Checks and counts of comparisons on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import ArrayLike, Bool, Float, Real

from privrank_jax._types import RowsLike
from privrank_jax._validate import check_whole, is_traced, shape_of

WeightsLike: TypeAlias = Real[ArrayLike, "rows"] | Sequence[float]
"""How often each row counts."""

FlagsLike: TypeAlias = Bool[ArrayLike, "rows"] | Sequence[bool]
"""One yes or no per row."""


def count_on_host(
    winners: RowsLike,
    losers: RowsLike,
    num_items: int,
    weights: WeightsLike | None,
    tied: FlagsLike | None,
) -> Float[np.ndarray, "items items"]:
    """Count with ``np.bincount``, much faster than a scatter on a CPU, what :func:`check_comparisons` found right."""
    first, second = np.asarray(winners), np.asarray(losers)
    whole = None if weights is None else np.asarray(weights, np.float64)
    cells = np.multiply(first, num_items, dtype=np.intp)
    cells += second
    shape, size = (num_items, num_items), num_items**2
    if tied is None:
        counts = np.bincount(cells, whole, size).astype(float).reshape(shape)
    else:
        whole = np.ones(cells.shape) if whole is None else whole
        half = np.where(np.asarray(tied), 0.5 * whole, 0.0)
        counts = np.bincount(cells, whole - half, size).reshape(shape)
        counts = counts + np.bincount(cells, half, size).reshape(shape).T
    if np.any(np.diagonal(counts)):
        counted = True if whole is None else whole != 0
        row = int(np.flatnonzero((first == second) & counted)[0])
        raise ValueError(f"row {row} compares item {first[row]} with itself; drop such rows.")
    return counts


def count_ties(tied: FlagsLike, weights: WeightsLike | None) -> float:
    """The number of rows that are ties, each counted as often as its weight says."""
    draws = np.asarray(tied, bool)
    return float(draws.sum() if weights is None else np.asarray(weights, np.float64)[draws].sum())


def check_comparisons(
    winners: RowsLike,
    losers: RowsLike,
    num_items: int,
    weights: WeightsLike | None,
    tied: FlagsLike | None,
) -> None:
    """Raise ``ValueError`` for wrong shapes, types and items out of range; traced values pass."""
    check_whole("num_items", num_items)
    given = {"winners": winners, "losers": losers, "weights": weights, "tied": tied}
    shapes = {shape_of(name, a) for name, a in given.items() if a is not None}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise ValueError(f"winners, losers, weights and tied need one shape (N,), got {shapes}.")
    if is_traced(winners, losers, weights) or shapes == {(0,)}:
        return
    for name, given in (("winners", winners), ("losers", losers)):
        items = np.asarray(given)
        if not np.issubdtype(items.dtype, np.integer):
            raise ValueError(f"{name} must hold integer item indices, got dtype {items.dtype}.")
        # Negative indices are huge when read as unsigned: one pass finds both ends.
        if np.ascontiguousarray(items).view(f"u{items.itemsize}").max() >= num_items:
            raise ValueError(
                f"{name} must lie in 0..{num_items - 1}, found {items.min()}..{items.max()}; "
                "items are counted from 0."
            )
    if weights is not None:
        weight = np.asarray(weights)
        if not np.all(np.isfinite(weight)) or np.any(weight < 0):
            raise ValueError("weights must be finite and at least 0.")
