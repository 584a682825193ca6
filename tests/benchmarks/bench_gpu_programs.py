"""What an H100 would have to do, without one: kernels launched and bytes moved by our kernels and by all studies.

``python -m tests.benchmarks gpu_programs`` compiles them for that device, which takes ten minutes on two cores and the
extra ``cuda12``, and runs none. ``--studies=NAME,NAME`` takes these studies alone. A GPU takes some microseconds to
launch a kernel and a third of a second to move a terabyte; how long a program runs only
``python -m tests.benchmarks gpu`` can tell.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

import privrank_jax as pr
from privrank_jax import _backend, experiments
from privrank_jax.privacy.geometry import Zonotope, k_norm
from privrank_jax.simulate import Study
from privrank_jax.simulate.program import Program
from tests.benchmarks import absent_gpu
from tests.benchmarks.bench_gpu import print_head, print_row
from tests.benchmarks.gpu_equality import counted, fitted, weighed
from tests.benchmarks.gpu_sections import LARGE
from tests.benchmarks.gpu_work import work_of

COLUMNS = (
    "program",
    "launches",
    "waits of the host",
    "moved",
    "of arguments and results",
    "memory",
    "compiled in",
)


def kernels() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """The kernels of ``python -m tests.benchmarks gpu``, as large as there: name, function, shapes of its arguments."""
    key, users, number = jax.random.key(0), LARGE.users, LARGE.comparisons

    def array(kind: Any, *shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind)

    for items in (20, 100):
        given = array(key.dtype, users), array(jnp.int32, users, items), array(jnp.float32, users)
        yield f"{users:,} synthetic rankings, {items} items", jax.vmap(pr.mallows.sample), given
    ranks = array(jnp.int32, users, 50)
    distances = jax.vmap(pr.metrics.kendall_distance)
    yield f"{users:,} Kendall distances, 50 items", distances, (ranks, ranks)
    yield f"weights of {users:,} rankings, 50 items", weighed, (ranks,)
    given = array(jnp.int32, number), array(jnp.int32, number)
    count = functools.partial(counted, items=100)
    yield f"{number:,} comparisons counted, 100 items", count, given
    fits = LARGE.batches[-1]
    for kind in (jnp.float32, jnp.float64):
        name = f"{fits:,} BTL fits, 30 items, {jnp.dtype(kind)}"
        yield name, fitted, (array(kind, fits, 30, 30),)
    body = Zonotope.of_all_pairs(50)
    draw = jax.vmap(lambda key: k_norm(key, body, 1.0, jnp.float32))
    yield (
        f"{LARGE.draws:,} draws of K-norm noise, 50 totals",
        draw,
        (array(key.dtype, LARGE.draws),),
    )


def kernel(
    name: str, function: Callable[..., Any], shapes: tuple[Any, ...]
) -> Iterator[tuple[str, Any]]:
    """A kernel, lowered for the device."""
    yield name, jax.jit(function).lower(*absent_gpu.placed(shapes))


def row(name: str, lowered: Any) -> tuple[str, ...]:
    """A row of :data:`COLUMNS`, of a program that is lowered for the device."""
    started = time.perf_counter()
    compiled = lowered.compile()
    seconds = time.perf_counter() - started
    work, memory = work_of(compiled.as_text()), compiled.memory_analysis()
    least = memory.argument_size_in_bytes + memory.output_size_in_bytes
    return (
        name,
        f"{work.launches:,}",
        f"{work.waits:,}",
        f"{1e-6 * work.traffic:,.0f} MB",
        f"{work.traffic / least:,.1f}x",
        f"{1e-6 * (memory.temp_size_in_bytes + least):,.0f} MB",
        f"{seconds:.1f} s",
    )


def programs(name: str) -> Iterator[tuple[str, Any]]:
    """The programs of a study by its own settings, lowered with the batches that such a device would get."""
    limit = int(_backend.MEMORY_SHARE * absent_gpu.SHARE * absent_gpu.MEMORY)
    experiment = experiments.get(name)
    for study in experiment.studies():
        for indices in study.groups():
            program = _program(study, indices, experiment.replicates, limit)
            static = ", ".join(f"{key} {value}" for key, value in program.static.items())
            yield f"`{name}` {static}: {program.size:,} replicates at once", program.lowered()


def _program(study: Study, indices: list[int], replicates: int, limit: int) -> Program:
    devices: Any = absent_gpu.AbsentDevices()
    return Program(jax.random.key(0), study, indices, replicates, devices, None, limit)


def print_rows(what: str, found: Iterator[tuple[str, Any]]) -> int:
    """Print a row for each lowered program; return 1 if one can't be lowered or compiled."""
    try:
        for name, lowered in found:
            print_row(row(name, lowered))
    except Exception as error:
        print_row((f"{what} FAILED", f"{type(error).__name__}: {str(error)[:200]}"))
        return 1
    return 0


def main() -> int:
    """Print both tables; return 1 if a program does not compile."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks gpu_programs")
    parser.add_argument("--studies", default=",".join(experiments.names()))
    given = parser.parse_args()
    absent_gpu.pretend()
    jax.config.update("jax_enable_x64", True)
    print_head(*COLUMNS)
    failed = 0
    for name, function, shapes in kernels():
        failed |= print_rows(name, kernel(name, function, shapes))
    print_head(*COLUMNS)
    for name in filter(None, given.studies.split(",")):
        failed |= print_rows(f"`{name}`", programs(name))
    return failed


if __name__ == "__main__":
    sys.exit(main())
