"""The Gaussian noise of objective perturbation, from the steps of its theorem instead of its closed form.

Suprema come from a grid, the determinant from a matrix, the mean of the positive part from quadrature, the tail and the
scale from root searches. Nothing is taken from :mod:`privrank_jax.privacy.calibration`.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.stats

from tests import reference

_GAPS = np.linspace(
    -30.0, 30.0, 2401
)  # 0 is among them, where the scores of the Laplace link add up to 2


def _suprema(link):
    """sup s(x) + s(-x), sup s and sup of the curvature."""
    at = [reference.link(link, float(x)) for x in _GAPS]
    score = np.array([values[2] for values in at])
    return (score + score[::-1]).max(), score.max(), max(values[3] for values in at)


def determinant_share(link, comparisons, gamma):
    """Largest growth of log det when L comparisons of distinct pairs gain all the curvature there is."""
    most = _suprema(link)[2]
    hessian = gamma * np.eye(2)
    grown = hessian + most * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return comparisons * math.log(np.linalg.det(grown) / np.linalg.det(hessian))


def gaussian_perturbation_scale(link, adjacency, comparisons, epsilon, delta, gamma):
    """Least σ at which the bound on the loss stays below ε except with probability δ.

    The noise moves by Σ a_l (e_i - e_j) over the comparisons that change, 0 <= a_l <= most: L of them flip, 2L are
    taken out or put in where L are replaced.
    """
    both, single, _ = _suprema(link)
    changed = {"flip": 1, "replace": 2, "add-remove": 1}[adjacency] * comparisons
    most = both if adjacency == "flip" else single
    reach = changed * most * np.linalg.norm([1.0, -1.0])
    spent = 0.0
    if (link, adjacency) != ("logistic", "flip"):  # which leaves the Hessian as it is
        spent = determinant_share(link, comparisons, gamma)
    positive, _ = scipy.integrate.quad(lambda z: z * scipy.stats.norm.pdf(z), 0, 40)
    tail = scipy.optimize.brentq(lambda t: math.exp(-(t**2) / 2) - delta, 0, 40, xtol=1e-15)

    def spare(log_scale):
        scale = math.exp(log_scale)
        along = reach * scale * (positive + tail)
        return (2 * along + reach**2) / (2 * scale**2) - (epsilon - spent)

    return math.exp(scipy.optimize.brentq(spare, -12.0, 20.0, xtol=1e-14))
