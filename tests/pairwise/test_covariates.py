from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise.covariates import (
    CovariateDesign,
    CovariateTable,
    covariate_table,
    resolution,
)
from privrank_jax.privacy import Privacy
from tests.reference.covariates import (
    covariate_sensitivity,
    covariate_sums,
    largest_change,
    matrix_of,
)

ITEMS = 4
COMPARISON = Privacy(1.0, unit="comparison", adjacency="flip", public=("covariates",))
USER = Privacy(1.0, unit="user", adjacency="flip", public=("covariates",))


def small_table(seed=0, rows=9, users=4):
    """Comparisons of four items with a length and an advantage of the first item."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(ITEMS, 2, replace=False) for _ in range(rows)])
    outcomes = rng.choice([0.0, 0.5, 1.0], rows)
    who = np.concatenate([np.arange(users), rng.integers(0, users, rows - users)])
    covariates = {"length": rng.uniform(-3, 2, rows), "first": np.ones(rows)}
    return covariate_table(*pairs.T, outcomes, covariates, num_items=ITEMS, users=who)


def test_sums_gram_and_log_odds_are_those_of_the_matrix():
    table = small_table()
    matrix, beta = matrix_of(table.design), np.linspace(-1, 2, ITEMS + 2)
    weights = np.linspace(0.1, 1, len(matrix))
    np.testing.assert_allclose(table.sums, covariate_sums(matrix, np.asarray(table.outcomes)))
    np.testing.assert_allclose(table.design.log_odds(jnp.asarray(beta)), matrix @ beta)
    np.testing.assert_allclose(
        table.design.gram(jnp.asarray(weights)), (matrix.T * weights) @ matrix, atol=1e-12
    )


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_sensitivity_is_the_largest_change_of_the_sums(norm):
    """By enumeration of all outcomes; for users the triangle inequality may be strict."""
    design, order = small_table(2).design, int(norm[1])
    matrix, users = matrix_of(design), np.asarray(design.users)
    alone = [largest_change(matrix[[row]], order) for row in range(len(matrix))]
    assert float(design.sensitivity(COMPARISON, norm)) == pytest.approx(max(alone), rel=1e-12)
    known = float(design.sensitivity(USER, norm))
    assert known == pytest.approx(covariate_sensitivity(matrix, users, order), rel=1e-12)
    together = max(largest_change(matrix[users == user], order) for user in set(users.tolist()))
    assert together <= known * (1 + 1e-12)
    same = np.zeros(3, int)  # three equal rows of one user attain it
    equal = CovariateDesign(
        *(
            jnp.asarray(part)[same]
            for part in (design.first, design.second, design.features, users)
        ),
        design.units,
        num_items=ITEMS,
    )
    assert float(equal.sensitivity(USER, norm)) == pytest.approx(
        largest_change(matrix_of(equal), order), rel=1e-12
    )


def test_padding_counts_for_nothing():
    table = small_table(3)
    design, rows = table.design, 4
    kept = np.arange(len(table.outcomes)) < rows
    masked = CovariateTable(
        CovariateDesign(
            design.first, design.second, design.features, design.users, design.units,
            jnp.asarray(kept), num_items=ITEMS,
        ),
        table.outcomes,
    )  # fmt: skip
    matrix = matrix_of(design)[:rows]
    np.testing.assert_allclose(
        masked.sums, covariate_sums(matrix, np.asarray(table.outcomes)[:rows])
    )
    assert float(masked.design.degree) == 2 * rows / ITEMS
    users = np.asarray(design.users)[:rows]
    for privacy, who in ((COMPARISON, range(rows)), (USER, users.tolist())):
        assert float(masked.design.sensitivity(privacy)) == pytest.approx(
            covariate_sensitivity(matrix, list(who), 1), rel=1e-12
        )


def test_resolution_is_found_or_refused():
    assert resolution(np.array([[1.0]])) == 0
    assert resolution(np.array([[2.0**-30]])) == 30
    for feature in (1 / 3, np.nan, 2.0**-31):
        with pytest.raises(ValueError, match="multiples of a power of 1/2"):
            resolution(np.array([[feature]]))
