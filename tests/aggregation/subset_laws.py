"""Comparison of reports of two item sets with their law."""

from __future__ import annotations

from collections import Counter

import numpy as np
from scipy import stats

from privrank_jax.aggregation.subset_designs import designs


def chosen(items, epsilon):
    """The design in use at ε: (k, l, t, v) of each type."""
    table = designs(items)
    row = int(np.argmin(table.costs(epsilon).sum(axis=1)))
    columns = (table.ahead, table.behind, table.threshold, table.weight)
    found = zip(*(column[row].tolist() for column in columns))
    return [kind for kind in found if kind[-1]]


def p_value(reports, chances, vectors):
    """χ² of reports, ``(n, m)``, against a law; equal vectors of several types are one outcome."""
    outcomes, place = np.unique(vectors.round(4) + 0.0, axis=0, return_inverse=True)
    seen = Counter(map(tuple, (reports.round(4) + 0.0).tolist()))
    observed = [seen.pop(tuple(outcome), 0) for outcome in outcomes.tolist()]
    assert not seen
    return stats.chisquare(observed, np.bincount(place.ravel(), chances) * len(reports)).pvalue
