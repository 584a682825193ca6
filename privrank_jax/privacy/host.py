"""Exact numbers on the host, for accounting."""

from __future__ import annotations

import contextlib
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import jax
import numpy as np

from privrank_jax._validate import is_traced

HostNumber: TypeAlias = float | int | Decimal | Fraction | np.number | np.ndarray | jax.Array
"""One concrete number; an array has shape ()."""


def host_number(name: str, value: HostNumber) -> Fraction | float:
    """A number >= 0 as an exact fraction, or infinity as a float; a float means the shortest decimal of its type.

    >>> host_number("epsilon", np.float32(0.1))
    Fraction(1, 10)
    """
    number = math.nan
    written: Any = ""
    if type(value) in (int, float, Decimal, Fraction):
        with contextlib.suppress(OverflowError):
            number = float(value)
        written = repr(value) if type(value) is float else value
    elif is_traced(value):
        raise ValueError(f"{name} is traced: accounting runs on the host, outside jit and vmap.")
    elif (array := np.asarray(value)).ndim == 0 and array.dtype.kind in "iuf":
        number, written = float(array), str(array[()])
    if not number >= 0:  # also catches NaN
        raise ValueError(f"{name} must be one number, at least 0, got {value!r}.")
    return math.inf if math.isinf(number) else Fraction(written)
