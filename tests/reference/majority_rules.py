"""Naive twins of the rules that rank by majorities: loops over pairs, and all paths one by one."""

from __future__ import annotations

import itertools

import numpy as np


def minimax(w: np.ndarray) -> list[float]:
    """The smallest lead of each item over another one."""
    items = range(len(w))
    return [min((w[i, j] - w[j, i] for j in items if j != i), default=0.0) for i in items]


def strongest_path(w: np.ndarray, start: int, end: int) -> float:
    """Over all paths that visit no item twice, the largest of their smallest leads."""
    between = [item for item in range(len(w)) if item not in (start, end)]
    found = []
    for size in range(len(between) + 1):
        for middle in itertools.permutations(between, size):
            path = (start, *middle, end)
            found.append(min(w[i, j] - w[j, i] for i, j in itertools.pairwise(path)))
    return max(found)


def schulze(w: np.ndarray) -> list[float]:
    """How many items have a weaker path to each item than it has to them, a tie counting half."""
    items = range(len(w))
    paths = {pair: strongest_path(w, *pair) for pair in itertools.permutations(items, 2)}
    points = {pair: 0.5 * (1 + np.sign(paths[pair] - paths[pair[::-1]])) for pair in paths}
    return [sum(points[i, j] for j in items if j != i) for i in items]


def ranked_pairs(w: np.ndarray) -> list[int]:
    """Lock one pair after another, unless what was locked leads from its loser to its winner; count who is behind."""
    items = range(len(w))
    locked: set[tuple[int, int]] = set()

    def reached(start: int) -> set[int]:
        found, waiting = set(), [start]
        while waiting:
            here = waiting.pop()
            more = {worse for better, worse in locked if better == here} - found
            found |= more
            waiting += more
        return found

    for i, j in sorted(
        itertools.combinations(items, 2), key=lambda pair: -abs(w[pair] - w[pair[::-1]])
    ):
        better, worse = (i, j) if w[i, j] >= w[j, i] else (j, i)
        if better not in reached(worse):
            locked.add((better, worse))
    return [len(reached(i)) for i in items]


def borda(w: np.ndarray) -> list[float]:
    """The sum of its weights."""
    items = range(len(w))
    return [sum(w[i, j] for j in items if j != i) for i in items]


def copeland(w: np.ndarray) -> list[float]:
    """How many items each beats, a tie counting half."""
    items = range(len(w))
    return [sum(0.5 * (1 + np.sign(w[i, j] - w[j, i])) for j in items if j != i) for i in items]


RULES = {
    "copeland": copeland,
    "ranked-pairs": ranked_pairs,
    "schulze": schulze,
    "minimax": minimax,
    "borda": borda,
}
