"""10^6 raw comparisons of 100 items: from index arrays to fitted scores, float64; counts alone beside their floor."""

from __future__ import annotations

import choix
import jax
import jax.numpy as jnp
import numpy as np

import privrank_jax as pr
from tests.benchmarks.harness import MULTIPLES, floors, multiples, print_table, ratios, side_by_side
from tests.benchmarks.peers import batched_newton

COMPARISONS, ITEMS = 1_000_000, 100


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=ITEMS)
    first = rng.integers(0, ITEMS, COMPARISONS)
    second = (first + rng.integers(1, ITEMS, COMPARISONS)) % ITEMS
    won = rng.random(COMPARISONS) < 1 / (1 + np.exp(scores[second] - scores[first]))
    winners, losers = np.where(won, first, second), np.where(won, second, first)
    pairs = np.stack([winners, losers], 1)

    def ours() -> jax.Array:
        wins = pr.comparisons.WinCounts.from_comparisons(winners, losers, num_items=ITEMS)
        return pr.pairwise.mle(wins).value

    def numpy_newton() -> np.ndarray:
        wins = np.bincount(winners * ITEMS + losers, minlength=ITEMS**2).reshape(ITEMS, ITEMS)
        return batched_newton(wins.astype(float)[None])[0]

    runs = {"privrank_jax": ours, "np.bincount + NumPy Newton": numpy_newton}
    reference = numpy_newton()
    assert np.abs(np.asarray(ours()) - reference).max() < 1e-8
    seconds = side_by_side(runs, rounds=15)
    looped = {"choix.ilsr_pairwise": lambda: choix.ilsr_pairwise(ITEMS, pairs)}
    seconds |= side_by_side(looped, rounds=1)
    title = f"{COMPARISONS:,} raw comparisons, m = {ITEMS}, index arrays to scores, float64"
    print_table(title, ("method", "median time", "times ours"), ratios(seconds, "privrank_jax"))
    counts(winners.astype(np.int32), losers.astype(np.int32))


def counts(winners: np.ndarray, losers: np.ndarray) -> None:
    """Print the table of counting alone, int32 to float32, from NumPy's arrays and inside a program."""

    def count(winners: np.ndarray, losers: np.ndarray) -> jax.Array:
        wins = pr.comparisons.WinCounts.from_comparisons(
            winners, losers, num_items=ITEMS, dtype=np.float32
        )
        return wins.matrix

    traced, on_device = jax.jit(count), (jnp.asarray(winners), jnp.asarray(losers))
    assert np.array_equal(traced(*on_device), count(winners, losers))
    runs = {
        "privrank_jax, arrays of NumPy": lambda: count(winners, losers),
        "privrank_jax, jit": lambda: traced(*on_device),
        "np.bincount": lambda: np.bincount(winners * ITEMS + losers, minlength=ITEMS**2),
    }
    rows = multiples(runs, floors(on_device, traced(*on_device)))
    title = f"{COMPARISONS:,} comparisons counted, m = {ITEMS}: multiples of the floor"
    print_table(title, MULTIPLES, rows)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
