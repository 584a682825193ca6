"""Batches of BTL fits, 300 comparisons per pair, float64 and float32, beside NumPy; 1,000 of 30 items beside others."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import choix
import evalica
import jax
import jax.numpy as jnp
import numpy as np

import privrank_jax as pr
from tests.benchmarks.harness import print_table, ratios, side_by_side
from tests.benchmarks.peers import batched_link_newton, batched_newton, btl_world

REPLICATES, ITEMS, PER_PAIR = 1000, 30, 300
BATCHES = ((1000, 5), (10_000, 10), (1000, 30), (100, 100), (1, 700))
BESIDE = ("fits x items", "dtype", "median time", "NumPy", "times ours", "largest error of a score")
LOOPED = 10  # replicates that the looped peers run; their times are scaled up


def main() -> None:
    """Print the tables."""
    peers()
    sizes()
    links()


def sizes() -> None:
    """Batches of several sizes in both dtypes, beside NumPy's batched Newton at the same dtype and tolerance."""
    rows = [
        row
        for replicates, items in BATCHES
        for row in beside("logistic", batched_newton, replicates, items)
    ]
    print_table("BTL fits by batch and dtype", BESIDE, rows)


def links() -> None:
    """The same for the other links."""
    for name in ("normal", "laplace"):
        newton = functools.partial(batched_link_newton, name)
        rows = [row for size in BATCHES[1:] for row in beside(name, newton, *size)]
        print_table(f"fits under the {name} link", BESIDE, rows)


def beside(
    link: str, newton: Callable[..., np.ndarray], replicates: int, items: int
) -> Iterator[tuple[str, ...]]:
    """A row of :data:`BESIDE` for each dtype."""
    wins = btl_world(0, replicates, items, PER_PAIR)
    exact = newton(wins, tolerance=1e-14)
    for dtype, tolerance in ((np.float64, 1e-10), (np.float32, 1e-6)):
        counts = wins.astype(dtype)
        device = jnp.asarray(counts)
        fit = jax.jit(
            jax.vmap(lambda w: pr.pairwise.mle(pr.comparisons.WinCounts(w), link=link).value)
        )
        runs = {
            "ours": functools.partial(fit, device),
            "NumPy": functools.partial(newton, counts, tolerance),
        }
        error = np.abs(np.asarray(fit(device)) - exact).max()
        seconds = side_by_side(runs, rounds=5)
        yield (
            f"{replicates:,} x {items}", np.dtype(dtype).name, f"{1e3 * seconds['ours']:.2f} ms",
            f"{1e3 * seconds['NumPy']:.2f} ms", f"{seconds['NumPy'] / seconds['ours']:.1f}x", f"{error:.0e}",
        )  # fmt: skip


def peers() -> None:
    """The packages that fit one problem at a time."""
    wins = btl_world(0, REPLICATES, ITEMS, PER_PAIR)
    device_wins = jnp.asarray(wins)
    fit = jax.jit(jax.vmap(lambda w: pr.pairwise.mle(pr.comparisons.WinCounts(w)).value))
    exact = batched_newton(wins, tolerance=1e-15)
    first, second = (index.ravel() for index in np.indices((ITEMS, ITEMS)))
    off = first != second
    first, second = first[off], second[off]

    def run_evalica(tolerance: float = 1e-8) -> np.ndarray:
        found = []
        for count in wins[:LOOPED]:
            result = evalica.bradley_terry(
                first, second, [evalica.Winner.X] * first.size,
                weights=count[first, second], tolerance=tolerance, limit=10_000,
            )  # fmt: skip
            scores = np.log(result.scores.sort_index().to_numpy())
            found.append(scores - scores.mean())
        return np.array(found)

    def run_choix() -> np.ndarray:
        return np.array([choix.ilsr_pairwise_dense(count, tol=1e-8) for count in wins[:LOOPED]])

    runs = {
        "privrank_jax, one vmapped program": lambda: fit(device_wins),
        "NumPy batched Newton": lambda: batched_newton(wins),
        f"evalica.bradley_terry in a loop (x{REPLICATES // LOOPED})": run_evalica,
        f"choix.ilsr_pairwise_dense in a loop (x{REPLICATES // LOOPED})": run_choix,
    }
    errors = {
        name: np.abs(np.asarray(run()) - exact[: len(np.asarray(run()))]).max()
        for name, run in runs.items()
    }
    seconds = side_by_side(runs)
    for name in runs:
        if "in a loop" in name:
            seconds[name] *= REPLICATES / LOOPED
    rows = [
        (*row, f"{errors[row[0]]:.0e}")
        for row in ratios(seconds, "privrank_jax, one vmapped program")
    ]
    title = f"{REPLICATES:,} BTL fits, m = {ITEMS}, {PER_PAIR} comparisons per pair, float64"
    print_table(title, ("method", "median time", "times ours", "largest error of a score"), rows)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
