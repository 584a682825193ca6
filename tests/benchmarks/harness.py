"""Time callables side by side, round after round, so that a busy machine slows all of them alike."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._workarounds.threefry import fused

WORDS, BYTES = "floor: random words", "floor: bytes moved"
SETTLING = 0.3


def side_by_side(runs: Mapping[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Median seconds of each callable over interleaved rounds.

    In each round a callable that takes less than :data:`SETTLING` seconds first runs for that long. For so long after
    other work, threads of NumPy's linear algebra keep a core busy, or Linux keeps those of XLA on one core, and
    programs of many small kernels take up to twice their time.
    """
    wall, _ = clocked(runs, rounds, SETTLING)
    return {name: statistics.median(times) for name, times in wall.items()}


def clocked(
    runs: Mapping[str, Callable[[], object]], rounds: int, settling: float = 0.0
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds on the wall and of all processors, round by round, after one unmeasured call of each callable.

    Args:
        runs: the callables, by name.
        rounds: how often each is measured.
        settling: seconds for which a callable runs in a row before it is measured, if it took less the time before.
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

    Args:
        arguments: arrays; one program reads each of them once, and writes arrays like ``result`` once. That is a
            sharper bound than a copy: on a CPU a copy of more than 32 MiB is slowed tenfold by fresh pages, which only
            a kernel with a result of that size needs.
        result: arrays, or their shapes.
        words: 32-bit words that the kernel draws; another program draws as many by ``jax.random.bits``, with the
            generator that XLA fuses (on a GPU JAX's own is fused), and keeps a byte of each.
    """
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in jax.tree.leaves(result)]
    arrays = [jnp.asarray(_plain(x)) for x in jax.tree.leaves(arguments)]
    moved = jax.jit(lambda arrays: _move(arrays, shapes))
    runs: Mapping[str, Callable[[], object]] = {BYTES: lambda: moved(arrays)}
    if words:
        key = jax.random.key(0)
        drawn = jax.jit(lambda key: (jax.random.bits(key, (words,)) >> 24).astype(jnp.uint8))
        source = fused(key) if jax.default_backend() == "cpu" else key
        runs[WORDS] = lambda: drawn(source)
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


def multiples(
    runs: Mapping[str, Callable[[], object]],
    floor: Mapping[str, Callable[[], object]],
    rounds: int = 15,
) -> list[tuple[str, ...]]:
    """Rows of :data:`MULTIPLES` for kernels and the floors that :func:`floors` gives them.

    Times are the best of interleaved rounds, on the wall and of all processors: a busy machine lengthens the others.
    The floor is the longer of the two programs.
    """
    wall, busy = clocked({**runs, **floor}, rounds)
    lowest = [max(min(clock[name]) for name in floor) for clock in (wall, busy)]
    return [
        (
            name,
            *(f"{1e3 * min(clock[name]):.2f} ms" for clock in (wall, busy)),
            *(f"{min(clock[name]) / low:.1f}x" for clock, low in zip((wall, busy), lowest)),
        )
        for name in (*runs, *floor)
    ]


MULTIPLES = ("program", "best wall", "processors", "of the floor, wall", "of the floor, processors")


def print_table(title: str, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """One table in plain text."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    print(f"\n{title}")
    print(f"  {machine()}")
    for row in [header, tuple("-" * width for width in widths), *rows]:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)))


def ratios(seconds: dict[str, float], ours: str) -> list[tuple[str, ...]]:
    """Rows (name, milliseconds, times as long as ours)."""
    return [
        (name, f"{1e3 * value:.1f} ms", f"{value / seconds[ours]:.2f}x")
        for name, value in seconds.items()
    ]


def machine() -> str:
    """Hardware and versions, for the table's head."""
    device = jax.devices()[0]
    return (
        f"{device.platform} ({device.device_kind}), {jax.device_count()} device(s), "
        f"{platform.machine()}, Python {platform.python_version()}, jax {jax.__version__}, "
        f"numpy {version('numpy')}"
    )
