"""Laplace noise on integers: its law, on the fast path and where further bits decide, and draws that are made again."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.exact import integer_laplace as module
from privrank_jax.exact.balls import Uniform
from privrank_jax.exact.entropy import SecretStream
from privrank_jax.exact.integer_laplace import decide, integer_laplace, laplace_mechanism
from tests.exact.laws import assert_mean, assert_shares, laplace_pmf, power

STREAM = SecretStream(bytes(32))


def assert_follows(drawn, scale):
    x = np.arange(-math.ceil(25 * scale) - 1, math.ceil(25 * scale) + 2)
    chances = laplace_pmf(x, scale)
    assert_shares([np.sum(drawn == value) for value in x], chances / chances.sum())


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(27, 10)])
def test_law(scale):
    """χ² of 200,000 fresh draws, false-alarm rate 10^-9; a scale 5 % smaller would be found."""
    drawn = integer_laplace(200_000, scale)
    assert_follows(drawn, float(scale))
    with pytest.raises(AssertionError):
        assert_follows(drawn, 0.95 * float(scale))


def test_a_large_scale():
    """Mean size of 100,000 fresh draws, false-alarm rate 10^-9; a scale 5 % smaller is found but once in 10^9."""
    sizes = np.abs(integer_laplace(100_000, Fraction(2**40))).astype(float) / 2.0**40
    assert_mean(sizes, 1, 1)
    assert power(100_000, (1, 1), (0.95, 0.95)) > 1 - 1e-9


@pytest.mark.parametrize(
    "scale", [Fraction(1, 50), Fraction(7, 3), Fraction(10**6, 7), Fraction(2**40), Fraction(2**53)]
)
def test_doubles_decide_as_further_bits_do(monkeypatch, scale):
    for label in "ab":
        fast = integer_laplace(150, scale, STREAM.branch(label))
        with monkeypatch.context() as patch:
            patch.setattr(module, "_MARGIN", math.inf)
            np.testing.assert_array_equal(integer_laplace(150, scale, STREAM.branch(label)), fast)


class Fed:
    """These words, and further bits of a stream."""

    branch = STREAM.branch
    randbits = STREAM.randbits

    def __init__(self, words):
        self._words = words

    def token_bytes(self, size):
        return self._words.tobytes()[:size]


def test_doubles_decide_nothing_that_lies_near_their_errors():
    """Words for which -s log U is within 2^-11 of a whole number, of which doubles alone get some wrong."""
    scale = Fraction(2**40)
    words = np.frombuffer(STREAM.branch("near").token_bytes(2**22), "<u8")
    size = -float(scale) * np.log((words + 0.5) * 2.0**-64)
    near = words[np.abs(size - np.rint(size)) < 2.0**-11][:100]
    exact = [
        decide(Uniform(int(word), 64, STREAM.branch(str(place))), scale)
        for place, word in enumerate(near)
    ]
    found = integer_laplace(50, scale, Fed(near))
    np.testing.assert_array_equal(found, np.subtract(exact[:50], exact[50:]))
    doubles = np.floor(-float(scale) * np.log((near + 0.5) * 2.0**-64))
    assert np.any(doubles != exact)


@pytest.mark.parametrize("guess", [1, 40, 41, 42, 43, 10**6])
def test_a_guess_decides_nothing(guess):
    uniform = Uniform(2**60, 64, STREAM.branch("guess"))
    assert decide(uniform, Fraction(15), guess) == math.floor(15 * math.log(16)) == 41
    low = decide(Uniform(0, 64, STREAM.branch("low")), Fraction(5), guess)  # further bits decide
    assert low >= math.floor(5 * 64 * math.log(2))
    assert decide(Uniform(2**64 - 1, 64), Fraction(1), guess) == 0


def test_a_source_gives_the_same_noise_again():
    sources = [STREAM.branch(label) for label in ("1", "2", "1")]
    values = np.array([[1, 2, 3], [4, 5, 6], [1, 2, 3]]) * 10**6
    first, second, again = laplace_mechanism(values, Fraction(1000), sources)
    assert laplace_mechanism(np.zeros((0, 3)), Fraction(1), []).shape == (0, 3)
    for wrong in (Fraction(0), Fraction(2**53 + 1)):
        with pytest.raises(ValueError, match="larger epsilon"):
            integer_laplace(1, wrong)
    np.testing.assert_array_equal(first, again)
    assert not np.any(first - values[0] == second - values[1])


def test_numbers_of_different_scales_are_decided_each_by_its_own(monkeypatch):
    """The same words with and without trust in doubles, at scales that take turns."""
    exact = [Fraction(1, 7), Fraction(10**6, 3), Fraction(5)] * 40
    scale = np.array([float(one) for one in exact])
    fast = module.geometric(scale, exact.__getitem__, STREAM.branch("turns"))
    monkeypatch.setattr(module, "_MARGIN", math.inf)
    slow = module.geometric(scale, exact.__getitem__, STREAM.branch("turns"))
    np.testing.assert_array_equal(fast, slow)
