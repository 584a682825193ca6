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

    found = scipy.optimize.root(gradient, np.zeros(matrix.shape[1]), jac=hessian, tol=1e-13)
    beta = found.x
    beta[:num_items] -= beta[:num_items].mean()
    return beta


def default_covariate_ridge(matrix, num_items, scale, noise, part=5):
    """1 + V/h for scores, h = d/part; x²(1 + V/h) for features, h = Σx²/part and x the largest size."""
    variance = (2 if noise == "laplace" else 1) * scale**2
    found = [1 + variance / (2 * len(matrix) / num_items / part)] * num_items
    for column in matrix[:, num_items:].T:
        found.append(max(abs(column)) ** 2 * (1 + variance / (sum(column**2) / part)))
    return np.array(found)


def user_shape(first, second, features, users, num_items):
    """Of what one user can change: the most often that one meets each pair, the most of each feature, the most rows."""
    met = np.zeros((num_items, num_items), int)
    widths, answers = np.zeros(len(features[0])), 0
    for user in set(users):
        rows = [k for k, who in enumerate(users) if who == user]
        own = np.zeros_like(met)
        for k in rows:
            own[first[k], second[k]] += 1
            own[second[k], first[k]] += 1
        met = np.maximum(met, own)
        widths = np.maximum(widths, sum(np.abs(features[k]) for k in rows))
        answers = max(answers, len(rows))
    return met, widths, answers


def user_sensitivity(matrix, users, order, num_items, ties=False):
    """The lesser of Σ‖z_r‖ and what the pairs and covariates of users allow."""
    generic = covariate_sensitivity(matrix, users, order)
    if ties and order == 2:
        return generic
    return min(generic, shape_bound(matrix, users, order, num_items, ties))


def shape_bound(matrix, users, order, num_items, ties=False):
    """What pairs and covariates of users allow, by all cuts and all orders of the items."""
    ends = [(int(np.argmax(row)), int(np.argmin(row))) for row in matrix[:, :num_items]]
    met, widths, answers = user_shape(*zip(*ends), matrix[:, num_items:], users, num_items)
    if order == 2:
        turns = (
            np.sign(np.subtract.outer(ranks, ranks))
            for ranks in itertools.permutations(range(num_items))
        )
        return max(np.hypot.reduce([*(met * turn).sum(1), *widths]) for turn in turns)
    sides = (np.array(side) for side in itertools.product((0, 1), repeat=num_items))
    cut = max((met * (side[:, None] > side)).sum() for side in sides)
    most = max(
        sum(np.abs(row[num_items:]).sum() for row, who in zip(matrix, users) if who == user)
        for user in set(users)
    )
    return (answers + cut if ties else 2 * cut) + most
