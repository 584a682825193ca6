"""Properties of value types: of a batch, what each of its problems gives by itself."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

Value = TypeVar("Value")
Derived = TypeVar("Derived")

_OF_BATCH = re.compile(r"""\*batch\s*([^'"]*)""")


def of_each_problem(derive: Callable[[Value], Derived]) -> Callable[[Value], Derived]:
    """What ``derive`` finds for one problem; for a batch, as :func:`jax.vmap` makes it, that of each of its problems.

    The value is of a registered dataclass, whose fields say their axes: ``Float[Array, "*batch items"]``.

    >>> @jax.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Sums:
    ...     parts: 'Float[Array, "*batch parts"]'
    ...     total = property(of_each_problem(lambda self: self.parts[0] + self.parts[1]))
    >>> Sums(np.array([[1, 2], [3, 4], [5, 6]])).total.tolist()
    [3, 7, 11]
    """

    @functools.wraps(derive)
    def derived(value: Value) -> Derived:
        found: Callable[[Value], Derived] = derive
        for _ in range(_batch_axes(value)):
            found = jax.vmap(found)
        return found(value)

    return derived


def _batch_axes(value: Any) -> int:
    """The number of batch axes: those of the first field with a value, less the axes of one problem."""
    for name, axes in _own_axes(type(value)):
        field = getattr(value, name)
        if field is not None:
            return np.ndim(field) - axes
    raise TypeError(f"no field of {type(value).__name__} says its axes.")


@functools.cache
def _own_axes(kind: type) -> tuple[tuple[str, int], ...]:
    """Fields that may have a batch in front, and how many axes those of one problem have."""
    said = ((field.name, _OF_BATCH.search(str(field.type))) for field in dataclasses.fields(kind))
    return tuple((name, len(axes[1].split())) for name, axes in said if axes)
