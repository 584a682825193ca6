"""The Monte Carlo engine: one batched program for all replicates of all cells of a study.

A *trial* is a pure function ``(key, parameters) -> metrics`` of one replicate. A *study* is a trial
and a grid of *cells* (parameter values). Cells with the same static values run as one compiled
program over a flat batch of (cell, replicate) pairs, in as many equal batches as memory asks for.

Replicate ``r`` uses the key ``fold_in(key, r)`` in every cell: **common random numbers**. Cells see
the same noise, so a difference between two cells is usually known better than their separate
standard errors say (never pool them as if independent; return the difference as a metric of one
trial to get its own standard error). The same key gives the same table whatever the batch size: bit
for bit for what is sampled and counted, to rounding for what XLA or LAPACK may reassociate when
the batch changes (1e-12 for solved estimates in float64).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._linalg import one_blas_thread
from privrank_jax.simulate.memory import peak_bytes
from privrank_jax.simulate.result import RESERVED, Moments, Row, StudyResult

Trial = Callable[[jax.Array, dict[str, Any]], Mapping[str, Any]]

MAX_BATCH = 16_384  # when memory would allow more: batched loops wait for their slowest replicate
CPU_WORKING_SET = 1 << 24  # bytes that a default batch aims at on a CPU: larger ones miss the cache
HEADROOM = 2  # the estimate assumes program order; XLA on a CPU schedules for concurrency instead
DEFAULT_MEMORY_LIMIT = 1 << 30


def grid(**axes: Any) -> tuple[dict[str, Any], ...]:
    """All combinations of the axes; a scalar (or string) is an axis of one value.

    Concatenate grids with ``+`` for a study that is not one product.

    >>> grid(epsilon=(0.5, 1.0), num_items=300)
    ({'epsilon': 0.5, 'num_items': 300}, {'epsilon': 1.0, 'num_items': 300})
    """
    values = [
        (axis,) if isinstance(axis, str) or not hasattr(axis, "__iter__") else tuple(axis)
        for axis in axes.values()
    ]
    return tuple(dict(zip(axes, point, strict=True)) for point in itertools.product(*values))


@dataclass(frozen=True)
class Study:
    """A trial and the cells to run it in.

    Attributes:
        name: the value of the column ``study``.
        trial: pure function ``(key, parameters) -> {metric: scalar}``; ``parameters`` holds one
            cell, static names as the Python values given, all others as traced scalar arrays
            (floats in JAX's default float type, so float64 where x64 is on).
        cells: parameter values, the same names in every cell; see :func:`grid`.
        static: names whose values shape the program (padded size, link, method). Each distinct
            combination of their values compiles once; everything else is traced.

    Raises:
        ValueError: no cells, cells with different names, an unknown static name, a name that is a
            column of the result, or a value that is not a scalar.
    """

    name: str
    trial: Trial
    cells: tuple[dict[str, Any], ...]
    static: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        cells = tuple(dict(cell) for cell in self.cells)
        static = (self.static,) if isinstance(self.static, str) else tuple(self.static)
        if not cells:
            raise ValueError(
                f"study {self.name!r} has no cells: give at least one, {{}} if need be"
            )
        names = set(cells[0])
        for cell in cells:
            if set(cell) != names:
                raise ValueError(
                    f"study {self.name!r}: every cell needs the same parameters; "
                    f"{sorted(set(cell) ^ names)} are in some cells only"
                )
        if unknown := sorted(set(static) - names):
            raise ValueError(
                f"study {self.name!r}: static {unknown} are not parameters of its cells; "
                f"these are {sorted(names)}"
            )
        if taken := sorted(names & set(RESERVED)):
            raise ValueError(f"study {self.name!r}: {taken} are columns of the result; rename them")
        cells = tuple({n: _scalar(n, v, n in static) for n, v in c.items()} for c in cells)
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "static", static)


def fixed(values: Any) -> jax.Array:
    """Values that are the same in every replicate, for a trial: behind a barrier, else XLA computes with them for
    seconds as it compiles."""
    return jax.lax.optimization_barrier(jnp.asarray(values))


def run(
    key: jax.Array,
    study: Study,
    replicates: int,
    *,
    batch_size: int | None = None,
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
    progress: bool = False,
) -> StudyResult:
    """Run every cell of a study ``replicates`` times and tabulate the metrics.

    Device memory stays under ``memory_limit`` for any number of replicates: the batch is chosen by
    :func:`~privrank_jax.simulate.memory.peak_bytes` with room to spare, then held against XLA's
    own buffer assignment (a program that needs more than the limit is compiled again with a smaller
    batch). The host keeps running moments of one cell at a time (8 KiB per metric) and one batch of
    metrics.

    Args:
        key: one threefry key, JAX's default. (Other generators draw differently under ``vmap``, so
            the table would depend on the batch size.)
        study: what to run.
        replicates: replicates of each cell, below 2³².
        batch_size: at most this many (cell, replicate) pairs at once; by default as many as the
            memory limit allows, up to ``MAX_BATCH`` and, on a CPU, ``CPU_WORKING_SET`` bytes.
            Shortened to make batches equally full.
        memory_limit: bytes of device memory for arguments, intermediate values and results.
        progress: show a progress bar (rich).

    Returns:
        The tidy table and the diagnostics, see :class:`StudyResult`. Rows follow the order of the
        cells; within a cell metrics are in alphabetical order.

    Raises:
        ValueError: replicates, batch size or memory limit out of range, a key that is not one
            threefry key, a trial that does not return a dict of real scalars, or one replicate that
            needs more than the memory limit.
    """
    _check_run(key, replicates, batch_size, memory_limit)
    rows: dict[int, list[Row]] = {}
    reports = []
    bar = _progress_bar(study.name, len(study.cells) * replicates, progress)
    with bar as advance, one_blas_thread():
        for indices in _groups(study):
            program = _compile(key, study, indices, replicates, batch_size, memory_limit)
            started = time.perf_counter()
            for position, moments in _execute(program, key, replicates, advance):
                cell = indices[position]
                head = {"study": study.name, **study.cells[cell]}
                rows[cell] = list(moments.rows(head, program.metrics))
            seconds = time.perf_counter() - started
            reports.append({**program.report, "run_seconds": seconds})
    table = [row for cell in range(len(study.cells)) for row in rows[cell]]
    return StudyResult(study.name, table, _diagnostics(reports, memory_limit))


@dataclass(frozen=True)
class _Program:
    """A compiled batch of one group of cells that share their static values."""

    call: Callable[..., Mapping[str, jax.Array]]
    columns: dict[str, jax.Array]
    num_cells: int
    metrics: list[str]
    batch_size: int
    report: dict[str, Any]


def _compile(
    key: jax.Array,
    study: Study,
    indices: list[int],
    replicates: int,
    batch_size: int | None,
    memory_limit: int,
) -> _Program:
    started = time.perf_counter()
    columns = _traced_columns(study, indices)
    static = {name: study.cells[indices[0]][name] for name in study.static}
    program = _batched(study.trial, static)
    closed, shapes = _trace(program, study, key, columns)
    fixed = sum(column.nbytes for column in columns.values())
    estimate = peak_bytes(closed) - fixed
    total = len(indices) * replicates
    fitting = (memory_limit - fixed) // (HEADROOM * max(estimate, 1))
    if batch_size is None:
        roomy = jax.default_backend() != "cpu"
        batch_size = MAX_BATCH if roomy else min(MAX_BATCH, CPU_WORKING_SET // max(estimate, 1))
    size = max(1, min(total, fitting, batch_size))
    compilations = 0
    while True:
        size = -(-total // -(-total // size))  # as many batches, equally full
        compiled = (
            jax.jit(program).lower(key, columns, *_pairs(0, size, total, replicates)).compile()
        )
        compilations += 1
        measured = _compiled_bytes(compiled)
        needed = fixed + size * estimate if measured is None else measured
        if needed <= memory_limit:
            break
        if size == 1:
            raise ValueError(
                f"one replicate of {study.name!r} needs about {needed:,} bytes, more than "
                f"memory_limit={memory_limit:,}: raise the limit, or make the problem smaller"
            )
        size = max(1, min(size // 2, int(0.9 * size * memory_limit / needed)))
    report = {
        **static,
        "cells": len(indices),
        "compilations": compilations,
        "batch_size": size,
        "batches": -(-total // size),
        "bytes_per_replicate": estimate,
        "estimated_peak_bytes": fixed + size * estimate,
        "compiled_peak_bytes": measured,
        "compile_seconds": time.perf_counter() - started,
    }
    return _Program(compiled, columns, len(indices), sorted(shapes), size, report)


def _batched(trial: Trial, static: dict[str, Any]) -> Callable[..., Any]:
    def one(key: jax.Array, traced: dict[str, jax.Array], replicate: jax.Array) -> Any:
        return trial(jax.random.fold_in(key, replicate), {**traced, **static})

    def program(
        key: jax.Array, columns: dict[str, jax.Array], cell: jax.Array, replicate: jax.Array
    ) -> Any:
        traced = {name: column[cell] for name, column in columns.items()}
        return jax.vmap(one, in_axes=(None, 0, 0))(key, traced, replicate)

    return program


def _execute(
    program: _Program, key: jax.Array, replicates: int, advance: Callable[[int], None]
) -> Iterator[tuple[int, Moments]]:
    """Run all batches, cell after cell; yield each cell's moments when its last replicate is in."""
    total = program.num_cells * replicates
    moments = Moments(len(program.metrics))
    position = 0
    for start in range(0, total, program.batch_size):
        cell, replicate = _pairs(start, program.batch_size, total, replicates)
        metrics = jax.device_get(program.call(key, program.columns, cell, replicate))
        real = min(program.batch_size, total - start)
        values = np.stack([np.asarray(metrics[name], float)[:real] for name in program.metrics])
        while values.shape[1]:
            take = replicates - moments.count
            moments.add(values[:, :take])
            values = values[:, take:]
            if moments.count == replicates:
                yield position, moments
                moments, position = Moments(len(program.metrics)), position + 1
        advance(real)


def _pairs(start: int, size: int, total: int, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells and replicates of one batch, cell by cell; past the end the last pair, discarded."""
    flat = np.minimum(np.arange(start, start + size, dtype=np.int64), total - 1)
    return (flat // replicates).astype(np.int32), (flat % replicates).astype(np.uint32)


def _groups(study: Study) -> list[list[int]]:
    """Indices of the cells that share their static values (1, 1.0 and True are not the same)."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, cell in enumerate(study.cells):
        values = tuple((type(cell[name]), cell[name]) for name in study.static)
        groups.setdefault(values, []).append(index)
    return list(groups.values())


def _traced_columns(study: Study, indices: list[int]) -> dict[str, jax.Array]:
    """The traced parameters as arrays over the group; one type per parameter in the whole study."""
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


def _trace(
    program: Callable[..., Any], study: Study, key: jax.Array, columns: dict[str, jax.Array]
) -> tuple[Any, dict[str, Any]]:
    """Trace one replicate: its jaxpr for the memory estimate, its metrics checked."""
    try:
        closed, shapes = jax.make_jaxpr(program, return_shape=True)(
            key, columns, *_pairs(0, 1, 1, 1)
        )
    except (jax.errors.ConcretizationTypeError, TypeError) as error:
        if "concrete" in str(error) or "racer" in str(error):
            error.add_note(
                f"Study {study.name!r}: parameters {sorted(columns)} are traced; name those that "
                "shape the program in `static`."
            )
        raise
    if not isinstance(shapes, dict) or not shapes:
        raise ValueError(f"the trial of {study.name!r} must return a dict of metrics with an entry")
    for metric, leaf in shapes.items():
        if isinstance(leaf, jax.ShapeDtypeStruct) and leaf.shape == (1,):
            number = jnp.issubdtype(leaf.dtype, np.floating) or jnp.issubdtype(
                leaf.dtype, np.integer
            )
            if isinstance(metric, str) and (number or leaf.dtype == bool):
                continue
        raise ValueError(
            f"the trial of {study.name!r} must return real scalars under string names; metric "
            f"{metric!r} of one replicate is {jax.tree.map(_describe, leaf)}"
        )
    return closed, shapes


def _describe(leaf: Any) -> str:
    return f"{leaf.dtype}{list(leaf.shape[1:])}"


def _compiled_bytes(compiled: Any) -> int | None:
    """What XLA has assigned to the program, where the backend tells."""
    try:
        stats = compiled.memory_analysis()
        parts = (
            stats.temp_size_in_bytes,
            stats.argument_size_in_bytes,
            stats.output_size_in_bytes,
        )
    except (AttributeError, NotImplementedError, jax.errors.JaxRuntimeError):
        return None
    return int(sum(parts))


def _diagnostics(reports: list[dict[str, Any]], memory_limit: int) -> dict[str, Any]:
    measured = [report["compiled_peak_bytes"] for report in reports]
    return {
        "compilations": sum(report["compilations"] for report in reports),
        "batch_sizes": tuple(report["batch_size"] for report in reports),
        "estimated_peak_bytes": max(report["estimated_peak_bytes"] for report in reports),
        "compiled_peak_bytes": None if None in measured else max(measured),
        "memory_limit": memory_limit,
        "compile_seconds": sum(report["compile_seconds"] for report in reports),
        "run_seconds": sum(report["run_seconds"] for report in reports),
        "programs": reports,
    }


def _scalar(name: str, value: Any, static: bool) -> Any:
    """``value`` as the Python scalar that it is."""
    if isinstance(value, np.generic | np.ndarray | jax.Array) and np.ndim(value) == 0:
        value = value.item()
    allowed = bool | int | float | str | None if static else bool | int | float
    if not isinstance(value, allowed):
        advice = "" if static or not isinstance(value, str | None) else "; name it in `static`"
        raise ValueError(f"parameter {name!r} must be a scalar, got {value!r}{advice}")
    return value


def _check_run(key: jax.Array, replicates: int, batch_size: int | None, memory_limit: int) -> None:
    if not 1 <= replicates < 2**32:
        raise ValueError(f"replicates must be between 1 and 2**32 - 1, got {replicates}")
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"batch_size must be at least 1 (None chooses it), got {batch_size}")
    if memory_limit < 1:
        raise ValueError(f"memory_limit is a number of bytes, at least 1, got {memory_limit}")
    typed = isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    if not typed or key.shape != () or str(jax.random.key_impl(key)) != "threefry2x32":
        raise ValueError("key must be one threefry key: pass jax.random.key(seed)")


@contextmanager
def _progress_bar(name: str, total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """The function that advances the bar (rich), or one that does nothing."""
    if not shown:
        yield lambda count: None
        return
    from rich.progress import MofNCompleteColumn, Progress

    with Progress(*Progress.get_default_columns(), MofNCompleteColumn()) as bar:
        task = bar.add_task(name, total=total)
        yield lambda count: bar.advance(task, count)
