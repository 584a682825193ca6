"""Naive twins of likelihoods: fits and information."""

from __future__ import annotations

import numpy as np

from tests.reference.links import link


def fit(name, matrix, ridge=0.0, steps=200):
    """Newton with halved steps on -Σ W_ij log F(θ_i - θ_j) + ridge/2 ‖θ‖², Σθ = 0."""
    size = len(matrix)

    def derivatives(theta):
        value, gradient = ridge / 2 * float(theta @ theta), ridge * theta
        hessian = ridge * np.eye(size) + 1.0  # the ones hold Σθ
        for i in range(size):
            for j in range(size):
                if matrix[i][j]:
                    _, log_cdf, score, curvature = link(name, theta[i] - theta[j])
                    step = np.eye(size)[i] - np.eye(size)[j]
                    value -= matrix[i][j] * log_cdf
                    gradient = gradient - matrix[i][j] * score * step
                    hessian = hessian + matrix[i][j] * curvature * np.outer(step, step)
        return value, gradient, hessian

    theta = np.zeros(size)
    for _ in range(steps):
        value, gradient, hessian = derivatives(theta)
        if np.abs(gradient - gradient.mean()).max() < 1e-11:
            break
        move = np.linalg.solve(hessian, -gradient)
        far, length = np.abs(move).max(), 1.0
        # Values differ by their rounding alone where a step is short, and the whole step is right there.
        while far > 1e-6 and derivatives(theta + length * move)[0] > value and length > 1e-8:
            length /= 2
        theta = theta + length * move
        if far < 1e-13:
            break
    return theta - theta.mean()


def fisher_information(name, theta, comparisons):
    """Σ over pairs of M_ij F'²/(F(1 - F)) (e_i - e_j)(e_i - e_j)ᵀ."""
    size = len(theta)
    total = np.zeros((size, size))
    for i in range(size):
        for j in range(i):
            cdf, _, score, _ = link(name, theta[i] - theta[j])
            density = score * cdf
            step = np.eye(size)[i] - np.eye(size)[j]
            weight = comparisons[i][j] * density**2 / (cdf * (1 - cdf))
            total += weight * np.outer(step, step)
    return total
