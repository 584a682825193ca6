"""Naive twins of calibration: Gaussian noise, and that of objective perturbation from the steps of its theorem.

Suprema come from a grid, the determinant from a matrix, the mean excess of the loss from quadrature, the scale from a
root search. Nothing is taken from :mod:`privrank_jax.privacy.calibration`.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats

from tests.reference.links import link as link_functions

_GAPS = np.linspace(
    -30.0, 30.0, 2401
)  # 0 is among them, where the scores of the Laplace link add up to 2


def gaussian_delta(scale, sensitivity, epsilon):
    """δ at ε of the Gaussian mechanism (Balle and Wang 2018, Theorem 8)."""
    ratio = sensitivity / scale
    first = scipy.special.ndtr(ratio / 2 - epsilon / ratio)
    return first - math.exp(epsilon + scipy.special.log_ndtr(-ratio / 2 - epsilon / ratio))


def gaussian_scale(sensitivity, epsilon, delta):
    """Root in log σ of the above, by Brent's method."""
    root = scipy.optimize.brentq(
        lambda log_scale: (
            math.log(max(gaussian_delta(math.exp(log_scale), 1.0, epsilon), 1e-300))
            - math.log(delta)
        ),
        -8.0,
        12.0,
        xtol=1e-14,
    )
    return sensitivity * math.exp(root)


def _suprema(link):
    """sup s(x) + s(-x), sup s and sup of the curvature."""
    at = [link_functions(link, float(x)) for x in _GAPS]
    score = np.array([values[2] for values in at])
    return (score + score[::-1]).max(), score.max(), max(values[3] for values in at)


def determinant_share(link, comparisons, gamma):
    """Largest growth of log det when L comparisons of distinct pairs gain all the curvature there is."""
    most = _suprema(link)[2]
    hessian = gamma * np.eye(2)
    grown = hessian + most * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return comparisons * math.log(np.linalg.det(grown) / np.linalg.det(hessian))


def gaussian_perturbation_scale(link, adjacency, comparisons, epsilon, delta, gamma):
    """Least σ at which the mean excess of the Gaussian mechanism's loss over what is left of ε is δ.

    The noise moves by Σ a_l (e_i - e_j) over the comparisons that change, 0 <= a_l <= most: L of them flip, 2L are
    taken out or put in where L are replaced.
    """
    both, single, _ = _suprema(link)
    changed = {"flip": 1, "replace": 2, "add-remove": 1}[adjacency] * comparisons
    most = both if adjacency == "flip" else single
    reach = changed * most * np.linalg.norm([1.0, -1.0])
    spent = 0.0
    if link != "logistic":  # whose ridge is so large that curvature costs nothing
        spent = determinant_share(link, comparisons, gamma)

    def excess(log_scale):
        ratio = reach / math.exp(log_scale)
        start = (epsilon - spent) / ratio - ratio / 2
        ends = max(0.0, -start - 12), max(0.0, -start) + 12  # 12 deviations about the middle
        mean, _ = scipy.integrate.quad(
            lambda u: u * scipy.stats.norm.pdf(start + u), *ends, epsabs=0, epsrel=1e-12, limit=200
        )
        return math.log(max(ratio * mean, 1e-300)) - math.log(delta)

    return math.exp(scipy.optimize.brentq(excess, -3.0, 20.0, xtol=1e-14))
