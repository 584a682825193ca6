"""The Gaussian mechanism's ε, δ and σ, compared with 30 digits: never rounded down, and hardly up."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privrank_jax.privacy import GaussianRelease, calibrate_gaussian, compose
from privrank_jax.privacy.gaussian import (
    gaussian_budget,
    gaussian_delta_at,
    gaussian_epsilon_at,
    keeps,
    rounded_up,
)
from privrank_jax.privacy.loss_distribution import zcdp_delta, zcdp_epsilon
from tests.privacy.releases import USERS
from tests.quick import thorough
from tests.reference import accounting as naive

ABOVE = Fraction(1, 10**6)


def decimal(value):
    """The decimal that a float means in this library."""
    return Fraction(repr(value))


def random_numbers(rng, low, high):
    """Numbers of six digits, all magnitudes equally likely."""
    return float(f"{10 ** rng.uniform(low, high):.6g}")


def epsilon_of(releases, delta):
    return compose([GaussianRelease(*one) for one in releases], delta=delta, **USERS).epsilon


def assert_least(precision, found, delta):
    """δ holds at ``found``, read as the double or as the decimal, and no more at a millionth less."""
    for value in (Fraction(found), decimal(found)):
        assert naive.gaussian_delta(precision, value) <= mpmath.mpf(delta)
    below = Fraction(found) * (1 - ABOVE)
    assert found == 0 or naive.gaussian_delta(precision, below) > mpmath.mpf(delta)


@pytest.mark.parametrize("number", [40, thorough(120)])
def test_no_epsilon_is_rounded_down(number):
    """Of random mechanisms, from no privacy to nearly no loss, among them several as one."""
    rng = np.random.default_rng(0)
    for case in range(number):
        scales = [random_numbers(rng, -3, 9) for _ in range(1 + case % 3)]
        releases = [(scale, random_numbers(rng, -2, 2)) for scale in scales]
        precision = sum((decimal(change) / decimal(scale)) ** 2 for scale, change in releases)
        most = float(naive.gaussian_delta(precision, Fraction(0)))
        delta = random_numbers(rng, -14, -0.3) * min(1, most if case % 2 else 1)
        found = epsilon_of(releases, delta)
        assert_least(precision, found, delta)
    found = epsilon_of([(5.95e8, 1.0)], 5.683e-10)  # a case that was reported
    assert_least(1 / Fraction(595 * 10**6) ** 2, found, 5.683e-10)
    assert found == pytest.approx(2.15377e-10, rel=1e-4)


def test_no_delta_is_rounded_down():
    rng = np.random.default_rng(3)
    for _ in range(60):
        scale, epsilon = random_numbers(rng, -3, 9), random_numbers(rng, -10, 5)
        exact = naive.gaussian_delta(1 / decimal(scale) ** 2, decimal(epsilon))
        found = compose([GaussianRelease(scale)], epsilon=epsilon, **USERS).delta
        assert exact <= found <= max(exact * (1 + 1e-10), 2 * math.ulp(0.0))


def test_no_scale_is_rounded_down():
    rng = np.random.default_rng(4)
    for case in range(30):
        epsilon, delta = random_numbers(rng, -9, 5), random_numbers(rng, -14, -0.1)
        change, count = random_numbers(rng, -2, 2), int(rng.integers(1, 50)) if case % 2 else 1
        scale = calibrate_gaussian(epsilon, delta, change, releases=count)
        for value, fits in ((Fraction(scale), True), (Fraction(scale) * (1 - ABOVE), False)):
            precision = count * (decimal(change) / value) ** 2
            found = naive.gaussian_delta(precision, decimal(epsilon))
            assert (found <= mpmath.mpf(delta)) == fits


def test_ends():
    assert gaussian_epsilon_at(0.0, Fraction(0)) == gaussian_delta_at(0.0, Fraction(0)) == 0
    assert gaussian_epsilon_at(1.0, Fraction(0)) == math.inf
    assert gaussian_delta_at(math.inf, Fraction(1)) == 1
    assert gaussian_delta_at(1e9, Fraction(0)) == 1
    assert gaussian_epsilon_at(1.0, Fraction(1, 2)) == 0  # δ(0) = 0.38
    assert rounded_up(0.0) == 0
    assert rounded_up(math.inf) == math.inf
    assert Fraction(rounded_up(0.1)) > Fraction(1, 10)
    # Below all doubles, but not 0: no Gaussian noise is (ε, 0)-private.
    assert 0 < compose([GaussianRelease(1e6)], epsilon=100, **USERS).delta < 1e-300
    assert 0 < zcdp_delta(1e-9, 100.0) < 1e-300
    assert 0 < zcdp_delta(1e-320, 1.0) < 1e-300
    assert zcdp_epsilon(1e-320, 1e-6) < 1e-100
    assert 0 < zcdp_delta(1e-20, 0.0) < 1e-7
    assert epsilon_of([(1e308, 1e-308)], 1e-9) == 0
    assert compose([GaussianRelease(1e308, 1e-308)], epsilon=0, **USERS).delta > 0


@pytest.mark.parametrize("epsilon", [1e-12, 1e-3, 1.0, 60.0, 1e5])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 0.1])
def test_the_budget_is_the_largest_that_is_private(epsilon, delta):
    budget = gaussian_budget(epsilon, delta)
    for more, fits in ((1, True), (1 + Fraction(1, 10**11), False)):
        assert keeps(budget * more, Fraction(epsilon), Fraction(delta)) == fits
        if epsilon < 100:
            exact = naive.gaussian_delta((budget * more) ** 2, Fraction(epsilon), 400)
            assert (exact <= mpmath.mpf(delta)) == fits


def test_a_budget_that_no_double_holds_is_refused():
    assert 0 < gaussian_budget(1e-300, 1e-300) < 1e-290
    assert gaussian_budget(1e300, 1e-9) > 1e149
    with pytest.raises(ValueError, match="closer to usual"):
        gaussian_budget(5e-324, 1e-300)
