"""Errors that carry the names of their arguments, so that the command line can spell these as options."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable
from typing import TypeGuard


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of a function, as a message names it: with a value that it advises, or in backticks, or plainly.

    >>> f"{Argument('epsilon')} must be positive; say {value_of('user', None)}"
    'epsilon must be positive; say user=None'
    """

    name: str
    value: object = None
    has_value: bool = False
    quoted: bool = False

    def __str__(self) -> str:
        if self.has_value:
            return f"{self.name}={self.value!r}"
        return f"`{self.name}`" if self.quoted else self.name


def value_of(name: str, value: object) -> Argument:
    """An argument with the value that a message advises."""
    return Argument(name, value, has_value=True)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether ``value`` is one integer, of Python or NumPy, and not a truth value."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


class ArgumentError(ValueError):
    """An argument is refused, or should have another value; a string among ``arguments`` is the name of one."""

    def __init__(self, message: str, *arguments: Argument | str) -> None:
        super().__init__(message)
        self.arguments = tuple(Argument(one) if isinstance(one, str) else one for one in arguments)

    @property
    def argument(self) -> str:
        """Name of the first argument; "" if there is none."""
        return self.arguments[0].name if self.arguments else ""

    def spelled(self, spell: Callable[[Argument], str | None]) -> str:
        """The message with its arguments spelled by ``spell``, which gives None for those that it doesn't know.

        >>> error = ArgumentError("epsilon must be positive, got -1.", "epsilon")
        >>> error.spelled(lambda argument: f"--{argument.name}")
        '--epsilon must be positive, got -1.'
        """
        message = str(self)
        for argument in self.arguments:
            message = message.replace(str(argument), spell(argument) or str(argument), 1)
        return message
