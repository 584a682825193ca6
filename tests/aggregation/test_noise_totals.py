"""Sums of noise and ranges of footrule costs: bounds against draws of the mechanisms themselves."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax.aggregation import PositionHistograms, dp_footrule
from privrank_jax.aggregation.noise_totals import absolute_sum, footrule_ranges, gamma_quantile
from privrank_jax.mechanism import Facts
from privrank_jax.privacy.noise import SHAPED_NOISES
from tests.promises import user


def cube(rng, draws, count):
    return rng.uniform(-1, 1, (draws, count)) * rng.gamma(count + 1, size=(draws, 1))


@pytest.mark.parametrize("count", [1, 6, 45])
@pytest.mark.parametrize(("noise", "most"), [("k-norm", 2.0), ("laplace", 1.03), ("gaussian", 1.7)])
def test_sums_of_absolute_values(noise, most, count):
    """Means within 5 standard errors; but for a chance of 5 %, never below the measured quantile, and near it."""
    rng = np.random.default_rng(count)
    draw = {
        "k-norm": lambda: cube(rng, 40_000, count),
        "laplace": lambda: rng.laplace(size=(40_000, count)),
        "gaussian": lambda: rng.standard_normal((40_000, count)),
    }
    sums = np.abs(draw[noise]()).sum(axis=1)
    mean = absolute_sum(noise, count)
    assert mean == pytest.approx(sums.mean(), abs=5 * sums.std() / 200)
    bound, measured = absolute_sum(noise, count, 0.05), np.quantile(sums, 0.95)
    # The standard error of the quantile is below 1 %; that of Laplace noise is exact.
    assert 0.97 * measured < bound < most * measured
    assert np.mean(sums > bound) < 0.05 + 5 * (0.05 * 0.95 / 40_000) ** 0.5
    assert absolute_sum(noise, count, 1e-9) > bound > mean


def test_quantiles_of_gamma_variables():
    draws = np.random.default_rng(1).gamma(7, size=100_000)
    assert np.mean(draws > gamma_quantile(7, 0.1)) == pytest.approx(0.1, abs=0.005)


@pytest.mark.parametrize("items", [2, 12])
@pytest.mark.parametrize("noise", SHAPED_NOISES)
def test_ranges_hold_what_footrule_draws(items, noise, key):
    """Σ_j R_j of 2,000 releases: the mean at most 13 % below its bound, its quantile but for chance below it."""
    histograms = PositionHistograms.from_ranks(np.tile(np.arange(items), (1000, 1)))
    promise = user(1.0, 1e-6 if noise == "gaussian" else 0.0)
    run = jax.vmap(lambda k: dp_footrule(k, histograms, promise, noise=noise).value)
    places = np.arange(items)
    clear = np.abs(places[:, None] - places)
    unit = float(dp_footrule.scale(promise, Facts(items, 1000), noise))
    errors = (np.asarray(run(jax.random.split(key, 2_000))) - clear) / unit
    sums = np.ptp(errors, axis=2).sum(axis=1)
    slack = 5 * sums.std() / 2_000**0.5
    mean = footrule_ranges(items, noise)
    assert sums.mean() - slack < mean < 1.13 * sums.mean() + slack
    for chance in (0.2, 0.01):
        beyond = np.mean(sums > footrule_ranges(items, noise, chance))
        assert beyond < chance + 5 * (chance * (1 - chance) / 2_000) ** 0.5
    assert footrule_ranges(items, noise, 0.05) < 3.5 * np.quantile(sums, 0.95)
