"""Local reports of one ranking's Borda scores, by enumeration: subset selection, one pair, a lower bound."""

from __future__ import annotations

import itertools
import math

import numpy as np


def centered(items):
    return np.arange(items) - (items - 1) / 2


def set_pairs(items, ahead, behind):
    """All pairs of disjoint sets of items, as tuples."""
    for first in itertools.combinations(range(items), ahead):
        rest = [item for item in range(items) if item not in first]
        for second in itertools.combinations(rest, behind):
            yield first, second


def lead(scores, first, second):
    """kl times the mean score of the first set less that of the second."""
    return len(second) * sum(scores[i] for i in first) - len(first) * sum(scores[i] for i in second)


def share_and_mean(scores, ahead, behind, threshold):
    """The share of pairs that reach the threshold, and the mean of y over these, averaged with its mirror image."""
    items = len(scores)
    sides = []
    for sign in (1, -1):
        total, reached, count = np.zeros(items), 0, 0
        for first, second in set_pairs(items, ahead, behind):
            count += 1
            if sign * lead(scores, first, second) >= threshold:
                reached += 1
                total[list(first)] += sign / ahead
                total[list(second)] -= sign / behind
        sides.append((reached / count, total / reached))
    assert sides[0][0] == sides[1][0]
    return sides[0][0], (sides[0][1] + sides[1][1]) / 2


def report_law(scores, design, keep):
    """Probabilities of all reports (type, side, A, B) of one ranking, and the reports as vectors.

    Args:
        scores: of the ranking, 0, ..., m - 1.
        design: (k, l, t, v) of each type.
        keep: probability of a proposal below the threshold; e^-ε.
    """
    items = len(scores)
    parts = []
    for ahead, behind, threshold, weight in design:
        share, _ = share_and_mean(scores, ahead, behind, threshold)
        strength = share * (1 - keep) / (keep + (1 - keep) * share)
        length = math.sqrt(1 / ahead + 1 / behind)
        parts.append((share, strength, length, abs(weight) * length / strength))
    norm = sum(part[3] for part in parts)
    chances, vectors = [], []
    for (ahead, behind, threshold, weight), (share, _, length, cost) in zip(design, parts):
        pairs = list(set_pairs(items, ahead, behind))
        for side in (1, -1):
            for first, second in pairs:
                reaches = side * lead(scores, first, second) >= threshold
                odds = (1 if reaches else keep) / (share + (1 - share) * keep)
                chances.append(cost / norm / 2 * odds / len(pairs))
                vector = np.zeros(items)
                vector[list(first)] = 1 / ahead
                vector[list(second)] = -1 / behind
                vectors.append(side * math.copysign(norm / length, weight) * vector)
    return np.array(chances), np.array(vectors)


# --- other randomizers, and what any needs: mean squared norms of reports


def one_pair_square(items, epsilon):
    return (items * (items - 1) / math.tanh(epsilon / 2)) ** 2 / 8
