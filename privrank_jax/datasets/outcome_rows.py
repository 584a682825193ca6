"""Answers in several columns of a row as one comparison each: two items and an outcome."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from privrank_jax._cells.codes import TieCodes
from privrank_jax._cells.counts import higher
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.names import MISSING
from privrank_jax._cells.outcomes import LEFT, RIGHT, TIE, Battle
from privrank_jax._cells.pair_shapes import OneHot, Pairs, Scores, Shape, Tally
from privrank_jax.datasets.formats import Row, Source

_ROLES = ("left", "right", "outcome")
_REST = ("user", "weight", "count")  # the count last, where wins of the two items are counts
_CODES = {"left": LEFT, "right": RIGHT, "tie": TIE}


def columns_of(
    shape: Shape, user: str | None, tie: str | None, count: str | None, weight: str | None
) -> dict[str, str | None]:
    """The columns to read, by roles; but for a battle, what ``tie`` names must not be there."""
    roles: dict[str, str | None] = {"user": user, "tie": tie, "count": count, "weight": weight}
    if isinstance(shape, Battle | Tally | Scores):
        return roles | shape._asdict()
    if isinstance(shape, Pairs):
        return roles | {f"pair {k}": pair.column for k, pair in enumerate(shape.columns)}
    outcomes = {f"outcome {k}": column for k, column in enumerate(shape.outcomes)}
    return roles | {"left": shape.left, "right": shape.right} | outcomes


def one_comparison_each(
    source: Source,
    shape: Pairs | OneHot | Tally | Scores,
    user: str | None,
    count: str | None,
    weight: str | None,
) -> tuple[Source, dict[str, str | None]]:
    """A row for each comparison: both items, the outcome and, where they are there, the user, the weight and the count.

    Args:
        source: opened with :func:`columns_of`.
        shape: the columns.
        user: column of users.
        count: column of how often a row counts.
        weight: column of weights.

    Returns:
        The rows, and the columns by roles, of which ``left``, ``right``, ``outcome`` and ``count`` are always those of
        the comparison last read.
    """
    roles: dict[str, str | None] = {"user": user, "weight": weight, "count": count}
    if isinstance(shape, Pairs):
        roles |= dict.fromkeys(_ROLES, shape.columns[0].column)
        rows = _of_pairs(source, shape, roles)
    elif isinstance(shape, OneHot):
        roles |= {"left": shape.left, "right": shape.right, "outcome": shape.left_won}
        rows = _of_outcomes(source, shape)
    else:
        roles |= {"left": shape.left, "right": shape.right, "outcome": shape[2]}
        if isinstance(shape, Tally):
            rows = _of_wins(source, shape, roles)
        else:
            rows = _of_scores(source, shape)
    positions = {role: k for k, role in enumerate(_ROLES)}
    for role in _REST:
        if role in source.positions or (role == "count" and isinstance(shape, Tally)):
            positions[role] = len(positions)
    return dataclasses.replace(source, rows=rows, positions=positions), roles


def _rest(source: Source) -> Callable[[Row], Row]:
    """The cells of a row that each of its comparisons has: of the user, the weight and the count."""
    at = [source.positions[role] for role in _REST if role in source.positions]
    return lambda row: [row[k] for k in at]


def _of_wins(source: Source, shape: Tally, roles: dict[str, str | None]) -> Iterator[Row]:
    """The wins of either item, as a comparison that counts so often."""
    left, right, *wins = (source.positions[role] for role in shape._fields)
    rest = _rest(source)
    for row in source.rows:
        for won, k, column in zip(("left", "right"), wins, shape[2:], strict=True):
            roles["count"] = column
            yield row[left], row[right], won, *rest(row), row[k]


def _of_scores(source: Source, shape: Scores) -> Iterator[Row]:
    """The item with the higher score."""
    left, right, one, other = (source.positions[role] for role in shape._fields)
    rest = _rest(source)
    for row in source.rows:
        try:
            outcome = higher(row[one], row[other])
        except BadCell as error:
            columns = " and ".join(map(repr, shape[2:]))
            raise DataError(
                f"{source.name}, {source.where()}, columns {columns}: {error}"
            ) from None
        yield row[left], row[right], outcome, *rest(row)


def _of_pairs(source: Source, shape: Pairs, roles: dict[str, str | None]) -> Iterator[Row]:
    """The pairs that were answered; a blank is none, nor is a mark of a missing value that no item has as its name."""
    at = [source.positions[f"pair {k}"] for k in range(len(shape.columns))]
    rest = _rest(source)
    for row in source.rows:
        for k, pair in zip(at, shape.columns, strict=True):
            cell = row[k]
            word = (cell or "").strip().casefold()
            if cell not in (pair.left, pair.right) and (not word or word in MISSING):
                continue
            roles.update(dict.fromkeys(_ROLES, pair.column))
            yield pair.left, pair.right, cell, *rest(row)


def _of_outcomes(source: Source, shape: OneHot) -> Iterator[Row]:
    """The row of each comparison, with the one of the outcomes that is marked."""
    at = [source.positions[f"outcome {k}"] for k in range(len(shape.outcomes))]
    left, right = (source.positions[role] for role in ("left", "right"))
    rest, marks = _rest(source), TieCodes()
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
        yield row[left], row[right], ("left", "right", "tie")[min(marked[0], TIE)], *rest(row)


def read_code(cell: str | None, left: str | None, right: str | None) -> int:
    """The outcome of a row of :func:`one_comparison_each` whose outcome is a word of this package."""
    del left, right
    return _CODES[cell or ""]
