from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import CovariateTable, covariate_table, noisy_covariate_sums
from privrank_jax.privacy import Privacy
from privrank_jax.release import covariate_sums, exact_covariate_sums
from tests.reference.covariates import covariate_sensitivity, design_matrix
from tests.reference.covariates import covariate_sums as naive_sums

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


def matrix_of(design):
    parts = (np.asarray(part) for part in (design.first, design.second, design.features))
    return design_matrix(*parts, design.num_items)


def test_the_sums_are_exact_at_a_huge_epsilon():
    found = exact_covariate_sums(TABLE, dataclasses.replace(FLIPS, epsilon=1e6))
    np.testing.assert_array_equal(found.value, naive_sums(matrix_of(TABLE.design), OUTCOMES))
    assert found.guarantee.numerics == "exact"


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("asked", [FLIPS, USERS], ids=["comparison", "user"])
def test_the_scale_is_that_of_the_simulation(asked, noise, key):
    """Discrete Gaussian noise needs some percent more (release/discrete_noise.py)."""
    asked = dataclasses.replace(asked, delta=1e-4)
    found = exact_covariate_sums(TABLE, asked, noise=noise)
    scale = float(noisy_covariate_sums(key, TABLE, asked, noise=noise).diagnostics.noise_scale)
    more = 1.0 if noise == "laplace" else 1.2
    assert scale * (1 - 1e-9) <= found.diagnostics.noise_scale <= more * scale * (1 + 1e-9)


def test_sensitivities_are_exact_or_rounded_up():
    design = TABLE.design
    matrix, users = matrix_of(design), np.asarray(design.users).tolist()
    for asked, who in ((FLIPS, range(20)), (USERS, users)):
        first = covariate_sums._change(design, asked, "laplace", 20)
        assert first == covariate_sensitivity(matrix, who, 1)
        second = covariate_sums._change(design, asked, "gaussian", 20)
        naive = covariate_sensitivity(matrix, who, 2)
        assert naive <= second <= naive * (1 + 1e-13)


def test_the_law_by_enumeration(monkeypatch):
    """All integers near the sums of two comparisons: OpenDP's law is a discrete Laplace law whose neighbors lose ε."""
    built = []
    real = covariate_sums.discrete_laplace

    def recording(sensitivity, epsilon):
        built.append((sensitivity, epsilon))
        return real(sensitivity, epsilon)

    monkeypatch.setattr(covariate_sums, "discrete_laplace", recording)
    exact_covariate_sums(SMALL, dataclasses.replace(FLIPS, epsilon=0.7))
    ((sensitivity, epsilon),) = built
    bits = 0  # the only feature is 1
    whole = {
        outcomes: covariate_sums._whole_sums(CovariateTable(SMALL.design, np.array(outcomes)), bits)
        for outcomes in [(a, b) for a in (0.0, 0.5, 1.0) for b in (0.0, 0.5, 1.0)]
    }
    losses = [
        np.abs(one - other).sum() * epsilon / sensitivity
        for first, one in whole.items()
        for second, other in whole.items()
        if sum(a != b for a, b in zip(first, second)) == 1
    ]
    assert max(losses) == pytest.approx(0.7, rel=1e-12)


def test_draws_have_the_law():
    """2,100 draws of halves: size and signs of discrete Laplace variables; another scale, by a fifth, is rejected."""
    asked = dataclasses.replace(FLIPS, epsilon=2.0)
    found = [exact_covariate_sums(SMALL, asked) for _ in range(700)]
    noise = np.array([one.value for one in found]) - np.asarray(SMALL.sums)
    np.testing.assert_array_equal(np.round(noise * 2), noise * 2)
    scale = found[0].diagnostics.noise_scale
    assert scale == pytest.approx(3.0 / 2)  # ‖z‖₁ = 2 + 1
    share = math.exp(-0.5 / scale)
    assert np.abs(noise).mean() == pytest.approx(share / (1 - share**2), rel=0.1)
    assert np.mean(noise > 0) == pytest.approx(share / (1 + share), rel=0.12)


def test_without_covariates_they_are_the_noise_of_win_totals():
    table = covariate_table([0, 1], [1, 2], [1, 0], {}, num_items=3)
    found = exact_covariate_sums(table, FLIPS)
    assert found.diagnostics.noise_scale == 2.0
    assert np.all(found.value * 2 == np.round(found.value * 2))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (dataclasses.replace(FLIPS, adjacency="replace"), "exact_covariate_sums fits to who compared"),
        (dataclasses.replace(FLIPS, public=()), "must say that they are public"),
        (dataclasses.replace(FLIPS, epsilon=math.inf), "epsilon must be finite"),
        (dataclasses.replace(FLIPS, epsilon=np.ones(2)), "epsilon must be one number"),
    ],
)  # fmt: skip
def test_promises_that_can_not_be_kept_are_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        exact_covariate_sums(TABLE, asked)


def test_bad_tables_are_refused():
    with pytest.raises(TypeError, match="make one by covariate_table"):
        exact_covariate_sums(WinCounts.from_matrix([[0.0, 1.0], [1.0, 0.0]]), FLIPS)
    with pytest.raises(ValueError, match=r"outcomes that are 0, 1/2 or 1"):
        exact_covariate_sums(CovariateTable(SMALL.design, np.array([0.3, 1.0])), FLIPS)
    thirds = dataclasses.replace(SMALL.design, features=SMALL.design.features / 3)
    with pytest.raises(ValueError, match="multiples of a power of 1/2"):
        exact_covariate_sums(CovariateTable(thirds, SMALL.outcomes), FLIPS)
    huge = dataclasses.replace(SMALL.design, features=SMALL.design.features * 2.0**51)
    with pytest.raises(ValueError, match="too large for exact noise"):
        exact_covariate_sums(CovariateTable(huge, SMALL.outcomes), FLIPS)
