from __future__ import annotations

import dataclasses
import math

import jax
import numpy as np
import pytest

from privrank_jax.pairwise import covariate_table
from privrank_jax.pairwise.noisy_totals import noisy_counts
from privrank_jax.privacy import Privacy
from tests.reference.calibration import gaussian_scale
from tests.reference.covariate_davidson import tied_statistic
from tests.reference.covariates import covariate_sensitivity, design_matrix

FLIPS = Privacy(1.0, unit="comparison", adjacency="flip", public=("covariates",))
USERS = dataclasses.replace(FLIPS, unit="user", delta=1e-3)
FIRST, SECOND, WON = [0, 1, 2, 0, 3], [1, 2, 0, 3, 1], [1, 0.5, 0, 0.5, 0.5]
COLUMNS = {"length": [1.0, -0.5, 0.25, 2.0, 0.0], "left": [1.0] * 5}
WHO = [0, 0, 1, 1, 1]
TABLE = covariate_table(FIRST, SECOND, WON, COLUMNS, num_items=4, users=WHO)
MATRIX = design_matrix(FIRST, SECOND, np.asarray(TABLE.design.features), 4)


def test_without_noise_it_is_the_naive_statistic(key):
    free = dataclasses.replace(FLIPS, epsilon=math.inf)
    found = noisy_counts(key, TABLE, free, ties="davidson").value
    expected = tied_statistic(MATRIX, WON)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("noise", "asked", "order", "ratio"),
    [("laplace", FLIPS, 1, 1.0), ("gaussian", USERS, 2, 9 / 11)],
)
def test_the_noise_has_the_scale_that_is_told(noise, asked, order, ratio, key):
    """Mean sizes of 4,000 draws; a scale wrong by a tenth is more than six standard errors away."""
    runs = jax.vmap(lambda one: noisy_counts(one, TABLE, asked, noise=noise, ties="davidson").value)
    found = runs(jax.random.split(key, 4000))
    told = float(
        noisy_counts(key, TABLE, asked, noise=noise, ties="davidson").diagnostics.noise_scale
    )
    users = range(len(MATRIX)) if noise == "laplace" else WHO
    change = covariate_sensitivity(MATRIX, users, order)
    naive = change if noise == "laplace" else gaussian_scale(change, 1.0, 1e-3)
    assert told == pytest.approx(naive, rel=1e-6)
    drawn = np.asarray(found) - tied_statistic(MATRIX, WON)
    usual = math.sqrt(2 / math.pi) if noise == "gaussian" else 1.0
    means = np.abs(drawn).mean(0) / (told * usual)
    np.testing.assert_allclose(means, [1.0] * (len(means) - 1) + [ratio], rtol=0.06)
    assert np.abs(np.corrcoef(drawn.T) - np.eye(len(means))).max() < 0.1


def test_bad_arguments_are_refused(key):
    with pytest.raises(ValueError, match="promise adjacency='flip', not 'add-remove'"):
        noisy_counts(
            key, TABLE, dataclasses.replace(FLIPS, adjacency="add-remove"), ties="davidson"
        )
    with pytest.raises(ValueError, match=r"public=\('covariates',\)"):
        noisy_counts(key, TABLE, dataclasses.replace(FLIPS, public=()), ties="davidson")
    with pytest.raises(ValueError, match="needs delta > 0"):
        noisy_counts(key, TABLE, FLIPS, noise="gaussian", ties="davidson")
    with pytest.raises(ValueError, match="noise must be one of"):
        noisy_counts(key, TABLE, FLIPS, noise="cauchy", ties="davidson")
    with pytest.raises(ValueError, match="sensitivity: leave them out"):
        noisy_counts(key, TABLE, FLIPS, ties="davidson", sensitivity=1.0)
