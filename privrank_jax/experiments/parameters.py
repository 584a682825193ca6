"""Parameters of a study: the fields of its config with their published values, checked, and read from text.

In text, values stand with commas between, and those of a row of values with colons: ``users=250,500``,
``sizes=10:300,20:3000``. Infinity is ``inf``.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import operator
import re
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

NAME = "name"  # the field that is no parameter: how the study is called
COMPUTING = ("programs", "dtype", "data_folder")
"""Parameters that change nothing that a study is about: how it is computed, and where its data are."""

Leaf = type[int] | type[float] | type[str]

# Values that parameters of these names can have; numbers are above 0 unless said here.
_CHOICES = {"dtype": ("float32", "float64"), "link": ("logistic", "normal", "laplace")}
_FREE = (
    "items",
    "data_folder",
)  # words that the study looks up; of others the published are the choice
_MAY_BE_EMPTY = ("gaps", "data")
_FROM_ZERO = ("flips", "exposures", "lean", "sigma", "strength", "width")
_FROM_TWO = ("items", "fixed_items", "anchor_items")
_AT_MOST_ONE = ("delta", "lean", "probability", "probabilities")
_SHOWN = 3  # values of an example


@dataclass(frozen=True)
class Parameter:
    """A parameter of a study.

    Attributes:
        name: name of the field.
        published: its value in the published study.
        meaning: what it is, in words; "" if the config does not say.
        leaf: type of a value.
        width: how many values a row has; 1 where there are values and no tuples of them.
        several: whether it is a tuple of rows.
    """

    name: str
    published: Any
    meaning: str
    leaf: Leaf
    width: int
    several: bool

    def checked(self, value: Any) -> Any:
        """The value as the config takes it; a list is a tuple, and a single value a tuple of one.

        Raises:
            ValueError: the parameter cannot have this value; the message says what it must look like.
        """
        try:
            return self._checked(value)
        except (TypeError, ValueError):
            self._refuse(repr, value)

    def read(self, text: str) -> Any:
        """The value that a text stands for; see the head of this module.

        Raises:
            ValueError: as of :meth:`checked`.
        """
        try:
            rows = [self._row_of(part) for part in self._parts(text)]
            return self._checked(rows if self.several else rows[0])
        except (IndexError, TypeError, ValueError):
            self._refuse(written, text)

    def _parts(self, text: str) -> list[str]:
        """The texts of the rows; a word that can be chosen may have commas itself."""
        if not (text and self.several):
            return [text] if text else []
        if self.leaf is not str or self._words is None:
            return text.split(",")
        words = "|".join(map(re.escape, self._words))
        return re.findall(rf"(?:{words})(?=\s*(?:,|$))|[^,]+", text)

    def _row_of(self, text: str) -> Any:
        if self.width == 1:
            return self.leaf(text.strip())
        return [self.leaf(part) for part in text.split(":" if self.several else ",")]

    def _checked(self, value: Any) -> Any:
        if not self.several:
            return self._row(value)
        single = isinstance(value, str) or not isinstance(value, Iterable)
        found = tuple(self._row(row) for row in ([value] if single else value))
        if len(set(found)) < len(found) or not (found or self.name in _MAY_BE_EMPTY):
            raise ValueError
        return found

    def _row(self, row: Any) -> Any:
        if self.width == 1:
            return self._value(row)
        found = tuple(map(self._value, row))
        if len(found) != self.width or not (self.several or list(found) == sorted(found)):
            raise ValueError
        return found

    def _value(self, value: Any) -> Any:
        if self.leaf is str:
            known = self._words is None or value in self._words
            if (isinstance(value, str) and known) or value is self.published is None:
                return value
            raise ValueError
        if isinstance(value, bool | str):
            raise ValueError
        number = operator.index(value) if self.leaf is int else float(value)
        most = 1 if self.name in _AT_MOST_ONE else 2**31 - 1 if self.leaf is int else math.inf
        if not self._least <= number <= most or (number == 0 and self.name not in _FROM_ZERO):
            raise ValueError
        if number == math.inf and not self._infinite:
            raise ValueError
        return number

    @property
    def _words(self) -> tuple[str, ...] | None:
        """The words to choose from; None if any may be given."""
        if self.name in _FREE:
            return None
        published = (self.published,) if isinstance(self.published, str) else self.published
        return _CHOICES.get(self.name, published)

    @property
    def _least(self) -> int:
        if self.leaf is float or self.name in _FROM_ZERO:
            return 0
        return 2 if self.name in _FROM_TWO else 1

    @property
    def _infinite(self) -> bool:
        return self.several and math.inf in self.published

    def _refuse(self, spelled: Callable[[Any], str], given: object) -> typing.NoReturn:
        shown = self.published[:_SHOWN] if self.several else self.published
        example = f", such as {self.name}={spelled(shown)}" if shown else ""
        raise ValueError(f"{self.name} must be {self._form()}{example}; got {given!r}") from None

    def _form(self) -> str:
        """What a value looks like, in words."""
        once = ", none twice" if self.several else ""
        if self.leaf is str and self._words is not None:
            among = ", ".join(map(repr, self._words))
            return f"{'words among' if self.several else 'one of'} {among}{once}"
        many = self.several or self.width > 1
        form = f"{_NAMES[self.leaf]}s" if many else f"a {_NAMES[self.leaf]}"
        if self.width > 1:
            rows = "rows of " if self.several else "ascending: "
            form = f"{rows}{self.width} {form}"
        if self.leaf is not str:
            above = self.leaf is float and self.name not in _FROM_ZERO
            form += " above 0" if above else f" of at least {self._least}"
        if self.name in _AT_MOST_ONE:
            form += " and at most 1"
        return form + (" (inf for no privacy)" if self._infinite else "") + once


_NAMES: dict[Leaf, str] = {int: "whole number", float: "number", str: "word"}


def parameters(config: Any) -> dict[str, Parameter]:
    """The parameters of a study by name, from its config with the published values."""
    hints = typing.get_type_hints(type(config))
    meanings = _meanings(type(config))
    found = {}
    for field in dataclasses.fields(config):
        if field.name != NAME:
            value = getattr(config, field.name)
            shape = _shape(hints[field.name])
            found[field.name] = Parameter(field.name, value, meanings.get(field.name, ""), *shape)
    return found


def check_together(config: Any) -> None:
    """Refuse values that are sound alone and not together.

    Raises:
        ValueError: a range that ends before it begins; numbers of double precision where JAX has them not.
    """
    low, high = getattr(config, "low", 0), getattr(config, "high", math.inf)
    if low > high:
        raise ValueError(f"low must be at most high; got low={low:g} and high={high:g}")
    if getattr(config, "dtype", "") == "float64" and jnp.result_type(float) != "float64":
        raise ValueError("dtype=float64 needs JAX's double precision: set JAX_ENABLE_X64=1")


def written(value: Any) -> str:
    """The text of a value, which :meth:`Parameter.read` reads.

    >>> written((0.5, 1.0, float("inf"))), written(((10, 300), (20, 3000)))
    ('0.5,1,inf', '10:300,20:3000')
    """
    if isinstance(value, tuple):
        return ",".join(
            written(one).replace(",", ":") if isinstance(one, tuple) else written(one)
            for one in value
        )
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}" if abs(value) < 1e16 else repr(value)
    return "" if value is None else str(value)


def _shape(hint: Any) -> tuple[Leaf, int, bool]:
    """The type of a value, how many a row has, and whether there are several rows."""
    inner = [one for one in typing.get_args(hint) if one is not type(None)]
    if typing.get_origin(hint) is not tuple:
        return (inner[0] if inner else hint), 1, False
    if inner[-1] is not ...:
        return inner[0], len(inner), False
    row = typing.get_args(inner[0]) or inner[:1]
    return row[0], len(row), True


def _meanings(kind: type) -> dict[str, str]:
    """What the docstrings of a class, and of those that it extends, say of its attributes."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        _, _, text = inspect.cleandoc(one.__doc__ or "").partition("Attributes:\n")
        for name, said in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE):
            found[name] = " ".join(said.replace("``", "").split()).rstrip(".")
    return found
