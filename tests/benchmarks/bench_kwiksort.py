"""10,000 replicates of DPKwikSort at m = 100 in one program, beside a NumPy recursion of the same sort."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

from tests.benchmarks.harness import print_table

ITEMS, USERS, EPSILON, REPLICATES, RECURSIONS = 100, 20_000, 1.0, 10_000, 50
METHODS = ("ours, default budget", "ours, mean number of queries as budget", "NumPy recursion")


def weights() -> np.ndarray:
    """Shares that grow with the distance of two items in the hidden order."""
    gap = np.arange(ITEMS) - np.arange(ITEMS)[:, None]
    return (1 / (1 + np.exp(-0.15 * gap)) * (1 - np.eye(ITEMS))).astype(np.float32)


def recursion(w: np.ndarray, scale: float, rng: np.random.Generator) -> list[int]:
    """The published sort, all comparisons of a segment in one vectorized step, without a budget."""

    def sort(items: np.ndarray) -> list[int]:
        if len(items) < 2:
            return items.tolist()
        pivot = rng.integers(len(items))
        others = np.delete(items, pivot)
        left = w[others, items[pivot]] + rng.laplace(0, scale, len(others)) > 0.5
        return [*sort(others[left]), int(items[pivot]), *sort(others[~left])]

    return sort(np.arange(ITEMS))


def one_run(method: str) -> None:
    """Time the method in this process; print seconds for all replicates, MiB of growth, a note."""
    import jax

    from privrank_jax.aggregation import PairWeights, dp_kwiksort
    from privrank_jax.aggregation.query_budgets import query_budget
    from privrank_jax.privacy import Privacy

    w = weights()
    if method == METHODS[2]:
        scale = query_budget(ITEMS) / (USERS * EPSILON / 2)
        rng = np.random.default_rng(0)
        started = time.perf_counter()
        for _ in range(RECURSIONS):
            recursion(w, scale, rng)
        seconds = (time.perf_counter() - started) * REPLICATES / RECURSIONS
        print(f"{seconds}|0|extrapolated from {RECURSIONS}")
        return
    budget = None if method == METHODS[0] else 648
    privacy, counted = Privacy(EPSILON, unit="user", adjacency="replace"), PairWeights(w, USERS)
    run = jax.jit(jax.vmap(lambda k: dp_kwiksort(k, counted, privacy, max_queries=budget)))
    compiled = run.lower(jax.random.split(jax.random.key(0), REPLICATES)).compile()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for repeat in range(3):
        keys = jax.random.split(jax.random.key(repeat), REPLICATES)
        started = time.perf_counter()
        estimate = jax.block_until_ready(compiled(keys))
        times.append(time.perf_counter() - started)
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    share = float(np.mean(estimate.diagnostics.exceeded))
    queries = float(np.mean(estimate.diagnostics.queries))
    print(f"{np.median(times)}|{growth}|{queries:.0f} queries, {share:.0%} fell back")


def main() -> None:
    """Print the table; each run has a process of its own, so that peaks do not mix."""
    rows = []
    for method in METHODS:
        command = [sys.executable, "-m", "tests.benchmarks.bench_kwiksort", method]
        output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        seconds, growth, note = output.strip().split("|")
        pace = f"{1e6 * float(seconds) / REPLICATES:.0f} µs"
        rows.append((method, f"{float(seconds):.2f} s", pace, f"{float(growth):.0f} MiB", note))
    header = ("method", f"{REPLICATES:,} replicates", "per sort", "growth of the process", "note")
    print_table(f"DPKwikSort, m = {ITEMS}, Laplace noise, compilation not timed", header, rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one_run(sys.argv[1])
    else:
        main()
