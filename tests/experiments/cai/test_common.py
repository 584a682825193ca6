"""Noise of counts and scores as studies calibrate it."""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments.cai.common import (
    CALIBRATIONS,
    Unit,
    noise_settings,
    private_scores,
    private_totals,
)
from privrank_jax.pairwise import mle
from privrank_jax.pairwise.published import published_mle
from tests.experiments.cai.shared import COMPARISON, KEY, USER
from tests.experiments.estimates import by_counts
from tests.promises import promise
from tests.quick import thorough


def complete(items, times=1):
    """Every pair met ``times`` times; the lower index wins."""
    return WinCounts.from_matrix(np.triu(np.full((items, items), float(times)), 1))


@pytest.mark.parametrize("items", [6, thorough(200)])
def test_edge_noise(items):
    epsilons = np.array([0.05, 1.0, 2.5, math.inf])
    ridge = 2 * math.sqrt((items - 1) * math.log(items))  # the published floor is 1/ε
    expected = {
        "published": 8 / epsilons,
        "tight replace": 4 / epsilons,
        "tight flip": 2 / epsilons,
    }
    for calibration in CALIBRATIONS:
        scale, gamma = noise_settings(complete(items), COMPARISON, epsilons, calibration)
        np.testing.assert_allclose(scale, expected[calibration.name], rtol=1e-12)
        if calibration.name == "published":
            np.testing.assert_allclose(gamma, np.maximum(ridge, 1 / epsilons), rtol=1e-6)
        elif calibration.name == "tight replace":
            assert np.all(gamma >= scale)
            np.testing.assert_allclose(gamma[-1], 1.0)
    assert (1 / epsilons[0] > ridge) == (items == 6)  # both branches of the maximum are met


def test_user_noise():
    epsilons, per_user = np.array([0.5, 2.0, math.inf]), 7
    unit = Unit("user", per_user)
    factor = {"published": 8, "tight replace": 4, "tight flip": 2}
    for calibration in CALIBRATIONS:
        scale, gamma = noise_settings(complete(6, 30), unit, epsilons, calibration)
        np.testing.assert_allclose(
            scale, factor[calibration.name] * per_user / epsilons, rtol=1e-12
        )
        if calibration.name == "published":
            np.testing.assert_allclose(gamma, 2 * per_user / epsilons, rtol=1e-12)
        elif calibration.name == "tight replace":
            assert np.all(gamma >= scale)


@pytest.mark.parametrize(
    ("unit", "factors"), [(COMPARISON, (2, 2, 2)), thorough(USER, (5, 10, 10))]
)
def test_noise_of_counts(unit, factors):
    wins = complete(6)
    epsilons = np.array([0.5, 4.0])
    unit_noise = np.asarray(jax.random.laplace(KEY, (6,), wins.matrix.dtype))
    for calibration, factor in zip(CALIBRATIONS, factors, strict=True):
        asked = functools.partial(unit.promise, adjacency=calibration.adjacency)
        totals = private_totals(KEY, wins, asked, epsilons, calibration.counts)
        expected = np.asarray(wins.totals) - factor * unit_noise / epsilons[:, None]
        np.testing.assert_allclose(totals, expected, rtol=1e-10)
        for row, epsilon in enumerate((0.5, 4.0)):
            np.testing.assert_allclose(
                totals[row], by_counts(KEY, wins, unit, epsilon, calibration), rtol=1e-12
            )


@pytest.mark.slow
def test_scores_at_a_scale_are_the_estimator_with_that_calibration():
    """Published noise under replacement, from the fit under flips at ε = 2/λ."""
    wins = WinCounts(jnp.asarray(complete(6, 9).matrix + 1, jnp.float32), jnp.ones(6, bool))
    wins = dataclasses.replace(wins, matrix=wins.matrix - jnp.diag(jnp.diag(wins.matrix)))
    scales, gammas = jnp.array([16.0, 0.0], jnp.float32), jnp.array([3.0, 1.5], jnp.float32)
    scores, codes = private_scores(KEY, wins, scales, gammas)
    noisy = published_mle(KEY, wins, promise(0.5), gamma=3.0)
    exact = mle(wins, gamma=1.5)
    np.testing.assert_allclose(scores, [noisy.value, exact.value], rtol=1e-4, atol=1e-5)
    assert float(noisy.diagnostics.noise_scale) == 16.0
    assert codes.tolist() == [0, 0]
