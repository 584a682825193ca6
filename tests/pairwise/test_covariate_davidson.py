from __future__ import annotations

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import noisy_sums_and_ties
from privrank_jax.pairwise.covariates import CovariateTable, covariate_table
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.privacy import Privacy
from tests.pairwise.flips import released
from tests.quick import quick_jit
from tests.reference.covariate_davidson import (
    covariate_davidson_fit,
    expected_statistic,
    tie_probabilities,
    tied_statistic,
)
from tests.reference.covariates import matrix_of

ITEMS = 4
FLIPS = Privacy(1.0, unit="comparison", adjacency="flip", public=("covariates",))
USERS = dataclasses.replace(FLIPS, unit="user", delta=1e-3)
TRUTH, SLOPES, TIE = np.array([0.9, 0.3, -0.4, -0.8]), np.array([0.5, -0.4]), 0.7


def arena(seed=0, rows=60):
    """Battles with ties in which longer answers win, and the one on the left loses, more often."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(ITEMS, 2, replace=False) for _ in range(rows)])
    length = rng.normal(0, 1, rows).clip(-2, 2)
    odds = TRUTH[pairs[:, 0]] - TRUTH[pairs[:, 1]] + SLOPES[0] * length + SLOPES[1]
    win, tie, _ = tie_probabilities(odds, TIE)
    drawn = rng.random(rows)
    won = np.where(drawn < win, 1.0, np.where(drawn < win + tie, 0.5, 0.0))
    users = rng.integers(0, rows // 3, rows)
    columns = {"length": length, "left": np.ones(rows)}
    return covariate_table(*pairs.T, won, columns, num_items=ITEMS, users=users)


TABLE = arena()
private = functools.partial(released, ties="davidson")


def fitted(data, gamma=0.0, tie_gamma=0.0):
    return mle(data, gamma=gamma, ties="davidson", tie_gamma=tie_gamma)


MATRIX = matrix_of(TABLE.design)
SQUARES = np.array([1.0] * ITEMS + [max(abs(column)) ** 2 for column in MATRIX[:, ITEMS:].T])


def vector(value, design):
    """Scores, coefficients of the features and log ν."""
    return np.concatenate([value.scores, value.coefficients * design.units, [value.log_tie]])


@pytest.mark.parametrize(("noise", "asked"), [("laplace", FLIPS), ("gaussian", USERS)])
def test_equals_the_naive_fit_to_the_same_noisy_statistic(noise, asked, key):
    noisy = noisy_sums_and_ties(key, TABLE, asked, noise=noise)
    scale = float(noisy.diagnostics.noise_scale)
    variance = (2 if noise == "laplace" else 1) * scale**2
    of_ties = variance if noise == "laplace" else variance * (9 / 11) ** 2
    rows, counts = len(MATRIX), np.full(ITEMS, 2 * len(MATRIX) / ITEMS)
    counts = np.append(counts, np.square(MATRIX[:, ITEMS:]).sum(0))
    default = SQUARES * (1 + variance / (counts / 7)), 1 + of_ties / (rows * 2 / 9)
    statistic = np.asarray(noisy.value)
    for gamma, tie_gamma, ridges in ((None, None, default), (0.7, 0.2, (0.7 * SQUARES, 0.2))):
        options = {"gamma": gamma, "tie_gamma": tie_gamma, "noise": noise}
        found = private(key, TABLE, asked, **options)
        np.testing.assert_allclose(found.diagnostics.gamma, ridges[0], rtol=1e-9)
        assert float(found.diagnostics.tie_gamma) == pytest.approx(ridges[1], rel=1e-9)
        expected = covariate_davidson_fit(MATRIX, statistic, np.append(*ridges), ITEMS)
        np.testing.assert_allclose(vector(found.value, TABLE.design), expected, atol=1e-7)
        assert int(found.diagnostics.fit.code) == 0
        assert found.guarantee == noisy.guarantee


def test_the_maximum_matches_the_statistic_and_recovers_the_truth(key):
    table = arena(1, 6000)
    found = quick_jit(fitted)(table)
    matrix, params = matrix_of(table.design), vector(found.value, table.design)
    statistic = tied_statistic(matrix, np.asarray(table.outcomes))
    np.testing.assert_allclose(expected_statistic(matrix, params), statistic, atol=1e-5)
    asked = dataclasses.replace(FLIPS, epsilon=4.0)
    noisy = quick_jit(functools.partial(private, privacy=asked))(key, table).value
    for value in (found.value, noisy):
        np.testing.assert_allclose(value.scores, TRUTH - TRUTH.mean(), atol=0.15)
        np.testing.assert_allclose(value.coefficients, SLOPES, atol=0.1)
        assert float(value.tie) == pytest.approx(TIE, abs=0.06)


def test_without_covariates_it_is_davidsons_fit_to_win_counts():
    pairs, won = [[0, 1, 2, 3, 0, 0, 2], [1, 2, 3, 0, 2, 2, 1]], [1, 0, 0.5, 1, 0, 0.5, 1]
    table = covariate_table(*pairs, won, {}, num_items=ITEMS)
    wins = np.zeros((ITEMS, ITEMS))
    for i, j, y in zip(*pairs, won):
        wins[i, j] += y
        wins[j, i] += 1 - y
    found = quick_jit(fitted)(table, 0.3, 0.2).value
    expected = quick_jit(fitted)(WinCounts.from_matrix(wins, ties=2), 0.3, 0.2).value
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-8)
    assert float(found.log_tie) == pytest.approx(float(expected.log_tie), abs=1e-8)
    assert found.coefficients.shape == (0,)


def test_padding_changes_nothing(key):
    """Rows behind the mask count neither as ties nor in the fit."""
    design = TABLE.design

    def padded(values, filling):
        return jnp.concatenate([values, jnp.full((2, *values.shape[1:]), filling, values.dtype)])

    longer = dataclasses.replace(
        design,
        first=padded(design.first, 0),
        second=padded(design.second, 1),
        features=padded(design.features, 9.0),
        users=padded(design.users, 0),
        mask=padded(jnp.ones(len(MATRIX), bool), False),
    )
    table = CovariateTable(longer, padded(TABLE.outcomes, 0.5))
    run = functools.partial(private, privacy=FLIPS)
    fit, same = run(key, TABLE).value, quick_jit(run)(key, table).value
    np.testing.assert_allclose(vector(same, longer), vector(fit, design), atol=1e-8)


def test_bad_arguments_are_refused(key):
    with pytest.raises(ValueError, match="tie_gamma must be positive"):
        private(key, TABLE, FLIPS, tie_gamma=0.0)
    with pytest.raises(ValueError, match="gamma must be positive"):
        private(key, TABLE, FLIPS, gamma=-1.0)
    decided = CovariateTable(TABLE.design, jnp.round(TABLE.outcomes))
    with pytest.raises(ValueError, match="0 of 60 comparisons are ties"):
        fitted(decided)
    assert np.isfinite(float(fitted(decided, 0.1, 0.1).value.log_tie))
