"""Tables with covariates: sums and what moves them, fits with and without ties, and released ones."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise import covariate_table, fit, mle, noisy_sums, noisy_sums_and_ties
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable, resolution
from privrank_jax.pairwise.maximum_likelihood import design_of
from privrank_jax.pairwise.minimizer import CONVERGED
from privrank_jax.pairwise.ridges import default_ridges
from privrank_jax.privacy import Privacy
from tests.quick import quick_jit, thorough
from tests.reference.calibration import gaussian_scale
from tests.reference.covariate_davidson import covariate_davidson_fit
from tests.reference.covariates import (
    covariate_fit,
    covariate_sensitivity,
    covariate_sums,
    default_covariate_ridge,
    largest_change,
    matrix_of,
    user_sensitivity,
)

ITEMS = 4
COMPARISON = Privacy(1.0, unit="comparison", adjacency="flip", public=("covariates",))
USER = dataclasses.replace(COMPARISON, unit="user")


def small_table(seed=0, rows=9, users=4, bounds=None):
    """Comparisons of four items with a length and an advantage of the first item."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(ITEMS, 2, replace=False) for _ in range(rows)])
    outcomes = rng.choice([0.0, 0.5, 1.0], rows)
    who = np.concatenate([np.arange(users), rng.integers(0, users, rows - users)])
    columns = {"length": rng.uniform(-3, 2, rows), "first": np.ones(rows)}
    told = {"num_items": ITEMS, "users": 7 - 3 * who, "bounds": bounds}
    return columns["length"], covariate_table(*pairs.T, outcomes, columns, **told)


def test_features_are_the_covariates_clipped_in_units_and_rounded():
    for bounds in (None, {"length": (-1.0, 0.5)}):
        length, table = small_table(rows=40, bounds=bounds)
        design = table.design
        assert design.names == ("length", "first")
        features, units = np.asarray(design.features), np.asarray(design.units)
        largest = np.abs(features).max(0)
        assert np.all(np.log2(largest) == np.round(np.log2(largest)))
        length = np.clip(length, *(bounds or {"length": (-3, 3)})["length"])
        read = np.column_stack([length, np.ones(40)])
        np.testing.assert_allclose(features * units, read, atol=3 / 2**11)
        assert resolution(features) <= 10 - np.log2(largest).min()
        assert largest[1] == 2.0 ** round(np.log2(2 / ITEMS))
        spread = np.sqrt(np.mean(np.square(length / np.abs(length).max())))
        assert largest[0] == 2.0 ** min(0, round(np.log2(2 / ITEMS / spread ** (4 / 3))))
        assert design.users[:4].tolist() == [3, 2, 1, 0]


def test_sums_gram_and_log_odds_are_those_of_the_matrix():
    _, table = small_table()
    matrix, beta = matrix_of(table.design), np.linspace(-1, 2, ITEMS + 2)
    weights = np.linspace(0.1, 1, len(matrix))
    np.testing.assert_allclose(table.sums, covariate_sums(matrix, np.asarray(table.outcomes)))
    np.testing.assert_allclose(jax.jit(table.design.log_odds)(beta), matrix @ beta)
    gram = jax.jit(table.design.gram)(weights)
    np.testing.assert_allclose(gram, (matrix.T * weights) @ matrix, atol=1e-12)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_sensitivity_is_the_largest_change_of_the_sums(norm):
    """By enumeration of all outcomes; for users the triangle inequality may be strict."""
    design, order = small_table(2)[1].design, int(norm[1])
    matrix, users = matrix_of(design), np.asarray(design.users)
    alone = [largest_change(matrix[[row]], order) for row in range(len(matrix))]
    assert float(design.sensitivity(COMPARISON, norm)) == pytest.approx(max(alone), rel=1e-12)
    known = float(design.sensitivity(USER, norm))
    assert known == pytest.approx(covariate_sensitivity(matrix, users, order), rel=1e-12)
    together = max(largest_change(matrix[users == user], order) for user in set(users.tolist()))
    assert together <= known * (1 + 1e-12)
    parts = (design.first, design.second, design.features, 0 * design.users)
    equal = (jnp.asarray(part)[np.zeros(3, int)] for part in parts)  # of one user attain it
    equal = CovariateDesign(*equal, design.units, num_items=ITEMS)
    most = largest_change(matrix_of(equal), order)
    assert float(equal.sensitivity(USER, norm)) == pytest.approx(most, rel=1e-12)


def test_padding_counts_for_nothing():
    _, table = small_table(3)
    design, rows = table.design, 4
    kept = np.arange(len(table.outcomes)) < rows
    masked = CovariateTable(dataclasses.replace(design, mask=jnp.asarray(kept)), table.outcomes)
    matrix, outcomes = matrix_of(design)[:rows], np.asarray(table.outcomes)[:rows]
    np.testing.assert_allclose(masked.sums, covariate_sums(matrix, outcomes))
    assert float(masked.design.degree) == 2 * rows / ITEMS
    users = np.asarray(design.users)[:rows]
    for privacy, who in ((COMPARISON, range(rows)), (USER, users.tolist())):
        assert float(masked.design.sensitivity(privacy)) == pytest.approx(
            covariate_sensitivity(matrix, list(who), 1), rel=1e-12
        )


# --- fits -----------------------------------------------------------------------------------------

LONG = small_table(1, 60, 20)[1]
HALF, DAVIDSON = "half", "davidson"


def vector(value, design):
    """Scores, coefficients of the features and log ν."""
    found = np.concatenate([value.scores, value.coefficients * design.units])
    return found if value.log_tie is None else np.append(found, value.log_tie)


def released(key, data, privacy, *, ties, noise=None, gamma=None, tie_gamma=None):
    """The ridge fit to noisy sums, as the documentation does it: its value and ridges, and how the search ended."""
    davidson = ties == DAVIDSON
    record = noisy_sums_and_ties if davidson else noisy_sums
    noisy = record(key, data, privacy, noise=noise)
    design = design_of(data, davidson)[0]
    added = record.noise(privacy, record.data.floats(data)[1], noise)
    ridges = jax.jit(default_ridges)(design, added, gamma, tie_gamma)
    found = fit(design, noisy.value, *ridges)
    return found.value, *ridges, int(found.diagnostics.code)


@pytest.mark.parametrize(
    ("noise", "ties"),
    [
        ("laplace", DAVIDSON),
        thorough("gaussian", HALF),
        thorough("laplace", HALF),
        thorough("gaussian", DAVIDSON),
    ],
)
def test_equals_the_naive_fit_to_the_same_noisy_statistic(ties, noise, key):
    """Of comparisons and of users, at ridges by default and at given ones."""
    matrix, rows, design = matrix_of(LONG.design), 60, LONG.design
    asked = COMPARISON if noise == "laplace" else dataclasses.replace(USER, delta=1e-3)
    record = noisy_sums if ties == HALF else noisy_sums_and_ties
    noisy = record(key, LONG, asked, noise=noise)
    scale = float(noisy.diagnostics.noise_scale)
    change = covariate_sensitivity(matrix, range(rows), 1)
    if noise == "gaussian":
        users = np.asarray(design.users).tolist()
        change = gaussian_scale(user_sensitivity(matrix, users, 2, ITEMS, ties != HALF), 1.0, 1e-3)
    assert scale == pytest.approx(change, rel=1e-6)
    of_ties = scale**2 * (2 if noise == "laplace" else (9 / 11) ** 2)
    default = default_covariate_ridge(matrix, ITEMS, scale, noise, 5 if ties == HALF else 7)
    squares = np.append(np.ones(ITEMS), np.max(matrix[:, ITEMS:] ** 2, axis=0))
    given = {"gamma": 0.7} if ties == HALF else {"gamma": 0.7, "tie_gamma": 0.2}
    each = ((default, 1 + of_ties / (rows * 2 / 9), {}), (0.7 * squares, 0.2, given))
    for gamma, tie_gamma, told in each:
        found = released(key, LONG, asked, ties=ties, noise=noise, **told)
        np.testing.assert_allclose(found[1], gamma, rtol=1e-9)
        statistic = np.asarray(noisy.value)
        if ties == HALF:
            expected = covariate_fit(matrix, statistic, gamma, ITEMS)
        else:
            assert float(found[2]) == pytest.approx(tie_gamma, rel=1e-9)
            ridges = np.append(gamma, tie_gamma)
            expected = covariate_davidson_fit(matrix, statistic, ridges, ITEMS)
        np.testing.assert_allclose(vector(found[0], design), expected, atol=1e-7)
        assert found[-1] == CONVERGED


@pytest.mark.slow
@pytest.mark.parametrize("ties", [HALF, DAVIDSON])
@pytest.mark.parametrize("longer", [False, True])
def test_without_noise_and_with_padding_it_is_the_ridge_fit(longer, ties, key):
    design = LONG.design

    def padded(values, filling):
        more = np.full((2, *values.shape[1:]), filling, values.dtype)
        return jnp.asarray(np.concatenate([values, more]))

    padding = dataclasses.replace(
        design,
        first=padded(design.first, 0),
        second=padded(design.second, 1),
        features=padded(design.features, 9.0),
        users=padded(design.users, 0),
        mask=padded(np.ones(60, bool), False),
    )
    table = CovariateTable(padding, padded(LONG.outcomes, 0.5)) if longer else LONG
    told = {"gamma": 0.5} if ties == HALF else {"gamma": 0.5, "tie_gamma": 0.3}
    wanted = vector(mle(LONG, ties=ties, **told).value, design)
    free = dataclasses.replace(COMPARISON, epsilon=np.inf)
    found = released(key, table, free, ties=ties, **told)[0]
    np.testing.assert_allclose(vector(found, design), wanted, atol=1e-8)


def test_a_published_closed_form():
    """Two items, each first 50 times: log-odds 1.5 of the better one and 0.5 of the first item, from exact shares."""
    chances = 1 / (1 + np.exp(-np.array([2.0, -1.0])))  # better first, worse first
    first, second = np.repeat([[0, 1], [1, 0]], 2, axis=1)
    home = {"home": np.full(4, 100.0)}  # in units of which the coefficient is
    design = covariate_table(first, second, [1, 0] * 2, home, num_items=2).design
    table = CovariateTable(design, jnp.repeat(jnp.asarray(chances), 2))
    value = quick_jit(mle)(table).value
    assert float(value.scores[0] - value.scores[1]) == pytest.approx(1.5, abs=1e-8)
    assert float(value.coefficients[0]) == pytest.approx(0.005, abs=1e-10)
