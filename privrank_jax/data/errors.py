"""Errors that readers raise, and how their messages name an argument: as Python spells it, and as the commands do."""

from __future__ import annotations

import shlex
from typing import Any

_OPTIONS = {
    ("cells", "ranks"): "--ranks",
    ("cells", "ratings"): "--higher-is-better",
    ("cells", "costs"): "--lower-is-better",
    ("cells", "approvals"): "--approvals",
    "num_users": "--users",
    "group": "--covariate-group",
}
_ROLES = frozenset(  # of the columns of comparisons, which every command that reads these takes by --column
    (
        "winner",
        "loser",
        "tie",
        "left",
        "right",
        "outcome",
        "left_wins",
        "right_wins",
        "left_score",
        "right_score",
    )
)
_NOTHING = object()
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
    """A cell, or a part of one, as messages quote it: without what is beyond its first letters.

    >>> quoted("tea"), len(quoted("tea" * 1000))
    ("'tea'", 82)
    """
    text = repr(cell)
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…{text[-1]}"


def say(name: str, value: Any = _NOTHING) -> str:
    """An argument of :func:`privrank_jax.read`, with its option, as messages name it.

    >>> say("items"), say("user", None), say("cells", "costs")
    ('items (--items)', 'user=None (--user none)', "cells='costs' (--lower-is-better)")
    >>> say("winner"), say("left_wins", "a b")
    ('winner (--column winner=NAME)', "left_wins='a b' (--column 'left-wins=a b')")
    """
    if name in _ROLES:
        column = "NAME" if value is _NOTHING else "none" if value is None else value
        given = shlex.quote(f"{name.replace('_', '-')}={column}")
        return f"{name}{'' if value is _NOTHING else f'={value!r}'} (--column {given})"
    if value is _NOTHING:
        return f"{name} ({_option(name)})"
    if flag := _OPTIONS.get((name, value) if isinstance(value, str) else ""):
        return f"{name}={value!r} ({flag})"
    words = value if isinstance(value, (list, tuple)) else [value]
    given = (shlex.quote("none" if word is None else str(word)) for word in words)
    return f"{name}={value!r} ({' '.join(f'{_option(name)} {word}' for word in given)})"


def _option(name: str) -> str:
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")
