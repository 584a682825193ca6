"""Standard deviation of the noise of win totals at T steps, by strategy, in units of that of one release.

The largest over the steps and, in parentheses, the root mean square; by formula, and for the exact route, whose
strategy is rounded to integers, from its matrices. "sums" splits ε and δ evenly over releases of their own (basic
composition), at ε = 1, δ = 1e-6. "measured" is the largest over the steps in 400 simulated releases of 50 items. The
bound holds for any strategy. With jax-privacy on the path, its Toeplitz strategy stands beside ours.
"""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import continual_counts, noisy_counts
from privrank_jax.privacy import Privacy, gaussian_scale
from privrank_jax.privacy.prefix_sums import STRATEGIES, prefix_sum_error_bound, prefix_sum_errors
from privrank_jax.release.leaderboard import strategy_of
from tests.benchmarks.harness import print_table

STEPS = (1, 10, 30, 100, 365, 1000)
PROMISE = Privacy(1.0, unit="user", adjacency="replace", contributions=10, delta=1e-6)
RELEASES, ITEMS = 400, 50


def shown(errors):
    return f"{np.max(errors):.3f} ({np.sqrt(np.mean(np.square(errors))):.3f})"


def measured(steps, one):
    """The largest deviation over the steps in simulated releases."""
    wins = WinCounts(jnp.zeros((steps, ITEMS, 1)))  # wins over nobody: totals alone count

    def squares(total, key):
        found = continual_counts(key, wins, PROMISE).value
        return total + jnp.square(found).sum(1), None

    keys = jax.random.split(jax.random.key(0), RELEASES)
    total, _ = jax.jit(lambda keys: jax.lax.scan(squares, jnp.zeros(steps), keys))(keys)
    return float(jnp.sqrt(total / (RELEASES * ITEMS)).max()) / one


def peer(steps):
    """The largest error of jax-privacy's strategy, by its own account; None without it."""
    try:
        from jax_privacy.matrix_factorization import toeplitz as theirs
    except ImportError:
        return None
    coefficients = theirs.optimal_max_error_strategy_coefs(steps)
    error = theirs.per_query_error(strategy_coef=coefficients, n=steps)
    return float(np.sqrt(np.max(error) * theirs.sensitivity_squared(coefficients, steps)))


def main() -> None:
    """Print one table for Gaussian noise and one for Laplace noise."""
    jax.config.update("jax_enable_x64", True)
    chosen = tuple(map(int, sys.argv[1:])) or STEPS
    alone = noisy_counts(jax.random.key(0), WinCounts(jnp.zeros((2, 2))), PROMISE, noise="gaussian")
    one = float(alone.diagnostics.noise_scale)
    rows = []
    for steps in chosen:
        split = gaussian_scale(1.0, 1.0 / steps, 1e-6 / steps) / gaussian_scale(1.0, 1.0, 1e-6)
        exact = np.asarray(strategy_of(PROMISE, steps, "gaussian").deviations(steps)) / one
        cells = [shown(prefix_sum_errors(name, steps, "gaussian")) for name in STRATEGIES]
        theirs = peer(steps)
        rows.append(
            (
                str(steps), *cells, shown(exact), f"{measured(steps, one):.3f}", f"{float(split):.1f}",
                f"{prefix_sum_error_bound(steps):.3f}", "-" if theirs is None else f"{theirs:.3f}",
            )
        )  # fmt: skip
    heads = ("T", *STRATEGIES, "exact", "measured", "sums", "bound", "jax-privacy")
    print_table("Gaussian noise", heads, rows)
    rows = [
        (str(steps), *(shown(prefix_sum_errors(name, steps, "laplace")) for name in STRATEGIES))
        for steps in chosen
    ]
    print_table("Laplace noise", ("T", *STRATEGIES), rows)


if __name__ == "__main__":
    main()
