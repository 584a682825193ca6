"""Naive twins of footrule: user by user, item by item, all permutations."""

from __future__ import annotations

import itertools

import numpy as np


def halves(row, missing="last"):
    """Positions of a user's two halves, each a list with one number per item."""
    found = []
    for unknown in (len(row), -1) if missing == "unknown" else (len(row), len(row)):
        full = [rank if rank >= 0 else unknown * 1000 for rank in row]
        found.append([sum(b < a for b in full) + (full.count(a) - 1) / 2 for a in full])
    return found


def footrule(order, row, missing="last"):
    """F of one user to a ranking."""
    return float(np.mean([np.abs(np.array(order) - half).sum() for half in halves(row, missing)]))


def histograms(ranks, missing="last"):
    """Four times the number of users who have item j at position q."""
    items = len(ranks[0])
    counts = np.zeros((items, items))
    for row in ranks:
        for half in halves(row, missing):
            for item, position in enumerate(half):
                counts[item, int(np.floor(position))] += 1
                counts[item, int(np.ceil(position))] += 1
    return counts


def costs(ranks, missing="last"):
    """Mean distance of each item from each place."""
    items = len(ranks[0])
    total = np.zeros((items, items))
    for row in ranks:
        for half in halves(row, missing):
            for item, place in itertools.product(range(items), repeat=2):
                total[item, place] += abs(half[item] - place) / 2
    return total / len(ranks)


def least_cost(costs):
    """The least cost of any assignment."""
    items = range(len(costs))
    return min(sum(costs[i][p] for i, p in zip(items, r)) for r in itertools.permutations(items))


def weak_orders(items, gaps=False):
    """All rankings with ties, and with items not ranked if wanted."""
    found = set()
    for row in itertools.product(range(-1 if gaps else 0, items), repeat=items):
        values = sorted({rank for rank in row if rank >= 0})
        found.add(tuple(values.index(rank) if rank >= 0 else -1 for rank in row))
    return sorted(found)


def parts(row, missing="last"):
    """Four full positions of a user, a list with one place per item each: halves of halves."""
    found = []
    for half in halves(row, missing):
        found += [[int(np.floor(p)) for p in half], [int(np.ceil(p)) for p in half]]
    return found


def prefixes(row, missing="last"):
    """F of one user: the share of its parts that have item j at place p or before."""
    items = range(len(row))
    each = [[[float(q[j] <= p) for p in items[:-1]] for j in items] for q in parts(row, missing)]
    return np.mean(each, axis=0)
