"""Random real numbers, of which bits are drawn as they are needed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, runtime_checkable

from privrank_jax._balls import Ball, ball, sign
from privrank_jax.exact.entropy import SYSTEM, Source


@runtime_checkable
class RealNumber(Protocol):
    """A random real number."""

    def ball(self, bits: int) -> Ball:
        """A ball that holds it, from so many random bits or more; each further call holds the same number."""
        ...


class Uniform:
    """A uniform number of [0, 1), of which some bits are known.

    Args:
        value: its first bits, as an integer.
        bits: how many.
        source: of further bits.
    """

    def __init__(self, value: int = 0, bits: int = 0, source: Source = SYSTEM) -> None:
        self._value, self._bits, self._source = value, bits, source

    def ends(self, bits: int) -> tuple[Fraction, Fraction]:
        """Bounds from at least so many bits."""
        if bits > self._bits:
            more = bits - self._bits
            self._value, self._bits = self._value << more | self._source.randbits(more), bits
        unit = 1 << self._bits
        return Fraction(self._value, unit), Fraction(self._value + 1, unit)

    def ball(self, bits: int) -> Ball:
        """A ball that holds it, from so many of its bits or more."""
        import flint

        self.ends(bits)
        return flint.arb(2 * self._value + 1, 1) / (1 << self._bits + 1)

    def log(self, bits: int) -> Ball:
        """A ball that holds its logarithm; the number is 0 with probability 0."""
        while not (found := self.ball(bits)) > 0:  # its logarithm has no bound yet
            bits += 64
        return found.log()

    def below(self, bound: Callable[[int], Ball]) -> bool:
        """Whether it is below a real number.

        Args:
            bound: bits to a ball, as for :func:`~privrank_jax._balls.sign`.
        """
        return sign(lambda bits: self.ball(bits) - bound(bits)) < 0


class Laplace:
    """A real number of density e^{-|x|/λ}/(2λ): -λ log U with a random sign.

    Args:
        scale: λ > 0.
        source: of random bits.
    """

    def __init__(self, scale: Fraction, source: Source = SYSTEM) -> None:
        self._size, self._minus = Uniform(source=source), bool(source.randbits(1))
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
        self._size, self._turn = Uniform(source=source), Uniform(source=source)
        self._scale = scale

    def ball(self, bits: int) -> Ball:
        """A ball that holds it, from so many random bits or more of each of two uniform numbers."""
        radius = (-2 * self._size.log(bits)).sqrt()
        return radius * (2 * self._turn.ball(bits)).cos_pi() * ball(self._scale)
