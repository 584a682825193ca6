"""Host-side checks of arguments, which skip traced values: public functions stay jittable."""

from __future__ import annotations

import difflib
import inspect
import numbers
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import ArrayLike

from privrank_jax._arguments import ArgumentError, is_whole

Value = TypeVar("Value")


def is_traced(*values: object) -> bool:
    """Whether any leaf of ``values`` is a JAX tracer, whose content can't be inspected."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree_util.tree_leaves(values))


def type_of(value: object) -> Any:
    """The dtype of an array, traced or not, or of a shape; the class of anything else."""
    return getattr(value, "dtype", type(value))


def is_real(value: object) -> bool:
    """Whether ``value`` consists of real numbers or truth values of one type: an array, a shape, or one number."""
    return any(jnp.issubdtype(type_of(value), kind) for kind in (np.floating, np.integer, np.bool_))


def _holds(value: object, condition: Callable[[np.ndarray], Any]) -> bool:
    """Whether all of a concrete ``value`` are real numbers, not truth values, that satisfy the condition; NaN fails."""
    array = np.asarray(value)
    return is_real(array) and array.dtype != np.bool_ and bool(np.all(condition(array)))


def spelled(value: object) -> str:
    """What a value is, in an error message: ``float32[3]``, ``dict``."""
    kind = type_of(value)
    return f"{kind}{list(np.shape(value))}" if kind is not type(value) else kind.__name__  # type: ignore[arg-type]


def as_array(name: str, value: Any) -> jax.Array:
    """``value`` as a JAX array; ``ValueError`` for text, objects, rows of different lengths."""
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError):
        if is_traced(value) or hasattr(value, "__jax_array__"):  # which say themselves what to do
            raise
        raise _no_numbers(name, value) from None


def in_floats(name: str, value: Any) -> Any:
    """Numbers of a pytree of data as floats: integers and truth values in JAX's default float, halves in float32.

    Values other than arrays and lists of numbers pass as they are: an axis of :func:`jax.vmap`, a shape, ``None``.
    ``ValueError`` for complex numbers, text, objects, rows of different lengths.
    """
    leaves = jax.tree_util.tree_leaves(value) if isinstance(value, list) else []
    if leaves and all(isinstance(leaf, numbers.Number) for leaf in leaves):
        try:
            value = np.asarray(value)
        except ValueError:
            raise _no_numbers(name, value) from None
    if not isinstance(value, np.ndarray | jax.Array):
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise _no_numbers(name, value)
    if is_real(value):
        real = jnp.issubdtype(value.dtype, jnp.floating)
        held = jnp.promote_types(value.dtype, jnp.float32) if real else jnp.result_type(float)
        return value if held == value.dtype else value.astype(held)
    if jnp.issubdtype(value.dtype, jnp.complexfloating) or value.dtype.kind in "OUSMm":
        raise _no_numbers(name, value)
    return value


def shape_of(name: str, value: Any) -> tuple[int, ...]:
    """The shape of an array or of what makes one; ``ValueError`` for rows of different lengths."""
    try:
        return np.shape(value)
    except ValueError:
        raise _no_numbers(name, value) from None


def _no_numbers(name: str, value: object) -> ArgumentError:
    if isinstance(value, np.ma.MaskedArray):
        return ArgumentError(f"{name} are a masked array: fill its gaps by .filled(...).", name)
    told = value if value is None or isinstance(value, str) else spelled(value)
    return ArgumentError(
        f"{name} must be an array of real numbers with rows of one length, got {told}. Numbers of another type are "
        "converted by .astype(float).",
        name,
    )


def held_ranks(ranks: Any, name: str = "ranks", *, gaps: bool = False) -> Any:
    """Ranks as they are; NumPy's of 64 bits, where JAX would keep but the lower half of each, as int32.

    Args:
        ranks: an array, or a sequence of arrays, one for each user. ``ValueError`` if int32 does not hold them.
        name: of the argument.
        gaps: whether negative ranks say that an item is not ranked, whatever they are.
    """
    array: Any = ranks
    arrays = np.ndarray | np.generic
    if isinstance(ranks, list | tuple) and all(isinstance(x, arrays) for x in ranks):
        array = np.asarray(ranks)
    if not _halved_by_jax(array):
        return ranks
    bounds = np.iinfo(np.int32)
    ends = (array.min(), array.max()) if array.size else ()
    if gaps and ends and ends[0] < bounds.min:
        array, ends = np.maximum(array, -1), ends[1:]
    for end in ends:
        if not bounds.min <= end <= bounds.max:
            raise ArgumentError(f"{name} must fit 32 bits, got {end}: renumber them from 0.", name)
    return array.astype(np.int32)


def _halved_by_jax(array: Any) -> bool:
    """Whether an array holds integers of 64 bits where JAX has 32; masked ones it refuses anyway."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray) or not array.ndim:
        return False
    held = jax.dtypes.canonicalize_dtype(array.dtype) if array.dtype.kind in "iu" else array.dtype
    return held.itemsize < array.dtype.itemsize


def as_ranks(ranks: Any, name: str = "ranks", *, gaps: bool = False) -> jax.Array:
    """:func:`held_ranks` as a JAX array."""
    return as_array(name, held_ranks(ranks, name, gaps=gaps))


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
    if not _holds(value, lambda x: x > 0):
        raise ArgumentError(f"{name} must be positive, got {value!r}.", name)
    if not infinite and not np.all(np.isfinite(np.asarray(value))):
        raise ArgumentError(f"{name} must be finite, got {value!r}.", name)


def check_nonnegative(name: str, value: object) -> None:
    """Raise ``ValueError`` unless every entry of ``value`` is a finite number >= 0."""
    if not is_traced(value) and not _holds(value, lambda x: np.isfinite(x) & (x >= 0)):
        raise ArgumentError(f"{name} must be finite and at least 0, got {value!r}.", name)


def check_users(num_users: object) -> None:
    """Raise ``ValueError`` unless every entry is a finite number of users, at least 1."""
    check_positive("num_users", num_users, infinite=False)
    if not is_traced(num_users) and not np.all(np.asarray(num_users) >= 1):
        raise ArgumentError(f"num_users must be at least 1, got {num_users!r}.", "num_users")


def check_epsilon(
    epsilon: Value, *, instead: str = "the non-private estimator if no privacy is wanted"
) -> Value:
    """ε itself; a traced one with NaN where it is not above 0, so that nothing computed from it looks like a result.

    Args:
        epsilon: any shape; ∞ means no noise. ``ValueError`` unless all of a concrete one is above 0.
        instead: what to use where no privacy is wanted, for the message.
    """
    if is_traced(epsilon):
        return jnp.where(epsilon > 0, epsilon, jnp.nan)  # type: ignore[operator,return-value]
    if not _holds(epsilon, lambda x: x > 0):
        raise ArgumentError(
            f"epsilon must be positive, got {epsilon!r}. Use a value such as 1.0, or {instead}.",
            "epsilon",
        )
    return epsilon


def check_delta(delta: Value, *, positive: bool = False) -> Value:
    """δ itself, in [0, 1), or (0, 1) with ``positive``, else ``ValueError``; a traced one with NaN out of range."""
    if is_traced(delta):
        low = delta > 0 if positive else delta >= 0  # type: ignore[operator]
        return jnp.where(low & (delta < 1), delta, jnp.nan)  # type: ignore[operator,return-value]
    array = np.asarray(delta)
    low = array > 0 if positive else array >= 0
    if not np.all(low & (array < 1)):
        wanted = "between 0 and 1, both excluded" if positive else "at least 0 and below 1"
        raise ArgumentError(
            f"delta must be {wanted}, got {delta!r}. A common choice is 1/n**2.", "delta"
        )
    return delta


def check_level(level: object) -> None:
    """Raise ``ValueError`` unless every entry of a confidence ``level`` lies in (0, 1)."""
    if not is_traced(level) and not _holds(level, lambda x: (x > 0) & (x < 1)):
        raise ArgumentError(
            f"level must lie between 0 and 1, got {level!r}; 0.95 is usual.", "level"
        )


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``choices``."""
    if value not in choices:
        near = difflib.get_close_matches(str(value), list(map(str, choices)), 1, 0.7)
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        raise ArgumentError(
            f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}{meant}.", name
        )


def check_whole(name: str, value: object, least: int = 1, most: int | None = None) -> None:
    """Raise ``ValueError`` unless ``value`` is one whole number, not traced, from ``least`` to ``most``."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        span = f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"
        raise ArgumentError(f"{name} must be a whole number {span}, got {value!r}.", name)


def check_no_padding(data: object, refusal: str) -> None:
    """Raise ``ValueError``, which begins with ``refusal``, if concrete ``data`` have a mask of padded items."""
    mask = getattr(data, "mask", None)
    if mask is not None and not np.all(np.asarray(mask)):
        raise ValueError(f"{refusal}: leave padded items out of the data.")


def check_shape(name: str, value: Any, *shapes: tuple[int | str, ...]) -> None:
    """Raise ``ValueError`` unless ``value`` has one of these shapes, in which a letter stands for any number."""
    given = shape_of(name, value)
    for shape in shapes:
        fits = (isinstance(m, str) or n == m for n, m in zip(given, shape))
        if len(shape) == len(given) and all(fits):
            return
    words = (f"have shape {shape}" if shape else "be one number" for shape in shapes)
    wanted = " or ".join(words).replace("'", "")
    batch = ": use jax.vmap for a batch" if len(given) > max(map(len, shapes)) else ""
    raise ArgumentError(f"{name} must {wanted}, got shape {given}{batch}.", name)


def check_matrix(name: str, matrix: Any) -> None:
    """Raise ``ValueError`` unless a matrix is that of one problem, ``(m, m)``."""
    check_square(name, matrix)
    if np.ndim(matrix) != 2:
        raise ArgumentError(
            f"{name} must have shape (m, m), for one problem, got {np.shape(matrix)}: use jax.vmap, or a loop.",
            name,
        )


def check_square(name: str, matrix: ArrayLike | Sequence[Sequence[float]]) -> None:
    """Raise ``ValueError`` unless the last two axes of ``matrix`` are equal and at least 1."""
    shape = shape_of(name, matrix)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ArgumentError(f"{name} must be a square (m, m) matrix, got shape {shape}.", name)
    if shape[-1] < 1:
        raise ArgumentError(f"{name} has no items; at least one is needed.", name)
