"""Definition of a study: a trial, the cells to run it in, and the axes of its metrics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from privrank_jax._types import Key
from privrank_jax._validate import check_callable
from privrank_jax._workarounds.xla import Optimized
from privrank_jax.simulate.axes import METRIC, Label, check_axes
from privrank_jax.simulate.result import RESERVED

Parameters = dict[str, Any]
"""The parameters of a cell by name: static ones as given, all others traced arrays."""
Metrics = Mapping[Any, Any]
"""``{metric: scalar}``, or nested mappings with a label for each axis."""
Trial = Callable[[Key, Parameters], Metrics]
"""One replicate."""


def grid(**axes: Label | Iterable[Label | None] | None) -> tuple[Parameters, ...]:
    """All combinations of the axes; concatenate grids with ``+`` for a study that is not a single product.

    Args:
        axes: values of each parameter; a scalar (or string) is an axis of one value.

    Returns:
        One dict per combination, the last axis varying fastest.

    >>> grid(epsilon=(0.5, 1.0), num_items=300)
    ({'epsilon': 0.5, 'num_items': 300}, {'epsilon': 1.0, 'num_items': 300})
    """
    values = [
        tuple(axis) if isinstance(axis, Iterable) and not isinstance(axis, str) else (axis,)
        for axis in axes.values()
    ]
    return tuple(dict(zip(axes, point, strict=True)) for point in itertools.product(*values))


@dataclass(frozen=True)
class Study:
    """A trial and the cells to run it in.

    >>> def trial(key, parameters):
    ...     return {"mean": {"error": 0.1, "squared_error": 0.01}, "median": {"error": 0.2}}
    >>> study = Study("averages", trial, grid(num_users=(10, 20)), axes=("estimator", "metric"))

    Attributes:
        name: the value of the column ``study``.
        trial: pure function ``(key, parameters) -> {metric: scalar}``, or nested dicts of scalars with a level for each
            of the ``axes``; ``parameters`` holds one cell, static names as the Python values given, all others as
            traced scalar arrays (floats in JAX's default float).
        cells: parameter values, the same names in every cell; see :func:`grid`.
        static: names whose values shape the program (padded size, link, method). Each distinct combination of their
            values is compiled once; everything else is traced.
        axes: the names of the levels of the trial's dicts, outermost first, ``"metric"`` among them: columns of the
            result. A value at a higher level, such as ``"failed"`` in ``{"mle": {"error": 0.1}, "failed": 0}``, has
            None in the columns below it; its last key is its metric.
        optimized: False compiles the programs without optimization where XLA can (on a CPU): for a study that runs for
            less than a tenth of the time it takes to compile. ``"some"`` takes two thirds of the time, and makes some
            programs slower: measure. A function of the static parameters says it for each program. Means may change by
            rounding.

    Raises:
        ValueError: no cells, cells with different names, a static name, axis or value that can't be one.
        TypeError: the trial does not take ``(key, parameters)``.
    """

    name: str
    trial: Trial
    cells: tuple[Parameters, ...]
    static: tuple[str, ...] = ()
    axes: tuple[str, ...] = (METRIC,)
    optimized: Optimized | Callable[[Parameters], Optimized] = True

    def __post_init__(self) -> None:
        check_callable(f"the trial of {self.name!r}", self.trial, "key", "parameters")
        if isinstance(self.cells, Mapping):
            raise ValueError(
                f"the cells of {self.name!r} must be dicts, one for each cell: write grid(...), or [{self.cells!r}]"
            )
        cells = tuple(dict(cell) for cell in self.cells)
        static = (self.static,) if isinstance(self.static, str) else tuple(self.static)
        if not cells:
            raise ValueError(f"study {self.name!r} has no cells: give one, {{}} if need be")
        names = set(cells[0])
        if odd := sorted(set().union(*(set(cell) ^ names for cell in cells))):
            raise ValueError(
                f"study {self.name!r}: every cell needs the same parameters; {odd} are in some cells only"
            )
        if unknown := sorted(set(static) - names):
            raise ValueError(
                f"study {self.name!r}: static {unknown} are not parameters; these are {sorted(names)}"
            )
        if taken := sorted(names & set(RESERVED)):
            raise ValueError(f"study {self.name!r}: {taken} are columns of the result; rename them")
        cells = tuple({n: _scalar(n, v, n in static) for n, v in c.items()} for c in cells)
        taken = [*names, *(column for column in RESERVED if column != METRIC)]
        checked = {"cells": cells, "static": static, "axes": check_axes(self.axes, taken)}
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def groups(self) -> list[list[int]]:
        """Indices of the cells that share their static values (1, 1.0 and True are different values)."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for index, cell in enumerate(self.cells):
            values = tuple((type(cell[name]), cell[name]) for name in self.static)
            groups.setdefault(values, []).append(index)
        return list(groups.values())


def _scalar(name: str, value: object, static: bool) -> Label | None:
    """Return ``value`` as a Python scalar."""
    if isinstance(value, np.generic | np.ndarray | jax.Array) and np.ndim(value) == 0:
        value = value.item()
    if isinstance(value, bool | int | float) or (static and isinstance(value, str | None)):
        return value
    advice = "; name it in `static`" if isinstance(value, str | None) else ""
    raise ValueError(f"parameter {name!r} must be a scalar, got {value!r}{advice}")
