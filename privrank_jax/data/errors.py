"""Errors that readers raise. Their messages name an argument in backticks or with its value, as all messages do."""

from __future__ import annotations

from typing import Any

_LONG = 40  # letters of a name, where many are named
_MOST_QUOTED = 80  # letters of a cell


class DataError(ValueError):
    """Data that cannot be used as they are; the message says where, why, and what to do."""


class BadCell(ValueError):
    """What is wrong with a cell; the reader adds where it is."""


def short(name: str) -> str:
    """A name without what is beyond its first letters."""
    return name if len(name) <= _LONG else f"{name[:_LONG]}…"


def quoted(cell: Any) -> str:
    """A cell, or a part of one, as messages quote it: without what is beyond its first letters."""
    text = repr(cell)
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…{text[-1]}"


def listed(names: Any, most: int = 12) -> str:
    """Names, quoted, with commas between; those beyond ``most`` are left out."""
    names = list(names)
    return ", ".join(repr(short(name)) for name in names[:most]) + ", …" * (len(names) > most)
