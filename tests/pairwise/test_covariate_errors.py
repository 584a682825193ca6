"""Errors and intervals of fits with covariates; fits with a home advantage, and without, against published ones.

*Baseball*, American League East, 1987. Games: Agresti (2002), Categorical Data Analysis, 2nd edition, Table 10.10.
Fits: his Table 10.11 and, to four digits, the output of BradleyTerry2 that its source keeps (tests/baseball.Rout.save).

*Ice hockey*, US colleges, 2009-10. The fit without home advantage is published as KRACH ratings (College Hockey News,
2009-10; Schlobotnik, Ranking Systems for D1 College Hockey, 2009-2010), beside the mean chance of a win against the 57
others, which has no scale.
"""

from __future__ import annotations

import csv

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise.covariates import covariate_table
from privrank_jax.pairwise.designs import ModelScores
from privrank_jax.pairwise.intervals import confidence_intervals
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.pairwise.noisy_totals import noise_on_counted
from privrank_jax.pairwise.uncertainty import standard_errors
from tests.quick import quick_jit, thorough
from tests.reference.covariate_davidson import tie_probabilities
from tests.reference.covariates import matrix_of

ITEMS, ROWS = 5, 400
TRUTH, SLOPES = np.array([0.8, 0.4, 0.0, -0.5, -0.7]), np.array([0.5, -0.3])
RNG = np.random.default_rng(0)
PAIRS = np.array([RNG.choice(ITEMS, 2, replace=False) for _ in range(ROWS)])
COLUMNS = {"length": RNG.normal(0, 1, ROWS).clip(-2, 2), "left": np.ones(ROWS)}
DESIGN = covariate_table(*PAIRS.T, np.ones(ROWS), COLUMNS, num_items=ITEMS).design
MATRIX = matrix_of(DESIGN)
BETA = np.concatenate([TRUTH, SLOPES * np.asarray(DESIGN.units)])
CHANCE = 1 / (1 + np.exp(-MATRIX @ BETA))
fit, errors_of = quick_jit(mle), quick_jit(standard_errors)


def intervals_of(value, design=DESIGN, level=0.95, **told):
    return confidence_intervals(errors_of(value, design, **told), level)


@pytest.mark.parametrize("ties", [thorough(False), True])
def test_errors_are_those_of_the_sandwich_about_where_no_ridge_pulls(ties):
    """Against the covariance of (S, T) at the fit, with noise in every sum, and in T as much or 9/11 of it."""
    fisher, numbers = np.zeros((ITEMS + 3,) * 2), ITEMS + 2 + ties
    for row in MATRIX:
        win, tie, _ = tie_probabilities(row @ BETA, 0.7 * ties)
        points = np.stack([np.append(row, 0.0), np.append(row / 2, 1.0)])
        mean = win * points[0] + tie * points[1]
        fisher += (points.T * [win, tie]) @ points - np.outer(mean, mean)
    inverse = np.linalg.pinv(fisher[:numbers, :numbers])
    log_tie = [np.log(0.7)] * ties
    value = ModelScores(jnp.asarray(TRUTH), jnp.asarray(SLOPES), *map(jnp.asarray, log_tie))
    beta, ridge = np.append(BETA, log_tie), np.linspace(1, 4, numbers)
    units = np.concatenate([np.ones(ITEMS), DESIGN.units, [1.0] * ties])
    told = {"gamma": ridge[: ITEMS + 2], "tie_gamma": ridge[-1]}
    for noise, variance, ratio in (("laplace", 2 * 3.0**2, 1.0), ("gaussian", 3.0**2, 9 / 11)):
        law = noise_on_counted(noise, 3.0, DESIGN.size, ties=ties)
        found = errors_of(value, DESIGN, noise=law, **told)
        spread = variance * np.diag([1.0] * (ITEMS + 2) + [ratio**2] * ties)
        wanted = inverse @ (fisher[:numbers, :numbers] + spread) @ inverse
        scaled = found.covariance * units * units[:, None]
        np.testing.assert_allclose(scaled, wanted, rtol=1e-6, atol=1e-12)
        center = beta + inverse @ (ridge * beta)
        np.testing.assert_allclose(found.center * units, center, rtol=1e-6)
        if noise == "gaussian":
            rows = confidence_intervals(found)
            parts = (rows.coefficients, rows.log_tie) if ties else (rows.coefficients,)
            widths = np.hstack([part.high - part.low for part in parts])
            each = np.sqrt(np.diagonal(found.covariance))[ITEMS:]
            np.testing.assert_allclose(widths, 2 * 1.959964 * each, rtol=1e-4)


def test_ties_that_count_half_leave_less_variance():
    """By pairs: a quarter of the number of their ties less than outcomes without ties have."""
    tied, pair = np.random.default_rng(4).random(ROWS) < 0.3, np.sort(PAIRS) @ [ITEMS, 1]
    own = CHANCE * (1 - CHANCE)
    most, ties = (np.bincount(pair, one, ITEMS**2)[pair] for one in (own, tied))
    fisher, left = ((MATRIX.T * one) @ MATRIX for one in (own, own * (1 - ties / most / 4)))
    value = ModelScores(jnp.asarray(TRUTH), jnp.asarray(SLOPES))
    found = errors_of(value, DESIGN, ties=tied)
    units = np.append(np.ones(ITEMS), DESIGN.units)
    wanted = np.linalg.pinv(fisher) @ left @ np.linalg.pinv(fisher)
    scaled = found.covariance * units * units[:, None]
    np.testing.assert_allclose(scaled, wanted, rtol=1e-6, atol=1e-12)


def test_a_step_that_is_too_long_gives_no_intervals():
    """A ridge hides all."""
    near_zero = MATRIX.T @ ((CHANCE > 0.5) - 0.5) / 1e6  # as such a ridge leaves them
    value = ModelScores(near_zero[:ITEMS], near_zero[ITEMS:] / DESIGN.units)
    errors = intervals_of(value, gamma=1e6, noise=1e3)
    assert not np.any(np.isfinite(errors.coefficients.low))
    assert not np.any(errors.better)


def test_items_that_are_not_linked_have_no_intervals():
    draw = np.random.default_rng(3)
    pairs = draw.permuted(draw.choice([[0, 1], [2, 3], [2, 4]], ROWS), axis=1)
    table = covariate_table(*pairs.T, draw.random(ROWS) < 0.6, COLUMNS, num_items=ITEMS)
    value = ModelScores(jnp.asarray(TRUTH), jnp.asarray(SLOPES))
    errors = intervals_of(value, table.design, gamma=0.1)
    assert not np.any(np.isfinite(errors.standard_errors))
    assert np.all(np.isfinite(errors.coefficients.low))


# Wins of the home team (row) and of the visitor (column).
HOME = (
    (0, 4, 4, 4, 6, 4, 6), (3, 0, 4, 4, 6, 6, 4), (2, 4, 0, 2, 4, 4, 6), (3, 5, 2, 0, 4, 4, 6),
    (5, 2, 3, 4, 0, 5, 6), (2, 3, 3, 4, 4, 0, 2), (2, 1, 1, 2, 1, 3, 0),
)  # fmt: skip
AWAY = (
    (0, 3, 2, 3, 1, 2, 0), (3, 0, 2, 3, 0, 1, 3), (5, 3, 0, 4, 3, 2, 0), (3, 1, 5, 0, 3, 2, 1),
    (1, 5, 3, 2, 0, 2, 0), (5, 3, 4, 3, 2, 0, 4), (5, 5, 6, 4, 6, 4, 0),
)  # fmt: skip
# Less Baltimore's, without and with the advantage.
PLAIN = (1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0.0)
LEVEL = (1.6196, 1.4754, 1.3271, 1.2813, 1.1438, 0.7047, 0.0)


def games():
    rows = []
    for home in range(7):
        for away in range(7):
            rows += [(home, away, 1)] * HOME[home][away] + [(home, away, 0)] * AWAY[home][away]
    return np.array(rows).T


@pytest.mark.slow
def test_baseball():
    first, second, won = games()
    assert len(won) == 273
    plain = fit(covariate_table(first, second, won, {}, num_items=7)).value.scores
    np.testing.assert_allclose(plain - plain[-1], PLAIN, atol=6e-5)
    table = covariate_table(first, second, won, {"at.home": np.ones(273)}, num_items=7)
    found = fit(table)
    scores = found.value.scores
    np.testing.assert_allclose(scores - scores[-1], LEVEL, atol=6e-5)
    np.testing.assert_allclose(found.value.coefficients, [0.3023], atol=6e-5)
    errors = errors_of(found.value, table.design)
    np.testing.assert_allclose(np.sqrt(errors.covariance[-1, -1]), 0.1309, atol=6e-5)
    shares = np.exp(scores) / np.exp(scores).sum()
    table_10_11 = [0.044, 0.088, 0.137, 0.157, 0.164, 0.190, 0.220]
    np.testing.assert_allclose(np.sort(shares), table_10_11, atol=6e-4)


KRACH = {
    "Denver": 0.8145, "Miami": 0.7991, "Wisconsin": 0.7970, "North Dakota": 0.7812, "Boston College": 0.7441,
    "St. Cloud State": 0.7437, "Minnesota Duluth": 0.6864, "Northern Michigan": 0.6730, "Colorado College": 0.6714,
    "Michigan": 0.6697, "New Hampshire": 0.6648, "Minnesota": 0.6632, "Bemidji State": 0.6549, "Alaska": 0.6548,
    "Ferris State": 0.6531, "Vermont": 0.6451, "Cornell": 0.6439, "Michigan State": 0.6435, "Maine": 0.6238,
    "Yale": 0.5965, "Union": 0.5515, "RIT": 0.3745, "Sacred Heart": 0.3071, "Canisius": 0.2320,
}  # fmt: skip


@pytest.mark.slow
def test_ice_hockey_without_home_advantage_is_krach(data_folder):
    with (data_folder / "icehockey" / "icehockey.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = sorted({row["opponent"] for row in rows} | {row["visitor"] for row in rows})
    pairs = [[names.index(row[one]) for row in rows] for one in ("opponent", "visitor")]
    won = 1 - np.array([float(row["result"]) for row in rows])
    table = covariate_table(*pairs, won, {}, num_items=58)
    scores = np.asarray(fit(table).value.scores)
    chances = 1 / (1 + np.exp(scores - scores[:, None]))
    mean = dict(zip(names, (chances.sum(1) - 0.5) / 57, strict=True))
    assert set(KRACH) <= set(mean)
    for team, printed in KRACH.items():
        assert mean[team] == pytest.approx(printed, abs=6e-5), team
