"""Comparison of samples with laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

RATE = 1e-9
LESS = 0.95  # of the noise that is due


def laplace_pmf(x, scale):
    alpha = math.exp(-1 / scale)
    return (1 - alpha) / (1 + alpha) * alpha ** np.abs(x)


def gaussian_pmf(x, scale):
    """Of normal numbers, rounded."""
    return stats.norm.cdf((x + 0.5) / scale) - stats.norm.cdf((x - 0.5) / scale)


def assert_shares(observed, chances, rate=RATE):
    """χ² of counts against probabilities; the rarest cells are one, which is expected at least 20 times, as all are."""
    observed, chances = (np.ravel(np.asarray(x, float)) for x in (observed, chances))
    assert chances.sum() == pytest.approx(1)
    draws = observed.sum()
    order = np.argsort(draws * chances, kind="stable")
    observed, chances = observed[order], chances[order]
    assert not np.any(observed[chances == 0])
    pooled = max(
        np.searchsorted(draws * chances, 20), np.searchsorted(np.cumsum(draws * chances), 20) + 1
    )
    observed, chances = (np.append(x[:pooled].sum(), x[pooled:]) for x in (observed, chances))
    assert chances.size > 1
    assert stats.chisquare(observed, draws * chances).pvalue > rate


def assert_mean(values, mean, deviation):
    """The mean of independent values of a known law, by the normal one."""
    assert (
        2 * stats.norm.sf(abs(np.mean(values) - mean) * math.sqrt(np.size(values)) / deviation)
        > RATE
    )


def power(draws, right, less):
    """Chance that :func:`assert_mean` rejects draws of the law ``less``; both laws are (mean, deviation)."""
    reach = stats.norm.isf(RATE / 2) * right[1]
    apart = abs(right[0] - less[0]) * math.sqrt(draws)
    return stats.norm.cdf((apart - reach) / less[1])
