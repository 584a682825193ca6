"""Covariates beside the comparisons of a table: which item was shown first, and by how much the two differ.

A release with covariates under flips protects outcomes and takes everything else in the file as public. So columns must
not tell the outcome by where they stand: "how much longer the winner's answer was" would. Two forms are read. A column,
such as ``length``, beside a column of who was shown first (on the left, at home): how much more the *first* item has.
Or two columns, ``winner_length`` and ``loser_length``, which change places with the items if the outcome does. Where a
row names two items and an outcome, these are named after the columns of items: ``model_a_length``, ``model_b_length``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from privrank_jax.data.cells import text_of, value_of
from privrank_jax.data.columns import Column, Faults
from privrank_jax.data.errors import BadCell, DataError, quoted
from privrank_jax.data.roles import ComparisonRoles

_MOST_GROUPS = 200


@dataclass(frozen=True, eq=False)
class Covariates:
    """Covariates of N comparisons; items that come first do so whatever the outcome.

    Attributes:
        first: (N,) int, the item shown first, or where none was the one that comes first in the list of items.
        second: (N,) int, the other.
        values: name to (N,) numbers, of the first item against the second.
        sides: names of those that are the advantage of being shown first, 1 where it is one and 0 elsewhere.
        grouped: whether there is a column of groups of judges, however many it holds.
    """

    first: Int[np.ndarray, "rows"]
    second: Int[np.ndarray, "rows"]
    values: Mapping[str, Float[np.ndarray, "rows"]]
    sides: tuple[str, ...] = ()
    grouped: bool = False

    def taken(self, rows: Int[np.ndarray, "some"]) -> Covariates:
        """The same of these rows."""
        values = {name: column[rows] for name, column in self.values.items()}
        return replace(self, first=self.first[rows], second=self.second[rows], values=values)

    def __repr__(self) -> str:
        return f"<Covariates {', '.join(self.values)}; values not shown>"


def covariate_roles(
    name: str, header: Sequence[str], pair: Sequence[str], roles: ComparisonRoles
) -> dict[str, str]:
    """The columns to read, by roles: ``side``, ``group``, and of each covariate its own or one for each item.

    Args:
        name: of the file.
        header: its columns.
        pair: columns of the two items.
        roles: what was told.

    Raises:
        DataError: it is not known which item a number or a group is about.
    """
    side, group = roles.side, roles.covariate_group
    if group is not None and side is None:
        raise DataError(
            f"{name}: a group of judges, column {group!r}, tells nothing of the items that are compared, so it can "
            "only change the advantage of the item shown first: name the column of that item by `side`"
        )
    found = {"group": group, "side": None if side in pair else side}
    for one in roles.covariates:
        of_items = [f"{column}_{one}" for column in pair]
        if (side is None or one not in header) and set(of_items) <= set(header):
            found |= dict(zip((f"first {one}", f"second {one}"), of_items))
            continue
        found[f"covariate {one}"] = one
        if side is None and one in header:
            raise DataError(
                f"{name}: column {one!r} says how much more one item has, but not which: name the column of the item "
                f"shown first by `side`, or give two columns, {of_items[0]!r} and {of_items[1]!r}"
            )
    return {one: column for one, column in found.items() if column is not None}


def read_covariates(
    faults: Faults,
    cells: Mapping[str, Column],
    covariates: Sequence[str],
    side: str | None,
    pair: Sequence[Column],
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray | None]:
    """Which item of each row was shown first, numbers of the first column's item against the other's, and groups.

    Args:
        faults: of the rows.
        cells: columns by roles.
        covariates: names.
        side: column of the item shown first.
        pair: the columns of the two items.

    Returns:
        ``(N,)`` 1 where the item of the first column was shown first, -1 where the other was, 0 where neither; name to
        (N,) numbers; and (N,) groups, if there is a column of them.
    """
    rows = len(pair[0])
    shown = np.zeros(rows, np.int8)
    if side in [column.name for column in pair]:  # the item there was always shown first
        shown[:] = 1 if side == pair[0].name else -1
    elif "side" in cells:
        words = [str(word or "").strip() for word in cells["side"].words]
        same = [_same(cells["side"], words, column) for column in pair]
        blank = np.array([not word for word in words], bool)[cells["side"].codes]
        shown = np.where(blank, 0, np.where(same[0], 1, -1)).astype(np.int8)
        faults.where(
            ~(blank | same[0] | same[1]),
            cells["side"].name,
            lambda row: (
                f"{quoted(words[cells['side'].codes[row]])} is neither of the two items: name the one shown first, or "
                "leave the cell blank where none was"
            ),
        )
    groups = None
    if "group" in cells:
        kinds = sorted({str(word or "").strip() for word in cells["group"].words})
        place = {kind: k for k, kind in enumerate(kinds)}
        groups = np.array(kinds, object)[
            faults.read(cells["group"], lambda word: place[_group(word)])
        ]
    numbers = {}
    for one in covariates:
        if f"covariate {one}" in cells:
            column = cells[f"covariate {one}"]
            faults.where(
                shown == 0,
                column.name,
                lambda _: (
                    "which item was shown first is blank here, so the sign of the number is not known"
                ),
            )
            numbers[one] = shown * faults.read(column, value_of, float)
        else:
            ahead, behind = (
                faults.read(cells[f"{place} {one}"], value_of, float)
                for place in ("first", "second")
            )
            numbers[one] = ahead - behind
    return shown, numbers, groups


def arranged(
    name: str,
    first: Int[np.ndarray, "rows"],
    second: Int[np.ndarray, "rows"],
    shown: Int[np.ndarray, "rows"],
    numbers: Mapping[str, np.ndarray],
    groups: np.ndarray | None,
    side: str | None,
) -> Covariates:
    """Covariates of the item shown first against the other.

    Args:
        name: of the file.
        first, second: items of the two columns, as places in the list of items.
        shown, numbers, groups: of :func:`read_covariates`.
        side: column of the item shown first.

    Raises:
        DataError: there are too many groups.
    """
    ahead = np.where(shown == 0, first < second, shown > 0)
    sign = np.where(ahead, 1.0, -1.0)
    # Adding 0 makes the difference of equal values 0 whoever won, and never -0.
    values: dict[str, Any] = {one: sign * column + 0.0 for one, column in numbers.items()}
    known = (shown != 0).astype(float)
    if groups is not None:
        kinds = sorted(set(groups.tolist()))
        if len(kinds) > _MOST_GROUPS:
            raise DataError(
                f"{name}: more than {_MOST_GROUPS} groups: give a column of fewer, coarser ones"
            )
        values |= {f"{side}, {kind}": known * (groups == kind) for kind in kinds}
    elif side is not None:
        values[side] = known
    items = np.where(ahead, first, second), np.where(ahead, second, first)
    sides = tuple(one for one in values if one not in numbers)
    return Covariates(*items, values, sides, grouped=groups is not None)


def _group(word: Any) -> str:
    if not text_of(word):
        raise BadCell("blank: name the group of each comparison")
    return text_of(word)


def _same(column: Column, words: Sequence[str], items: Column) -> np.ndarray:
    """Whether a cell names the item of another column, ``(N,)`` bool."""
    place = {str(word or "").strip(): k for k, word in enumerate(items.words)}
    found = np.array([place.get(word, -1) for word in words])
    return found[column.codes] == items.codes
