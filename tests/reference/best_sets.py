"""Naive twins of canonical selection: every set, one by one."""

from __future__ import annotations

import itertools

import numpy as np


def set_utilities(scores, k, lead):
    """Every set of k items, and its worst score less the best one outside, ``lead`` times that if it is positive."""
    sets, utilities = list(itertools.combinations(range(len(scores)), k)), []
    for chosen in sets:
        outside = [float(score) for i, score in enumerate(scores) if i not in chosen]
        margin = min(float(scores[i]) for i in chosen) - max(outside) if outside else 0.0
        utilities.append(lead * margin if margin > 0 else margin)
    return sets, utilities


def outcome_law(utilities, scale, noise):
    """P(outcome): odds exp(utility / scale), or those in random order, each accepted by its odds beside the best."""
    odds = np.exp((np.array(utilities) - max(utilities)) / scale)
    if noise == "gumbel":
        return odds / odds.sum()
    # The order by uniform times t: the others are reached before with probability t and refused, P = ∫ p Π(1 - t p_j).
    nodes, weights = np.polynomial.legendre.leggauss(len(odds) // 2 + 1)
    nodes, weights = (nodes + 1) / 2, weights / 2
    refused = 1 - odds[:, None] * nodes
    return np.array([p * float(weights @ (refused.prod(0) / own)) for p, own in zip(odds, refused)])


def law(scores, k, change, reach, epsilon, noise):
    """Sets, and their probabilities, one by one."""
    outcomes, utilities = set_utilities(scores, k, change / reach - 1)
    return outcomes, outcome_law(utilities, change / epsilon, noise)
