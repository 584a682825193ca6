"""Gaussian noise rounded to integers: its law, on the fast path and where further bits decide."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privrank_jax.release import rounded_gaussian as module
from privrank_jax.release.rounded_gaussian import Uniform, decide, rounded_gaussian
from tests.release.laws import assert_mean, assert_shares, power


def law(scale):
    """Integers and their probabilities."""
    reach = math.ceil(12 * scale)
    x = np.arange(-reach, reach + 1)
    return x, stats.norm.cdf((x + 0.5) / scale) - stats.norm.cdf((x - 0.5) / scale)


def assert_follows(drawn, scale):
    x, chances = law(scale)
    assert_shares([np.sum(drawn == value) for value in x], chances / chances.sum())


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(27, 10)])
def test_law(scale):
    """χ² of 200,000 fresh draws, false-alarm rate 10^-9; a σ 5 % smaller would be found."""
    drawn = rounded_gaussian(200_000, scale)
    assert_follows(drawn, float(scale))
    with pytest.raises(AssertionError):
        assert_follows(drawn, 0.95 * float(scale))


def test_large_scale():
    """Mean square of 100,000 fresh draws, false-alarm rate 10^-9; a σ 5 % smaller is found but once in 10^9."""
    scale = Fraction(10**7, 3)
    squares = rounded_gaussian(100_000, scale).astype(float) ** 2 / float(scale) ** 2
    assert_mean(squares, 1, math.sqrt(2))
    assert power(100_000, (1, math.sqrt(2)), (0.95**2, 0.95**2 * math.sqrt(2))) > 1 - 1e-9


def test_law_where_further_bits_decide(monkeypatch):
    """The same law if no double is trusted; false-alarm rate 10^-9."""
    monkeypatch.setattr(module, "_MARGIN", 100.0)
    assert_follows(rounded_gaussian(2500, Fraction(3, 2)), 1.5)


def test_both_paths_decide_alike():
    """Of the same words, wherever doubles decide."""
    random = np.random.default_rng(0)
    scale = Fraction(17, 7)
    seen = set()
    for _ in range(300):
        of_whole, part, of_chance = random.random(3)
        bits = [Uniform(int(u * 2**52), 52) for u in (of_whole, part, of_chance)]
        found = decide(*bits, scale)
        whole = math.floor(-2 * math.log(of_whole))
        kept = of_chance < math.exp(-((whole + part) ** 2) / 2 + whole / 2)
        assert found == (math.floor(17 / 7 * (whole + part) + 0.5) if kept else None)
        seen.add(found)
    assert len(seen) > 5


def test_bits_are_kept_and_drawn_as_needed():
    uniform = Uniform(5, 4)
    assert uniform.ends(2) == (Fraction(5, 16), Fraction(6, 16))
    low, high = uniform.ends(100)
    assert Fraction(5, 16) <= low < high <= Fraction(6, 16)
    assert high - low == Fraction(1, 2**100)
    assert uniform.ends(64) == (low, high)


def test_shapes_and_refusals():
    assert rounded_gaussian(0, Fraction(1)).shape == (0,)
    assert rounded_gaussian(7, Fraction(2**40)).shape == (7,)
    for wrong in (Fraction(0), Fraction(2**40 + 1)):
        with pytest.raises(ValueError, match="standard deviation"):
            rounded_gaussian(1, wrong)
