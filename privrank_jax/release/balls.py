"""Balls that hold real numbers (Arb, by python-flint), and random real numbers with bits drawn as needed."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from privrank_jax.release.entropy import SYSTEM, Source
from privrank_jax.release.library import EXTRA
from privrank_jax.release.rounded_gaussian import Uniform as Bits

Ball = Any
"""``flint.arb``: a set of numbers that is sure to hold the one it stands for."""


def load_flint() -> Any:
    """The module ``flint``.

    Raises:
        ImportError: it is missing; the message says what to install.
    """
    try:
        import flint  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ImportError(f"exact scores need python-flint: {EXTRA}") from error
    return flint


def precision(bits: int) -> contextlib.AbstractContextManager[object]:
    """A context in which balls have midpoints of so many bits."""
    return load_flint().ctx.workprec(bits)


def ball(number: Fraction | int) -> Ball:
    """A ball that holds a rational."""
    return load_flint().arb(number.numerator) / number.denominator


def above(found: Ball) -> Fraction:
    """A rational that no element of a finite ball exceeds in absolute value."""
    return _rational(found.abs_upper())


def middle(found: Ball) -> Fraction:
    """The midpoint of a finite ball."""
    return _rational(found.mid())


def _rational(exact: Ball) -> Fraction:
    number = exact.fmpq()
    return Fraction(int(number.p), int(number.q))


@runtime_checkable
class RealNumber(Protocol):
    """A random real number."""

    def ball(self, bits: int) -> Ball:
        """A ball that holds it, from so many random bits or more; each further call holds the same number."""
        ...


class Uniform(Bits):
    """A uniform number of [0, 1), of which the first bits are known.

    Args:
        source: of its bits.
    """

    def __init__(self, source: Source = SYSTEM) -> None:
        super().__init__(0, 0, source)

    def ball(self, bits: int) -> Ball:
        """A ball that holds it, from so many of its bits or more."""
        self.ends(bits)
        return load_flint().arb(2 * self._value + 1, 1) / (1 << self._bits + 1)

    def log(self, bits: int) -> Ball:
        """A ball that holds its logarithm; the number is 0 with probability 0."""
        while not (found := self.ball(bits)) > 0:  # its logarithm has no bound yet
            bits += 64
        return found.log()


class Laplace:
    """A real number of density e^{-|x|/λ}/(2λ): -λ log U with a random sign.

    Args:
        scale: λ > 0.
        source: of random bits.
    """

    def __init__(self, scale: Fraction, source: Source = SYSTEM) -> None:
        self._size, self._minus = Uniform(source), bool(source.randbits(1))
        self._scale = scale if self._minus else -scale

    def ball(self, bits: int) -> Ball:
        """A ball that holds it, from so many random bits or more."""
        return self._size.log(bits) * ball(self._scale)


class Normal:
    """A real number of law N(0, σ²): σ√(-2 log U) cos(2πV), by Box and Muller (1958).

    Args:
        scale: σ > 0.
        source: of random bits.
    """

    def __init__(self, scale: Fraction, source: Source = SYSTEM) -> None:
        self._size, self._turn, self._scale = Uniform(source), Uniform(source), scale

    def ball(self, bits: int) -> Ball:
        """A ball that holds it, from so many random bits or more of each of two uniform numbers."""
        radius = (-2 * self._size.log(bits)).sqrt()
        return radius * (2 * self._turn.ball(bits)).cos_pi() * ball(self._scale)
