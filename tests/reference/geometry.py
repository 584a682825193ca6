"""Naive twins of the geometry of noise: gauges by all cuts, lattice points and spanning forests by enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np


def zonotope_gauge(point, pairs, num_items):
    """The smallest whole r with the point in r·Σ [-1, 1](e_i - e_j): a cut of k edges lets sums move by k."""
    worst = Fraction(0)
    for size in range(1, num_items):
        for side in itertools.combinations(range(num_items), size):
            cut = sum((i in side) != (j in side) for i, j in pairs)
            moved = abs(sum(int(point[i]) for i in side))
            if moved and not cut:
                return math.inf
            worst = max(worst, Fraction(moved, cut) if cut else Fraction(0))
    return math.ceil(worst)


def lattice_points(pairs, num_items, radius):
    """All whole vectors in the zonotope of that radius."""
    degree = [sum(item in pair for pair in pairs) for item in range(num_items)]
    boxes = [range(-radius * d, radius * d + 1) for d in degree]
    return {
        point
        for point in itertools.product(*boxes)
        if sum(point) == 0 and zonotope_gauge(point, pairs, num_items) <= radius
    }


def spanning_forests(pairs, num_items):
    """Sets of indices of pairs without a cycle, as many as can be."""
    found: list[tuple[int, ...]] = []
    for size in range(num_items, -1, -1):
        for chosen in itertools.combinations(range(len(pairs)), size):
            group = list(range(num_items))
            joined = 0
            for index in chosen:
                i, j = pairs[index]
                if group[i] != group[j]:
                    group = [group[i] if g == group[j] else g for g in group]
                    joined += 1
            if joined == size:
                found.append(chosen)
        if found:
            return found
    return found


def rooted(chosen, pairs, components):
    """(parent, item, index), parents first, for a forest given by its pairs."""
    joined = []
    for members in components:
        joined.append((-1, members[0], -1))
        reached = [members[0]]
        for item in reached:
            for index in chosen:
                i, j = pairs[index]
                if item in (i, j):
                    other = j if item == i else i
                    if other not in reached:
                        reached.append(other)
                        joined.append((item, other, index))
    return joined


def radius_law(dimension, rate, most):
    """P(r) ∝ e^{-rate r} (2r+1)^dimension for r = 0, ..., most, most so large that the rest doesn't count."""
    radius = np.arange(most + 1)
    logs = -rate * radius + dimension * np.log(2.0 * radius + 1)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()
