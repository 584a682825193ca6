"""A trial traced: the program of a batch of (cell, replicate) pairs, and what its metrics are."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from privrank_jax._types import Key
from privrank_jax._validate import is_real
from privrank_jax.simulate.axes import Outcome, flatten
from privrank_jax.simulate.study import Parameters, Study


def trace(
    key: Key,
    study: Study,
    index: int,
    columns: dict[str, jax.Array],
    generator: Callable[[jax.Array], jax.Array],
) -> tuple[Callable[..., Outcome], ClosedJaxpr, Outcome]:
    """Trace the trial of a study for the group of the cell ``index``, with the columns of :func:`traced_columns`.

    The trial draws from ``generator(key)`` what it would from the key. The result is the program of a batch (of key,
    columns, and the cells and replicates of :func:`pairs`), its jaxpr for one pair, and the metrics of one pair, arrays
    by their shapes. ``TypeError`` says which parameters must be static, ``ValueError`` what are no metrics.
    """
    try:
        program = _batched(key, study, index, columns, generator)
        traced = jax.make_jaxpr(program, return_shape=True)
        closed, shapes = traced(key, columns, *pairs(0, 1, 1, 1))
    except jax.errors.KeyReuseError:
        raise
    except (TypeError, IndexError) as error:  # what JAX raises for a shape, slice, loop or branch
        if needed := _needed_static(study, index, key, columns):
            static = (*study.static, *needed)
            raise TypeError(
                f"the trial of {study.name!r} needs {' and '.join(map(repr, needed))} as a Python value (for a shape "
                f"or an `if`), but it is traced: name it in `static`, as in Study(..., static={static!r})"
            ) from error
        error.add_note(
            f"The trial of {study.name!r} was called with (key, parameters): a PRNG key, and a dict of "
            f"{', '.join(study.cells[index]) or 'nothing'}."
        )
        raise
    for places, leaf in zip(shapes.places, shapes.values, strict=True):
        shape = (1,) if len(places) == 1 else (1, len(places))
        if isinstance(leaf, jax.ShapeDtypeStruct) and leaf.shape == shape and is_real(leaf):
            continue
        labels = [f"{axis} {at!r}" for axis, at in zip(study.axes, places[0]) if at is not None]
        found = jax.tree.map(lambda x: f"{x.dtype}{list(x.shape[1:])}", leaf)
        raise ValueError(
            f"the trial of {study.name!r} must return real scalars; {', '.join(labels)} of one replicate is {found}: "
            "make one number of it, as by .mean(), or name its entries with simulate.axes.labeled and their level in "
            "`axes`"
        )
    return program, closed, shapes


def traced_columns(study: Study, indices: list[int]) -> dict[str, jax.Array]:
    """The traced parameters as arrays over the cells of these indices; each has one type in the whole study."""
    columns = {}
    for name in study.cells[0]:
        if name in study.static:
            continue
        kinds = {type(cell[name]) for cell in study.cells}
        kind = next(kind for kind in (float, int, bool) if kind in kinds)
        dtype = jax.dtypes.canonicalize_dtype(np.dtype(kind))
        values = np.array([kind(study.cells[index][name]) for index in indices])
        if kind is int and np.any(values != values.astype(dtype)):
            raise ValueError(
                f"parameter {name!r} does not fit {dtype}: enable x64 or make it static"
            )
        columns[name] = jnp.asarray(values, dtype)
    return columns


def pairs(start: int, size: int, total: int, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells (int32) and replicates (uint32) of ``size`` pairs from ``start`` on; past the end the last one repeats."""
    flat = np.minimum(np.arange(start, start + size, dtype=np.int64), total - 1)
    return (flat // replicates).astype(np.int32), (flat % replicates).astype(np.uint32)


def _batched(
    key: Key,
    study: Study,
    index: int,
    columns: dict[str, jax.Array],
    generator: Callable[[jax.Array], jax.Array],
) -> Callable[..., Outcome]:
    """The program of a batch of cells like this one. The trial is traced here, once, whatever batches follow."""
    static = {name: study.cells[index][name] for name in study.static}

    def one(key: Key, traced: Parameters, replicate: jax.Array) -> Outcome:
        found = study.trial(jax.random.fold_in(key, replicate), {**traced, **static})
        try:
            return flatten(found, study.axes)
        except ValueError as error:
            raise ValueError(f"the trial of {study.name!r} {error}") from None

    drawn_from = jax.eval_shape(generator, key)
    first = {name: column[0] for name, column in columns.items()}
    closed, shapes = jax.make_jaxpr(one, return_shape=True)(drawn_from, first, np.uint32(0))
    replica, tree = jaxpr_as_fun(closed), jax.tree.structure(shapes)

    def program(
        key: Key, columns: dict[str, jax.Array], cell: jax.Array, replicate: jax.Array
    ) -> Outcome:
        key = generator(key)
        traced = {name: column[cell] for name, column in columns.items()}
        found = jax.vmap(lambda *pair: replica(*jax.tree.leaves((key, *pair))))(traced, replicate)
        return jax.tree.unflatten(tree, found)

    return program


def _needed_static(study: Study, index: int, key: Key, columns: dict[str, jax.Array]) -> list[str]:
    """Traced parameters whose Python values the trial needs; none if it fails for another reason."""
    cell = study.cells[index]

    def works(concrete: set[str]) -> bool:
        traced = {name: column[0] for name, column in columns.items() if name not in concrete}
        rest = {name: cell[name] for name in cell if name not in traced}
        try:
            jax.eval_shape(lambda key, traced: study.trial(key, {**traced, **rest}), key, traced)
        except Exception:
            return False
        return True

    needed = set(columns)
    if not works(needed):
        return []
    for name in columns:
        needed -= {name} if works(needed - {name}) else set()
    return sorted(needed)
