"""Random real numbers in balls: each further ball holds the same number, and the numbers have their laws."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from privrank_jax._balls import above, middle, precision
from privrank_jax.exact.balls import Laplace, Normal, Uniform

LAWS = [(Laplace, stats.laplace), (Normal, stats.norm)]
ALARM = 1e-5  # false-alarm rate on fresh noise, which can't be seeded


class Bits:
    """A source of given bits; ones after them."""

    def __init__(self, text):
        self._text = text

    def branch(self, label):
        return self

    def randbits(self, bits):
        taken, self._text = self._text[:bits], self._text[bits:]
        return int(taken.ljust(bits, "1") or "0", 2)


@pytest.mark.parametrize("bits", [16, 64, 150])
def test_balls_hold_what_the_drawn_bits_say_at_60_digits(bits):
    """-λ log U, and σ√(-2 log U) cos(2πV), of the uniform numbers that were drawn."""
    for law in (Laplace, Normal):
        number = law(Fraction(7, 3))
        with precision(600):
            held = number.ball(bits)
            size = middle(number._size.ball(500))
            turn = middle(number._turn.ball(500)) if law is Normal else Fraction(0)
        with mpmath.workdps(60):
            log, angle = (mpmath.mpf(x.numerator) / x.denominator for x in (size, 2 * turn))
            true = mpmath.mpf(7) / 3 * -mpmath.log(log) * (1 if held > 0 else -1)
            if law is Normal:
                radius = mpmath.sqrt(-2 * mpmath.log(log))
                true = mpmath.mpf(7) / 3 * radius * mpmath.cospi(angle)
            exact = Fraction(int(mpmath.nint(true * 2**180)), 2**180)
        reach = above(held - held.mid())
        assert abs(middle(held) - exact) <= reach + Fraction(1, 2**180)
        with precision(600):
            narrow = number.ball(500)
            assert held.contains(narrow)  # more bits narrow the same ball
            assert above(narrow - narrow.mid()) < Fraction(1, 2**400)


@pytest.mark.parametrize(("law", "known"), LAWS)
def test_numbers_have_their_law_and_no_other_scale(law, known):
    with precision(100):
        draws = np.array([float(law(Fraction(5, 2)).ball(80).mid()) for _ in range(6000)])
    assert stats.kstest(draws, known(scale=2.5).cdf).pvalue > ALARM
    assert stats.kstest(draws, known(scale=2.5 * 1.3).cdf).pvalue < ALARM
    assert stats.kstest(draws, known(scale=2.5 / 1.3).cdf).pvalue < ALARM


def test_a_uniform_number_with_only_zeros_so_far_draws_on_until_its_logarithm_has_a_bound():
    with precision(300):
        drawn = float(Uniform(source=Bits("0" * 100 + "1" + "0" * 199)).log(64).mid())
    assert drawn == pytest.approx(-101 * np.log(2), rel=0.01)


def test_both_signs_of_laplace_noise_come_from_the_first_bit():
    with precision(100):
        negative, positive = (float(Laplace(Fraction(3), Bits(b + "01")).ball(64)) for b in "10")
    assert negative == -positive < 0
