"""The Monte Carlo engine: one batched program for all replicates of all cells of a study.

Cells with the same static values run as one compiled program over a flat batch of (cell, replicate) pairs, in as many
equal batches as memory requires, each split evenly over all devices.

Replicate ``r`` uses the key ``fold_in(key, r)`` in every cell: **common random numbers**, so that a difference between
two cells is usually more precise than their standard errors suggest (return it as a metric to get its own). A key gives
the same table for any batch size and any number of devices and processes: bit for bit for what is sampled and counted,
to rounding for what XLA or LAPACK may reassociate (1e-12 for solved estimates in float64).

**On a GPU or TPU** a key gives the same random words as on a CPU, and counts are exact up to 2²⁴ in float32. Other
numbers agree to rounding, so a draw that lies within rounding of a boundary may fall on its other side. A GPU adds in
any order in a scatter: two runs of one program may then differ by rounding, unless the numbers are whole.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from privrank_jax._backend import processors
from privrank_jax._types import Key
from privrank_jax._validate import check_whole
from privrank_jax._workarounds.threads import one_blas_thread
from privrank_jax.simulate.checkpoint import Checkpoint, Checkpoints
from privrank_jax.simulate.devices import Devices, is_first
from privrank_jax.simulate.moments import Moments
from privrank_jax.simulate.program import Program
from privrank_jax.simulate.result import StudyDiagnostics, StudyResult, joined
from privrank_jax.simulate.study import Study
from privrank_jax.simulate.table_files import Row


def run(
    key: Key,
    study: Study | Sequence[Study],
    replicates: int,
    *,
    batch_size: int | None = None,
    memory_limit: int | None = None,
    devices: Sequence[Any] | None = None,
    checkpoints: Checkpoints | str | os.PathLike[str] | None = None,
    notice: Callable[[str], None] | None = None,
    progress: bool = False,
) -> StudyResult:
    """Run every cell of a study ``replicates`` times and tabulate the metrics.

    >>> from privrank_jax.simulate import Study, grid
    >>> def trial(key, parameters):
    ...     return {"error": parameters["scale"] * abs(jax.random.normal(key))}
    >>> result = run(jax.random.key(0), Study("center", trial, grid(scale=(1.0, 2.0))), 100)
    >>> [(row["scale"], row["metric"], row["replicates"]) for row in result.rows]
    [(1.0, 'error', 100), (2.0, 'error', 100)]

    The batch is chosen by an estimate of its memory, then checked against XLA's own buffer assignment; if the device
    itself runs out of memory, it is halved and the run continues. After ``jax.distributed.initialize``, every process
    makes the same call, computes its part, and returns the same result.

    Args:
        key: one threefry key, JAX's default. (Others draw differently under ``vmap``: tables would depend on batches.)
        study: the study to run, or several. While one program runs, others are compiled in two threads.
        replicates: of each cell, below 2³².
        batch_size: at most this many (cell, replicate) pairs at once on each device; by default what memory allows.
        memory_limit: bytes per device; by default 1 GiB on a CPU, elsewhere 0.4 of the memory that JAX may use.
        devices: JAX devices that share each batch evenly; by default all devices of all processes, or the one set by
            ``jax.default_device``. On several CPU devices a trial must not call LAPACK on batches of large matrices
            (beyond 2·10⁵ operations in all), which can deadlock in jaxlib; this library avoids such calls.
        checkpoints: folder for unfinished results, see :class:`~privrank_jax.simulate.checkpoint.Checkpoints`. A run
            that was killed resumes from there, to the same table; the files stay, so repeating the call computes
            nothing.
        notice: called with messages, e.g. where the run resumed or that memory ran out.
        progress: show a progress bar (rich) on stderr, if that is a terminal or a notebook.

    Returns:
        The tidy table and the diagnostics. Rows follow the cells, then are sorted by metric, then along the axes.

    Raises:
        ValueError: arguments out of range, a key that is not one threefry key, a trial that does not return (nested)
            dicts of real scalars, a replicate that needs more memory than there is.
        TypeError: a parameter shapes the program but is not named in ``static``.
        OSError: a checkpoint cannot be written.
    """
    studies = [study] if isinstance(study, Study) else list(study)
    if not studies:
        raise ValueError("no study to run: give at least one")
    check_whole("replicates", replicates, most=2**32 - 1)
    check_whole("batch_size", 1 if batch_size is None else batch_size)
    check_whole("memory_limit", 1 if memory_limit is None else memory_limit)
    typed = isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    if not typed or key.shape != () or str(jax.random.key_impl(key)) != "threefry2x32":
        raise ValueError("key must be one threefry key: pass jax.random.key(seed)")
    mesh, notice = Devices(devices), notice or (lambda _: None)
    memory_limit = mesh.memory_for_batches() if memory_limit is None else memory_limit
    if checkpoints is not None and not isinstance(checkpoints, Checkpoints):
        checkpoints = Checkpoints(checkpoints)
    started, ran = time.perf_counter(), 0.0
    threads = ThreadPoolExecutor(min(2, processors()), "privrank-compile")

    def prepared(study: Study, indices: list[int]) -> _Job:
        program = Program(key, study, indices, replicates, mesh, batch_size, memory_limit)
        moments = Moments(program.num_cells, len(program.metrics), program.replicates)
        kept = None if checkpoints is None else checkpoints.open(program, moments)
        # Several processes compile the same program at the same time, as their compilers may communicate.
        if jax.process_count() == 1 and moments.position < program.total:
            program.compile_ahead(threads)
        return _Job(study, indices, program, moments, kept)

    try:
        with _progress_bars(studies, replicates, progress and is_first()) as advance:
            jobs = [[prepared(each, indices) for indices in each.groups()] for each in studies]
            every = [*itertools.chain(*jobs)]
            ahead = {job.program.ahead: job for job in every if job.program.ahead is not None}
            now = [job for job in every if job.program.ahead is None]
            with one_blas_thread():
                # The programs compiled here, then the others, each as soon as it is compiled.
                for job in itertools.chain(now, (ahead[done] for done in as_completed(ahead))):
                    ran += job.run(notice, functools.partial(advance, job.study))
                    advance(job.study, 0, running=False)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
    facts = tuple(job.program.facts() for job in every)
    compilations = sum(program.compilations for program in facts)
    compiling = time.perf_counter() - started - ran
    diagnostics = StudyDiagnostics(compilations, compiling, ran, mesh.count, memory_limit, facts)
    rows: list[Row] = []
    for of_study in jobs:
        by_cell = {cell: found for job in of_study for cell, found in job.rows()}
        rows += itertools.chain(*(by_cell[cell] for cell in sorted(by_cell)))
    return StudyResult(", ".join(each.name for each in studies), joined(rows), diagnostics)


@dataclass
class _Job:
    """A program and its results so far."""

    study: Study
    indices: list[int]
    program: Program
    moments: Moments
    kept: Checkpoint | None

    def run(self, notice: Callable[[str], None], advance: Callable[[int], None]) -> float:
        """Run the remaining pairs, batch by batch; return the seconds that this takes once the program is compiled."""
        program, moments = self.program, self.moments
        if moments.position:
            at, total = f"{moments.position:,}", f"{program.total:,}"
            notice(f"{program.name}: resumed {at} of {total} replicates")
            advance(moments.position)
        if moments.position == program.total:
            return 0.0
        program.compile(notice)
        started = time.perf_counter()
        advance(0)
        while moments.position < program.total:
            values = program.batch(moments.position, notice)
            moments.add(values)
            if self.kept is not None:
                self.kept.save(moments, now=moments.position == program.total)
            advance(values.shape[1])
        return time.perf_counter() - started

    def rows(self) -> Iterator[tuple[int, list[Row]]]:
        """The index of each cell in the study, and its rows."""
        for position, cell in enumerate(self.indices):
            head = {"study": self.study.name, **self.study.cells[cell]}
            yield cell, list(self.moments.rows(position, head, self.program.metrics))


@contextmanager
def _progress_bars(
    studies: Sequence[Study], replicates: int, shown: bool
) -> Iterator[Callable[..., None]]:
    """A bar for each study (rich) on stderr, if that is a terminal or a notebook; what it yields advances one."""
    if not shown:
        yield lambda study, count, running=True: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    console = Console(stderr=True)
    seen = console.is_terminal or console.is_jupyter
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=console, disable=not seen) as bars:
        numbers = {
            id(one): bars.add_task(f"{one.name}: compiling…", total=len(one.cells) * replicates)
            for one in studies
        }

        def advance(study: Study, count: int, running: bool = True) -> None:
            number = numbers[id(study)]
            bars.advance(number, count)
            waits = not running and not bars.tasks[number].finished
            bars.update(number, description=f"{study.name}: compiling…" if waits else study.name)

        yield advance
