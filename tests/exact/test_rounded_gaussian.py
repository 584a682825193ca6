"""Gaussian noise rounded to integers: its law, on the fast path and where further bits decide."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from privrank_jax.exact import rounded_gaussian as module
from privrank_jax.exact.rounded_gaussian import by_doubles, rounded_gaussian
from tests.exact.laws import assert_mean, assert_shares, gaussian_pmf, power
from tests.quick import thorough


def assert_follows(drawn, scale):
    reach = math.ceil(12 * scale)
    x = np.arange(-reach, reach + 1)
    chances = gaussian_pmf(x, scale)
    assert_shares([np.sum(drawn == value) for value in x], chances / chances.sum())


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(27, 10)])
def test_law(scale):
    """χ² of 200,000 fresh draws, false-alarm rate 10^-9; a σ 5 % smaller would be found."""
    drawn = rounded_gaussian(200_000, scale)
    assert_follows(drawn, float(scale))
    with pytest.raises(AssertionError):
        assert_follows(drawn, 0.95 * float(scale))


def test_a_large_scale():
    """100,000 fresh draws: their mean square, their shares in 40 cells, and in the residues of 8; false-alarm rate
    10^-9; a σ 5 % smaller is found but once in 10^9."""
    scale = Fraction(2**31, 3)
    drawn = rounded_gaussian(100_000, scale)
    assert_mean(drawn.astype(float) ** 2 / float(scale) ** 2, 1, math.sqrt(2))
    assert power(100_000, (1, math.sqrt(2)), (0.95**2, 0.95**2 * math.sqrt(2))) > 1 - 1e-9
    cells = np.searchsorted(stats.norm.ppf(np.arange(1, 40) / 40), drawn / float(scale))
    assert_shares(np.bincount(cells, minlength=40), np.full(40, 1 / 40))
    assert_shares(np.bincount(drawn % 8, minlength=8), np.full(8, 1 / 8))


def test_extreme_scales():
    """Where doubles round no number; and where a value other than 0 is 512 deviations away."""
    drawn = rounded_gaussian(3000, Fraction(2**53)).astype(float) / 2.0**53
    assert_mean(drawn**2, 1, math.sqrt(2))
    for scale in (Fraction(1, 2**10), Fraction(1, 10**320)):
        assert not np.any(rounded_gaussian(1000, scale))
    for wrong in (Fraction(0), Fraction(2**53 + 1), Fraction(10**400)):
        with pytest.raises(ValueError, match="standard deviation"):
            rounded_gaussian(1, wrong)


def random_tries(count, seed):
    words = np.random.default_rng(seed).integers(0, 2**64, (3, count), np.uint64)
    return [(int(a), int(b) >> 12, int(c)) for a, b, c in words.T]


def planted_tries(scale):
    """Tries next to each kind of boundary: of k, of acceptance, and between consecutive integers."""
    found, chosen = [], random.Random(1)
    near = [0, 1, -1, 2, -2, 5, -7, 1 << 10, -(1 << 12), 1 << 20, -(1 << 24), 1 << 30, -(1 << 31)]
    for k in range(8):
        within = int(2**64 * mpmath.exp(-(k + mpmath.mpf(1) / 3) / 2))
        for step in near:
            edge = int(2**64 * mpmath.exp(-mpmath.mpf(k + 1) / 2))
            found.append((edge + step * 2**9, chosen.getrandbits(52), 2**35))
            part = chosen.getrandbits(52)
            x = mpmath.mpf(part) / 2**52
            bound = int(2**64 * mpmath.exp((k - (k + x) ** 2) / 2))
            found.append((within, part, max(0, min(bound + step * 2**9, 2**64 - 1))))
        first, last = math.ceil(scale * k + Fraction(1, 2)), math.floor(scale * (k + 1))
        wholes = {n for n in range(first, first + 9) if n <= last}
        wholes |= {chosen.randint(first, last) for _ in range(40 if first <= last else 0)}
        for n in wholes:
            cell = math.floor(((n - Fraction(1, 2)) / scale - k) * 2**52)
            found += [
                (within, part, 2**35) for part in range(cell - 9, cell + 10) if 0 <= part < 2**52
            ]
    return found


def outcomes(scale, of_whole, part, of_chance):
    """The outcomes at the ends of what the bits leave open: None, or the rounded size; and k."""
    up = 1 - mpmath.mpf(2) ** -100  # the ends above are open
    wholes = {
        mpmath.floor(-2 * mpmath.log((of_whole + end) / mpmath.mpf(2) ** 64))
        for end in (0, up)
        if of_whole
    }
    found = set()
    for k in wholes:
        for end, end_of_chance in ((0, 0), (0, up), (up, 0), (up, up)):
            size = k + (part + end) / mpmath.mpf(2) ** 52
            chance = (of_chance + end_of_chance) / mpmath.mpf(2) ** 64
            kept = chance < mpmath.exp((k - size**2) / 2)
            value = mpmath.mpf(scale.numerator) / scale.denominator * size + 0.5
            found.add(int(mpmath.floor(value)) if kept else None)
    return found


@pytest.mark.parametrize("scale", [
    Fraction(1, 2**10), Fraction(27, 10), thorough(Fraction(2**22 + 7)), thorough(Fraction(2**54, 21201)),
    thorough(Fraction(2**40)),
])  # fmt: skip
def test_what_doubles_decide_no_further_bits_change(scale):
    """Of random tries and of planted ones, in 80 digits at the ends of what the given bits leave open."""
    with mpmath.workdps(80):
        drawn, planted = random_tries(300, 0), planted_tries(scale)
        tries = drawn + planted
        kept, value, sure = by_doubles(*np.array(tries, np.uint64).T, float(scale))
        for place in np.flatnonzero(sure):
            expected = {int(value[place]) if kept[place] else None}
            assert outcomes(scale, *tries[place]) == expected, (tries[place], expected)
    assert sure[: len(drawn)].mean() > 0.95
    assert 0.1 < sure[len(drawn) :].mean() < 0.95  # next to boundaries, on both sides of the margin


def test_law_where_further_bits_decide(monkeypatch):
    """The same law if no double is trusted; false-alarm rate 10^-9."""
    monkeypatch.setattr(module, "_MARGIN", 100.0)
    assert_follows(rounded_gaussian(2500, Fraction(3, 2)), 1.5)
