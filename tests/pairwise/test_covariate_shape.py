"""What one user can change in sums with covariates: the shape, and its theorems by enumeration."""

from __future__ import annotations

import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise import (
    covariate_table,
)
from privrank_jax.pairwise.covariate_shape import covariate_shape, shaped_sensitivity
from tests.reference.covariate_davidson import tied_statistic
from tests.reference.covariates import (
    matrix_of,
    shape_gauge,
    user_sensitivity,
    user_shape,
)

_FIRST, _SECOND = [0, 1, 2, 0, 3, 1, 0], [1, 0, 3, 2, 1, 2, 1]
_WHO = [0, 0, 0, 1, 1, 1, 1]
UNEVEN = covariate_table(
    _FIRST,
    _SECOND,
    [1.0] * 7,
    {"x": [1.0, -0.5, 0.25, 2.0, 0.0, 1.0, 0.5]},
    num_items=4,
    users=_WHO,
).design


def of_naive(design):
    parts = (
        np.asarray(part).tolist()
        for part in (design.first, design.second, design.features, design.users)
    )
    return user_shape(*parts, design.num_items)


@pytest.mark.parametrize("padded", [False, True])
def test_the_shape_is_the_naive_one(padded):
    design = UNEVEN
    if padded:
        grown = {
            name: jnp.concatenate([getattr(design, name), getattr(design, name)[:3] + more])
            for name, more in (("first", 0), ("second", 0), ("features", 9.0), ("users", 0))
        }
        design = dataclasses.replace(design, **grown, mask=jnp.arange(10) < 7)
    found, (met, widths, answers) = covariate_shape(design), of_naive(UNEVEN)
    np.testing.assert_array_equal(found.questions, met)
    np.testing.assert_array_equal(found.widths, widths)
    assert found.answers == answers == 4


def test_the_theorem_by_enumeration():
    """All outcomes of each user, ties too: changes stay in K, in its interval those of ties, and reach its boundary."""
    matrix, (met, widths, answers) = matrix_of(UNEVEN), of_naive(UNEVEN)
    gauges = []
    for who in (0, 1):
        rows = matrix[np.array(_WHO) == who]
        known = [
            tied_statistic(rows, won)
            for won in itertools.product((0.0, 0.5, 1.0), repeat=len(rows))
        ]
        moved = np.unique([one - other for one in known for other in known], axis=0)
        assert np.abs(moved[:, -1]).max() <= answers
        gauges += [shape_gauge(change[:-1], met, widths) for change in moved]
        for order, ties in ((1, False), (1, True), (2, False)):
            norms = np.linalg.norm(moved[:, : None if ties else -1], order, axis=1)
            told = shaped_sensitivity(UNEVEN, f"l{order}", ties=ties)
            assert norms.max() <= told * (1 + 1e-12)
    assert max(gauges) == pytest.approx(1)


def test_norms_are_attained_where_one_user_meets_all_pairs():
    """All outcomes of the only user: a cut and the covariate move together, in ℓ₂ an order of the items and it."""
    first, second, length = [0, 1, 0], [1, 2, 2], [0.5, 0.25, 1.0]
    one = {"num_items": 3, "users": [0, 0, 0]}
    design = covariate_table(first, second, [1.0] * 3, {"x": length}, **one).design
    matrix = matrix_of(design)
    known = [tied_statistic(matrix, won) for won in itertools.product((0.0, 0.5, 1.0), repeat=3)]
    moved = np.array([one - other for one in known for other in known])
    for order, ties in ((1, False), (1, True), (2, False)):
        told = shaped_sensitivity(design, f"l{order}", ties=ties)
        naive = user_sensitivity(matrix, [0, 0, 0], order, 3, ties)
        assert told == pytest.approx(naive, rel=1e-11)
        norms = np.linalg.norm(moved[:, : None if ties else -1], order, axis=1)
        assert norms.max() <= told
        # A tie moves a covariate by half of what a loss does, so with ties the bound is not quite attained.
        assert norms.max() >= told * (0.95 if ties else 1 - 1e-9)


def test_a_design_without_comparisons_has_no_shape():
    none = covariate_shape(dataclasses.replace(UNEVEN, mask=jnp.zeros(7, bool)))
    assert (none.answers, none.most, none.shared) == (0, 0.0, False)
    with pytest.raises(ValueError, match="has no comparisons"):
        none.body()
