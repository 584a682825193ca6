"""Naive twins of the planner: covariances and expected maxima."""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special

from tests import reference


def planned_covariance(link, scores, epsilons, share):
    """Sandwich of the weighted estimating equation, user by user and pair by pair."""
    size = len(scores)
    information = [math.tanh(epsilon / 2) ** 2 for epsilon in epsilons]
    hessian, scatter = np.zeros((size, size)), np.zeros((size, size))
    for i, j in itertools.combinations(range(size), 2):
        chance, _, hazard, _ = reference.link(link, float(scores[i] - scores[j]))
        density = hazard * chance
        direction = np.eye(size)[i] - np.eye(size)[j]
        block = np.outer(direction, direction)
        pull = density / (chance * (1 - chance))
        for value in information:
            weight = value / sum(information)
            variance = 0.25 * (1 / value - (2 * chance - 1) ** 2)
            hessian += share * weight * density * pull * block
            scatter += share * weight**2 * variance * pull**2 * block
    inverse = np.linalg.pinv(hessian)
    return inverse @ scatter @ inverse


def expected_maximum(spread):
    """E max |Z_i| of independent normal variables, by quadrature."""
    below = lambda x: math.prod(scipy.special.erf(x / (s * math.sqrt(2))) for s in spread)  # noqa: E731
    return scipy.integrate.quad(lambda x: 1 - below(x), 0, 12 * max(spread), limit=200)[0]
