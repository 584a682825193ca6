"""The radius of exact noise: its law for counts that are not powers, blocks that bound it, and room in 64 bits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.exact.radius import Radius, check_rate, checked_radius
from tests.exact.laws import assert_shares


def count(radius):
    return 1 + radius * radius + 3 * radius


def law(power, rate, reach):
    radius = np.arange(reach)
    log = power * np.log(1.0 + radius * radius + 3 * radius) - float(rate) * radius
    odds = np.exp(log - log.max())
    return odds / odds.sum()


@pytest.mark.parametrize(
    ("power", "rate"), [(1, Fraction(3)), (2, Fraction(1, 2)), (40, Fraction(2))]
)
def test_the_radius_has_its_law(power, rate):
    """χ² of 3,000 draws; fails by chance once in 10⁹ runs."""
    radius = Radius(count, power, rate)
    expected = law(power, rate, 400)
    assert radius.mode == expected.argmax()
    drawn = np.bincount([radius.draw() for _ in range(3000)], minlength=400)
    assert_shares(drawn, expected)


@pytest.mark.parametrize("power", [1, 7, 60])
def test_blocks_bound_the_weights(power):
    rate = Fraction(1, 3)
    radius = Radius(count, power, rate)
    weights = law(power, rate, 6 * radius.mode + 400)
    weights = weights / weights[radius.mode]
    right, left = weights[radius.mode :], weights[: radius.mode][::-1]
    for side, width in ((right, radius._right), (left, max(radius._left, 1))):
        assert np.all(side <= 2.0 ** -(np.arange(side.size) // width) * (1 + 1e-12))


def test_noise_beyond_64_bits_is_refused():
    check_rate(Fraction(1, 10**9), 100)
    with pytest.raises(ValueError, match="exceeds 64 bits"):
        check_rate(Fraction(1, 10**17), 100)
    assert checked_radius(2**60 - 1) == 2**60 - 1
    with pytest.raises(OverflowError, match="as likely for all data"):
        checked_radius(2**60)
    with pytest.raises(OverflowError, match="as likely for all data"):
        checked_radius(2**58, edges=16)
