"""Lookup by name of the rows in tuples of several modules, which are loaded on first use."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

Row = TypeVar("Row")


def collect(modules: Iterable[str], attribute: str, what: str) -> dict[str, Any]:
    """All rows by ``name`` from the tuples of that ``attribute``; ``ValueError`` for two of one name."""
    found: dict[str, Any] = {}
    for module in modules:
        for row in getattr(importlib.import_module(module), attribute):
            if row.name in found:
                raise ValueError(f"two {what}s are named {row.name!r}")
            found[row.name] = row
    return found


def find(known: Mapping[str, Row], name: str, what: str, names: list[str]) -> Row:
    """The row with that name; else ``ValueError``, which suggests the nearest names or lists ``names``."""
    if name not in known:
        hint = nearest(name, known) or f"; choose one of {names}."
        raise ValueError(f"no {what} named {name!r}{hint}")
    return known[name]


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message on an unknown name: which known ones are near; "" if none is.

    >>> nearest("user", ["users", "items"])
    '; did you mean users?'
    """
    near = difflib.get_close_matches(name, list(known), cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""
