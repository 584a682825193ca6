"""Answers in several columns of a row as one comparison each: two items and an outcome."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from privrank_jax._cells.codes import TieCodes
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.names import MISSING
from privrank_jax._cells.outcomes import LEFT, RIGHT, TIE
from privrank_jax._cells.pair_shapes import OneHot, Pairs
from privrank_jax.datasets.formats import Row, Source

_ROLES = ("left", "right", "outcome")
_CODES = {"left": LEFT, "right": RIGHT, "tie": TIE}


def columns_of(shape: Pairs | OneHot, user: str | None, tie: str | None) -> dict[str, str | None]:
    """The columns to read, by roles; what ``tie`` names must not be there."""
    roles: dict[str, str | None] = {"user": user, "tie": tie}
    if isinstance(shape, Pairs):
        return roles | {f"pair {k}": pair.column for k, pair in enumerate(shape.columns)}
    outcomes = {f"outcome {k}": column for k, column in enumerate(shape.outcomes)}
    return roles | {"left": shape.left, "right": shape.right} | outcomes


def one_comparison_each(
    source: Source, shape: Pairs | OneHot, user: str | None
) -> tuple[Source, dict[str, str | None]]:
    """A row for each comparison: both items, the outcome and, where there is one, the user.

    Args:
        source: opened with :func:`columns_of`.
        shape: the columns.
        user: column of users.

    Returns:
        The rows, and the columns by roles, of which ``left``, ``right`` and ``outcome`` are always those of the
        comparison last read.
    """
    roles: dict[str, str | None] = {"user": user}
    if isinstance(shape, Pairs):
        roles |= dict.fromkeys(_ROLES, shape.columns[0].column)
        rows = _of_pairs(source, shape, roles)
    else:
        roles |= {"left": shape.left, "right": shape.right, "outcome": shape.left_won}
        rows = _of_outcomes(source, shape)
    positions = {role: k for k, role in enumerate(_ROLES)}
    if "user" in source.positions:
        positions["user"] = len(_ROLES)
    return dataclasses.replace(source, rows=rows, positions=positions), roles


def _of_pairs(source: Source, shape: Pairs, roles: dict[str, str | None]) -> Iterator[Row]:
    """The pairs that were answered; a blank is none, nor is a mark of a missing value that no item has as its name."""
    at = [source.positions[f"pair {k}"] for k in range(len(shape.columns))]
    at_user = source.positions.get("user")
    for row in source.rows:
        user = None if at_user is None else row[at_user]
        for k, pair in zip(at, shape.columns, strict=True):
            cell = row[k]
            word = (cell or "").strip().casefold()
            if cell not in (pair.left, pair.right) and (not word or word in MISSING):
                continue
            roles.update(dict.fromkeys(_ROLES, pair.column))
            yield pair.left, pair.right, cell, user


def _of_outcomes(source: Source, shape: OneHot) -> Iterator[Row]:
    """The row of each comparison, with the one of the outcomes that is marked."""
    at = [source.positions[f"outcome {k}"] for k in range(len(shape.outcomes))]
    left, right, at_user = (source.positions.get(role) for role in ("left", "right", "user"))
    assert left is not None
    assert right is not None
    marks = TieCodes()
    for row in source.rows:
        try:
            marked = [k for k, place in enumerate(at) if marks[row[place]]]
        except BadCell:
            marked = []
        if len(marked) != 1:
            cells = ", ".join(repr(row[place]) for place in at)
            raise DataError(
                f"{source.name}, {source.where()}: one of the columns {', '.join(map(repr, shape.outcomes))} must be "
                f"1 and the others 0, but they are {cells}: correct or remove the row"
            )
        user = None if at_user is None else row[at_user]
        yield row[left], row[right], ("left", "right", "tie")[min(marked[0], TIE)], user


def read_code(cell: str | None, left: str | None, right: str | None) -> int:
    """The outcome of a row of :func:`one_comparison_each` of a one-hot file, whatever the items are called."""
    del left, right
    return _CODES[cell or ""]
