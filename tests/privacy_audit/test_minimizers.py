"""Naive losses of fits, against chances that are multiplied answer by answer."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from privrank_jax.privacy_audit import contents, minimizers

LINKS = {
    "logistic": scipy.stats.logistic.cdf,
    "laplace": scipy.stats.laplace.cdf,
    "normal": scipy.stats.norm.cdf,
}


@pytest.mark.parametrize("link", LINKS)
def test_wins(link):
    scores, wins = np.array([0.3, -1.0, 2.0]), np.array([[0, 3, 1], [0.5, 0, 2], [4, 0, 0]])
    chances = [
        LINKS[link](scores[i] - scores[j]) ** wins[i, j]
        for i, j in itertools.permutations(range(3), 2)
    ]
    found = minimizers.of_wins(link)(scores, wins)
    assert float(found) == pytest.approx(-math.log(math.prod(chances)))


@pytest.mark.parametrize("step", [1.0, 0.5])
def test_davidsons_model(step):
    """Odds of a win, a loss and a tie are e^{gap/2}, e^{-gap/2} and ν; a half stands on both sides of the diagonal."""
    theta, told = np.array([0.7, -0.4, 0.9]), contents.with_ties_of(2, (0, 1, 2), (1, 0, 1), ties=3)
    gap, nu = theta[0] - theta[1], math.exp(step * theta[2])
    odds = np.array([math.exp(gap / 2), math.exp(-gap / 2), nu])
    wanted = np.array([2, 1, 3]) @ np.log(odds / odds.sum())
    assert float(minimizers.of_ties(step)(theta, told)) == pytest.approx(-wanted)
