"""JAX's primitives that act on each number, by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

Rule: TypeAlias = Callable[..., Any]
"""Takes the parameters of a primitive and its operands."""
Params: TypeAlias = Mapping[str, Any]
Result: TypeAlias = np.ndarray | np.generic
"""NumPy returns scalars where all operands have no axes."""


class of_function:
    """The rule of a function of the operands alone, which may be called without the rule."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, _: Params, *operands: np.ndarray) -> Result:
        return self.function(*operands)


def _divide(first: np.ndarray, second: np.ndarray) -> Result:
    """Integers are divided toward 0, and by 0 to -1."""
    if first.dtype.kind == "f":
        return np.divide(first, second)
    safe = np.where(second == 0, 1, second)
    quotient = np.floor_divide(first, safe)
    quotient = quotient + ((quotient * safe != first) & ((first < 0) != (safe < 0)))
    return np.where(second == 0, first.dtype.type(0) - first.dtype.type(1), quotient)


def _remainder(first: np.ndarray, second: np.ndarray) -> Result:
    if first.dtype.kind == "f":
        return np.fmod(first, second)
    return np.where(second == 0, first, np.fmod(first, np.where(second == 0, 1, second)))


def _ordered(first: np.ndarray, second: np.ndarray, *, equal: bool) -> Result:
    """The total order of floats: -0 before 0, NaN last."""
    if first.dtype.kind != "f":
        return first <= second if equal else first < second
    ends = np.isnan(first), np.isnan(second)
    same = (first == second) & (np.signbit(first) == np.signbit(second)) | (ends[0] & ends[1])
    below = (first < second) | (~ends[0] & ends[1])
    below |= (first == second) & np.signbit(first) & ~np.signbit(second)
    return below | same if equal else below


def _select(which: np.ndarray, *cases: np.ndarray) -> Result:
    if len(cases) == 2:
        return np.where(which if which.dtype == bool else which != 0, cases[1], cases[0])
    return np.choose(which, cases)


def _round(params: Params, value: np.ndarray) -> Result:
    if int(params["rounding_method"]):  # to even
        return np.rint(value)
    return np.copysign(np.floor(np.abs(value) + 0.5), value)


def _shift(function: Callable[..., Any], *, signed: bool = False) -> Rule:
    """Shifts by the width of the type or more leave nothing, or the sign."""

    def shift(value: np.ndarray, count: np.ndarray) -> Result:
        width = 8 * value.dtype.itemsize
        unsigned = np.dtype(f"u{value.dtype.itemsize}")
        of = np.asarray(value) if signed else np.asarray(value).view(unsigned)
        most = np.minimum(np.asarray(count).view(unsigned), width - 1).astype(of.dtype)
        found = function(of, most)
        if not signed:
            found = np.where(np.asarray(count).view(unsigned) < width, found, 0).astype(of.dtype)
        return np.asarray(found).view(value.dtype)

    return of_function(shift)


def _of_python(function: Callable[[float], float]) -> Rule:
    whole = np.frompyfunc(function, 1, 1)
    return lambda _, value: np.asarray(whole(value), np.asarray(value).dtype)


def _bits(value: np.ndarray) -> Result:
    return np.bitwise_count(np.asarray(value).view(f"u{np.asarray(value).dtype.itemsize}"))


def _leading_zeros(value: np.ndarray) -> Result:
    width = 8 * np.asarray(value).dtype.itemsize
    return _of_python(lambda x: width - (int(x) % 2**width).bit_length())({}, value)


def _special(name: str) -> Rule:
    """A function of SciPy, which is loaded when it is first needed."""

    def run(_: Params, *values: np.ndarray) -> Result:
        from scipy import special

        return getattr(special, name)(*values)

    return run


def _logistic(value: np.ndarray) -> Result:
    small = np.exp(-np.abs(value))
    return np.where(value < 0, small, 1) / (1 + small)


def _identity(_: Params, value: np.ndarray, *__: np.ndarray) -> Result:
    return value


NUMBERS: dict[str, Rule] = {
    "add": of_function(np.add),
    "add_any": of_function(np.add),
    "sub": of_function(np.subtract),
    "mul": of_function(np.multiply),
    "div": of_function(_divide),
    "rem": of_function(_remainder),
    "neg": of_function(np.negative),
    "abs": of_function(np.abs),
    "sign": of_function(np.sign),
    "max": of_function(np.maximum),
    "min": of_function(np.minimum),
    "pow": of_function(np.power),
    "integer_pow": lambda params, value: (
        value ** np.asarray(params["y"]).astype(value.dtype)
        if value.dtype.kind == "f"
        else value ** params["y"]
    ),
    "square": of_function(np.square),
    "one_minus_square": of_function(lambda x: (1 + x) * (1 - x)),
    "sqrt": of_function(np.sqrt),
    "rsqrt": of_function(lambda x: 1 / np.sqrt(x)),
    "cbrt": of_function(np.cbrt),
    "exp": of_function(np.exp),
    "exp2": of_function(np.exp2),
    "expm1": of_function(np.expm1),
    "log": of_function(np.log),
    "log1p": of_function(np.log1p),
    "log2": of_function(lambda x: np.log(x) * x.dtype.type(1 / np.log(2))),  # as JAX 0.12 has it
    "logistic": of_function(_logistic),
    "tanh": of_function(np.tanh),
    "sinh": of_function(np.sinh),
    "cosh": of_function(np.cosh),
    "sin": of_function(np.sin),
    "cos": of_function(np.cos),
    "tan": of_function(np.tan),
    "asin": of_function(np.arcsin),
    "atan2": of_function(np.arctan2),
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    "erf_inv": _special("erfinv"),
    "lgamma": _special("gammaln"),
    "digamma": _special("digamma"),
    "igamma": _special("gammainc"),
    "igammac": _special("gammaincc"),
    "floor": of_function(np.floor),
    "ceil": of_function(np.ceil),
    "round": _round,
    "is_finite": of_function(np.isfinite),
    "nextafter": of_function(np.nextafter),
    "eq": of_function(np.equal),
    "ne": of_function(np.not_equal),
    "lt": of_function(np.less),
    "le": of_function(np.less_equal),
    "gt": of_function(np.greater),
    "ge": of_function(np.greater_equal),
    "lt_to": of_function(lambda x, y: _ordered(x, y, equal=False)),
    "le_to": of_function(lambda x, y: _ordered(x, y, equal=True)),
    "and": of_function(np.bitwise_and),
    "or": of_function(np.bitwise_or),
    "xor": of_function(np.bitwise_xor),
    "not": of_function(np.invert),
    "population_count": of_function(_bits),
    "clz": of_function(_leading_zeros),
    "shift_left": _shift(np.left_shift),
    "shift_right_logical": _shift(np.right_shift),
    "shift_right_arithmetic": _shift(np.right_shift, signed=True),
    "select_n": of_function(_select),
    "clamp": of_function(lambda low, value, high: np.minimum(np.maximum(value, low), high)),
    "convert_element_type": lambda params, value: np.asarray(value).astype(params["new_dtype"]),
    "bitcast_convert_type": lambda params, value: np.asarray(value).view(params["new_dtype"]),
    "stop_gradient": _identity,
    "copy": _identity,
    "copy_p": _identity,
}
"""Each rule by the name of its primitive."""
