"""10^7 randomized reports through the streaming aggregator, shard by shard, beside float64 sums by ``np.bincount``."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

from tests.benchmarks.harness import print_table

REPORTS, SHARD = 10_000_000, 1 << 18
ITEMS = (20, 100, 1000)


def shards(items: int) -> object:
    """Shards of one length, the last one masked; never more than one in memory."""
    rng = np.random.default_rng(0)
    for start in range(0, REPORTS, SHARD):
        first = rng.integers(0, items, SHARD, np.int32)
        second = (first + rng.integers(1, items, SHARD, np.int32)) % items
        reports = rng.random(SHARD, np.float32) < 0.6
        epsilon = rng.uniform(0.2, 2.0, SHARD).astype(np.float32)
        yield first, second, reports, epsilon, np.arange(start, start + SHARD) < REPORTS


def by_bincount(shard: tuple, sums: np.ndarray, items: int) -> np.ndarray:
    """The same sums in float64, their last bits up to the order of the rows."""
    first, second, reports, epsilon, mask = shard
    tanh = np.where(mask, np.tanh(epsilon.astype(float) / 2), 0)
    pair = np.minimum(first, second).astype(np.intp) * items + np.maximum(first, second)
    sign = np.where(reports == (first < second), 0.5, -0.5)
    added = [np.bincount(pair, weight, items**2) for weight in (sign * tanh, tanh**2)]
    return sums + added


def one_run(items: int, method: str) -> None:
    """Stream all reports in this process; print seconds of summing and MiB of growth."""
    import jax

    from privrank_jax.pairwise import report_sums

    def run(method: str, source: object) -> tuple[float, object]:
        state = report_sums.init(items) if method == "ours" else np.zeros((2, items**2))
        seconds = 0.0
        for shard in source:
            started = time.perf_counter()
            if method == "ours":
                state = jax.block_until_ready(report_sums.update(state, *shard))
            else:
                state = by_bincount(shard, state, items)
            seconds += time.perf_counter() - started
        return seconds, state

    run(method, [next(iter(shards(items)))])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, state = run(method, shards(items))
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if method == "ours":
        assert float(state.num_reports) == REPORTS
        started = time.perf_counter()
        estimate = report_sums.finish(state)
        jax.block_until_ready(estimate.value)
        print(f"finish {time.perf_counter() - started:.2f} s", file=sys.stderr)
    print(seconds, growth)


def main() -> None:
    """Print the table; each run has a process of its own, so that peaks do not mix."""
    rows = []
    for items in ITEMS:
        for method in ("ours", "np.bincount, float64"):
            command = [sys.executable, "-m", "tests.benchmarks.bench_stream", str(items), method]
            output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            seconds, growth = (float(word) for word in output.split())
            pace = f"{1e9 * seconds / REPORTS:.0f} ns"
            rows.append((str(items), method, f"{seconds:.2f} s", pace, f"{growth:.1f} MiB"))
    header = (
        "items", "method", "10^7 reports", "per report", "growth of the process beyond the first shard",
    )  # fmt: skip
    print_table(f"Streaming sums, shards of {SHARD:,} reports, generation not timed", header, rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one_run(int(sys.argv[1]), sys.argv[2])
    else:
        main()
