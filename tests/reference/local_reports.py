"""Local reports of one ranking's Borda scores, by enumeration: subset selection, one pair, a lower bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import minimize


def rankings(items):
    """Scores 0, ..., m - 1 of all rankings, ``(m!, m)``."""
    return np.array(list(itertools.permutations(range(items))))


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


def _largest_cap(scores, growth, direction):
    """Climb to a direction u in which scores, weighted by 1 and e^ε below and above a threshold, have a large mean."""
    best, count = -1.0, np.arange(1, len(scores) + 1)
    while True:
        along = scores @ direction
        order = np.argsort(-along, kind="stable")
        cut = int(np.argmax(np.cumsum(along[order]) / (len(scores) + growth * count))) + 1
        above = order[:cut]
        mean = growth * scores[above].sum(0) / (len(scores) + growth * cut)
        size = float(np.linalg.norm(mean))
        if size <= best + 1e-12:
            return size, above, direction
        best, direction = size, mean / size


def _directions(items, rng, number):
    """Directions to climb from: few levels, and some by chance."""
    found = [centered(items)]
    for ahead in range(1, items):
        for behind in range(1, items - ahead + 1):
            found.append(
                np.repeat([-1 / behind, 0, 1 / ahead], [behind, items - ahead - behind, ahead])
            )
    found += [np.sort(rng.standard_normal(items)) for _ in range(number)]
    found = [direction - direction.mean() for direction in found]
    return [direction / np.linalg.norm(direction) for direction in found]


def least_square(items, epsilon, number=30, tolerance=1e-4):
    """Bounds of the least E‖z‖² of any unbiased ε-local z: (from the best λ found, attained by a mixture of caps).

    The first is a bound as far as climbing finds the largest cap; the second is an upper bound for sure.
    """
    everyone, growth, half = rankings(items), math.expm1(epsilon), items // 2
    rng = np.random.default_rng(0)
    spread = np.zeros((items, half))
    for i in range(half):
        spread[items - half + i, i], spread[half - 1 - i, i] = 1, -1
    x = centered(items)
    at = spread.T @ x
    start, forms = _directions(items, rng, number), []
    low, prices = 0.0, x[items - half :]
    while True:
        scores = (spread @ prices)[everyone]
        size, above, direction = max(
            (_largest_cap(scores, growth, one) for one in start), key=lambda found: found[0]
        )
        low = max(low, float((at @ prices / size) ** 2))
        start.append(direction)
        held = np.array([np.bincount(column, minlength=items) for column in everyone[above].T])
        mean = growth * held @ spread / (len(everyone) + growth * len(above))
        forms.append(mean.T @ mean)
        first = prices * (at @ prices) / max(prices @ form @ prices for form in forms)
        bounds = {
            "type": "ineq",
            "fun": lambda v: np.array([v[-1] - v[:-1] @ form @ v[:-1] for form in forms]),
            "jac": lambda v: np.array([np.append(-2 * form @ v[:-1], 1) for form in forms]),
        }
        solved = minimize(
            lambda v: v[-1] - 2 * at @ v[:-1],
            np.append(first, max(first @ form @ first for form in forms)),
            jac=lambda v: np.append(-2 * at, 1.0),
            constraints=[bounds],
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        prices = solved.x[:-1]
        most = max(prices @ form @ prices for form in forms)
        high = float((at @ prices) ** 2 / most) if most > 0 else math.inf
        if high <= (1 + tolerance) * low:
            return low, high
