"""One compiled program of a study: a batch of replicates of all cells that share their static values."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import jax
import numpy as np

from privrank_jax._types import Key
from privrank_jax._workarounds.threefry import fused
from privrank_jax._workarounds.xla import Optimized, compiled, out_of_memory
from privrank_jax.simulate.axes import columns
from privrank_jax.simulate.devices import Devices, exchange, least
from privrank_jax.simulate.memory import peak_bytes
from privrank_jax.simulate.result import ProgramFacts
from privrank_jax.simulate.study import Study
from privrank_jax.simulate.tracing import pairs, trace, traced_columns

MAX_BATCH = 16_384  # even where memory allows more: batched loops wait for their slowest replicate
CPU_WORKING_SET = 1 << 24  # target bytes of a default batch on a CPU: larger ones miss the cache
HEADROOM = 2  # the estimate assumes program order; XLA on a CPU schedules for concurrency instead


class Program:
    """A trial over a flat batch of (cell, replicate) pairs, cell by cell, split evenly over all devices.

    The batch size is what memory allows by an estimate, then by XLA's own buffer assignment, then by the device itself:
    if it runs out of memory in any process, the batch is halved in all of them.

    It has ``total`` pairs and runs ``size`` of them at once on each device; ``ahead`` is its compilation in another
    thread, if that is still to be waited for.
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
        self.name, self.replicates = study.name, replicates
        self.static = {name: study.cells[indices[0]][name] for name in study.static}
        self.columns = traced_columns(study, indices)
        self.key, self.devices, self._limit = key, devices, memory_limit
        asked = study.optimized
        self.optimized: Optimized = asked(self.static) if callable(asked) else asked
        self.num_cells, self.total = len(indices), len(indices) * replicates
        told = key, study, indices[0], self.columns
        try:  # fused draws, where all sampling works with them
            program, self.closed, shapes = trace(*told, fused)
        except NotImplementedError:  # with JAX's generator only: poisson, 2**32 numbers of one key
            program, self.closed, shapes = trace(*told, lambda key: key)
        self._order = np.array(shapes.order)
        self.metrics = [columns(labels, study.axes) for labels in shapes.labels]
        self._fixed = sum(column.nbytes for column in self.columns.values())
        self._estimate = peak_bytes(self.closed) - self._fixed
        fitting = (memory_limit - self._fixed) // (HEADROOM * max(self._estimate, 1))
        if batch_size is None:
            batch_size = MAX_BATCH
            if devices.kind.startswith("cpu "):
                batch_size = min(MAX_BATCH, CPU_WORKING_SET // max(self._estimate, 1))
        self.size = self._even(max(1, min(self.total, fitting, batch_size)))
        self._jitted = devices.jit(program)
        self._lowered: Any = None
        self._call: Any = None
        self.ahead: Future[Any] | None = None
        self._error: Exception | None = None
        self._measured: int | None = None
        self._compilations = 0

    def _even(self, size: int) -> int:
        """The smallest size that gives as many batches as ``size``: they are equally full."""
        batches = -(-self.total // (size * self.devices.count))
        return -(-self.total // (batches * self.devices.count))

    def lowered(self) -> Any:
        """The program lowered for XLA at the present size."""
        if self._lowered is None:
            self._lowered = self._jitted.lower(*self._arguments(0))
        return self._lowered

    def compile_ahead(self, threads: Executor) -> None:
        """Let the program be compiled at its present size in another thread; :meth:`compile` waits for it."""
        self.ahead = threads.submit(compiled, self.lowered(), optimized=self.optimized)

    def compile(self, notice: Callable[[str], None]) -> None:
        """Compile at the largest size that fits into memory, from the present one on; ``ValueError`` if none does."""
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

    def _compile(self) -> int | None:
        """Compile the program and return the bytes that it needs; None if memory ran out while compiling."""
        ahead, self.ahead = self.ahead, None
        try:
            lowered = self.lowered()
            self._call = ahead.result() if ahead else compiled(lowered, optimized=self.optimized)
        except jax.errors.JaxRuntimeError as error:
            self._keep_if_out_of_memory(error)
            return None
        self._compilations += 1
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
        """Compute the metrics of the pairs from ``start`` on, float64 of shape (metrics, pairs)."""
        while True:
            local = self.size * self.devices.count // jax.process_count()
            values = exchange(self._run(start), (len(self.metrics), local))
            if values is not None:
                return values[:, : self.total - start]
            self._shrink(self.size // 2, notice)
            self.compile(notice)

    def _run(self, start: int) -> np.ndarray | None:
        """Run the part of this process; None if memory ran out."""
        try:
            found = self._call(*self._arguments(start))
            return self.devices.fetch(found.values)[self._order]
        except jax.errors.JaxRuntimeError as error:
            self._keep_if_out_of_memory(error)
            return None

    def _keep_if_out_of_memory(self, error: Exception) -> None:
        if not out_of_memory(error):
            raise error
        self._error = error.with_traceback(None)

    def _arguments(self, start: int) -> Any:
        size = self.size * self.devices.count
        batch = pairs(start, size, self.total, self.replicates)
        return self.devices.place(self.key, self.columns, *batch)

    def facts(self) -> ProgramFacts:
        """The diagnostics of this program."""
        found = self.num_cells, self._compilations, self.size, self._measured
        return ProgramFacts(self.name, self.static, *found)


def _compiled_bytes(compiled: Any) -> int | None:
    """Bytes that XLA has assigned to the program, where the backend reports them."""
    try:
        stats = compiled.memory_analysis()
        used = stats.temp_size_in_bytes + stats.argument_size_in_bytes
        return int(used + stats.output_size_in_bytes)
    except (AttributeError, NotImplementedError, jax.errors.JaxRuntimeError):
        return None
