"""Naive twins of noise for prefix sums: plain loops over steps, and all that a unit can change."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np


def square_root(steps):
    """A^{1/2} by its defining equation: the lower triangular L of LL = A with ones on its diagonal, entry by entry."""
    root = [[0.0] * steps for _ in range(steps)]
    for gap in range(steps):
        for row in range(gap, steps):
            column = row - gap
            between = sum(root[row][k] * root[k][column] for k in range(column + 1, row))
            root[row][column] = 1.0 if gap == 0 else (1.0 - between) / 2
    return np.array(root)


def counter_nodes(steps):
    """Sums kept by the binary counter of Chan, Shi and Song after each step: (first, last) of the closed interval."""
    held, closed = [], []
    for step in range(1, steps + 1):
        node = (step, step)
        while held and held[-1][1] - held[-1][0] == node[1] - node[0]:
            node = (held.pop()[0], step)
        held.append(node)
        closed.append((node, list(held)))
    return closed


def counter(steps):
    """B and C of the binary counter."""
    decode, encode = np.zeros((steps, steps)), np.zeros((steps, steps))
    for row, ((first, last), held) in enumerate(counter_nodes(steps)):
        encode[row, first - 1 : last] = 1
        for _, end in held:
            decode[row, end - 1] = 1
    return decode, encode


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


def unbounded_root(steps):
    """C of the root without a last step, from fractions: the telescoping squares of its coefficients, term by term."""
    left = [Fraction(1)]
    for k in range(steps):
        squares = sum(Fraction(math.comb(2 * j, j), 4**j) ** 2 for j in range(k + 1))
        left.append(1 / (1 + squares / 5) ** 3)
    encode = [[0.0] * steps for _ in range(steps)]
    for row in range(steps):
        for column in range(row + 1):
            gap = row - column
            encode[row][column] = math.sqrt(left[gap] - left[gap + 1])
    return np.array(encode)


def unbounded_tree(steps):
    """B and C of the tree without a last step: each prefix is cut, from its left end, into the longest intervals."""
    decode, encode = np.zeros((steps, steps)), np.zeros((steps, steps))
    for step in range(1, steps + 1):
        begin = 0
        while begin < step:
            level = max(j for j in range(9) if begin + 32**j <= step)
            begin, last = begin + 32**level, begin
            decode[step - 1, begin - 1] = 2**level
        encode[step - 1, last:step] = 2.0**-level
    return decode, encode
