r"""The radius of exact K-norm noise: whole numbers r with P(r) ∝ a^r N(r)^p, a = e^{-rate}, drawn exactly.

g(r) = log(a^r N(r)^p) is concave where N is log-concave. With the mode r* and B such that g(r* + B) ≤ g(r*) - log 2,
g(r* + kB) ≤ g(r*) - k log 2 for all k, and g falls beyond r*: so the weight is at most 2^{-k} times that at r* from r*
+ kB on, and likewise at distances of kB' and more below.

Propose a block with P(k) = 2^{-k-1}, a place in it, and accept with the ratio of the weight to that bound. Decisions
are made by balls, and come to an end: a power of e with a rational exponent other than 0 is irrational, so no two
weights are equal and none is a power of 2 times another.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from fractions import Fraction

from privrank_jax._balls import Ball, ball, sign
from privrank_jax._search import first_above
from privrank_jax.exact.balls import Uniform

_ROOM = 2**62  # for a radius times the number of edges


def check_rate(rate: Fraction, dimension: int, edges: int = 1) -> None:
    """``ValueError`` where radii for which 64 bits have no room are more likely than e^{-500}.

    At rates that small the radius nearly has the law of Gamma(p + 1, 1/rate), of which at most e^{-550} lies beyond
    (2(p + 1) + 700)/rate by Chernoff's bound.

    Args:
        rate: ε/c.
        dimension: p.
        edges: coordinates stay below the radius times this number.
    """
    if not _fits(math.ceil((2 * dimension + 702) / rate), edges):
        raise ValueError(
            "epsilon is so small that its noise exceeds 64 bits: choose a value closer to usual ones, such as 1."
        )


def checked_radius(radius: int, edges: int = 1) -> int:
    """The radius; ``OverflowError`` where 64 bits have no room for it.

    Args:
        radius: r.
        edges: as for :func:`check_rate`.
    """
    if not _fits(radius, edges):
        raise OverflowError("the noise exceeds 64 bits; this is as likely for all data.")
    return radius


def _fits(radius: int, edges: int) -> bool:
    return radius * max(edges, 4) < _ROOM


class Radius:
    """The law P(r) ∝ e^{-rate r} N(r)^power on r = 0, 1, ...; its mode, and the widths within which it falls by half.

    Args:
        count: N, whole numbers above 0, N(r)² >= N(r-1)·N(r+1), so large that the mode is found but not that e^{-rate
            r} never prevails: a polynomial, for example.
        power: >= 1.
        rate: > 0.

    >>> Radius(lambda r: 2 * r + 1, 3, Fraction(1, 2)).mode
    6
    """

    def __init__(self, count: Callable[[int], int], power: int, rate: Fraction) -> None:
        self._count, self._power, self._rate = count, power, rate
        # Weights that follow one another are never equal.
        self.mode = first_above(0, lambda r: sign(lambda _: self._log_ratio(r, r - 1)) < 0) - 1
        self._right = self._half_width(1)
        self._left = self._half_width(-1) if self.mode else 0

    def draw(self) -> int:
        """One draw of r."""
        while True:
            place = secrets.randbelow(self._right + self._left)
            block = 0
            while secrets.randbits(1):
                block += 1
            if place < self._right:
                radius = self.mode + block * self._right + place
            else:
                radius = self.mode - 1 - block * self._left - (place - self._right)
            if radius < 0:
                continue
            odds, sure = self._odds(radius, block), radius == self.mode and not block
            if sure or Uniform().below(lambda bits, odds=odds: odds(bits).exp()):
                return radius

    def _log_ratio(self, radius: int, other: int) -> Ball:
        """log(weight at ``radius`` / weight at ``other``)."""
        ratio = Fraction(self._count(radius), self._count(other))
        return ball(ratio).log() * self._power - ball(self._rate * (radius - other))

    def _odds(self, radius: int, block: int) -> Callable[[int], Ball]:
        """Logarithm of the ratio of the weight to its bound in the block, by bits."""
        return lambda _: self._log_ratio(radius, self.mode) + block * ball(2).log()

    def _half_width(self, side: int) -> int:
        """The smallest B at which the weight is at most half of that at the mode; below, at most the mode itself."""

        def enough(width: int) -> bool:
            if side < 0 and width >= self.mode:
                return True  # blocks beyond the first lie below 0
            return sign(self._odds(self.mode + side * width, 1)) < 0

        return first_above(0, enough)
