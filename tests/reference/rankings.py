"""Naive twins of rankings."""

from __future__ import annotations

import numpy as np


def ranks_from_scores(scores, mask=None):
    """Ranks, 0 = highest score; ties by index, masked items last."""
    items = list(range(len(scores)))
    keep = [True] * len(items) if mask is None else list(mask)
    kept = sorted((i for i in items if keep[i]), key=lambda i: (-float(scores[i]), i))
    order = kept + [i for i in items if not keep[i]]
    ranks = np.zeros(len(items), int)
    for position, item in enumerate(order):
        ranks[item] = position
    return ranks
