"""Naive twins of the local model: randomized response, debiasing, ADRR, by loops over plain numbers."""

from __future__ import annotations

import math

import numpy as np
import scipy.optimize

from tests.reference import link as link_functions


def flip_probability(epsilon):
    """1/(1 + e^ε), written so that Python floats don't overflow."""
    return math.exp(-epsilon) / (1 + math.exp(-epsilon))


def debias(report, epsilon):
    """Equation (3) of Xu, Sun and Cheng as printed; ε up to 700."""
    return ((math.exp(epsilon) + 1) * report - 1) / math.expm1(epsilon)


def pairs_of(items):
    """Pairs (i, j), i < j, in the order of ``np.triu_indices``."""
    return [(i, j) for i in range(items) for j in range(i + 1, items)]


def stationary_point(objective, start):
    """A root of the gradient near ``start``: BFGS, then a root search from where it stops."""
    found = scipy.optimize.minimize(objective, start, jac=True, tol=1e-10)
    root = scipy.optimize.root(lambda theta: objective(theta)[1], found.x, tol=1e-13)
    return root.x if root.success else found.x


def signed_objective(theta, wins, name, constant):
    """-Σ Z_ij log F(θ_i - θ_j) + c‖θ‖² for counts that may be negative, and its gradient."""
    value, gradient = constant * sum(t * t for t in theta), [2 * constant * t for t in theta]
    for i in range(len(theta)):
        for j in range(len(theta)):
            if i != j:
                _, log_cdf, score, _ = link_functions(name, theta[i] - theta[j])
                value -= wins[i][j] * log_cdf
                gradient[i] -= wins[i][j] * score
                gradient[j] += wins[i][j] * score
    return value, np.array(gradient)


def signed_hessian(theta, wins, name):
    """Hessian of the above without its ridge."""
    hessian = np.zeros((len(theta), len(theta)))
    for i in range(len(theta)):
        for j in range(len(theta)):
            if i != j:
                bend = wins[i][j] * link_functions(name, theta[i] - theta[j])[3]
                direction = np.zeros(len(theta))
                direction[i], direction[j] = 1, -1
                hessian += bend * np.outer(direction, direction)
    return hessian


def smallest_nonzero_eigenvalue(hessian):
    """Over the directions that sum to 0, by an explicit basis of them."""
    basis = np.linalg.svd(np.ones((1, len(hessian))))[2][1:]
    return float(np.linalg.eigvalsh(basis @ hessian @ basis.T)[0])


def fixed_point_sums(first, second, reports, tanh, items):
    """{pair: (D, W)} in units of 2^-48 by Python's integers, each term cut toward 0; tanh as floats."""
    sums = {pair: [0, 0] for pair in pairs_of(items)}
    for i, j, report, t in zip(first, second, reports, tanh):
        low, high = min(i, j), max(i, j)
        low_won = (i if report else j) == low
        size = int(0.5 * t * 2.0**48)
        sums[low, high][0] += size if low_won else -size
        sums[low, high][1] += int(float(t.dtype.type(t * t)) * 2.0**48)
    return sums
