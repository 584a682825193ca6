"""Search on the host for the last number that passes a check; inside ``jit`` it is :mod:`privrank_jax._roots`.

Nothing here imports JAX or NumPy.
"""

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
        good: an end at which it holds; larger or smaller than ``bad``.
        bad: the other end.
        relative: tolerance, in units of the result.
        absolute: tolerance added to it; without either, to the last bit.

    >>> furthest(lambda x: x * x >= 2, 2.0, 1.0, relative=1e-12) ** 2 >= 2
    True
    """
    while abs(bad - good) > absolute + relative * abs(good):
        middle = (good + bad) / 2
        if middle in (good, bad):
            break
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
