"""What all mechanisms share, and those that no record describes: a function that simulates, and its other verbs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Mechanism:
    """An object that reads like a function: ``mechanism(key, data, privacy)`` simulates, ``.release`` draws exactly."""

    __name__: str

    def read_as(self, name: str, module: str, doc: str | None) -> None:
        """Say what a function says of itself.

        Args:
            name: under which the module holds it.
            module: its home.
            doc: the theorem, and what is published.
        """
        for key, value in (("__name__", name), ("__module__", module), ("__doc__", doc)):
            object.__setattr__(self, key, value)

    def __reduce__(self) -> str:
        return self.__name__  # pickled and copied by its name, as a function is


class Program(Mechanism, Generic[P, R]):
    """A mechanism whose steps depend on what it drew, or which is no sum of users' numbers: see :func:`mechanism`.

    Attributes:
        release: ``(data, privacy, ...)``: the same, drawn exactly on the host; as all exact releases it raises
            ``ValueError`` for ε = ∞, several ε and padded items.
        scale: ``(privacy, ...)``: the scale of its noise, or what else stands for it, from public facts.
    """

    def __init__(
        self,
        simulate: Callable[P, R],
        release: Callable[..., Any],
        scale: Callable[..., Any] | None,
    ) -> None:
        self._simulate, self.release, self.scale = simulate, release, scale
        functools.update_wrapper(self, simulate)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Simulate: pure, for ``jit``, ``vmap`` and ``grad``."""
        return self._simulate(*args, **kwargs)


def mechanism(
    *, release: Callable[..., Any], scale: Callable[..., Any] | None = None
) -> Callable[[Callable[P, R]], Program[P, R]]:
    """Make a mechanism of a function that simulates, whose docstring is the theorem.

    Args:
        release: takes the same arguments but the key; imports its exact sampler when called.
        scale: takes the promise and public facts.

    Returns:
        What makes a :class:`Program` of the function below it.

    >>> @mechanism(release=lambda bits, epsilon: [not bit for bit in bits])
    ... def wrong(key, bits, epsilon):
    ...     return bits
    >>> wrong(None, [True], 1.0), wrong.release([True], 1.0)
    ([True], [False])
    """
    return lambda simulate: Program(simulate, release, scale)
