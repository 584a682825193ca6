"""Comparison of reports of two item sets with their law."""

from __future__ import annotations

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
    seen, counts = np.unique(reports.round(4) + 0.0, axis=0, return_counts=True)
    index = {tuple(outcome): number for number, outcome in enumerate(outcomes.tolist())}
    observed = np.zeros(len(outcomes))
    observed[[index[tuple(outcome)] for outcome in seen.tolist()]] = counts
    return stats.chisquare(observed, np.bincount(place.ravel(), chances) * len(reports)).pvalue
