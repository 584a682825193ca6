"""Time callables side by side, round after round, so that a busy machine slows all of them alike."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version

import jax


def side_by_side(runs: dict[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Median seconds of each callable over interleaved rounds, after one unmeasured call each."""
    for run in runs.values():
        jax.block_until_ready(run())
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            started = time.perf_counter()
            jax.block_until_ready(run())
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(times) for name, times in seconds.items()}


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
