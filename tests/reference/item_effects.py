"""Naive twin of the fit of scores by facts about items: pseudo-inverses, and τ by a root finder."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq


def item_effects(scores, covariance, facts):
    """β, its covariance and τ."""
    m, p = facts.shape
    center = np.eye(m) - 1 / m

    def fit(extra):
        # On vectors of sum 0 the pseudo-inverse of a projected covariance is its inverse.
        weight = np.linalg.pinv(center @ (covariance + extra * np.eye(m)) @ center)
        inverse = np.linalg.inv(facts.T @ weight @ facts)
        beta = inverse @ facts.T @ weight @ scores
        rest = scores - facts @ beta
        return beta, inverse, rest @ weight @ rest

    def missing(extra):
        return fit(extra)[2] - (m - 1 - p)

    extra = 0.0
    if missing(0.0) > 0:
        extra = brentq(missing, 0.0, 1e3 * (np.trace(covariance) + scores @ scores), xtol=1e-14)
    beta, inverse, _ = fit(extra)
    return beta, inverse, np.sqrt(extra)
