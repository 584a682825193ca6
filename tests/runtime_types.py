"""The runtime checker of types and shapes that tests put on every function of the package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

_CONF = BeartypeConf(is_pep484_tower=True)


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with its arguments and result checked, unless it makes a dataclass.

    JAX makes pytrees again from whatever a transformation puts in the place of their arrays: batches, placeholders.
    """
    return function if function.__name__ == "__init__" else beartype(conf=_CONF)(function)
