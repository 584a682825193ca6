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


def gauges(points, pairs, num_items):
    """:func:`zonotope_gauge` of many points ``(K, m)`` of the lattice, ``(K,)``, by all cuts at once."""
    sides = np.array(list(itertools.product((0, 1), repeat=num_items)))
    ends = sides[:, np.array(pairs).reshape(-1, 2)]
    cuts = np.sum(ends[..., 0] != ends[..., 1], axis=1)
    moved = np.abs(np.asarray(points) @ sides.T)
    assert not moved[:, cuts == 0].any()
    return np.max(-(-moved[:, cuts > 0] // cuts[cuts > 0]), axis=1)


def cut_gauge(points, lengths):
    """The norm of a zonotope with these lengths at points ``(..., m)``: the largest of all ratios z(S)/cut(S)."""
    sides = np.array(list(itertools.product((0.0, 1.0), repeat=len(lengths))))
    cut = np.einsum("si,ij,sj->s", sides, np.asarray(lengths, float), 1 - sides)
    moved = np.abs(np.asarray(points, float) @ sides.T)
    assert np.all(moved[..., cut == 0] < 1e-9)
    return (moved[..., cut > 0] / cut[cut > 0]).max(-1)


def forest_numbers(pairs, num_items):
    """The number of sets of i pairs without a cycle, for i = 0, ..., the size of a spanning forest."""
    found = []
    for size in range(num_items):
        found.append(
            sum(
                _acyclic(chosen, pairs)
                for chosen in itertools.combinations(range(len(pairs)), size)
            )
        )
        if not found[-1]:
            return found[:-1]
    return found


def forest_numbers_of_all_pairs(num_items):
    """The same for the graph with each pair once: the first item's tree has k items, in k^{k-2} ways."""
    table = [[1]]  # by items, then by pairs
    for n in range(1, num_items + 1):
        row = [0] * n
        for k in range(1, n + 1):
            trees = math.comb(n - 1, k - 1) * (k ** (k - 2) if k > 2 else 1)
            for size, number in enumerate(table[n - k]):
                row[k - 1 + size] += trees * number
        table.append(row)
    return table[num_items]


def numbers_of_points(forests, most):
    """N_0, ..., N_most, the lattice points within each radius: sum of f_i (2r)^i (Stanley 1991), floats."""
    radii = 2.0 * np.arange(most + 1)
    return sum(float(number) * radii**size for size, number in enumerate(forests))


def gauge_law(numbers, rate):
    """P(M = r) for noise ∝ e^{-rate·M}, from the numbers of lattice points within each radius."""
    shells = np.diff(numbers, prepend=0.0)
    logs = np.log(shells) - rate * np.arange(shells.size)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def spanning_forests(pairs, num_items):
    """Sets of indices of pairs without a cycle, as many as can be."""
    for size in range(num_items, -1, -1):
        found = [
            chosen
            for chosen in itertools.combinations(range(len(pairs)), size)
            if _acyclic(chosen, pairs)
        ]
        if found:
            return found
    return []


def _acyclic(chosen, pairs):
    group = {item: item for index in chosen for item in pairs[index]}
    for index in chosen:
        i, j = pairs[index]
        if group[i] == group[j]:
            return False
        group = {item: group[i] if g == group[j] else g for item, g in group.items()}
    return True


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


def place(chosen, pairs, num_items, inside, radius):
    """The point that a forest of pairs and coordinates name, and whether the rule keeps it, by fractions.

    Heights are 2^-k, potentials are sums of heights along the forest, and q and its coordinates in the tile are
    fractions: what the module head of ``exact/k_norm.py`` says, without comparing indices.
    """
    height = [Fraction(1, 2**k) for k in range(len(pairs))]
    sides = [_sides(index, chosen, pairs, num_items) for index in chosen]
    whole = _sides(None, chosen, pairs, num_items)
    potential = [Fraction(0)] * num_items
    for index, group in zip(
        chosen, sides
    ):  # the first item's side rises above the other by the height
        i, _ = pairs[index]
        for item in range(num_items):
            potential[item] += height[index] * (group[item] == group[i])
    point, corner = [0] * num_items, [0] * num_items
    given = dict(zip(chosen, inside))
    for index, (i, j) in enumerate(pairs):
        gap = potential[i] - potential[j] - height[index]
        if index in given:
            assert gap == 0
            low, at = -radius, int(given[index]) - radius
        else:
            assert gap != 0
            low = at = radius if gap > 0 else -radius
        for vector, amount in ((corner, low), (point, at)):
            vector[i] += amount
            vector[j] -= amount
    q = [Fraction(0)] * num_items
    for component in set(whole):
        members = [item for item in range(num_items) if whole[item] == component]
        for item in members[:-1]:
            q[item] += Fraction(1, 2 * num_items)
            q[members[-1]] -= Fraction(1, 2 * num_items)
    kept = True
    for index, group in zip(chosen, sides):
        i, _ = pairs[index]
        side = [item for item in range(num_items) if group[item] == group[i]]
        flow = sum(q[item] - corner[item] for item in side)
        assert flow.denominator != 1
        kept &= bool(given[index] > 0 or flow > 0)
        kept &= bool(given[index] < 2 * radius or flow < 2 * radius)
    return point, kept


def _sides(without, chosen, pairs, num_items):
    """The component of each item in a forest, without one of its pairs."""
    group = list(range(num_items))
    for index in chosen:
        if index != without:
            i, j = pairs[index]
            group = [group[i] if g == group[j] else g for g in group]
    return group
