"""Naive twins of losses from privatized labels."""

from __future__ import annotations

import math


def clean_loss(difference, label):
    """-log P(label) of the logistic model."""
    return math.log1p(math.exp(-abs(difference))) + max(0.0, -difference if label else difference)


def debiased_loss(difference, report, epsilon):
    """Natarajan's unbiased estimator, from the flip probability."""
    flip = 1 / (1 + math.exp(epsilon))
    kept, flipped = clean_loss(difference, report), clean_loss(difference, 1 - report)
    return ((1 - flip) * kept - flip * flipped) / (1 - 2 * flip)


def square_loss(difference, report, epsilon):
    """Natarajan's unbiased estimator of (y - P(y = 1))²."""
    flip, wins = 1 / (1 + math.exp(epsilon)), 1 / (1 + math.exp(-difference))
    kept, flipped = (report - wins) ** 2, (1 - report - wins) ** 2
    return ((1 - flip) * kept - flip * flipped) / (1 - 2 * flip)


def likelihood_loss(difference, report, epsilon):
    """-log P(report), over both labels."""
    flip, wins = 1 / (1 + math.exp(epsilon)), 1 / (1 + math.exp(-difference))
    reported = wins if report else 1 - wins
    return -math.log((1 - flip) * reported + flip * (1 - reported))


def accuracy(differences, reports, epsilons):
    """Debiased agreement of every example, averaged with weights tanh²(ε/2)."""
    total = weight = 0.0
    for difference, report, epsilon in zip(differences, reports, epsilons):
        flip = 1 / (1 + math.exp(epsilon))
        agrees = 0.5 if difference == 0 else float((difference > 0) == bool(report))
        total += (1 - 2 * flip) ** 2 * (agrees - flip) / (1 - 2 * flip)
        weight += (1 - 2 * flip) ** 2
    return total / weight
