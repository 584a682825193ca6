"""The largest deviation of win totals over T steps: as drawn exactly, and that of jax-privacy's strategy.

In units of the deviation of one release, by formula, for Gaussian noise. ``privrank reproduce continual`` has the
other strategies, simulated releases and errors of leaderboards. jax-privacy must be on the path.
"""

from __future__ import annotations

import sys

import numpy as np

from privrank_jax.experiments.continual.common import BOUND, ROOT, deviations
from privrank_jax.experiments.continual.streams import CONFIG
from privrank_jax.release.leaderboard import strategy_of
from tests.benchmarks.harness import print_table


def peer(steps):
    """The largest error of jax-privacy's Toeplitz strategy, by its own account."""
    from jax_privacy.matrix_factorization import toeplitz as theirs

    coefficients = theirs.optimal_max_error_strategy_coefs(steps)
    error = theirs.per_query_error(strategy_coef=coefficients, n=steps)
    return float(np.sqrt(np.max(error) * theirs.sensitivity_squared(coefficients, steps)))


def main() -> None:
    """Print one table."""
    rows = []
    for steps in tuple(map(int, sys.argv[1:])) or CONFIG.steps:
        own = deviations(CONFIG, steps)
        exact = strategy_of(CONFIG.privacy, steps, "gaussian").deviations(steps).max()
        largest = (own[ROOT].max(), exact / CONFIG.scale, own[BOUND].max(), peer(steps))
        rows.append((str(steps), *(f"{one:.3f}" for one in largest)))
    heads = ("T", ROOT, "drawn exactly", BOUND, "jax-privacy")
    print_table("largest deviation", heads, rows)


if __name__ == "__main__":
    main()
