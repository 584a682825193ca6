"""Search on the host, without JAX, for the last number that passes a check, or the first."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

Real = TypeVar("Real", float, Fraction)


def furthest(
    holds: Callable[[Real], bool],
    good: Real,
    bad: Real,
    *,
    relative: float | Fraction = 0.0,
    absolute: float = 0.0,
) -> Real:
    """The number furthest from ``good`` towards ``bad``, to a tolerance, at which a condition still holds.

    Args:
        holds: true at ``good``, false at ``bad``, and changes once between them.
        good, bad: the ends, the first larger or smaller than the second.
        relative, absolute: tolerance in units of the result, and one added to it; without either, to the last bit.

    >>> furthest(lambda x: x * x >= 2, 2.0, 1.0, relative=1e-12) ** 2 >= 2
    True
    """
    while abs(bad - good) > absolute + relative * abs(good):
        middle = (good + bad) / 2
        if middle in (good, bad):
            break
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def first_above(low: int, holds: Callable[[int], bool]) -> int:
    """The least whole number above ``low`` at which a condition holds, which it does from there on.

    >>> first_above(0, lambda n: n * n > 50)
    8
    """
    high, step = low + 1, 1
    while not holds(high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
