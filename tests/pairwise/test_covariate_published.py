"""Fits with a home advantage against published ones: baseball, American League East, 1987.

Games: Agresti (2002), Categorical Data Analysis, 2nd edition, Table 10.10. Fits: his Table 10.11 and, to four digits,
the output of BradleyTerry2 that its source keeps (tests/baseball.Rout.save).
"""

from __future__ import annotations

import numpy as np

from privrank_jax.pairwise import covariate_intervals, covariate_table, mle_with_covariates

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


def test_baseball():
    first, second, won = games()
    assert len(won) == 273
    plain = mle_with_covariates(covariate_table(first, second, won, {}, num_items=7)).value.scores
    np.testing.assert_allclose(plain - plain[-1], PLAIN, atol=6e-5)
    table = covariate_table(first, second, won, {"at.home": np.ones(273)}, num_items=7)
    found = mle_with_covariates(table)
    scores = found.value.scores
    np.testing.assert_allclose(scores - scores[-1], LEVEL, atol=6e-5)
    np.testing.assert_allclose(found.value.coefficients, [0.3023], atol=6e-5)
    errors = covariate_intervals(found.value, table.design, found.diagnostics.ridge)
    np.testing.assert_allclose(errors.standard_errors, [0.1309], atol=6e-5)
    shares = np.exp(scores) / np.exp(scores).sum()
    table_10_11 = [0.044, 0.088, 0.137, 0.157, 0.164, 0.190, 0.220]
    np.testing.assert_allclose(np.sort(shares), table_10_11, atol=6e-4)
