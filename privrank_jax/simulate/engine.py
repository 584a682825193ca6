"""The Monte Carlo engine: one batched program for all replicates of all cells of a study.

A *trial* is a pure function ``(key, parameters) -> metrics`` of one replicate. A *study* is a trial
and a grid of *cells* (parameter values). Cells with the same static values run as one compiled
program over a flat batch of (cell, replicate) pairs, in as many equal batches as memory asks for,
each cut in equal parts over all devices.

Replicate ``r`` uses the key ``fold_in(key, r)`` in every cell: **common random numbers**. Cells see
the same noise, so a difference between two cells is usually known better than their separate
standard errors say (never pool them as if independent; return the difference as a metric of one
trial to get its own standard error). The same key gives the same table whatever the batch size and
however many devices and processes share it: bit for bit for what is sampled and counted, to rounding
for what XLA or LAPACK may reassociate when the batch changes (1e-12 for solved estimates in float64).
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._workarounds.linalg import one_blas_thread
from privrank_jax.simulate.checkpoint import Checkpoint, Checkpoints
from privrank_jax.simulate.devices import Devices, is_first
from privrank_jax.simulate.moments import Moments
from privrank_jax.simulate.program import Program
from privrank_jax.simulate.result import RESERVED, Row, StudyResult

Trial = Callable[[jax.Array, dict[str, Any]], Mapping[str, Any]]

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
    devices: Sequence[Any] | None = None,
    checkpoints: Checkpoints | str | os.PathLike[str] | None = None,
    notice: Callable[[str], None] | None = None,
    progress: bool = False,
) -> StudyResult:
    """Run every cell of a study ``replicates`` times and tabulate the metrics.

    Device memory stays under ``memory_limit`` for any number of replicates: the batch is chosen by
    :func:`~privrank_jax.simulate.memory.peak_bytes` with room to spare, then held against XLA's
    own buffer assignment (a program that needs more than the limit is compiled again with a smaller
    batch). Where the device itself runs out of memory the batch is halved, and the run goes on. The
    host keeps running moments (24 bytes per cell and metric, 8 KiB per metric) and one batch of
    metrics.

    After ``jax.distributed.initialize`` every process makes the same call, does its part, and
    returns the same result.

    Args:
        key: one threefry key, JAX's default. (Other generators draw differently under ``vmap``, so
            the table would depend on the batch size.)
        study: what to run.
        replicates: replicates of each cell, below 2³².
        batch_size: at most this many (cell, replicate) pairs at once on each device; by default as
            many as the memory limit allows, up to ``MAX_BATCH`` and, on a CPU, ``CPU_WORKING_SET``
            bytes. Shortened to make batches equally full.
        memory_limit: bytes of memory of each device for arguments, intermediate values and results.
        devices: JAX devices that share each batch in equal parts; by default all of all processes, or the one
            that ``jax.default_device`` names.
            On several CPU devices a trial must not call LAPACK on batches of large matrices (beyond 2·10⁵
            operations in all): jaxlib lets each device wait for threads of one pool, and they may wait for ever.
            The functions of this library keep clear of it.
        checkpoints: folder for unfinished results, see :class:`~.checkpoint.Checkpoints`. A run
            that was killed goes on from there and gives the table that it would have given. What is
            in it stays when the study is done: the same call again then computes nothing.
        notice: told, in words, what is worth knowing on the way: where the run resumed, and when
            memory ran out.
        progress: show a progress bar (rich).

    Returns:
        The tidy table and the diagnostics, see :class:`StudyResult`. Rows follow the order of the
        cells; within a cell metrics are in alphabetical order.

    Raises:
        ValueError: replicates, batch size, memory limit or devices out of range, a key that is not
            one threefry key, a trial that does not return a dict of real scalars, or one replicate
            that needs more than the memory limit, or than the device has.
        OSError: a checkpoint can't be written.
    """
    engine = Engine(key, batch_size, memory_limit, devices, checkpoints, notice, progress)
    return engine.run([study], replicates)[0]


class Engine:
    """What :func:`run` is asked for besides the studies; several run one after another, each compiled ahead."""

    def __init__(
        self,
        key: jax.Array,
        batch_size: int | None = None,
        memory_limit: int = DEFAULT_MEMORY_LIMIT,
        devices: Sequence[Any] | None = None,
        checkpoints: Checkpoints | str | os.PathLike[str] | None = None,
        notice: Callable[[str], None] | None = None,
        progress: bool = False,
    ):
        _check(key, batch_size, memory_limit)
        if checkpoints is not None and not isinstance(checkpoints, Checkpoints):
            checkpoints = Checkpoints(checkpoints)
        self._key, self._batch_size, self._memory_limit = key, batch_size, memory_limit
        self._devices, self._checkpoints = Devices(devices), checkpoints
        self._notice, self._shown = notice or _nobody, progress and is_first()

    def run(self, studies: Sequence[Study], replicates: int) -> list[StudyResult]:
        """The result of every study.

        While a program runs, the next ones are compiled by another thread. Of several processes all
        compile the same at the same time, as a compiler of theirs may talk to the others.
        """
        if not 1 <= replicates < 2**32:
            raise ValueError(f"replicates must be between 1 and 2**32 - 1, got {replicates}")
        ahead = ThreadPoolExecutor(1, "privrank-compile") if jax.process_count() == 1 else None
        try:
            prepared = [
                [self._job(study, indices, replicates, ahead) for indices in _groups(study)]
                for study in studies
            ]
            pairs = zip(studies, prepared, strict=True)
            return [self._finish(study, jobs, replicates) for study, jobs in pairs]
        finally:
            if ahead is not None:
                ahead.shutdown(wait=False, cancel_futures=True)

    def _job(
        self, study: Study, indices: list[int], replicates: int, ahead: Executor | None
    ) -> _Job:
        program = Program(
            *(self._key, study, indices, replicates),
            *(self._devices, self._batch_size, self._memory_limit),
        )
        moments = Moments(program.num_cells, len(program.metrics), replicates)
        kept = None if self._checkpoints is None else self._checkpoints.open(program, moments)
        if ahead is not None and moments.position < program.total:
            program.compile_ahead(ahead)
        return _Job(indices, program, moments, kept)

    def _finish(self, study: Study, jobs: list[_Job], replicates: int) -> StudyResult:
        rows: dict[int, list[Row]] = {}
        reports = []
        bar = _progress_bar(study.name, len(study.cells) * replicates, self._shown)
        with bar as advance, one_blas_thread():
            for job in jobs:
                program = job.program
                started = time.perf_counter() - program.compile_seconds
                job.run(self._notice, advance)
                seconds = time.perf_counter() - program.compile_seconds - started
                for position, cell in enumerate(job.indices):
                    head = {"study": study.name, **study.cells[cell]}
                    rows[cell] = list(job.moments.rows(position, head, program.metrics))
                reports.append({**program.report(), "run_seconds": seconds})
        table = [row for cell in range(len(study.cells)) for row in rows[cell]]
        return StudyResult(study.name, table, _diagnostics(reports, self._memory_limit))


@dataclass
class _Job:
    """A program and what it has found so far."""

    indices: list[int]
    program: Program
    moments: Moments
    kept: Checkpoint | None

    def run(self, notice: Callable[[str], None], advance: Callable[[int], None]) -> None:
        """Run what is missing, batch after batch."""
        program, moments = self.program, self.moments
        if moments.position:
            at, total = f"{moments.position:,}", f"{program.total:,}"
            notice(f"{program.name}: resumed {at} of {total} replicates")
            advance(moments.position)
        if moments.position == program.total:
            return
        program.compile(notice)
        while moments.position < program.total:
            values = program.batch(moments.position, notice)
            moments.add(values)
            if self.kept is not None:
                self.kept.save(moments, now=moments.position == program.total)
            advance(values.shape[1])


def _nobody(notice: str) -> None:
    """Who is told when nobody wants to know."""


def _groups(study: Study) -> list[list[int]]:
    """Indices of the cells that share their static values (1, 1.0 and True are not the same)."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, cell in enumerate(study.cells):
        values = tuple((type(cell[name]), cell[name]) for name in study.static)
        groups.setdefault(values, []).append(index)
    return list(groups.values())


def _diagnostics(reports: list[dict[str, Any]], memory_limit: int) -> dict[str, Any]:
    measured = [report["compiled_peak_bytes"] for report in reports]
    return {
        "compilations": sum(report["compilations"] for report in reports),
        "devices": reports[0]["devices"],
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


def _check(key: jax.Array, batch_size: int | None, memory_limit: int) -> None:
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
