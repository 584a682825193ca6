from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import noisy_sums
from privrank_jax.pairwise.covariates import CovariateTable, covariate_table
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.privacy import Privacy
from tests.pairwise.flips import released
from tests.quick import quick_jit
from tests.reference.calibration import gaussian_scale
from tests.reference.covariates import (
    covariate_fit,
    covariate_sensitivity,
    default_covariate_ridge,
    matrix_of,
    user_sensitivity,
)

ITEMS = 5
FLIPS = Privacy(1.0, unit="comparison", adjacency="flip", public=("covariates",))
USERS = dataclasses.replace(FLIPS, unit="user", delta=1e-3)
TRUTH, SLOPES = np.array([0.8, 0.4, 0.0, -0.5, -0.7]), np.array([0.5, -0.3])


def arena(seed=0, rows=60, truth=TRUTH, slopes=SLOPES):
    """Battles in which longer answers win, and the one on the left loses, more often."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(ITEMS, 2, replace=False) for _ in range(rows)])
    length = rng.normal(0, 1, rows).clip(-2, 2)
    odds = truth[pairs[:, 0]] - truth[pairs[:, 1]] + slopes[0] * length + slopes[1]
    won = np.where(rng.random(rows) < 0.1, 0.5, rng.random(rows) < 1 / (1 + np.exp(-odds)))
    users = rng.integers(0, rows // 3, rows)
    columns = {"length": length, "left": np.ones(rows)}
    return covariate_table(*pairs.T, won, columns, num_items=ITEMS, users=users)


TABLE = arena()


def vector(value, design):
    """Scores and coefficients of the features."""
    return np.concatenate([value.scores, value.coefficients * design.units])


@pytest.mark.parametrize(("noise", "asked"), [("laplace", FLIPS), ("gaussian", USERS)])
@pytest.mark.parametrize("gamma", [None, 0.7])
def test_equals_the_naive_fit_to_the_same_noisy_sums(noise, asked, gamma, key):
    matrix, design = matrix_of(TABLE.design), TABLE.design
    noisy = noisy_sums(key, TABLE, asked, noise=noise)
    scale = float(noisy.diagnostics.noise_scale)
    change = covariate_sensitivity(matrix, range(len(matrix)), 1)
    if asked.unit == "user":
        change = user_sensitivity(matrix, np.asarray(design.users).tolist(), 2, ITEMS)
    naive = change if noise == "laplace" else gaussian_scale(change, 1.0, 1e-3)
    assert scale == pytest.approx(naive, rel=1e-6)
    ridge = default_covariate_ridge(matrix, ITEMS, scale, noise)
    if gamma is not None:
        ridge = gamma * np.array(
            [1.0] * ITEMS + [column.max() ** 2 for column in abs(matrix[:, ITEMS:]).T]
        )
    expected = covariate_fit(matrix, np.asarray(noisy.value), ridge, ITEMS)
    found = released(key, TABLE, asked, noise=noise, gamma=gamma)
    np.testing.assert_allclose(found.diagnostics.gamma, ridge, rtol=1e-9)
    np.testing.assert_allclose(vector(found.value, design), expected, atol=1e-7)
    after = fit(design, noisy.value, ridge if gamma is None else gamma)
    np.testing.assert_allclose(vector(after.value, design), expected, atol=1e-7)
    assert int(found.diagnostics.fit.code) == int(after.diagnostics.code) == 0


def test_without_noise_it_is_the_ridge_fit(key):
    free = dataclasses.replace(FLIPS, epsilon=np.inf)
    found = released(key, TABLE, free, gamma=0.5).value
    ridged = mle(TABLE, gamma=0.5).value
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(ridged)):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_without_covariates_it_is_the_fit_to_win_counts():
    pairs, won = [[0, 1, 2, 3, 4, 0, 2], [1, 2, 3, 4, 0, 2, 4]], [1, 0, 0.5, 1, 0, 0, 1]
    table = covariate_table(*pairs, won, {}, num_items=ITEMS)
    wins = np.zeros((ITEMS, ITEMS))
    for i, j, y in zip(*pairs, won):
        wins[i, j] += y
        wins[j, i] += 1 - y
    found = quick_jit(functools.partial(mle, gamma=0.3))(table).value
    expected = quick_jit(functools.partial(mle, gamma=0.3))(WinCounts.from_matrix(wins)).value
    np.testing.assert_allclose(found.scores, expected, atol=1e-8)
    assert found.coefficients.shape == (0,)


def test_a_published_closed_form():
    """Two items, each first 50 times: log-odds 1.5 of the better one and 0.5 of the first item, from exact shares."""
    chances = 1 / (1 + np.exp(-np.array([2.0, -1.0])))  # better first, worse first
    first, second = np.repeat([[0, 1], [1, 0]], 2, axis=1)
    design = covariate_table(first, second, [1, 0] * 2, {"home": np.ones(4)}, num_items=2).design
    table = CovariateTable(design, jnp.repeat(jnp.asarray(chances), 2))
    value = quick_jit(mle)(table).value
    assert float(value.scores[0] - value.scores[1]) == pytest.approx(1.5, abs=1e-8)
    assert float(value.coefficients[0]) == pytest.approx(0.5, abs=1e-8)


def test_derivatives_are_implicit():
    """Of a coefficient in an outcome and in γ, against differences."""

    def slope(outcomes, gamma):
        table = CovariateTable(TABLE.design, outcomes)
        return mle(table, gamma=gamma).value.coefficients[0]

    outcomes, step = TABLE.outcomes, 1e-5
    by_outcome, by_gamma = jax.grad(slope, (0, 1))(outcomes, 0.5)
    moved = outcomes.at[7].add(step), outcomes.at[7].add(-step)
    numeric = (slope(moved[0], 0.5) - slope(moved[1], 0.5)) / (2 * step)
    assert float(by_outcome[7]) == pytest.approx(float(numeric), rel=1e-4)
    numeric = (slope(outcomes, 0.5 + step) - slope(outcomes, 0.5 - step)) / (2 * step)
    assert float(by_gamma) == pytest.approx(float(numeric), rel=1e-4)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (dataclasses.replace(FLIPS, adjacency="replace"), "noisy_sums can't promise"),
        (dataclasses.replace(FLIPS, public=()), r"public=\('covariates',\)"),
        (Privacy(1.0, unit="rank", adjacency="replace"), "have no ranks to protect"),
    ],
)  # fmt: skip
def test_a_promise_that_hides_the_design_is_refused(asked, message, key):
    with pytest.raises(ValueError, match=message):
        noisy_sums(key, TABLE, asked)


def test_bad_arguments_are_refused(key):
    with pytest.raises(TypeError, match="make a table by covariate_table"):
        noisy_sums(key, TABLE.design, FLIPS)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="gamma must be positive"):
        released(key, TABLE, FLIPS, gamma=0.0)
    with pytest.raises(ValueError, match="gamma must be finite and at least 0"):
        mle(TABLE, gamma=-1.0)
    with pytest.raises(ValueError, match="needs delta > 0"):
        noisy_sums(key, TABLE, FLIPS, noise="gaussian")
    with pytest.raises(ValueError, match="noise must be one of"):
        noisy_sums(key, TABLE, FLIPS, noise="cauchy")
    with pytest.raises(ValueError, match=r"must have shape \(7,\)"):
        fit(TABLE.design, jnp.zeros(3), 1.0)
    with pytest.raises(ValueError, match="other models are logistic"):
        mle(TABLE, "normal")


def test_the_guarantee_says_that_covariates_are_public(key):
    found = noisy_sums(key, TABLE, FLIPS).guarantee
    assert found.attained.public == ("covariates",)
    assert "the covariates of each comparison" in found.in_words()
