"""Decimal intervals contain the numbers that they enclose."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import pytest

from privrank_jax.release import exponential
from privrank_jax.release.intervals import largest_below
from tests.release.rankings import EVERY, costs_and_rate


@pytest.mark.parametrize("digits", [3, 12, 36])
def test_enclosures_hold_the_truth_and_narrow_with_the_digits(digits):
    costs, rate = costs_and_rate(7.0)
    exact = exponential.Odds(costs, rate, 80)
    rough = exponential.Odds(costs, rate, digits)
    for size in range(1, 5):
        for members in map(list, itertools.combinations(range(4), size)):
            for (low, high), (finer_low, finer_high) in zip(
                rough.of_last(members), exact.of_last(members)
            ):
                assert 0 < low <= finer_low <= finer_high <= high
                assert (low < high) == (size > 1)
                assert high - low < 200 * low * Decimal(10) ** -digits


def test_the_weight_of_all_orders_is_their_sum():
    costs, rate = costs_and_rate(7.0)
    odds = exponential.Odds(costs, rate, 40).of_last([0, 1, 2, 3])
    terms = [
        math.exp(-float(rate) * sum(costs[j][i] for i, j in itertools.combinations(order, 2)))
        for order in EVERY
    ]
    assert float(sum(low for low, _ in odds)) == pytest.approx(sum(terms), rel=1e-12)


def test_largest_below():
    for bound in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), Fraction(1)):
        value = largest_below(bound)
        assert Fraction(value) <= bound < Fraction(math.nextafter(value, 2))
