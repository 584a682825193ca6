"""Value types: frozen dataclasses whose fields JAX sees."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, dataclass_transform

import jax

T = TypeVar("T")


def static(**how: Any) -> Any:
    """A field that shapes the program, and is no array; options as of :func:`dataclasses.field`."""
    return dataclasses.field(metadata={"static": True}, **how)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, static))
def pytree(kind: type[T]) -> type[T]:
    """A frozen dataclass that is a pytree of its fields, but for those that are :func:`static`.

    >>> @pytree
    ... class Pair:
    ...     first: int
    ...     name: str = static(default="pair")
    >>> jax.tree.leaves(Pair(1, "one"))
    [1]
    """
    return jax.tree_util.register_dataclass(dataclasses.dataclass(frozen=True)(kind))
