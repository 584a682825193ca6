"""One compiled program of a study: a batch of replicates of all cells that share their static values."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr

from privrank_jax._types import Key
from privrank_jax._workarounds.collection import uncollected
from privrank_jax._workarounds.threefry import fused
from privrank_jax._workarounds.xla import Optimized, compiled, out_of_memory
from privrank_jax.simulate.axes import Label, Outcome, columns
from privrank_jax.simulate.compiler import Compiler
from privrank_jax.simulate.devices import Devices, exchange, least
from privrank_jax.simulate.memory import bodies, peak_bytes
from privrank_jax.simulate.result import ProgramFacts
from privrank_jax.simulate.study import Study
from privrank_jax.simulate.tracing import pairs, trace, traced_columns
from privrank_jax.simulate.work import numbers_computed

MAX_BATCH = 16_384  # even where memory allows more: batched loops wait for their slowest replicate
CPU_WORKING_SET = 1 << 24  # target bytes of a default batch on a CPU: larger ones miss the cache
HEADROOM = 2  # the estimate assumes program order; XLA on a CPU schedules for concurrency instead


_Found = TypeVar("_Found")


class _Started(NamedTuple):
    """A batch that was started: its first pair, and its results, for which the device may still be working."""

    start: int
    values: Sequence[jax.Array]


class Program:
    """A trial over a flat batch of (cell, replicate) pairs, cell by cell, split evenly over all devices.

    The batch size is what memory allows by an estimate, then by XLA's own buffer assignment, then by the device itself:
    if it runs out of memory in any process, the batch is halved in all of them.

    Attributes:
        name: name of the study.
        static: parameters that all cells share, by name.
        columns: the other parameters, each an array over the cells.
        num_cells: number of cells.
        replicates: replicates of each cell.
        total: number of pairs.
        metrics: the columns of each metric in the result; sorted.
        closed: one replicate, traced.
        key: key of the study.
        devices: devices that share a batch.
        size: pairs at once on each device.
        compile_seconds: time spent so far on tracing and waiting for the compiler.
    """

    def __init__(
        self,
        key: Key,
        study: Study,
        indices: list[int],
        replicates: int,
        devices: Devices,
        batch_size: int | None,
        memory_limit: int,
    ):
        started = time.perf_counter()
        self.name, self.replicates = study.name, replicates
        self.static = {name: study.cells[indices[0]][name] for name in study.static}
        self.columns = traced_columns(study, indices)
        self.key, self.devices, self._limit = key, devices, memory_limit
        asked = study.optimized
        self._optimized: Optimized = asked(self.static) if callable(asked) else asked
        self.num_cells, self.total = len(indices), len(indices) * replicates
        program, self.closed, shapes = _traced(key, study, indices[0], self.columns)
        self._order = np.array(shapes.order)
        self.metrics: list[dict[str, Label | None]] = [
            columns(labels, study.axes) for labels in shapes.labels
        ]
        self._fixed = sum(column.nbytes for column in self.columns.values())
        self._estimate = peak_bytes(self.closed) - self._fixed
        self._work = float(numbers_computed(self.closed.jaxpr)) * self.total
        fitting = (memory_limit - self._fixed) // (HEADROOM * max(self._estimate, 1))
        if batch_size is None:
            batch_size = MAX_BATCH
            if devices.are_cpus:
                batch_size = min(MAX_BATCH, CPU_WORKING_SET // max(self._estimate, 1))
        self.size = self._even(max(1, min(self.total, fitting, batch_size)))
        self._jitted = devices.jit(program)
        self._lowered: Any = None
        self._instructions = 0
        self._call: Any = None
        self._ahead: Future[Any] | None = None
        self._next: _Started | None = None
        self._alone = jax.process_count() > 1
        self._error: Exception | None = None
        self._measured: int | None = None
        self._compilations = 0
        self.compile_seconds = time.perf_counter() - started

    def _even(self, size: int) -> int:
        """The smallest size that gives as many batches as ``size``: they are equally full."""
        batches = -(-self.total // (size * self.devices.count))
        return -(-self.total // (batches * self.devices.count))

    def lowered(self) -> Any:
        """The program lowered for XLA at the present size."""
        if self._lowered is None:
            started = time.perf_counter()
            with uncollected():
                self._lowered = self._jitted.lower(*self._arguments(0))
            self.compile_seconds += time.perf_counter() - started
        return self._lowered

    def compile_ahead(self, compiler: Compiler) -> None:
        """Let the program be compiled at its present size in another thread; :meth:`compile` waits for it."""
        lowered = self.lowered()
        self._ahead = compiler.submit(self._work, lambda: self._compiled(lowered))

    @property
    def compiling(self) -> tuple[float, Future[Any] | None]:
        """The work of all pairs, in numbers computed, and what :meth:`compile_ahead` waits for, if anything."""
        return self._work, self._ahead

    def compile(self, notice: Callable[[str], None]) -> None:
        """Compile at the largest size that fits into memory, starting from the present one.

        Raises:
            ValueError: one replicate needs more memory than the limit or the device allows.
        """
        while True:
            needed = self._compile()
            smaller = self.size
            if needed is None:
                smaller = self.size // 2
            elif needed > self._limit:
                share = int(0.9 * self.size * self._limit / needed)
                smaller = min(self.size // 2, max(share, 1))
            agreed = least(smaller)
            if agreed == self.size:
                break
            if not agreed and needed is not None and needed > self._limit:
                raise ValueError(
                    f"one replicate of {self.name!r} needs about {needed:,} bytes, more than "
                    f"memory_limit={self._limit:,}: raise the limit, or make the problem smaller"
                )
            if needed is None or not agreed:
                self._shrink(agreed, notice)
            else:
                self._resize(agreed)

    def _compiled(self, lowered: Any) -> Any:
        return compiled(lowered, optimized=self._optimized)

    def _compile(self) -> int | None:
        """Compile the program and return the bytes that it needs; None if memory ran out while compiling."""
        lowered, started = self.lowered(), time.perf_counter()
        ahead, self._ahead = self._ahead, None
        try:
            self._call = self._compiled(lowered) if ahead is None else ahead.result()
        except jax.errors.JaxRuntimeError as error:
            if not out_of_memory(error):
                raise
            self._error = error.with_traceback(None)
            return None
        finally:
            self.compile_seconds += time.perf_counter() - started
        self._compilations += 1
        self._instructions = _operations(lowered.compiler_ir().operation)
        self._measured = _compiled_bytes(self._call)
        estimated = self._fixed + self.size * self._estimate
        return estimated if self._measured is None else self._measured

    def _resize(self, size: int) -> None:
        self.size, self._lowered, self._call = self._even(size), None, None

    def _shrink(self, size: int, notice: Callable[[str], None]) -> None:
        """Shrink the batch to a size that the device may have memory for."""
        if not size:
            raise ValueError(
                f"the device has no memory for one replicate of {self.name!r}: make the problem smaller"
            ) from self._error
        notice(f"{self.name}: out of memory with {self.size:,} replicates at once; now {size:,}")
        self._resize(size)

    def batch(self, start: int, notice: Callable[[str], None]) -> np.ndarray:
        """Compute the metrics of the pairs from ``start`` on, float64 of shape (metrics, pairs).

        The batch that follows is started before the results of this one are fetched, so that the device does not wait
        for the host. With several processes it is not: the exchange of the results would wait for it. If memory
        runs out with two batches on the device, from then on there is one at a time.

        Raises:
            ValueError: the device has no memory for one replicate.
        """
        while True:
            shape = (len(self.metrics), self.size * self.devices.local)
            values = exchange(self._run(start), shape)
            if values is not None:
                return values[:, : self.total - start]
            self._shrink(self.size // 2, notice)
            self.compile(notice)

    def _run(self, start: int) -> np.ndarray | None:
        """Run the part of this process; None if memory ran out, also with nothing else on the device."""
        started, self._next = self._next, None
        if started is None or started.start != start:
            started = self._start(start)
        after = start + self.size * self.devices.count
        if started is not None and not self._alone and after < self.total:
            self._next = self._start(after)
            self._alone = self._next is None
        values = None if started is None else self._fetch(started)
        if values is not None or self._alone:
            return values
        if self._next is not None:
            self._fetch(self._next)  # so that it is off the device
        self._next, self._alone = None, True
        return self._run(start)

    def _start(self, start: int) -> _Started | None:
        """Start a batch, without waiting for its results; None if memory ran out."""
        return self._unless_out_of_memory(
            lambda: _Started(start, self._call(*self._arguments(start)).values)
        )

    def _fetch(self, started: _Started) -> np.ndarray | None:
        """Wait for the results of a batch; None if memory ran out."""
        return self._unless_out_of_memory(lambda: self.devices.fetch(started.values)[self._order])

    def _unless_out_of_memory(self, act: Callable[[], _Found]) -> _Found | None:
        try:
            return act()
        except jax.errors.JaxRuntimeError as error:
            if not out_of_memory(error):
                raise
            self._error = error.with_traceback(None)
            return None

    def _arguments(self, start: int) -> Any:
        size = self.size * self.devices.count
        batch = pairs(start, size, self.total, self.replicates)
        return self.devices.place(self.key, self.columns, *batch)

    def facts(self, study: str, run_seconds: float) -> ProgramFacts:
        """The diagnostics of this program of a study."""
        return ProgramFacts(
            study=study,
            static=self.static,
            cells=self.num_cells,
            compilations=self._compilations,
            batch_size=self.size,
            batches=-(-self.total // (self.size * self.devices.count)),
            devices=self.devices.count,
            equations=_equations(self.closed.jaxpr),
            instructions=self._instructions,
            optimized=self._optimized,
            bytes_per_replicate=self._estimate,
            estimated_peak_bytes=self._fixed + self.size * self._estimate,
            compiled_peak_bytes=self._measured,
            compile_seconds=self.compile_seconds,
            run_seconds=run_seconds,
        )


def _traced(
    key: Key, study: Study, index: int, columns: dict[str, jax.Array]
) -> tuple[Callable[..., Outcome], ClosedJaxpr, Outcome]:
    """The traced trial, with fused draws where all of its sampling works with them."""
    with uncollected():
        try:
            return trace(key, study, index, columns, fused)
        except NotImplementedError:  # with JAX's generator only: poisson, 2**32 numbers of one key
            return trace(key, study, index, columns, lambda key: key)


def _equations(jaxpr: Jaxpr) -> int:
    """Operations of a traced program; a loop or call counts as what is inside it, once."""
    inside = [sum(map(_equations, bodies(equation.params))) for equation in jaxpr.eqns]
    return sum(max(1, found) for found in inside)


def _operations(operation: Any) -> int:
    """Operations inside one of MLIR."""
    return sum(
        1 + _operations(inner)
        for region in operation.regions
        for block in region.blocks
        for inner in block.operations
    )


def _compiled_bytes(compiled: Any) -> int | None:
    """Bytes that XLA has assigned to the program, where the backend reports them."""
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
