"""Functions of a package, found wherever they are defined in it: moving one needs no change of the doors."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


class Anywhere:
    """A package of :mod:`privrank_jax` as one namespace.

    Args:
        package: its name, such as ``"pairwise"``.
    """

    def __init__(self, package: str) -> None:
        self._home = importlib.import_module(f"privrank_jax.{package}")

    def __getattr__(self, name: str) -> Any:
        for found in pkgutil.walk_packages(self._home.__path__, f"{self._home.__name__}."):
            module = importlib.import_module(found.name)
            own = vars(module).get(name)
            if own is not None and getattr(own, "__module__", module.__name__) == module.__name__:
                return own
        raise AttributeError(f"{self._home.__name__} defines no {name}")


pairwise, aggregation = Anywhere("pairwise"), Anywhere("aggregation")
