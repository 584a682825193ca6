"""Naive twins of the perturbed maximum likelihood."""

from __future__ import annotations

import math

import mpmath
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
    if noise == "laplace":
        log_noise = sum(-abs(x) / scale - math.log(2 * scale) for x in w)
    else:
        log_noise = sum(scipy.stats.norm.logpdf(x, scale=scale) for x in w)
    return log_noise + math.log(np.linalg.det(hessian))


def exact_minimizer(wins, tilt, gamma, name="logistic", digits=60):
    """The centered minimizer of the perturbed objective by Newton's method with many digits, halving long steps.

    ``wins``, ``tilt`` and ``gamma`` are numbers that ``mpmath.mpf`` takes.
    """
    with mpmath.workdps(3 * digits):  # falls of the value, which are squares of slopes, are seen
        items, gamma = len(wins), mpmath.mpf(gamma)
        wins = [[mpmath.mpf(w) for w in row] for row in wins]

        def at(theta):
            value = gamma / 2 * sum(t * t for t in theta)
            value += sum(w * t for w, t in zip(tilt, theta))
            slope = [gamma * t + w for t, w in zip(theta, tilt)]
            bend = mpmath.diag([gamma] * items)
            for i in range(items):
                for j in range(items):
                    if i == j or not wins[i][j]:
                        continue
                    loss, score, curve = loss_at(theta[i] - theta[j], name)
                    value += wins[i][j] * loss
                    slope[i] -= wins[i][j] * score
                    slope[j] += wins[i][j] * score
                    for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                        bend[a, b] += sign * wins[i][j] * curve
            return value, slope, bend

        theta = [mpmath.mpf(0)] * items
        value, slope, bend = at(theta)
        while max(map(abs, slope)) > mpmath.mpf(10) ** -digits * gamma:
            step, length = mpmath.lu_solve(bend, mpmath.matrix(slope)), mpmath.mpf(1)
            fall = sum(s * d for s, d in zip(slope, step))
            while True:
                moved = [t - length * d for t, d in zip(theta, step)]
                found = at(moved)
                if found[0] <= value - length * fall / 4:
                    break
                length /= 2
            theta, (value, slope, bend) = moved, found
        mean = sum(theta) / items
        return [t - mean for t in theta]


def loss_at(gap, name):
    """-log F, F'/F and -(log F)'' at one difference."""
    if name == "logistic":
        up = 1 / (1 + mpmath.exp(gap))
        return mpmath.log1p(mpmath.exp(-gap)), up, up * (1 - up)
    if gap <= 0:
        return mpmath.log(2) - gap, mpmath.mpf(1), mpmath.mpf(0)
    score = 1 / (2 * mpmath.exp(gap) - 1)
    return -mpmath.log1p(-mpmath.exp(-gap) / 2), score, score + score**2
