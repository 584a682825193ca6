"""Naive twins of the perturbed maximum likelihood."""

from __future__ import annotations

import math

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats

from tests.reference.links import link


def perturbed_objective(theta, wins, tilt, gamma, name):
    """Value and gradient of the perturbed negative log-likelihood, one comparison pair at a time."""
    items = len(theta)
    value = 0.5 * gamma * sum(t * t for t in theta) + sum(w * t for w, t in zip(tilt, theta))
    gradient = [gamma * theta[i] + tilt[i] for i in range(items)]
    for i in range(items):
        for j in range(items):
            if wins[i][j] > 0:
                _, log_cdf, score, _ = link(name, theta[i] - theta[j])
                value -= wins[i][j] * log_cdf
                gradient[i] -= wins[i][j] * score
                gradient[j] += wins[i][j] * score
    return value, np.array(gradient)


def perturbed_mle(wins, tilt, gamma, name="logistic"):
    """The minimizer, not centered, by SciPy's BFGS and a root search from where it stops."""
    wins = np.asarray(wins, float)
    found = scipy.optimize.minimize(
        perturbed_objective, np.zeros(len(wins)), (wins, tilt, gamma, name), jac=True, tol=1e-10
    )
    root = scipy.optimize.root(
        lambda theta: perturbed_objective(theta, wins, tilt, gamma, name)[1], found.x, tol=1e-13
    )
    return root.x if root.success else found.x


def perturbed_mle_log_density(theta, wins, scale, gamma, name="logistic", noise="laplace"):
    """log p_w(w) + log det H at one θ, by loops."""
    items = len(theta)
    w = [-gamma * theta[i] for i in range(items)]
    hessian = gamma * np.eye(items)
    for i in range(items):
        for j in range(items):
            if i != j:
                _, _, score, curvature = link(name, theta[i] - theta[j])
                w[i] += wins[i][j] * score
                w[j] -= wins[i][j] * score
                hessian[i, i] += wins[i][j] * curvature
                hessian[j, j] += wins[i][j] * curvature
                hessian[i, j] -= wins[i][j] * curvature
                hessian[j, i] -= wins[i][j] * curvature
    distribution = scipy.stats.laplace if noise == "laplace" else scipy.stats.norm
    log_noise = sum(distribution.logpdf(x, scale=scale) for x in w)
    return log_noise + math.log(np.linalg.det(hessian))
