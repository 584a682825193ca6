"""Mean squared error of one user's local report of Borda scores, by mechanism; and what any unbiased one needs.

By formula, or by enumeration of all rankings up to 6 items. The error is that of a full ranking, which is the largest.
"""

from __future__ import annotations

import sys

import jax
import numpy as np

from privrank_jax.aggregation.borda import LDP_BORDA_MECHANISMS, ldp_borda_norm, score_radius
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.noise_law import variances
from tests.benchmarks.harness import print_table
from tests.reference import local_reports as naive

EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
ITEMS = (3, 4, 5, 6, 8, 10, 12, 16, 20)
ENUMERATED = 6


def main() -> None:
    """Print one table for each number of items."""
    jax.config.update("jax_enable_x64", True)
    for items in tuple(map(int, sys.argv[1:])) or ITEMS:
        square = score_radius(items) ** 2
        shape = float(np.sum(variances(Zonotope.of_all_pairs(items))))
        rows, names = [], ()
        for epsilon in EPSILONS:
            squares = {
                name: float(ldp_borda_norm(name, items, epsilon)) ** 2
                for name in LDP_BORDA_MECHANISMS
            }
            squares["one pair"] = naive.one_pair_square(items, epsilon)
            if items <= ENUMERATED:
                squares["cap of rankings"] = naive.ranking_cap_square(items, epsilon)
                squares["cap, Spearman"] = naive.ranking_cap_square(items, epsilon, "spearman")
                squares["exponential"] = naive.exponential_square(items, epsilon)
                squares["any"] = naive.least_square(items, epsilon)[0]
            errors = {name: value - square for name, value in squares.items()}
            errors["k-norm noise"] = shape / epsilon**2
            names = tuple(errors)
            ratio = errors["privunit"] / errors["subset-selection"]
            rows.append(
                (f"{epsilon:g}", *(f"{error:.2f}" for error in errors.values()), f"{ratio:.4f}")
            )
        header = ("ε", *names, "privunit / subset-selection")
        print_table(f"{items} items: mean squared error of a report", header, rows)


if __name__ == "__main__":
    main()
