"""Naive twins of Davidson's model with covariates: loops over comparisons, SciPy's root finder, enumeration."""

from __future__ import annotations

import numpy as np
import scipy.optimize


def tie_probabilities(odds, tie):
    """P(win), P(tie), P(loss) at log-odds of a win against a loss."""
    win, loss = np.exp(odds / 2), np.exp(-odds / 2)
    total = win + tie + loss
    return win / total, tie / total, loss / total


def tied_statistic(matrix, outcomes):
    """(S, T): the sums, ties half, and the number of ties."""
    found = np.zeros(matrix.shape[1] + 1)
    for row, outcome in zip(matrix, outcomes):
        found[:-1] += outcome * row
        found[-1] += outcome == 0.5
    return found


def expected_statistic(matrix, params):
    """The mean of (S, T) at (β, log ν)."""
    found = np.zeros(matrix.shape[1] + 1)
    for row in matrix:
        win, tie, _ = tie_probabilities(row @ params[:-1], np.exp(params[-1]))
        found += np.append((win + tie / 2) * row, tie)
    return found


def covariate_davidson_fit(matrix, statistic, ridge, num_items):
    """(β, log ν) at which the expected (S, T) is the given one less the pull of the ridges; scores centered."""
    ridge = np.asarray(ridge, float)
    found = scipy.optimize.root(
        lambda params: expected_statistic(matrix, params) - statistic + ridge * params,
        np.zeros(len(ridge)),
        tol=1e-13,
    )
    assert np.abs(found.fun).max() < 1e-9, found.message
    params = found.x
    params[:num_items] -= params[:num_items].mean()
    return params
