"""Enclosures of the normal law, and the budget that they prove."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from scipy import special

from privrank_jax.release.gaussian_budget import _delta, gaussian_budget, keeps, normal
from tests.reference import calibration as reference


def exact_delta(mu, epsilon, digits):
    """Of the normal law in ``mpmath``."""
    with mpmath.workdps(digits):
        shift, loss = (mpmath.mpf(x.numerator) / x.denominator for x in (mu, epsilon))
        at, beyond = (mpmath.ncdf(sign * shift / 2 - loss / shift) for sign in (1, -1))
        return Decimal(str(at - mpmath.exp(loss) * beyond))


@pytest.mark.parametrize("x", [-300.0, -30.0, -4.01, -3.99, -1.0, -1e-6, 0.0, 0.5, 3.0, 9.0])
@pytest.mark.parametrize("digits", [8, 40])
def test_enclosures_hold_the_normal_law_and_narrow_with_the_digits(x, digits):
    low, high = normal(Fraction(x), digits)
    finer = normal(Fraction(x), 80)
    assert low <= finer[0] <= finer[1] <= high
    assert high - low < low * Decimal(10) ** (6 - digits)
    assert float(finer[0]) == pytest.approx(special.ndtr(x), rel=1e-12)


@pytest.mark.parametrize("mu", [1e-13, 7e-12, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("ratio", [0.1, 0.5, 2.0])
def test_enclosures_hold_delta(mu, ratio):
    """Also where its two terms share nearly all digits, ε = ratio·μ."""
    budget, epsilon = Fraction(mu), Fraction(mu * ratio)
    exact = exact_delta(budget, epsilon, 60)
    for digits in (8, 40):
        low, high = _delta(budget, epsilon, digits)
        assert low < exact < high
    assert high - low < exact / 1000


def test_a_wide_enclosure_of_delta_takes_the_far_ends(monkeypatch):
    given = {Fraction(-1, 2): ("0.3", "0.4"), Fraction(-3, 2): ("0.1", "0.2")}
    monkeypatch.setattr(
        "privrank_jax.release.gaussian_budget.normal",
        lambda x, digits: tuple(map(Decimal, given[x])),
    )
    low, high = _delta(Fraction(1), Fraction(1), 40)  # Φ(1/2 - 1) and Φ(-1/2 - 1)
    assert float(low) == pytest.approx(0.3 - math.e * 0.2)
    assert float(high) == pytest.approx(0.4 - math.e * 0.1)


def test_known_digits():
    """Φ(1), Φ(-5) from published tables."""
    for x, digits in ((1, "0.84134474606854294859"), (-5, "2.8665157187919391167E-7")):
        low, high = normal(Fraction(x), 40)
        unit = Decimal(digits) * Decimal("1e-19")
        assert Decimal(digits) - unit < low < high < Decimal(digits) + unit


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-3, 0.1, 1.0, 7.0, 60.0, 1e5])
@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-12, 1e-9, 1e-6, 0.1])
def test_budget_is_the_largest_that_is_private(epsilon, delta):
    budget = gaussian_budget(epsilon, delta)
    assert keeps(budget, epsilon, delta)
    assert not keeps(budget * (1 + Fraction(11, 10**9)), epsilon, delta)
    if epsilon < 100:
        assert exact_delta(budget, Fraction(epsilon), 400) <= delta
        assert exact_delta(budget * (1 + Fraction(11, 10**9)), Fraction(epsilon), 400) > delta
    elif delta >= 1e-12:
        expected = reference.gaussian_scale(1.0, epsilon, delta)
        assert 1 / float(budget) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-300, 1e-300), (1e300, 1e-9), (1e19, 1e-6)])
def test_refusals(epsilon, delta):
    with pytest.raises(ValueError, match="choose values"):
        gaussian_budget(epsilon, delta)
