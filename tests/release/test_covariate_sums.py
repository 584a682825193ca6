"""Exact sums of covariates: sensitivities against the naive ones, ties, and what is refused."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from privrank_jax.pairwise import covariate_noise, covariate_table, noisy_sums, noisy_sums_and_ties
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.privacy import Privacy
from tests.reference.covariates import covariate_sensitivity, matrix_of, user_sensitivity

FLIPS = Privacy(1.0, unit="comparison", adjacency="flip", public=("covariates",))
USERS = dataclasses.replace(FLIPS, unit="user", delta=1e-4)
RNG = np.random.default_rng(0)
PAIRS = np.array([RNG.choice(4, 2, replace=False) for _ in range(20)])
OUTCOMES = RNG.choice([0.0, 0.5, 1.0], 20)
COLUMNS = {"length": RNG.normal(0, 30, 20), "left": np.ones(20)}
TABLE = covariate_table(
    *PAIRS.T, OUTCOMES, COLUMNS, num_items=4, users=np.r_[:6, RNG.integers(0, 6, 14)]
)
SMALL = covariate_table([0, 1], [1, 0], [1, 0.5], {"left": [1.0, 1.0]}, num_items=2)


def test_sensitivities_are_exact_or_rounded_up():
    design = TABLE.design
    matrix, users = matrix_of(design), np.asarray(design.users).tolist()
    for ties in (False, True):
        assert covariate_noise._exact_change(
            design, USERS, "laplace", 20, ties=ties
        ) == user_sensitivity(matrix, users, 1, 4, ties)
        second = covariate_noise._exact_change(design, USERS, "gaussian", 20, ties=ties)
        naive = user_sensitivity(matrix, users, 2, 4, ties)
        assert naive <= second <= naive * (1 + 1e-11)
    assert covariate_noise._exact_change(design, FLIPS, "laplace", 20) == covariate_sensitivity(
        matrix, range(20), 1
    )
    second = covariate_noise._exact_change(design, FLIPS, "gaussian", 20)
    naive = covariate_sensitivity(matrix, range(20), 2)
    assert naive <= second <= naive * (1 + 1e-13)


def scaled(factor):
    features = np.asarray(SMALL.design.features, np.float64) * factor
    return CovariateTable(dataclasses.replace(SMALL.design, features=features), SMALL.outcomes)


@pytest.mark.parametrize(
    ("table", "asked", "word"),
    [
        (TABLE, dataclasses.replace(FLIPS, public=()), "public"),
        (TABLE, dataclasses.replace(FLIPS, epsilon=math.inf), "finite"),
        (TABLE, dataclasses.replace(FLIPS, epsilon=np.ones(2)), "one number"),
        (CovariateTable(SMALL.design, np.array([0.3, 1.0])), FLIPS, "outcomes"),
        (scaled(1 / 3), FLIPS, "power of"),
        *((scaled(factor), FLIPS, "too large") for factor in (2.0**51, 2.0**64, 1e300)),  # beyond int64
    ],
)  # fmt: skip
def test_refusals(table, asked, word):
    for record in (noisy_sums, noisy_sums_and_ties):
        with pytest.raises(ValueError, match=word):
            record.release(table, asked)
