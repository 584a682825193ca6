"""Mean squared error of one user's local report of footrule costs, less means of rows and columns, by mechanism.

By formula, for strict rankings. All errors are divided by that of one item and one cut of its position, drawn at the
best odds and answered by randomized response; the last column is the least squared norm of any unbiased report.
"""

from __future__ import annotations

import math
import sys

import jax
import numpy as np

from privrank_jax.aggregation.local_footrule import ldp_footrule_norm, strict_square
from privrank_jax.privacy.caps import privunit_cap
from privrank_jax.privacy.vectors import report_norm
from tests.benchmarks.harness import print_table

EPSILONS = (0.5, 1.0, 2.0, 4.0)
ITEMS = (5, 10, 20, 50, 100)


def kernel(items):
    """Distances of places, less means of rows and columns."""
    distances = np.abs(np.subtract.outer(np.arange(items), np.arange(items))).astype(float)
    projection = np.eye(items) - 1 / items
    return projection @ distances @ projection


def errors(items, epsilon):
    """By mechanism; a report on one item counts m times, on the item less the mean of all."""
    floor, strength = strict_square(items), math.tanh(epsilon / 2)
    centered = 1 - 1 / items
    cuts = np.arange(1, items)
    steps = np.sqrt(cuts * (items - cuts) / items)
    one_item = items**2 * centered / strength**2
    found = {
        "cut and set": float(ldp_footrule_norm(items, epsilon)) ** 2 - floor,
        "item, cut": one_item * steps.sum() ** 2 - floor,
        "item, uniform cut": one_item * (items - 1) * (steps**2).sum() - floor,
    }
    spectrum = -np.linalg.eigvalsh(kernel(items))
    waves = np.sort(spectrum)[1:] * math.sqrt(2 / items)
    found["item, cosine"] = one_item * waves.sum() ** 2 - floor
    found["item, positions"] = positions_square(items, epsilon) - floor
    for mechanism in ("duchi", "privunit"):
        found[mechanism] = vector_square(items, epsilon, mechanism) - floor
    return found


def positions_square(items, epsilon):
    """One item, and a set of positions that its own is in e^ε times as likely; of the best size."""
    tried = []
    for size in range(1, items):
        held = size * math.exp(epsilon) / (size * math.exp(epsilon) + items - size)
        gap = held - (size - held) / (items - 1)
        spread = size * (items - size) / (items * (items - 1))
        tried.append(items**2 * (1 - 1 / items) * spread * strict_square(items) / gap**2)
    return min(tried)


def vector_square(items, epsilon, mechanism):
    """A mechanism for vectors on the costs, their components divided by the roots of their eigenvalues."""
    dimension, total = (items - 1) ** 2, (items**2 - 1) / 3
    square = float(report_norm(mechanism, dimension, epsilon, math.sqrt(total))) ** 2
    along = square / dimension
    if mechanism == "privunit":
        along = square * float(privunit_cap(dimension, epsilon).square)
    beside = (square - along) / (dimension - 1)
    return beside * (items - 1) * total + (along - beside) * strict_square(items) / total


def main() -> None:
    """Print one table for each number of items."""
    jax.config.update("jax_enable_x64", True)
    for items in tuple(map(int, sys.argv[1:])) or ITEMS:
        rows, names = [], ()
        for epsilon in EPSILONS:
            found = errors(items, epsilon)
            names = tuple(found)
            one = found["item, cut"]
            least = (items - 1) * (items**2 - 1) ** 2 / 9 / math.sinh(epsilon / 2) ** 2
            norm = float(ldp_footrule_norm(items, epsilon)) ** 2
            ratios = (f"{error / one:.3f}" for error in found.values())
            rows.append((f"{epsilon:g}", *ratios, f"{norm / least:.3f}"))
        print_table(f"{items} items", ("ε", *names, "norm² / least norm²"), rows)


if __name__ == "__main__":
    main()
