from __future__ import annotations

import dataclasses
import itertools
import math
import operator

import numpy as np
import pytest

from privrank_jax.exact import integer_noise
from privrank_jax.pairwise import covariate_table
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.pairwise.noisy_totals import noisy_counts
from privrank_jax.privacy import Privacy
from privrank_jax.release import covariate_sums, exact_noisy_counts
from tests.reference.covariate_davidson import tied_statistic
from tests.reference.covariates import (
    covariate_sensitivity,
    matrix_of,
    user_sensitivity,
)
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


def test_the_sums_are_exact_at_a_huge_epsilon():
    found = exact_noisy_counts(TABLE, dataclasses.replace(FLIPS, epsilon=1e6))
    np.testing.assert_array_equal(found.value, naive_sums(matrix_of(TABLE.design), OUTCOMES))
    assert found.guarantee.numerics == "exact"


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("asked", [FLIPS, USERS], ids=["comparison", "user"])
def test_the_scale_is_that_of_the_simulation(asked, noise, key):
    asked = dataclasses.replace(asked, delta=1e-4)
    found = exact_noisy_counts(TABLE, asked, noise=noise)
    scale = float(noisy_counts(key, TABLE, asked, noise=noise).diagnostics.noise_scale)
    assert found.diagnostics.noise_scale == pytest.approx(scale, rel=1e-9)


def test_sensitivities_are_exact_or_rounded_up():
    design = TABLE.design
    matrix, users = matrix_of(design), np.asarray(design.users).tolist()
    for ties in (False, True):
        assert covariate_sums._change(design, USERS, "laplace", 20, ties=ties) == user_sensitivity(
            matrix, users, 1, 4, ties
        )
        second = covariate_sums._change(design, USERS, "gaussian", 20, ties=ties)
        naive = user_sensitivity(matrix, users, 2, 4, ties)
        assert naive <= second <= naive * (1 + 1e-11)
    assert covariate_sums._change(design, FLIPS, "laplace", 20) == covariate_sensitivity(
        matrix, range(20), 1
    )
    second = covariate_sums._change(design, FLIPS, "gaussian", 20)
    naive = covariate_sensitivity(matrix, range(20), 2)
    assert naive <= second <= naive * (1 + 1e-13)


def test_the_law_by_enumeration(monkeypatch):
    """All integers near the sums of two comparisons: the law is a discrete Laplace law whose neighbors lose ε."""
    built = []
    real = integer_noise.discrete_laplace

    def recording(sensitivity, epsilon):
        built.append((sensitivity, epsilon))
        return real(sensitivity, epsilon)

    monkeypatch.setattr(integer_noise, "discrete_laplace", recording)
    exact_noisy_counts(SMALL, dataclasses.replace(FLIPS, epsilon=0.7))
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
    found = [exact_noisy_counts(SMALL, asked) for _ in range(700)]
    noise = np.array([one.value for one in found]) - np.asarray(SMALL.sums)
    np.testing.assert_array_equal(np.round(noise * 2), noise * 2)
    scale = found[0].diagnostics.noise_scale
    assert scale == pytest.approx(3.0 / 2)  # ‖z‖₁ = 2 + 1
    share = math.exp(-0.5 / scale)
    assert np.abs(noise).mean() == pytest.approx(share / (1 - share**2), rel=0.1)
    assert np.mean(noise > 0) == pytest.approx(share / (1 + share), rel=0.12)


def test_without_covariates_they_are_the_noise_of_win_totals():
    table = covariate_table([0, 1], [1, 2], [1, 0], {}, num_items=3)
    found = exact_noisy_counts(table, FLIPS)
    assert found.diagnostics.noise_scale == 2.0
    assert np.all(found.value * 2 == np.round(found.value * 2))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (dataclasses.replace(FLIPS, adjacency="replace"), "exact_noisy_counts fits to who compared"),
        (dataclasses.replace(FLIPS, public=()), "must say that they are public"),
        (dataclasses.replace(FLIPS, epsilon=math.inf), "epsilon must be finite"),
        (dataclasses.replace(FLIPS, epsilon=np.ones(2)), "epsilon must be one number"),
    ],
)  # fmt: skip
def test_promises_that_can_not_be_kept_are_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        exact_noisy_counts(TABLE, asked)


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="noise must be one of 'laplace', 'gaussian'"):
        exact_noisy_counts(SMALL, USERS, noise="k-norm")
    with pytest.raises(ValueError, match="questionnaire: leave them out"):
        exact_noisy_counts(SMALL, FLIPS, questionnaire=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"outcomes that are 0, 1/2 or 1"):
        exact_noisy_counts(CovariateTable(SMALL.design, np.array([0.3, 1.0])), FLIPS)
    thirds = dataclasses.replace(SMALL.design, features=SMALL.design.features / 3)
    with pytest.raises(ValueError, match="multiples of a power of 1/2"):
        exact_noisy_counts(CovariateTable(thirds, SMALL.outcomes), FLIPS)
    for factor in (2.0**51, 2.0**64, 1e300):  # int64 has no room for the last two
        features = np.asarray(SMALL.design.features, np.float64) * factor
        huge = dataclasses.replace(SMALL.design, features=features)
        for ties in ("half", "davidson"):
            with pytest.raises(ValueError, match="too large for exact noise"):
                exact_noisy_counts(CovariateTable(huge, SMALL.outcomes), FLIPS, ties=ties)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("asked", [FLIPS, USERS], ids=["comparison", "user"])
def test_ties_cost_the_sums_no_noise_where_users_share_nothing(asked, noise):
    asked = dataclasses.replace(asked, delta=1e-4)
    found = exact_noisy_counts(TABLE, asked, noise=noise, ties="davidson")
    alone = exact_noisy_counts(TABLE, asked, noise=noise)
    of_both = (found.guarantee, alone.guarantee)
    together, single = (dataclasses.replace(one, rho=None) for one in of_both)
    assert together == single
    assert (found.guarantee.rho or 0) == pytest.approx(alone.guarantee.rho or 0, rel=1e-14)
    ratio = found.diagnostics.noise_scale / alone.diagnostics.noise_scale
    if asked.unit == "comparison":
        assert ratio == pytest.approx(1, rel=0.01)
    else:
        assert 0.99 < ratio < 1.5  # users share some questions


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_no_change_exceeds_the_sensitivity_that_is_drawn_for(noise, monkeypatch):
    """All outcomes of two comparisons of one user and of each: integers move by the sensitivity at most, and do."""
    seen = []

    def recording(change, *budget):
        return lambda values: seen.append((values, change)) or values, 1.0

    monkeypatch.setattr(integer_noise, f"discrete_{noise}", recording)
    for asked in (FLIPS, USERS):
        asked = dataclasses.replace(asked, delta=1e-4 if noise == "gaussian" else 0.0)
        design = dataclasses.replace(SMALL.design, users=np.zeros(2, int))
        seen.clear()
        outcomes = list(itertools.product((0.0, 0.5, 1.0), repeat=2))
        for one in outcomes:
            table = CovariateTable(design, np.array(one))
            value = exact_noisy_counts(table, asked, noise=noise, ties="davidson").value
            known = tied_statistic(matrix_of(design), one)
            np.testing.assert_array_equal(value, known)
        order, change = 1 if noise == "laplace" else 2, seen[0][1]
        moves = [
            np.linalg.norm(np.subtract(seen[a][0], seen[b][0]), order)
            for a, b in itertools.combinations(range(9), 2)
            if asked.unit == "user" or sum(map(operator.ne, outcomes[a], outcomes[b])) == 1
        ]
        assert max(moves) <= change
        if asked.unit == "comparison":
            assert max(moves) == pytest.approx(change, rel=1e-9)
        assert all(values.dtype == np.int64 for values, _ in seen)
