"""Naive twins of noise for prefix sums: plain loops over steps, and all that a unit can change."""

from __future__ import annotations

import itertools

import numpy as np


def noisy_prefix_sums(totals, decode, noise):
    """Totals (T, m) summed up step by step, with B times the noise."""
    released = []
    for step in range(len(totals)):
        row = []
        for item in range(len(totals[0])):
            exact = sum(totals[s][item] for s in range(step + 1))
            added = sum(decode[step][s] * noise[s][item] for s in range(step + 1))
            row.append(exact + added)
        released.append(row)
    return np.array(released)


def largest_change(encode, items, limit, adjacency, order, units=None):
    """Largest norm of the change of CX, over all that one unit of ``limit`` comparisons holds at any steps.

    X holds win totals; or, with units (a, b), a times wins and losses and b times pair counts.
    """
    steps, pairs = len(encode), list(itertools.combinations(range(items), 2))
    size = items if units is None else 2 * items + len(pairs)
    kinds = []
    for step, (i, j) in itertools.product(range(steps), pairs):
        for first in (1.0, 0.0, 0.5):
            row = np.zeros((steps, size))
            row[step, i], row[step, j] = first, 1 - first
            if units is not None:
                row[step, items + i], row[step, items + j] = 1 - first, first
                row[step] *= units[0]
                row[step, 2 * items + pairs.index((i, j))] = units[1]
            kinds.append(((step, i, j), row))
    held = []
    for number in range(limit + 1):
        for chosen in itertools.combinations_with_replacement(kinds, number):
            asked = tuple(sorted(where for where, _ in chosen))
            held.append((asked, sum((row for _, row in chosen), np.zeros((steps, size)))))
    moved = np.array([(encode @ rows).ravel() for _, rows in held])
    change = np.abs(moved[:, None] - moved)
    sizes = change.sum(-1) if order == 1 else np.sqrt((change**2).sum(-1))
    if adjacency == "flip":
        alike = np.array([[one == other for other, _ in held] for one, _ in held])
        return sizes[alike].max()
    if adjacency == "add-remove":
        return sizes[:, [place for place, (asked, _) in enumerate(held) if not asked]].max()
    return sizes.max()
