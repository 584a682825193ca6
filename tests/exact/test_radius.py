"""The radius of exact noise: its law, blocks that bound it, and room in 64 bits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.exact import k_norm
from privrank_jax.exact.radius import Radius, check_rate, checked_radius
from tests.exact.laws import assert_shares


def count(radius):
    return 1 + radius * radius + 3 * radius


def cube(radius):
    return 2.0 * radius + 1


def law(numbers, power, rate, reach):
    radius = np.arange(reach)
    log = power * np.log(numbers(1.0 * radius)) - float(rate) * radius
    odds = np.exp(log - log.max())
    return odds / odds.sum()


CUBES = [(1, 0.25), (9, 0.5), (4950, 0.25), (9, 8)]
CASES = [
    (Radius(count, power, Fraction(rate)), count, power, rate)
    for power, rate in ((1, 3), (7, 0.5), (60, 0.25))
]
CASES += [(k_norm._radius(power, Fraction(rate)), cube, power, rate) for power, rate in CUBES]


@pytest.mark.parametrize(("radius", "numbers", "power", "rate"), CASES)
def test_the_radius_has_its_law(radius, numbers, power, rate):
    """χ² of 3,000 draws, which fails by chance once in 10⁹ runs; and blocks bound the weights."""
    expected = law(numbers, power, rate, 3 * radius.mode + 400)
    assert radius.mode == expected.argmax()
    drawn = np.array([radius.draw() for _ in range(3000)])
    cells = np.arange(expected.size) // math.ceil(0.1 / expected.max())
    assert_shares(np.bincount(cells[drawn], minlength=cells[-1] + 1), np.bincount(cells, expected))
    weights = expected / expected[radius.mode]
    right, left = weights[radius.mode :], weights[: radius.mode][::-1]
    for side, width in ((right, radius._right), (left, max(radius._left, 1))):
        assert np.all(side <= 2.0 ** -(np.arange(side.size) // width) * (1 + 1e-12))


def test_noise_beyond_64_bits_is_refused():
    check_rate(Fraction(1, 10**9), 100)
    with pytest.raises(ValueError, match="64 bits"):
        check_rate(Fraction(1, 10**17), 100)
    assert checked_radius(2**60 - 1) == 2**60 - 1
    for told in ((2**60,), (2**58, 16)):
        with pytest.raises(OverflowError, match="as likely"):
            checked_radius(*told)
