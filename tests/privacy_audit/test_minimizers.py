"""Naive losses of fits, against chances that are multiplied answer by answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax.privacy_audit import contents, minimizers


@pytest.mark.parametrize("step", [1.0, 0.5])
def test_davidsons_model(step):
    """Odds of a win, a loss and a tie are e^{gap/2}, e^{-gap/2} and ν; a half stands on both sides of the diagonal."""
    theta, told = np.array([0.7, -0.4, 0.9]), contents.with_ties_of(2, (0, 1, 2), (1, 0, 1), ties=3)
    gap, nu = theta[0] - theta[1], math.exp(step * theta[2])
    odds = np.array([math.exp(gap / 2), math.exp(-gap / 2), nu])
    wanted = np.array([2, 1, 3]) @ np.log(odds / odds.sum())
    assert float(minimizers.of_ties(step)(theta, told)) == pytest.approx(-wanted)
