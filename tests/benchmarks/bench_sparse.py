"""Maximum likelihood on edge lists, float32: Newton's method beside L-BFGS and SciPy, in processor time per edge."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import jax
import numpy as np
import optax
from scipy.optimize import minimize

import privrank_jax as pr
from tests.benchmarks.harness import print_table

# The peers run where they take less than a minute.
SIZES = ((1000, 10_000), (1000, 100_000), (10_000, 1_000_000), (1_000_000, 10_000_000))
RIDGES = (0.0, 1.0)
_MOST_FOR_PEERS = 1_000_000
PEERS = ("L-BFGS", "SciPy trust-ncg")
_LBFGS = optax.lbfgs()


def main() -> None:
    """Print the table."""
    rows = []
    for items, comparisons in SIZES:
        edges = world(items, comparisons)
        for ridge in RIDGES:
            runs: dict[str, Callable[[], object]] = {
                "Newton": lambda edges=edges, ridge=ridge: pr.pairwise.mle(edges, gamma=ridge)
            }
            if comparisons <= _MOST_FOR_PEERS:
                runs["L-BFGS"] = lambda edges=edges, ridge=ridge: pr.pairwise.mle(
                    edges, gamma=ridge, optimizer=_LBFGS
                )
                runs["SciPy trust-ncg"] = lambda edges=edges, ridge=ridge: scipy_fit(edges, ridge)
            facts = jax.block_until_ready(pr.pairwise.mle(edges, gamma=ridge)).diagnostics
            seconds = {
                name: processor_seconds(run, 2 if comparisons < 1e7 else 1)
                for name, run in runs.items()
            }
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            rows.append(
                (
                    f"{items:,} x {comparisons:,}", f"{ridge:g}", f"{seconds['Newton']:.2f} s",
                    f"{1e9 * seconds['Newton'] / edges.first.size:.0f} ns",
                    *(f"{seconds[name] / seconds['Newton']:.1f}x" if name in seconds else "" for name in PEERS),
                    f"{int(facts.steps)}", f"{int(facts.code)}", f"{float(facts.gradient_norm):.0e}",
                    str(bool(facts.separated)), f"{peak:.1f} GiB",
                )
            )  # fmt: skip
    header = (
        "items x comparisons", "ridge", "processors", "per edge", "L-BFGS", "SciPy", "steps", "code", "gradient",
        "separated", "peak memory of the process",
    )  # fmt: skip
    print_table("Edge lists, float32, with the search of the graph", header, rows)


def world(items: int, comparisons: int) -> pr.comparisons.WinEdges:
    """Random pairs of items with standard normal scores."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=items)
    first = rng.integers(0, items, comparisons)
    second = (first + rng.integers(1, items, comparisons)) % items
    won = rng.random(comparisons) < 1 / (1 + np.exp(scores[second] - scores[first]))
    winners, losers = np.where(won, first, second), np.where(won, second, first)
    return pr.comparisons.WinEdges.from_comparisons(
        winners, losers, num_items=items, dtype=np.float32
    )


def processor_seconds(run: Callable[[], object], rounds: int) -> float:
    """The least processor time of a call, after one that compiles."""
    jax.block_until_ready(run())  # compiles
    times = []
    for _ in range(rounds):
        started = time.process_time()
        jax.block_until_ready(run())
        times.append(time.process_time() - started)
    return min(times)


def scipy_fit(edges: pr.comparisons.WinEdges, ridge: float) -> np.ndarray:
    """The same fit in NumPy and SciPy, in float64, to the same gradient."""
    items, first, second = edges.num_items, np.asarray(edges.first), np.asarray(edges.second)
    won, lost = (np.asarray(x, float) for x in (edges.first_wins, edges.second_wins))
    scale = 2 * (won + lost).sum() / items

    def ends(flow: np.ndarray) -> np.ndarray:
        return np.bincount(first, flow, items) - np.bincount(second, flow, items)

    def value_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        gap = theta[first] - theta[second]
        loss = (won * np.logaddexp(0, -gap) + lost * np.logaddexp(0, gap)).sum()
        chance = 1 / (1 + np.exp(-gap))
        slope = ends((won + lost) * chance - won) + ridge * theta
        return (loss + ridge / 2 * theta @ theta) / scale, slope / scale

    def product(theta: np.ndarray, vector: np.ndarray) -> np.ndarray:
        chance = 1 / (1 + np.exp(theta[second] - theta[first]))
        pull = (won + lost) * chance * (1 - chance) * (vector[first] - vector[second])
        return (ends(pull) + ridge * vector) / scale

    found = minimize(
        value_and_gradient, np.zeros(items), jac=True, hessp=product, method="trust-ncg",
        options={"gtol": 1e-6},
    )  # fmt: skip
    return found.x - found.x.mean()


if __name__ == "__main__":
    main()
