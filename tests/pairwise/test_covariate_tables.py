from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.pairwise import covariate_table, mle
from privrank_jax.pairwise.covariates import resolution

ITEMS, ROWS = 5, 40
RNG = np.random.default_rng(0)
PAIRS = np.array([RNG.choice(ITEMS, 2, replace=False) for _ in range(ROWS)])
OUTCOMES = RNG.choice([0.0, 0.5, 1.0], ROWS)
LENGTH = RNG.normal(0, 40, ROWS)
ONES = np.ones(ROWS)
OF_ITEM = np.array([3.0, -1.0, 4.0, 1.0, -5.0])


def table(covariates=None, **changes):
    given = {"first": PAIRS[:, 0], "second": PAIRS[:, 1], "outcomes": OUTCOMES, **changes}
    columns = {"length": LENGTH, "left": ONES} if covariates is None else covariates
    settings = {name: given.pop(name) for name in ("users", "bounds") if name in given}
    return covariate_table(**given, covariates=columns, num_items=ITEMS, **settings)


def test_features_are_the_covariates_in_units_and_rounded():
    design = table().design
    assert design.names == ("length", "left")
    features, units = np.asarray(design.features), np.asarray(design.units)
    largest = np.abs(features).max(0)
    assert np.all(np.log2(largest) == np.round(np.log2(largest)))
    np.testing.assert_allclose(
        features * units, np.column_stack([LENGTH, ONES]), atol=np.abs(LENGTH).max() / 2**11
    )
    assert resolution(features) <= 10 - np.log2(largest).min()
    assert largest[1] == 2.0 ** round(np.log2(2 / ITEMS))
    spread = np.sqrt(np.mean(np.square(LENGTH / np.abs(LENGTH).max())))
    assert largest[0] == 2.0 ** min(0, round(np.log2(2 / ITEMS / spread ** (4 / 3))))


def test_values_are_clipped_between_bounds():
    design = table(bounds={"length": (-10.0, 25.0)}).design
    values = np.asarray(design.features * design.units)[:, 0]
    np.testing.assert_allclose(values, np.clip(LENGTH, -10, 25), atol=25 / 2**11)


def test_users_are_numbered():
    names = np.array([7, 3] * (ROWS // 2))
    assert table(users=names).design.users.tolist() == [1, 0] * (ROWS // 2)
    assert table().design.users.tolist() == list(range(ROWS))


def test_coefficients_are_in_units_of_the_covariate():
    """Multiplying a covariate by 100 divides its coefficient by 100."""
    once, scaled = (mle(table({"length": factor * LENGTH}), gamma=1.0).value for factor in (1, 100))
    np.testing.assert_allclose(once.coefficients, 100 * scaled.coefficients, rtol=1e-9)
    np.testing.assert_allclose(once.scores, scaled.scores, atol=1e-9)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"length": LENGTH, "none": 0 * ONES}, "covariate 'none' is 0 in every comparison"),
        ({"a": LENGTH, "left": ONES, "b": 2 * LENGTH - 3}, "'b' can't be told apart from 'a' and 'left':"),
        (
            {"left": ONES, "mean": OF_ITEM[PAIRS[:, 0]] - OF_ITEM[PAIRS[:, 1]]},
            "'mean' can't be told apart from the scores of the items:",
        ),
        (
            {"left": ONES, "mix": ONES + OF_ITEM[PAIRS[:, 0]] - OF_ITEM[PAIRS[:, 1]]},
            "'mix' can't be told apart from 'left' and the scores of the items:",
        ),
        ({"length": np.where(ONES.cumsum() == 3, np.nan, LENGTH)}, "'length' must be finite, and comparison 2"),
        ({"length": LENGTH[1:]}, r"'length' must have shape \(40,\)"),
    ],
)  # fmt: skip
def test_covariates_that_nothing_determines_are_refused_by_name(columns, message):
    with pytest.raises(ValueError, match=message):
        table(columns)


def test_a_constant_first_item_is_its_advantage_or_refused():
    """Where one item is always first, its score and the advantage are one thing."""
    first, second = np.zeros(4, int), np.array([1, 2, 3, 4])
    with pytest.raises(ValueError, match="'left' can't be told apart from the scores of the items"):
        table({"left": np.ones(4)}, first=first, second=second, outcomes=np.ones(4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outcomes": OUTCOMES - 0.5}, "outcomes must be 1"),
        ({"outcomes": OUTCOMES[1:]}, "outcomes must have shape"),
        ({"second": PAIRS[:, 0]}, "compared with itself"),
        ({"first": PAIRS[:, 0] + 1}, "items must be integers from 0 to 4"),
        ({"first": PAIRS[1:, 0]}, "must have one shape"),
        ({"first": [], "second": []}, "N >= 1"),
        ({"users": [1]}, "users must have shape"),
        ({"bounds": {"length": (3.0, -3.0)}}, "the lower first"),
        ({"bounds": {"width": (0.0, 1.0)}}, "'width', which is none of the covariates 'length', 'left'"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        table(**changes)


def test_a_table_may_have_no_covariates():
    found = table({})
    assert found.sums.shape == (ITEMS,)
    assert found.design.features.shape == (ROWS, 0)
