"""Balls that hold real numbers (Arb, by python-flint, loaded on first use), and decisions that they prove."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Ball = Any
"""``flint.arb``: a set of numbers that is sure to hold the one it stands for."""

BITS = 144
"""Of the first attempt at a decision; doubled while it is open."""


def precision(bits: int) -> contextlib.AbstractContextManager[object]:
    """A context in which balls have midpoints of so many bits."""
    import flint

    return flint.ctx.workprec(bits)


def ball(number: Fraction | int) -> Ball:
    """A ball that holds a rational."""
    import flint

    return flint.arb(number.numerator) / number.denominator


def above(found: Ball) -> Fraction:
    """A rational that no element of a finite ball exceeds in absolute value."""
    return _rational(found.abs_upper())


def middle(found: Ball) -> Fraction:
    """The midpoint of a finite ball."""
    return _rational(found.mid())


def _rational(exact: Ball) -> Fraction:
    number = exact.fmpq()
    return Fraction(int(number.p), int(number.q))


def exp_above(power: Fraction | float) -> Fraction:
    """A rational that is at least e^power, and larger by at most 2^-120 of it.

    >>> float(exp_above(-1.0))
    0.36787944117144233
    """
    with precision(128):
        return above(ball(Fraction(power)).exp())


def sharp(number: Callable[[], Ball]) -> Ball:
    """A ball of a nonzero real number that is narrower than 2^-64 of it, from balls at the context's precision."""
    bits = BITS
    while True:
        with precision(bits):
            found = number()
        if found.rel_accuracy_bits() >= 64:
            return found
        bits *= 2


def sign(number: Callable[[int], Ball], most: float = math.inf) -> int:
    """The sign of a real number, from bits to a ball: 1, -1, or 0 where ``most`` bits don't decide.

    >>> sign(lambda bits: ball(2).sqrt() - ball(Fraction(3, 2)))
    -1
    """
    bits = BITS
    while bits <= most:
        with precision(bits):
            found = number(bits)
        if found > 0 or found < 0:
            return 1 if found > 0 else -1
        bits *= 2
    return 0
