"""Batches of assignment problems beside SciPy's solver in a loop, for uniform costs and for footrule costs."""

from __future__ import annotations

import jax
import numpy as np
from scipy.optimize import linear_sum_assignment

from privrank_jax.aggregation.assignment import assignment
from tests.benchmarks.harness import clocked, print_table

BATCHES = ((1000, 5), (1000, 10), (1000, 30), (100, 100))


def main() -> None:
    """Print processor times per problem, which a busy machine disturbs least, best of interleaved rounds."""
    rng = np.random.default_rng(0)
    solve = jax.jit(jax.vmap(assignment))
    rows = []
    for problems, items in BATCHES:
        shape = (problems, items, items)
        shares = rng.multinomial(100, np.full(items, 1 / items), (problems, items))
        far = np.abs(np.arange(items)[:, None] - np.arange(items))
        worlds = {
            "uniform": rng.random(shape).astype(np.float32),
            "noisy footrule": np.cumsum(rng.normal(size=shape), 2).astype(np.float32),
            "footrule, integers": (shares @ far).astype(np.int32),
        }
        for kind, costs in worlds.items():
            found = np.asarray(solve(costs))
            least = [one[linear_sum_assignment(one)].sum(dtype=float) for one in costs]
            total = np.take_along_axis(costs, found[:, :, None], 2).sum((1, 2), dtype=float)
            runs = {
                "ours": lambda costs=costs: solve(costs),
                "SciPy": lambda costs=costs: [linear_sum_assignment(one) for one in costs],
            }
            busy = clocked(runs, 9)[1]
            ours, theirs = (min(busy[name]) / problems for name in runs)
            rows.append(
                (
                    f"{problems:,} x {items}", kind, f"{1e6 * ours:.2f} µs", f"{1e6 * theirs:.2f} µs",
                    f"{theirs / ours:.2f}x", f"{np.abs(total - least).max():.0e}",
                )
            )  # fmt: skip
    header = ("problems x items", "costs", "ours", "SciPy", "times ours", "largest excess")
    print_table("assignment, processor time per problem", header, rows)


if __name__ == "__main__":
    main()
