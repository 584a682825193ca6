"""Strategies without a last step: columns that never grow longer than was proven, and their errors."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.privacy.prefix_sums import (
    column_length,
    inverse_series,
    longest_column,
    prefix_sum_errors,
    strategy_matrices,
)
from privrank_jax.privacy.unbounded_sums import (
    UNBOUNDED,
    column_bound,
    level_of,
    root_integers,
)
from tests.reference import continual as twin

NOISES = {"unbounded-root": ("gaussian",), "unbounded-tree": ("gaussian", "laplace")}


def test_they_are_those_of_the_twins():
    for steps in (1, 31, 67):
        root = strategy_matrices("unbounded-root", steps)[1]
        np.testing.assert_allclose(root, twin.unbounded_root(steps), rtol=1e-6)
    for ours, theirs in zip(strategy_matrices("unbounded-tree", 1100), twin.unbounded_tree(1100)):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("digits", [1, 8, 16, 30])
def test_squares_of_the_integers_never_add_up_to_more_than_was_proven(digits):
    """20,000 of them, exactly; and nearly to what is left to the steps that follow, so nothing is given away."""
    found = root_integers(20_000, digits)
    assert np.all(found >= 0)
    squares = sum(one * one for one in found.tolist())
    assert squares <= 4**digits
    if digits >= 16:
        beyond = 1 / (1 + (1.067 + np.log(20_000) / np.pi) / 5) ** 3
        assert squares / 4**digits == pytest.approx(1 - beyond, abs=2e-3)


def test_more_steps_change_none_before():
    """Bit for bit, also of what decodes them: published steps are decoded again in every run."""
    many = root_integers(5000, 16)
    inverse = inverse_series(many / 2.0**16)
    for steps in (1, 2, 64, 1023, 4999):
        few = root_integers(steps, 16)
        np.testing.assert_array_equal(few, many[:steps])
        np.testing.assert_array_equal(inverse_series(few / 2.0**16), inverse[:steps])


def test_columns_of_the_tree_approach_the_bound():
    """Sums 1, 1 + 1/2, 1 + 1/2 + 1/4 as longer intervals are published, never 2."""
    for steps, expected in ((31, 1), (32, 1.5), (1023, 1.5), (1024, 1.75), (1100, 1.75)):
        encode = strategy_matrices("unbounded-tree", steps)[1]
        assert (
            longest_column(encode, "laplace")
            == expected
            < column_bound("unbounded-tree", "laplace")
        )
        assert longest_column(encode, "gaussian") < column_bound("unbounded-tree", "gaussian")
    assert [level_of(step) for step in (1, 32, 96, 1024, 1025)] == [0, 1, 1, 2, 0]


@pytest.mark.parametrize("strategy", UNBOUNDED)
def test_the_length_does_not_depend_on_how_many_steps_there_are(strategy):
    for noise in NOISES[strategy]:
        found = {column_length(strategy, strategy_matrices(strategy, t)[1], noise) for t in (1, 40)}
        assert found == {column_bound(strategy, noise)}


@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
@pytest.mark.parametrize("strategy", UNBOUNDED)
def test_no_user_moves_more_than_the_theorem_says(strategy, adjacency):
    """Brute force over all that a user of 2 comparisons holds in 4 steps, or of 1 in 33, where two levels end."""
    for steps, limit in ((4, 2), (33, 1)):
        encode = strategy_matrices(strategy, steps)[1]
        for noise in NOISES[strategy]:
            order = 1 if noise == "laplace" else 2
            largest = twin.largest_change(encode, 2, limit, adjacency, order)
            moves = 1 if adjacency == "add-remove" else (2 if order == 1 else 2**0.5)
            assert 0.4 < largest / (limit * moves * column_bound(strategy, noise)) < 1


@pytest.mark.parametrize("many", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_errors_are_those_of_the_tables(many):
    for strategy, noise, expected in (
        ("unbounded-root", "gaussian", (2.98, 3.75, 4.78)),
        ("unbounded-tree", "laplace", (11.1, 16.9, 27.3)),
        ("square-root", "gaussian", (2.32, 2.94)),
    ):
        for steps, largest in zip((52, 365, 3650), expected[:many]):
            found = prefix_sum_errors(strategy, steps, noise).max()
            assert found == pytest.approx(largest, abs=0.051 if noise == "laplace" else 0.006)


def test_the_root_is_not_for_laplace_noise():
    with pytest.raises(ValueError, match='Choose "unbounded-tree" for Laplace noise'):
        prefix_sum_errors("unbounded-root", 5, "laplace")
