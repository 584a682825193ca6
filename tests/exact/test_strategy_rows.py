"""Integer strategies with exact noise at their limits: rows beyond the first interval, few bits, many steps."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.exact import strategy_rows as module
from privrank_jax.exact.entropy import SYSTEM
from privrank_jax.exact.strategy_rows import exact_rows
from privrank_jax.privacy.gaussian import gaussian_budget
from privrank_jax.privacy.prefix_sums import prefix_sum_errors
from tests.exact.laws import assert_mean
from tests.exact.strategies import matrices
from tests.promises import promise
from tests.reference import continual as twin

PURE = promise(1.0, "user", "replace", 2)
ASKED = promise(1.0, "user", "replace", 2, delta=1e-4)
ONE = Fraction(1)


def rows_of(asked, steps, kind, size=1, moved=None):
    """Win totals of a user of L comparisons that are replaced."""
    moved = moved or [2 * asked.contributions] * 2
    return exact_rows(kind, steps, asked, moved, [(size, ONE)], 2)


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("square-root", 9),
        ("increments", 9),
        ("tree", 1000),
        ("unbounded-root", None),
        ("unbounded-tree", None),
    ],
)
def test_strategies_are_integer_and_give_prefix_sums(kind, steps):
    rows = rows_of(ASKED if kind.endswith("root") else PURE, steps, kind)
    strategy, count = rows.strategy, steps or 1100
    before = rows.deviations(2)
    decode, encode = matrices(strategy, count)
    np.testing.assert_array_equal(encode, np.rint(encode))
    assert np.all(encode >= 0)
    np.testing.assert_allclose(decode @ encode / strategy.unit, np.tri(count), atol=1e-9)
    if steps is None:  # published steps are decoded again in every run
        np.testing.assert_array_equal(matrices(strategy, 70)[0], decode[:70, :70])
        np.testing.assert_array_equal(rows.deviations(count)[:2], before)
    alike = prefix_sum_errors(kind, count, "gaussian" if kind.endswith("root") else "laplace")
    np.testing.assert_allclose(rows.deviations(count) / before[0], alike / alike[0], rtol=2e-2)


@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
@pytest.mark.parametrize("kind", ["unbounded-root", "unbounded-tree"])
def test_no_user_loses_more_than_promised_without_a_last_step(kind, adjacency):
    """Brute force over 33 steps, where two levels of the tree end, in units of the noise of each row."""
    gaussian = kind.endswith("root")
    asked = promise(1.0, "user", adjacency, 1, delta=1e-4 if gaussian else 0.0)
    moved = [2] if adjacency == "add-remove" else [2, 2]
    rows = rows_of(asked, None, kind, moved=moved)
    units = np.array([[float(rows.scales[0]) * rows.strategy.growth(t)] for t in range(33)])
    encode = 2 * matrices(rows.strategy, 33)[1] / units
    order, budget = (2, float(gaussian_budget(1.0, 1e-4))) if gaussian else (1, 1.0)
    largest = twin.largest_change(encode, 2, 1, adjacency, order) / budget
    if not gaussian:
        assert largest == pytest.approx(3 / 4)  # of the levels, 1 and 1/2 of 1 + 1/2 + 1/4 + ...
    assert 0.4 < largest < 1


def test_counts_too_many_for_64_bits_are_refused():
    """In 8 steps they add up to 2^64, which is 0 in int64."""
    rows = rows_of(ASKED, 8, "square-root", 3)
    with pytest.raises(ValueError, match="at most 8,796,093,022,208 wins"):
        rows.drawn(np.full((8, 3), 2**61), 0, [SYSTEM] * 8)


@pytest.mark.parametrize(("epsilon", "contributions"), [(1e-3, 700), (0.01, 10_000)])
def test_ten_thousand_steps_at_small_budgets(epsilon, contributions):
    """A deviation of nearly 2^40, at which numbers are exact, and the largest counts: noise has the stated law."""
    asked = promise(epsilon, "user", "replace", contributions, delta=1e-9)
    rows = rows_of(asked, 10_000, "square-root", 5000)
    scale = rows.scales[0]
    assert 2**39 < scale <= 2**40
    assert scale**2 * gaussian_budget(epsilon, 1e-9) ** 2 >= rows.squared
    counts = np.zeros((2, 5000), np.int64)
    counts[:, 0] = module._LARGEST_COUNT // 2
    drawn = rows.drawn(counts, 0, [SYSTEM] * 2)
    center = np.array([[1.0], [1.5]]) * rows.strategy.unit * counts[0].astype(float)
    assert_mean((drawn - center) ** 2 / float(scale) ** 2, 1, math.sqrt(2))
