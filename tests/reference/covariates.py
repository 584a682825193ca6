"""Naive twins of comparisons with covariates: the design matrix in full, loops over rows, SciPy's minimizer."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.optimize


def design_matrix(first, second, features, num_items):
    """Rows (e_i - e_j, x)."""
    rows = []
    for i, j, x in zip(first, second, features):
        row = [0.0] * num_items + list(x)
        row[i] += 1
        row[j] -= 1
        rows.append(row)
    return np.array(rows)


def matrix_of(design):
    """Those rows of a design of the library."""
    parts = (np.asarray(part) for part in (design.first, design.second, design.features))
    return design_matrix(*parts, design.num_items)


def covariate_sums(matrix, outcomes):
    return sum(y * row for y, row in zip(outcomes, matrix))


def covariate_sensitivity(matrix, users, order):
    """Largest Σ‖z_r‖ of one user; ``order`` is 1 or 2."""
    return max(
        sum(np.linalg.norm(row, order) for row, who in zip(matrix, users) if who == user)
        for user in set(users)
    )


def largest_change(matrix, order):
    """The largest ‖S - S'‖ over all outcomes (0, 1/2, 1) of these comparisons, of one user, by enumeration."""
    sums = [
        covariate_sums(matrix, outcomes)
        for outcomes in itertools.product((0.0, 0.5, 1.0), repeat=len(matrix))
    ]
    return max(np.linalg.norm(one - other, order) for one in sums for other in sums)


def covariate_fit(matrix, sums, ridge, num_items):
    """The minimizer of Σ log(1 + e^{⟨z, β⟩}) - ⟨S, β⟩ + Σ γ_k β_k²/2, its scores centered."""

    def gradient(beta):
        chances = [1 / (1 + np.exp(-row @ beta)) for row in matrix]
        return covariate_sums(matrix, chances) - sums + ridge * beta

    def hessian(beta):
        bent = np.diag(np.array(ridge, float))
        for row in matrix:
            chance = 1 / (1 + np.exp(-row @ beta))
            bent += chance * (1 - chance) * np.outer(row, row)
        return bent

    beta = np.zeros(matrix.shape[1])
    found = scipy.optimize.minimize(
        lambda b: sum(np.logaddexp(0, row @ b) for row in matrix) - sums @ b + ridge @ (b * b) / 2,
        beta,
        jac=gradient,
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-11},
    )
    beta = scipy.optimize.root(gradient, found.x, jac=hessian, tol=1e-13).x
    beta[:num_items] -= beta[:num_items].mean()
    return beta


def default_covariate_ridge(matrix, num_items, scale, noise):
    """1 + V/h for scores, h = d/5; x²(1 + V/h) for features, h = Σx²/5 and x the largest size."""
    variance = (2 if noise == "laplace" else 1) * scale**2
    found = [1 + variance / (2 * len(matrix) / num_items / 5)] * num_items
    for column in matrix[:, num_items:].T:
        found.append(max(abs(column)) ** 2 * (1 + variance / (sum(column**2) / 5)))
    return np.array(found)
