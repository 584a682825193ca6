"""Fits with a home advantage against published ones, and against a naive fit where none is published.

*Baseball*, American League East, 1987. Games: Agresti (2002), Categorical Data Analysis, 2nd edition, Table 10.10.
Fits: his Table 10.11 and, to four digits, the output of BradleyTerry2 that its source keeps (tests/baseball.Rout.save).

*Ice hockey*, US colleges, 2009-10. The fit without home advantage is published as KRACH ratings (College Hockey News,
2009-10; Schlobotnik, Ranking Systems for D1 College Hockey, 2009-2010), beside the mean chance of a win against the 57
others, which has no scale. No fit with home advantage is printed for these games or for *football* (Premier League,
2008-9 to 2012-13): theirs are held against a generalized linear model fitted by iterated least squares.
"""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.pairwise.covariates import covariate_table
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.pairwise.uncertainty import standard_errors
from tests.pairwise.games import public_games
from tests.quick import quick_jit
from tests.reference.covariates import design_matrix, least_squares_fit

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


fit, errors_of = quick_jit(mle), quick_jit(standard_errors)


def games():
    rows = []
    for home in range(7):
        for away in range(7):
            rows += [(home, away, 1)] * HOME[home][away] + [(home, away, 0)] * AWAY[home][away]
    return np.array(rows).T


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


def test_ice_hockey_without_home_advantage_is_krach():
    games = public_games("icehockey")
    table = covariate_table(*games.pairs.T, games.won, {}, num_items=58)
    scores = np.asarray(fit(table).value.scores)
    chances = 1 / (1 + np.exp(scores - scores[:, None]))
    mean = dict(zip(games.names, (chances.sum(1) - 0.5) / 57, strict=True))
    assert set(KRACH) <= set(mean)
    for team, printed in KRACH.items():
        assert mean[team] == pytest.approx(printed, abs=6e-5), team


@pytest.mark.parametrize(("name", "home"), [("icehockey", 0.4029), ("football", 0.4556)])
def test_home_advantages_are_those_of_a_generalized_linear_model(name, home):
    """Ties are half a win for both; some ice hockey was played on neutral ice."""
    games = public_games(name)
    teams = len(games.names)
    table = covariate_table(*games.pairs.T, games.won, {"home": games.home}, num_items=teams)
    found = fit(table)
    errors = errors_of(found.value, table.design)
    matrix = design_matrix(*games.pairs.T, games.home[:, None], teams)
    beta, deviations = least_squares_fit(matrix[:, 1:], games.won)  # the first team's score is 0
    scores = found.value.scores
    np.testing.assert_allclose(scores - scores[0], np.append(0, beta[:-1]), atol=1e-6)
    np.testing.assert_allclose(found.value.coefficients, beta[-1:], atol=1e-7)
    np.testing.assert_allclose(np.sqrt(errors.covariance[-1, -1]), deviations[-1], rtol=1e-5)
    assert beta[-1] == pytest.approx(home, abs=6e-5)
