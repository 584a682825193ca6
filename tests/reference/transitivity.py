"""Naive twin of the test of transitivity."""

from __future__ import annotations

import itertools
import math


def intransitivity(wins):
    """The statistics of one user by enumeration of triads and by search for cycles."""
    size = len(wins)
    beats = [[wins[i][j] > wins[j][i] for j in range(size)] for i in range(size)]
    circular = 0
    for i, j, k in itertools.combinations(range(size), 3):
        circular += beats[i][j] and beats[j][k] and beats[k][i]
        circular += beats[j][i] and beats[k][j] and beats[i][k]

    def reaches(start):
        seen, queue = set(), [start]
        while queue:
            at = queue.pop()
            fresh = [b for b in range(size) if beats[at][b] and b not in seen]
            seen.update(fresh)
            queue += fresh
        return start in seen

    counts = [sum(row) for row in wins]
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    complete = all(beats[i][j] or beats[j][i] for i, j in pairs)
    most = (size**3 - (size if size % 2 else 4 * size)) / 24
    return {
        "circular_triads": circular,
        "consistence": 1 - circular / most if complete else math.nan,
        "intransitive": any(reaches(item) for item in range(size)),
        "tied_counts": len(set(counts)) < size,
        "comparisons": sum(counts),
        "conflicts": sum(wins[i][j] for i, j in pairs if counts[i] < counts[j]),
        "level": sum(wins[i][j] for i, j in pairs if counts[i] == counts[j]),
    }
