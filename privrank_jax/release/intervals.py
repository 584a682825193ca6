"""Exact decisions with irrational odds: enclosures of numbers, and random bits drawn as needed."""

from __future__ import annotations

import functools
import math
import secrets
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

DIGITS, BITS = 36, 112  # to start with; doubled while the decision is open
Bounds = tuple[Decimal, Decimal]


def down(digits: int) -> Context:
    """An arithmetic context in which every step is rounded down."""
    return Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)


def up(digits: int) -> Context:
    """An arithmetic context in which every step is rounded up."""
    return Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)


def quotient(number: Fraction, context: Context) -> Decimal:
    """A fraction, bounded on the side to which ``context`` rounds."""
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def largest_below(bound: Fraction) -> float:
    """The largest double that is at most ``bound``."""
    value = float(bound)
    while Fraction(value) > bound:
        value = math.nextafter(value, -math.inf)
    return value


def exp(power: Decimal, context: Context) -> Decimal:
    """e^power, bounded on the side to which ``context`` rounds if ``power`` is."""
    return _beside(context.exp(power), context)


def log(number: Decimal, context: Context) -> Decimal:
    """Natural logarithm, bounded on the side to which ``context`` rounds if ``number`` is."""
    return _beside(context.ln(number), context)


@functools.lru_cache(maxsize=32)
def log_two(digits: int) -> Bounds:
    """Bounds of the natural logarithm of 2, with that many digits."""
    return log(Decimal(2), down(digits)), log(Decimal(2), up(digits))


def _beside(nearest: Decimal, context: Context) -> Decimal:
    """The neighbor on that side: Decimal's functions are rounded correctly, but always to nearest."""
    step = context.next_minus if context.rounding == ROUND_FLOOR else context.next_plus
    return step(nearest)


def sign(bounds: Callable[[int], Bounds]) -> int:
    """The sign of a nonzero number, from bounds with as many digits as needed.

    Args:
        bounds: digits to a lower and an upper bound.
    """
    digits = DIGITS
    while True:
        low, high = bounds(digits)
        if low > 0:
            return 1
        if high < 0:
            return -1
        digits *= 2


def happens(log_odds: Callable[[int], Bounds]) -> bool:
    """True with probability e^x, for an x <= 0 that is known only by its bounds.

    Args:
        log_odds: digits to a lower and an upper bound of x.
    """
    digits, bits = DIGITS, BITS
    uniform = secrets.randbits(bits)
    while True:
        low, high = log_odds(digits)
        floor, ceiling = exp(low, down(digits)), exp(high, up(digits))
        whole = Decimal(1 << bits)
        if uniform + 1 <= down(digits).multiply(floor, whole):
            return True
        if uniform >= up(digits).multiply(ceiling, whole):
            return False
        uniform, bits = uniform << bits | secrets.randbits(bits), 2 * bits
        digits *= 2
