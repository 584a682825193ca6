"""Host-side checks of arguments: they skip traced values, so that public functions stay jittable.

They raise :class:`~privrank_jax._arguments.ArgumentError`, a ``ValueError`` that carries the argument's name;
:func:`check_callable` raises a ``TypeError``.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import ArrayLike

from privrank_jax._arguments import ArgumentError


def is_traced(*values: object) -> bool:
    """Whether any leaf of ``values`` is a JAX tracer, whose content can't be inspected."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree_util.tree_leaves(values))


def type_of(value: object) -> Any:
    """The dtype of an array, traced or not, or of a shape; the class of anything else."""
    return getattr(value, "dtype", type(value))


def is_real(value: object) -> bool:
    """Whether ``value`` consists of real numbers or truth values of one type: an array, a shape, or one number."""
    return any(jnp.issubdtype(type_of(value), kind) for kind in (np.floating, np.integer, np.bool_))


def is_numeric(array: object) -> bool:
    """Whether an array consists of real numbers, not truth values; those of JAX's own types, as bfloat16, are some."""
    return is_real(array) and type_of(array) != np.bool_


def spelled(value: object) -> str:
    """What a value is, in an error message: ``float32[3]``, ``dict``."""
    kind = type_of(value)
    return f"{kind}{list(np.shape(value))}" if kind is not type(value) else kind.__name__  # type: ignore[arg-type]


_AT_ONCE = 2**16  # numbers that a cache holds


def held_ranks(ranks: Any, name: str = "ranks") -> Any:
    """Ranks as they are; NumPy's of more bits as int32, as JAX would keep but the lower bits of them.

    Raises:
        ValueError: they are too large for int32, whose largest number stands for a gap.
    """
    wide = isinstance(ranks, np.ndarray) and ranks.dtype.kind in "iu" and ranks.ndim
    if not wide or np.can_cast(ranks.dtype, np.int32):
        return ranks
    held, most = np.empty(ranks.shape, np.int32), int(np.iinfo(np.int32).max)
    rows = max(1, _AT_ONCE // max(1, ranks[:1].size))
    for start in range(0, len(ranks) if ranks.size else 0, rows):
        part = ranks[start : start + rows]
        low, high = int(part.min()), int(part.max())
        if high >= most:
            raise ArgumentError(
                f"{name} must be below 2**31 - 1, got {high}: renumber them from 0.", name
            )
        if low < -most:
            raise ArgumentError(
                f"{name} must be above -2**31, got {low}: -1 says that an item is not ranked.",
                name,
            )
        held[start : start + rows] = part
    return held


def as_ranks(ranks: Any, name: str = "ranks") -> jax.Array:
    """:func:`held_ranks` as a JAX array."""
    return jnp.asarray(held_ranks(ranks, name))


def check_callable(what: str, function: object, *arguments: str) -> None:
    """Raise ``TypeError`` unless ``function`` can be called with these arguments by position."""
    needed = f"{what} must be a function of ({', '.join(arguments)}), in this order"
    if not callable(function):
        raise TypeError(f"{needed}; got {function!r}.")
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # of a built-in function, which does not tell
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise TypeError(f"{needed}; this one takes {signature}: {error}.") from None


def check_positive(name: str, value: object, *, infinite: bool = True) -> None:
    """Raise ``ValueError`` unless every entry of ``value`` is > 0 (and finite unless ``infinite``)."""
    if is_traced(value):
        return
    array = np.asarray(value)
    if not is_numeric(array):
        raise ArgumentError(f"{name} must be a positive number, got {value!r}.", name)
    if not np.all(array > 0):  # also catches NaN
        raise ArgumentError(f"{name} must be positive, got {value!r}.", name)
    if not infinite and not np.all(np.isfinite(array)):
        raise ArgumentError(f"{name} must be finite, got {value!r}.", name)


def check_nonnegative(name: str, value: object) -> None:
    """Raise ``ValueError`` unless every entry of ``value`` is a finite number >= 0."""
    if is_traced(value):
        return
    array = np.asarray(value)
    if not is_numeric(array) or not np.all(np.isfinite(array) & (array >= 0)):
        raise ArgumentError(f"{name} must be finite and at least 0, got {value!r}.", name)


def check_users(num_users: object) -> None:
    """Raise ``ValueError`` unless every entry is a finite number of users, at least 1."""
    check_positive("num_users", num_users, infinite=False)
    if not is_traced(num_users) and not np.all(np.asarray(num_users) >= 1):
        raise ArgumentError(f"num_users must be at least 1, got {num_users!r}.", "num_users")


def check_epsilon(
    epsilon: object, *, instead: str = "the non-private estimator if no privacy is wanted"
) -> None:
    """Raise ``ValueError`` unless ε > 0; ε = ∞ means no noise. ``instead`` is what to use where there is none."""
    if is_traced(epsilon):
        return
    array = np.asarray(epsilon)
    if not is_numeric(array) or not np.all(array > 0):
        raise ArgumentError(
            f"epsilon must be positive, got {epsilon!r}. Use a value such as 1.0, or {instead}.",
            "epsilon",
        )


def check_delta(delta: object, *, positive: bool = False) -> None:
    """Raise ``ValueError`` unless 0 <= δ < 1 (0 < δ < 1 with ``positive``)."""
    if is_traced(delta):
        return
    array = np.asarray(delta)
    low = array > 0 if positive else array >= 0
    if not np.all(low & (array < 1)):
        wanted = "between 0 and 1, both excluded" if positive else "at least 0 and below 1"
        raise ArgumentError(
            f"delta must be {wanted}, got {delta!r}. A common choice is 1/n**2.", "delta"
        )


def check_level(level: object) -> None:
    """Raise ``ValueError`` unless every entry of a confidence ``level`` lies in (0, 1)."""
    if is_traced(level):
        return
    array = np.asarray(level)
    if not is_numeric(array) or not np.all((array > 0) & (array < 1)):
        raise ArgumentError(
            f"level must lie between 0 and 1, got {level!r}; 0.95 is usual.", "level"
        )


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ArgumentError(
            f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.", name
        )


def check_square(name: str, matrix: ArrayLike | Sequence[Sequence[float]]) -> None:
    """Raise ``ValueError`` unless the last two axes of ``matrix`` are equal and at least 1."""
    shape = np.shape(matrix)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ArgumentError(f"{name} must be a square (m, m) matrix, got shape {shape}.", name)
    if shape[-1] < 1:
        raise ArgumentError(f"{name} has no items; at least one is needed.", name)
