"""Naive twins of Davidson's model of ties: its likelihood outcome by outcome, and its fit by SciPy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy.optimize


def davidson_probabilities(first, second, tie):
    """P(win), P(tie), P(loss) of worths exp(first), exp(second), as Davidson writes them."""
    one, other = math.exp(first), math.exp(second)
    between = tie * math.sqrt(one * other)
    total = one + between + other
    return one / total, between / total, other / total


def davidson_log_likelihood(scores, tie, outcomes):
    """``outcomes``: (i, j, wins of i, ties, wins of j)."""
    total = 0.0
    for i, j, *numbers in outcomes:
        for number, chance in zip(numbers, davidson_probabilities(scores[i], scores[j], tie)):
            total += number * math.log(chance)
    return total


def davidson_fit(outcomes, num_items, ridge=0.0, tie_ridge=0.0):
    """Scores of mean 0 and ν of the largest penalized likelihood."""

    def loss(params):
        scores = params[:-1]
        ridges = 0.5 * ridge * scores @ scores + 0.5 * tie_ridge * params[-1] ** 2
        known = davidson_log_likelihood(scores, math.exp(params[-1]), outcomes)
        return ridges + 0.5 * scores.sum() ** 2 - known

    start = np.zeros(num_items + 1)
    found = scipy.optimize.minimize(loss, start, tol=1e-12, options={"gtol": 1e-7})
    return found.x[:-1] - found.x[:-1].mean(), math.exp(found.x[-1])


def davidson_numbers(outcomes, num_items):
    """Win totals, ties counted half, and the number of ties."""
    totals, ties = np.zeros(num_items), 0.0
    for i, j, won, tied, lost in outcomes:
        totals[i] += won + tied / 2
        totals[j] += lost + tied / 2
        ties += tied
    return totals, ties


def largest_change(pairs, num_items, norm, weight):
    """Largest norm of the change of (N, weight·T) over all answers to ``pairs`` and all others, by enumeration."""
    kinds = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    found = []
    for answers in itertools.product(kinds, repeat=len(pairs)):
        totals, ties = davidson_numbers([(*p, *a) for p, a in zip(pairs, answers)], num_items)
        found.append(np.append(totals, weight * ties))
    points = np.unique(found, axis=0)
    return max(np.linalg.norm(a - b, norm) for a, b in itertools.combinations(points, 2))
