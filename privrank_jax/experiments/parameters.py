"""Parameters of a study: the fields of its config with their published values, checked, and read from text.

In text, values stand with commas between, and those of a row of values with colons: ``users=250,500``,
``sizes=10:300,20:3000``. Infinity is ``inf``; yes and no are ``yes`` and ``no``.
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

Leaf = type[bool] | type[int] | type[float] | type[str]

# Values that parameters of these names can have; numbers are at least 0, whole ones at least 1, unless said here.
_YES_OR_NO = {"yes": True, "no": False, "true": True, "false": False}
_CHOICES = {"dtype": ("float32", "float64"), "link": ("logistic", "normal", "laplace")}
_FREE = (
    "items",
    "data_folder",
)  # words that the study looks up; of others the published are the choice
_MAY_BE_EMPTY = ("gaps", "data")
_FROM_ZERO = ("flips",)
_FROM_TWO = ("items", "num_items", "fixed_items", "anchor_items")
_ABOVE_ZERO = (
    *("epsilon", "epsilons", "levels", "low", "high", "anchor", "gamma", "gaps"),
    *("delta", "share", "probability", "probabilities"),
)
_AT_MOST_ONE = ("delta", "lean", "share", "probability", "probabilities")
_SHOWN = 3  # values of an example


@dataclass(frozen=True)
class Parameter:
    """A parameter of a study.

    Attributes:
        name: name of the field.
        published: its value in the published study.
        meaning: what it is, in words; "" if the config does not say.
        leaves: types of the values in a row; most have one value, and are no tuples then.
        several: whether it is a tuple of rows.
    """

    name: str
    published: Any
    meaning: str
    leaves: tuple[Leaf, ...]
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
        if self.leaves != (str,) or self._words is None:
            return text.split(",")
        words = "|".join(map(re.escape, self._words))
        return re.findall(rf"(?:{words})(?=\s*(?:,|$))|[^,]+", text)

    def _row_of(self, text: str) -> Any:
        if len(self.leaves) == 1:
            return _leaf_of(self.leaves[0], text)
        parts = text.split(":" if self.several else ",")
        return [_leaf_of(kind, part) for kind, part in zip(self.leaves, parts, strict=True)]

    def _checked(self, value: Any) -> Any:
        if not self.several:
            return self._row(value)
        single = isinstance(value, str) or not isinstance(value, Iterable)
        found = tuple(self._row(row) for row in ([value] if single else value))
        if len(set(found)) < len(found) or not (found or self.name in _MAY_BE_EMPTY):
            raise ValueError
        return found

    def _row(self, row: Any) -> Any:
        if len(self.leaves) == 1:
            return self._leaf(self.leaves[0], row)
        found = tuple(self._leaf(kind, value) for kind, value in zip(self.leaves, row, strict=True))
        if not self.several and list(found) != sorted(found):
            raise ValueError
        return found

    def _leaf(self, kind: Leaf, value: Any) -> Any:
        if kind is str:
            if value is None and self.published is None:
                return None
            if not isinstance(value, str) or not (self._words is None or value in self._words):
                raise ValueError
            return value
        if kind is bool or isinstance(value, bool | str):
            if not (kind is bool and isinstance(value, bool)):
                raise ValueError
            return value
        number = operator.index(value) if kind is int else float(value)
        most = 1 if self.name in _AT_MOST_ONE else 2**31 - 1 if kind is int else math.inf
        least = self._least if kind is int else 0
        if not least <= number <= most or (number == 0 and self.name in _ABOVE_ZERO):
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
        if self.leaves[0] is not int or self.name in _FROM_ZERO:
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
        if len(self.leaves) == 1:
            return self._form_of(self.leaves[0]) + once
        words = ", ".join(_NAMES[kind] for kind in self.leaves)
        rows = "rows of " if self.several else "ascending: "
        return f"{rows}{len(self.leaves)} values ({words}){once}"

    def _form_of(self, kind: Leaf) -> str:
        if kind is bool:
            return "yes or no"
        if kind is str and self._words is not None:
            among = ", ".join(map(repr, self._words))
            return f"{'words among' if self.several else 'one of'} {among}"
        form = f"{_NAMES[kind]}s" if self.several else f"a {_NAMES[kind]}"
        if kind is float and self.name in _ABOVE_ZERO:
            form += " above 0"
        elif kind is not str:
            form += f" of at least {self._least}"
        if self.name in _AT_MOST_ONE:
            form += " and at most 1"
        return form + (" (inf for no privacy)" if self._infinite else "")


_NAMES: dict[Leaf, str] = {bool: "yes or no", int: "whole number", float: "number", str: "word"}


def _leaf_of(kind: Leaf, text: str) -> Any:
    text = text.strip()
    if kind is bool:
        return _YES_OR_NO.get(text.lower(), text)
    return int(text) if kind is int else float(text) if kind is float else text


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

    >>> written((0.5, 1.0, float("inf"))), written(((10, 300, True), (20, 3000, False)))
    ('0.5,1,inf', '10:300:yes,20:3000:no')
    """
    if isinstance(value, tuple):
        return ",".join(
            written(one).replace(",", ":") if isinstance(one, tuple) else written(one)
            for one in value
        )
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}" if abs(value) < 1e16 else repr(value)
    return "" if value is None else str(value)


def _shape(hint: Any) -> tuple[tuple[Leaf, ...], bool]:
    """The types in a row, and whether there are several rows."""
    inner = [one for one in typing.get_args(hint) if one is not type(None)]
    if typing.get_origin(hint) is not tuple:
        return (inner[0] if inner else hint,), False
    if inner[-1] is not ...:
        return tuple(inner), False
    return typing.get_args(inner[0]) or (inner[0],), True


def _meanings(kind: type) -> dict[str, str]:
    """What the docstrings of a class, and of those that it extends, say of its attributes."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        _, _, text = inspect.cleandoc(one.__doc__ or "").partition("Attributes:\n")
        for name, said in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE):
            found[name] = " ".join(said.replace("``", "").split()).rstrip(".")
    return found
