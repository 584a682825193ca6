"""Maximum likelihood on an edge list: 10^5 items, 10^7 comparisons, float32, L-BFGS."""

from __future__ import annotations

import resource
import time

import jax
import numpy as np

import privrank_jax as pr
from tests.benchmarks.harness import print_table

SIZES = ((10_000, 1_000_000), (100_000, 10_000_000))


def main() -> None:
    """Print the table."""
    rows = []
    for items, comparisons in SIZES:
        rng = np.random.default_rng(0)
        scores = rng.normal(size=items)
        first = rng.integers(0, items, comparisons)
        second = (first + rng.integers(1, items, comparisons)) % items
        won = rng.random(comparisons) < 1 / (1 + np.exp(scores[second] - scores[first]))
        winners, losers = np.where(won, first, second), np.where(won, second, first)
        started = time.perf_counter()
        edges = pr.comparisons.WinEdges.from_comparisons(
            winners, losers, num_items=items, dtype=np.float32
        )
        counted = time.perf_counter() - started
        seconds = []
        for _ in range(2):  # the first call compiles
            started = time.perf_counter()
            estimate = jax.block_until_ready(pr.pairwise.mle(edges))
            seconds.append(time.perf_counter() - started)
        facts = estimate.diagnostics
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append(
            (
                f"{items:,} x {comparisons:,}", f"{counted:.1f} s", f"{seconds[0]:.1f} s", f"{seconds[1]:.1f} s",
                f"{int(facts.steps)}", f"{float(facts.gradient_norm):.0e}", str(int(facts.components)),
                str(bool(facts.separated)), f"{peak:.1f} GiB",
            )
        )  # fmt: skip
    header = (
        "items x comparisons", "count", "first fit", "next fit", "steps", "gradient", "components", "separated",
        "peak memory of the process",
    )  # fmt: skip
    print_table("Edge lists, L-BFGS, float32", header, rows)


if __name__ == "__main__":
    main()
