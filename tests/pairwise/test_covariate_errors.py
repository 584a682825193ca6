from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax._quickly import quickly
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.covariate_noise import noise_on_sums
from privrank_jax.pairwise.covariates import CovariateTable, covariate_table
from privrank_jax.pairwise.designs import Counts, ModelScores
from privrank_jax.pairwise.intervals import confidence_intervals
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.pairwise.uncertainty import standard_errors
from privrank_jax.privacy import Privacy
from tests.pairwise.flips import released
from tests.reference.covariate_davidson import tie_probabilities
from tests.reference.covariates import design_matrix

ITEMS, ROWS, RELEASES = 5, 1000, 600
TRUTH, SLOPES = np.array([0.8, 0.4, 0.0, -0.5, -0.7]), np.array([0.5, -0.3])
FLIPS = Privacy(0.3, unit="comparison", adjacency="flip", delta=1e-3, public=("covariates",))
RNG = np.random.default_rng(0)
PAIRS = np.array([RNG.choice(ITEMS, 2, replace=False) for _ in range(ROWS)])
COLUMNS = {"length": RNG.normal(0, 1, ROWS).clip(-2, 2), "left": np.ones(ROWS)}
DESIGN = covariate_table(*PAIRS.T, np.ones(ROWS), COLUMNS, num_items=ITEMS).design
MATRIX = design_matrix(
    *(np.asarray(part) for part in (DESIGN.first, DESIGN.second, DESIGN.features)), ITEMS
)
BETA = np.concatenate([TRUTH, SLOPES * np.asarray(DESIGN.units)])
CHANCE = 1 / (1 + np.exp(-MATRIX @ BETA))


def intervals_of(value, design=DESIGN, level=0.95, **told):
    return confidence_intervals(standard_errors(value, design, **told), level)


def test_standard_errors_are_those_of_the_sandwich():
    """Against the pseudo-inverse of the information at the fit, with noise in every sum."""
    table = CovariateTable(DESIGN, jnp.asarray(CHANCE))
    value = quickly(mle, table).value
    fisher = (MATRIX.T * CHANCE * (1 - CHANCE)) @ MATRIX
    for noise, variance in (("laplace", 2 * 3.0**2), ("gaussian", 3.0**2)):
        law = noise_on_sums(DESIGN, noise, 3.0)
        found = quickly(functools.partial(intervals_of, noise=law), value)
        inverse = np.linalg.pinv(fisher)
        covariance = inverse @ (fisher + variance * np.eye(ITEMS + 2)) @ inverse
        deviations = np.sqrt(np.diagonal(covariance))
        np.testing.assert_allclose(found.standard_errors, deviations[:ITEMS], rtol=1e-6)
        np.testing.assert_allclose(
            found.coefficients.standard_errors,
            deviations[ITEMS:] / np.asarray(DESIGN.units),
            rtol=1e-6,
        )


def test_intervals_cover_scores_and_coefficients(key):
    """95 % of 600 releases at a noise above the sampling error; without it in the intervals far fewer."""
    won = (np.random.default_rng(1).random((RELEASES, ROWS)) < CHANCE).astype(float)

    @jax.jit
    def run(keys, outcomes):
        def one(key, outcomes):
            table = CovariateTable(DESIGN, outcomes)
            found = released(key, table, FLIPS)
            facts = found.diagnostics

            def intervals(scale):
                return intervals_of(found.value, noise=scale, gamma=facts.gamma)

            return jax.vmap(intervals)(jnp.array([1.0, 0.0]) * facts.noise_scale)

        return jax.vmap(one, out_axes=1)(keys, outcomes)

    def shares(found):
        scores, effects = found, found.coefficients
        items = (scores.low <= TRUTH) & (scores.high >= TRUTH)
        slopes = (effects.low <= SLOPES) & (effects.high >= SLOPES)
        ranks = (scores.rank_low <= np.arange(ITEMS)) & (scores.rank_high >= np.arange(ITEMS))
        return [np.asarray(covers).mean(0) for covers in (items, slopes, ranks)]

    found = run(jax.random.split(key, RELEASES), jnp.asarray(won))
    counted, uncounted = (jax.tree.map(lambda leaf, n=n: leaf[n], found) for n in (0, 1))
    items, slopes, ranks = shares(counted)
    slack = 4.5 * np.sqrt(0.05 * 0.95 / RELEASES)
    assert np.all(np.abs(items - 0.95) < slack + 0.01), items
    assert np.all(np.abs(slopes - 0.95) < slack + 0.01), slopes
    assert np.all(ranks > 0.95 - slack)
    items, slopes, _ = shares(uncounted)
    assert np.all(items < 0.9), items
    assert np.all(slopes < 0.9), slopes


def test_a_step_that_is_too_long_gives_no_intervals():
    """A ridge hides all."""
    value = mle(CovariateTable(DESIGN, (CHANCE > 0.5) * 1.0), gamma=1e6).value
    errors = intervals_of(value, gamma=1e6, noise=1e3)
    assert not np.any(np.isfinite(errors.coefficients.low))
    assert not np.any(errors.better)


def test_items_that_are_not_linked_have_no_intervals():
    draw = np.random.default_rng(3)
    pairs = draw.permuted(draw.choice([[0, 1], [2, 3], [2, 4]], ROWS), axis=1)
    table = covariate_table(*pairs.T, draw.random(ROWS) < 0.6, COLUMNS, num_items=ITEMS)
    errors = intervals_of(mle(table, gamma=0.1).value, table.design, gamma=0.1)
    assert not np.any(np.isfinite(errors.standard_errors))
    assert np.all(np.isfinite(errors.coefficients.low))


def test_errors_with_ties_are_those_of_the_sandwich():
    """Against the covariance of (S, T) at the fit, with noise in every sum, and in T as much or 9/11 of it."""
    params = np.append(BETA, -0.3)
    fisher = np.zeros((ITEMS + 3,) * 2)
    for row in MATRIX:
        win, tie, _ = tie_probabilities(row @ BETA, np.exp(-0.3))
        points = np.stack([np.append(row, 0.0), np.append(row / 2, 1.0)])
        mean = win * points[0] + tie * points[1]
        fisher += (points.T * [win, tie]) @ points - np.outer(mean, mean)
    inverse = np.linalg.pinv(fisher)
    value = ModelScores(jnp.asarray(TRUTH), jnp.asarray(SLOPES), jnp.asarray(params[-1]))
    for noise, variance, ratio in (("laplace", 2 * 3.0**2, 1.0), ("gaussian", 3.0**2, 9 / 11)):
        law = noise_on_sums(DESIGN, noise, 3.0, ties=True)
        found = quickly(functools.partial(intervals_of, noise=law), value)
        spread = variance * np.diag([1.0] * (ITEMS + 2) + [ratio**2])
        deviations = np.sqrt(np.diagonal(inverse @ (fisher + spread) @ inverse))
        items = found.standard_errors
        np.testing.assert_allclose(items, deviations[:ITEMS], rtol=1e-6)
        slopes = found.coefficients.standard_errors * DESIGN.units
        np.testing.assert_allclose(slopes, deviations[ITEMS:-1], rtol=1e-6)
        if noise == "gaussian":
            half = 0.5 * float(found.log_tie.high - found.log_tie.low)
            assert half == pytest.approx(1.959964 * deviations[-1], rel=1e-4)


def test_intervals_with_ties_and_no_covariates_are_davidsons():
    wins = WinCounts.from_matrix([[0, 60, 30], [40, 0, 45], [20, 30, 0]], ties=60)
    value = ModelScores(jnp.asarray([0.3, 0.1, -0.4]), log_tie=jnp.asarray(-0.4))
    rows = [(i, j) for i, j, n in ((0, 1, 100), (0, 2, 50), (1, 2, 75)) for _ in range(n)]
    design = covariate_table(*np.array(rows).T, np.ones(225), {}, num_items=3).design
    told = {"noise": 2.0, "gamma": 1.5, "tie_gamma": 1.2}
    about = functools.partial(intervals_of, **told)
    expected = quickly(about, value, Counts(wins.comparisons))
    same = ModelScores(value.scores, np.zeros(0), value.log_tie)
    found = quickly(about, same, design)
    np.testing.assert_allclose(found.low, expected.low, rtol=1e-6)
    np.testing.assert_allclose(found.high, expected.high, rtol=1e-6)
    np.testing.assert_allclose(found.log_tie.low, expected.log_tie.low, rtol=1e-6)
    np.testing.assert_allclose(found.log_tie.high, expected.log_tie.high, rtol=1e-6)
