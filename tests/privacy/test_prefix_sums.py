"""Strategies for prefix sums: factorizations, sensitivities by brute force, errors and their bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax.privacy.prefix_sums import (
    STRATEGIES,
    UNBOUNDED,
    Strategy,
    inverse_series,
    level_of,
    prefix_sum_error_bound,
    prefix_sum_errors,
    root_integers,
    simulated,
    square_root_coefficients,
    strategy_matrices,
    usual_strategy,
)
from tests.quick import thorough

NOISES = ("laplace", "gaussian")


@pytest.mark.parametrize("steps", [1, 2, 7, 8, 31, 33, 70])
@pytest.mark.parametrize("strategy", [*STRATEGIES, *UNBOUNDED])
def test_they_factorize_the_prefix_sums(strategy, steps):
    decode, encode = strategy_matrices(strategy, steps)
    np.testing.assert_allclose(decode @ encode, np.tri(steps), atol=1e-12)
    for matrix in (decode, encode):
        np.testing.assert_array_equal(matrix, np.tril(matrix))
    assert np.all(encode >= 0)  # the theorem needs it


@pytest.mark.parametrize("steps", [1, 2, 3, 10, 100, 1000])
def test_errors(steps):
    """What the table at the head of the module states."""
    worst = {name: prefix_sum_errors(name, steps, "gaussian").max() for name in STRATEGIES}
    assert worst["independent"] == pytest.approx(math.sqrt(steps))
    assert worst["increments"] == pytest.approx(math.sqrt(steps))
    assert worst["square-root"] == pytest.approx((square_root_coefficients(steps) ** 2).sum())
    assert worst["square-root"] == pytest.approx(1.067 + math.log(steps) / math.pi, rel=0.07)
    bound = prefix_sum_error_bound(steps)
    assert worst["square-root"] < bound + 0.37
    if steps < 100:
        singular = np.linalg.svd(np.tri(steps), compute_uv=False)
        assert bound == pytest.approx(singular.mean())
    assert all(error >= bound - 1e-12 for error in worst.values())
    assert worst["tree"] <= math.floor(math.log2(steps)) + 1 + 1e-9


@pytest.mark.parametrize("steps", [1, 5, 100, 900, 901, thorough(1023)])
def test_the_usual_strategy_has_the_least_error(steps):
    for noise in NOISES:
        errors = {name: prefix_sum_errors(name, steps, noise).max() for name in STRATEGIES}
        assert errors[usual_strategy(steps, noise)] == pytest.approx(min(errors.values()))
    assert usual_strategy(10**12, "laplace") == "tree"  # without matrices


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
        bounds = [simulated("unbounded-tree", steps).length(noise) for noise in NOISES]
        assert encode.sum(0).max() == expected < bounds[0] == 2
        assert np.linalg.norm(encode, axis=0).max() < bounds[1]
    assert [level_of(step) for step in (1, 32, 96, 1024, 1025)] == [0, 1, 1, 2, 0]


@pytest.mark.parametrize("kind", STRATEGIES)
@pytest.mark.parametrize("steps", [1, 3, 9, 64])
def test_whole_rows_know_their_longest_column(kind, steps):
    rows = Strategy(kind, steps, 12 if kind == "square-root" else None)
    encode = np.zeros((steps, steps), np.int64)
    for step in range(steps):
        encode[step, : step + 1] = rows.encoding(step)
    assert rows.longest_column("laplace") == encode.sum(0).max()
    assert rows.longest_column("gaussian") == (encode**2).sum(0).max()


@pytest.mark.parametrize("many", [2, thorough(3)])
def test_errors_are_those_of_the_tables(many):
    for strategy, noise, expected in (
        ("unbounded-root", "gaussian", (2.98, 3.75, 4.78)),
        ("unbounded-tree", "laplace", (11.1, 16.9, 27.3)),
        ("square-root", "gaussian", (2.32, 2.94)),
    ):
        for steps, largest in zip((52, 365, 3650), expected[:many]):
            found = prefix_sum_errors(strategy, steps, noise).max()
            assert found == pytest.approx(largest, abs=0.051 if noise == "laplace" else 0.006)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        *((lambda n=n: strategy_matrices("tree", n), "steps") for n in (0, -1, 2.0, True)),
        (lambda: strategy_matrices("banded", 3), "strategy"),
        (lambda: prefix_sum_errors("unbounded-root", 5, "laplace"), "unbounded-tree"),
    ],
)
def test_refusals(call, word):
    with pytest.raises(ValueError, match=word):
        call()
