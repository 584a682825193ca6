"""Noise on integers against OpenDP: the scales that it proves, and its draws; error 10^-6 of each comparison."""

from __future__ import annotations

import math

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from privrank_jax.exact.discrete_noise import discrete_gaussian, discrete_laplace

dp.enable_features("contrib")
INTEGERS = dp.vector_domain(dp.atom_domain(T="i64"))
ALARM = 1e-6
DRAWS = 40_000


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1 / 3, 3.0, 17.0])
def test_laplace_noise_is_proven_by_opendp_and_has_its_law(epsilon):
    add_noise, scale = discrete_laplace(2.0, epsilon)
    upward = math.nextafter(scale, math.inf)  # ours is the rational quotient
    theirs = dp.m.make_laplace(INTEGERS, dp.l1_distance(T="i64"), scale=upward)
    assert theirs.map(2) <= epsilon
    assert scale == pytest.approx(2 / epsilon, rel=1e-15)
    drawn = add_noise(np.full(DRAWS, 7)) - 7
    alpha = math.exp(-1 / scale)
    assert stats.binomtest(int(np.sum(drawn == 0)), DRAWS, (1 - alpha) / (1 + alpha)).pvalue > ALARM


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-9), (1.0, 1e-5), (8.0, 1e-3)])
def test_gaussian_noise_needs_less_than_opendp_proves(epsilon, delta):
    add_noise, scale = discrete_gaussian(2.0, epsilon, delta)
    metric = dp.l2_distance(T="f64")

    def proven(scale):
        concentrated = dp.m.make_gaussian(INTEGERS, metric, scale=scale)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(concentrated), delta).map(2.0)[0]

    assert proven(scale) > epsilon > proven(1.12 * scale)
    drawn = add_noise(np.full(DRAWS, 7)) - 7
    chance = math.erf(0.5 / scale / math.sqrt(2))
    assert stats.binomtest(int(np.sum(drawn == 0)), DRAWS, chance).pvalue > ALARM


def test_a_sensitivity_that_is_no_whole_number_is_rounded_up_or_a_little_raised():
    assert discrete_laplace(2.6, 1.0)[1] == 3.0
    once, twice = (discrete_gaussian(change, 1.0, 1e-5)[1] for change in (1.0, 2.0))
    assert twice == pytest.approx(2 * once, rel=1e-15)
    for add_noise, _ in (discrete_laplace(1.0, 1e-300), discrete_gaussian(1.0, 1e-300, 1e-300)):
        with pytest.raises(ValueError, match="larger epsilon"):
            add_noise(np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="closer to usual"):
        discrete_gaussian(1.0, 5e-324, 1e-300)
