"""Twins for fits of scores, by SciPy's distributions and optimizers; no JAX, nothing of the library's own links."""

from __future__ import annotations

import numpy as np
import scipy.optimize
import scipy.stats

DISTRIBUTIONS = {
    "logistic": scipy.stats.logistic,
    "normal": scipy.stats.norm,
    "laplace": scipy.stats.laplace,
}


def scipy_fit(name, matrix, ridge=0.0):
    """Minimizer of -Σ W_ij log F(θ_i - θ_j) + ridge/2 ‖θ‖² + (Σθ)²/2: BFGS, then a root of the gradient."""
    law, wins = DISTRIBUTIONS[name], np.asarray(matrix, float)

    def value(theta):
        gap = theta[:, None] - theta[None, :]
        loss = -np.sum(wins * law.logcdf(gap))
        return loss + 0.5 * ridge * theta @ theta + 0.5 * theta.sum() ** 2

    def gradient(theta):
        gap = theta[:, None] - theta[None, :]
        pull = wins * np.exp(law.logpdf(gap) - law.logcdf(gap))
        return pull.sum(0) - pull.sum(1) + ridge * theta + theta.sum()

    near = scipy.optimize.minimize(value, np.zeros(len(wins)), jac=gradient, method="BFGS").x
    found = scipy.optimize.root(gradient, near, tol=1e-13)
    assert np.abs(gradient(found.x)).max() < 1e-8 * max(wins.sum(), 1.0), (
        "the twin did not converge"
    )
    return found.x - found.x.mean()
