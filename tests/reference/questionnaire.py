"""Naive twins of questionnaires: cuts by enumeration."""

from __future__ import annotations

import itertools

import numpy as np


def max_cut(pairs, num_items):
    """Largest number of pairs with one item on each side, over all 2^m sides."""
    best = 0
    for sides in itertools.product((0, 1), repeat=num_items):
        best = max(best, sum(sides[i] != sides[j] for i, j in pairs))
    return best


def questionnaire_totals(pairs, num_items):
    """Win totals of every way to answer: i wins, j wins, tie, no answer; with the set answered."""
    answers = []
    for pattern in itertools.product("ijt-", repeat=len(pairs)):
        totals = [0.0] * num_items
        for answer, (i, j) in zip(pattern, pairs):
            if answer in "it":
                totals[i] += 1.0 if answer == "i" else 0.5
            if answer in "jt":
                totals[j] += 1.0 if answer == "j" else 0.5
        answers.append((tuple(answer != "-" for answer in pattern), tuple(totals)))
    return answers


def questionnaire_sensitivity(pairs, num_items, adjacency, order):
    """Largest distance (ℓ₁ or ℓ₂) between the totals of two neighboring answer patterns."""
    answers = questionnaire_totals(pairs, num_items)
    if adjacency == "add-remove":
        return max(float(np.linalg.norm(totals, order)) for _, totals in answers)
    groups = {}
    for answered, totals in answers:
        groups.setdefault(answered if adjacency == "flip" else None, set()).add(totals)
    worst = 0.0
    for group in groups.values():
        points = np.array(sorted(group))
        for point in points:
            worst = max(worst, float(np.linalg.norm(points - point, order, axis=1).max()))
    return worst
