"""Rows of a benchmark: what is measured, what we take, and what stands beside it in the same run.

Callables are timed side by side, round after round, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._backend import on_cpu
from privrank_jax._workarounds.threefry import fused

SETTLING = 0.3
Runs = Mapping[str, Callable[[], object]]


class Row(NamedTuple):
    """One line of the table."""

    name: str
    ours: str
    beside: str = ""


class Spent(NamedTuple):
    """Seconds of a process, on the wall and of all processors, the peak of its memory in MiB, and what it printed."""

    wall: float
    processor: float
    peak: float
    output: str


def head() -> None:
    """Print the head of the table."""
    show(("what", "ours", "beside, as a multiple of ours unless it says otherwise"))
    show(("---", "---", "---"))


def show(row: Sequence[str]) -> None:
    """Print one row in Markdown, at once."""
    words = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
    print(f"| {' | '.join(words)} |", flush=True)


def span(seconds: float) -> str:
    """A time, in a unit that suits it."""
    factor, unit = next(
        (10.0**power, unit)
        for power, unit in ((6, "µs"), (3, "ms"), (0, "s"))
        if seconds * 10.0**power < 1000 or unit == "s"
    )
    return f"{factor * seconds:.3g} {unit}"


def row(
    name: str, runs: Runs, *, rounds: int = 7, longer: Mapping[str, float] | None = None
) -> Row:
    """Median times of callables, the first ours; ``longer`` has factors for those that do only a part of the work."""
    wall, _ = clocked(runs, rounds, SETTLING)
    ours, *others = (
        (one, statistics.median(times) * (longer or {}).get(one, 1)) for one, times in wall.items()
    )
    beside = "; ".join(f"{one} {seconds / ours[1]:.3g}" for one, seconds in others)
    return Row(name, span(ours[1]), beside)


def floor_row(
    name: str,
    run: Callable[[], object],
    arguments: object,
    *,
    words: int = 0,
    peers: Runs | None = None,
) -> Row:
    """Best times of a kernel, as multiples of its floor, and of peers, as multiples of ours.

    The floor is the longer of the two programs of :func:`floors`. A busy machine lengthens all but the best times.
    Peers run apart: they would take the caches from who comes next.
    """
    floor = floors(arguments, run(), words)
    wall, busy = clocked({"ours": run, **floor}, 15)
    clocks = (("wall", wall), ("processors", busy))[: 2 if on_cpu() else 1]
    multiples = " and ".join(
        f"{min(clock['ours']) / max(min(clock[one]) for one in floor):.2g} ({which})"
        for which, clock in clocks
    )
    others = row(name, {"ours": run, **peers}).beside if peers else ""
    beside = f"ours is {multiples} times the floor{'; ' * bool(others)}{others}"
    return Row(name, span(min(wall["ours"])), beside)


def clocked(
    runs: Runs, rounds: int, settling: float = 0.0
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds on the wall and of all processors, round by round, after one unmeasured call of each callable.

    For ``settling`` seconds a callable runs in a row before it is measured, if it took less the time before: for so
    long after other work threads of NumPy's linear algebra keep a core busy, or Linux keeps those of XLA on one core,
    and programs of many small kernels take up to twice their time.
    """
    for run in runs.values():
        jax.block_until_ready(run())
    wall: dict[str, list[float]] = {name: [] for name in runs}
    busy: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            end = time.perf_counter() + settling
            while time.perf_counter() < end and (not wall[name] or wall[name][-1] < settling):
                jax.block_until_ready(run())
            started, worked = time.perf_counter(), time.process_time()
            jax.block_until_ready(run())
            wall[name].append(time.perf_counter() - started)
            busy[name].append(time.process_time() - worked)
    return wall, busy


def floors(arguments: object, result: object, words: int = 0) -> dict[str, Callable[[], object]]:
    """What no kernel of these arguments and this result can go below, to be timed beside it.

    One program reads each of the arrays once, and writes arrays like ``result`` once: a sharper bound than a copy,
    which fresh pages slow tenfold on a CPU. Where the kernel draws 32-bit ``words``, another program draws as many,
    with the generator that XLA fuses, and keeps a byte of each.
    """
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in jax.tree.leaves(result)]
    arrays = [jnp.asarray(_plain(x)) for x in jax.tree.leaves(arguments)]
    moved = jax.jit(lambda arrays: _move(arrays, shapes))
    runs: dict[str, Callable[[], object]] = {"floor: bytes moved": lambda: moved(arrays)}
    if words:
        drawn = jax.jit(lambda key: (jax.random.bits(key, (words,)) >> 24).astype(jnp.uint8))
        source = fused(jax.random.key(0))
        runs["floor: random words"] = lambda: drawn(source)
    return runs


def _plain(array: jax.Array | np.ndarray) -> jax.Array | np.ndarray:
    """Words of keys; anything else as it is."""
    is_key = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(array) if is_key else array


def _move(arrays: list[jax.Array], shapes: list[jax.ShapeDtypeStruct]) -> list[jax.Array]:
    """Read all arrays by maxima over their leading axis, which vectorize, and fill the results with what they give."""
    seen = jnp.float32(0)
    for array in arrays:
        width = array.shape[-1] if array.ndim > 1 else min(1000, array.size)
        columns = jnp.ravel(array)[: array.size // width * width].reshape(-1, width)
        least = jnp.array(0, array.dtype)
        seen += jnp.max(jax.lax.reduce(columns, least, jax.lax.max, (0,))).astype(jnp.float32)
    return [jnp.full(shape.shape, seen, shape.dtype) for shape in shapes]


def spent(command: Sequence[str], folder: Path, **environment: str) -> Spent:
    """Run a command in a folder, without JAX's cache of compiled programs.

    Raises:
        RuntimeError: it failed; with the last line of what it said.
    """
    kept = {name: os.environ[name] for name in os.environ if "JAX_COMPILATION" not in name}
    kept |= {"XDG_CACHE_HOME": str(folder / "none"), "JAX_ENABLE_COMPILATION_CACHE": "0"}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=kept | environment, stdout=output, stderr=errors
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        text = output.read()
        if process.returncode:
            said = (errors.read() + text).strip() or f"status {process.returncode}"
            raise RuntimeError(f"{' '.join(command)}: {said.splitlines()[-1]}")
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text)
