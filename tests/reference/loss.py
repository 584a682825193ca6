"""Naive twins of losses from privatized labels."""

from __future__ import annotations

import math


def clean_loss(difference, label):
    """-log P(label) of the logistic model."""
    return math.log1p(math.exp(-abs(difference))) + max(0.0, -difference if label else difference)


def preference_loss(difference, report, epsilon):
    """Natarajan's unbiased estimator, from the flip probability."""
    flip = 1 / (1 + math.exp(epsilon))
    kept, flipped = clean_loss(difference, report), clean_loss(difference, 1 - report)
    return ((1 - flip) * kept - flip * flipped) / (1 - 2 * flip)
