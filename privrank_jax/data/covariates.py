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
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from privrank_jax.data.cells import text_of, value_of
from privrank_jax.data.errors import DataError
from privrank_jax.data.roles import ComparisonRoles

if TYPE_CHECKING:
    from privrank_jax.data.reading import Reading

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
    name: str, header: Sequence[str], kind: str, columns: Mapping[str, str], roles: ComparisonRoles
) -> dict[str, str]:
    """The columns to read, by roles: ``side``, ``group``, and of each covariate its own or one for each item.

    ``kind`` and ``columns`` are of :class:`~privrank_jax.data.outcomes.Plan`; a column of winners is no side.
    """
    side, pair = roles.side, [columns[one] for one in ("left", "right") if one in columns]
    found = {"side": None if side in pair and kind != "winners" else side}
    found["group"] = roles.covariate_group
    if found["group"] is not None and side is None:
        raise DataError(
            f"{name}: a group of judges, column {found['group']!r}, can only change the advantage of the item shown "
            "first: name the column of that item by `side`"
        )
    for one in roles.covariates:
        of_items = [f"{column}_{one}" for column in pair]
        if (side is None or one not in header) and set(of_items) <= set(header):
            found |= dict(zip((f"first {one}", f"second {one}"), of_items))
        elif side is None and one in header:
            raise DataError(
                f"{name}: column {one!r} says how much more one item has, but not which: name the column of the item "
                f"shown first by `side`, or give two columns, {of_items[0]!r} and {of_items[1]!r}"
            )
        else:
            found[f"covariate {one}"] = one
    return {one: column for one, column in found.items() if column is not None}


def read_covariates(
    reading: Reading, names: Sequence[str], first: np.ndarray, second: np.ndarray
) -> Covariates | None:
    """Covariates of the item shown first against the other; None without columns of :func:`covariate_roles`.

    Args:
        reading: its columns.
        names: the list of items.
        first, second: (N,) the items of the two columns, as places in that list.

    Raises:
        DataError: a cell that can't be read, or too many groups.
    """
    roles: Any = reading.roles
    faults, cells, side = reading.faults, reading.cells, roles.side
    if side is None and not roles.covariates:
        return None
    shown = _shown_first(reading, names, first, second)
    ahead = np.where(shown == 0, first < second, shown > 0)
    values, sides = {}, [side] * (side is not None)
    for one in roles.covariates:
        if column := cells.get(f"covariate {one}"):
            what = "which item was shown first is blank, so the sign of the number is not known"
            faults.where(shown == 0, column.name, lambda _: what)  # noqa: B023
            number = shown * faults.read(column, value_of, float)
        else:
            both = (cells[f"{place} {one}"] for place in ("first", "second"))
            of_left, of_right = (faults.read(column, value_of, float) for column in both)
            number = of_left - of_right
        # Adding 0 makes the difference of equal values 0 whoever won, and never -0.
        values[one] = np.where(ahead, 1.0, -1.0) * number + 0.0
    at = np.zeros(first.size, int)
    if group := cells.get("group"):
        what = "blank: name the group of each comparison"
        faults.where(reading.blanks(group), group.name, lambda _: what)
        kinds = sorted({str(word or "").strip() for _, _, word in group.in_order()})
        if len(kinds) > _MOST_GROUPS:
            raise DataError(
                f"{reading.table.name}: more than {_MOST_GROUPS} groups: give a column of fewer, coarser ones"
            )
        at = faults.read(group, lambda word: kinds.index(text_of(word)))
        sides = [f"{side}, {kind}" for kind in kinds]
    values |= {one: np.where(at == k, shown != 0, 0).astype(float) for k, one in enumerate(sides)}
    faults.stop()
    items = np.where(ahead, first, second), np.where(ahead, second, first)
    return Covariates(*items, values, tuple(sides), grouped="group" in cells)


def _shown_first(
    reading: Reading, names: Sequence[str], first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """1 where the item of the left column was shown first, -1 where the other was, 0 where neither; (N,)."""
    pair = [reading.cells[one].name for one in ("left", "right")]
    if reading.roles.side in pair:  # type: ignore[attr-defined]
        return np.full(first.size, 1 if reading.roles.side == pair[0] else -1)  # type: ignore[attr-defined]
    if "side" not in reading.cells:
        return np.zeros(first.size, int)
    column, places = (
        reading.cells["side"],
        {"": -1, **{one.strip(): k for k, one in enumerate(names)}},
    )
    item = reading.faults.read(column, lambda word: places.get(text_of(word), -2))
    what = "{} is neither of the two items: name the one shown first, or nothing where none was"
    wrong = (item != first) & (item != second) & (item != -1)
    reading.faults.where(wrong, column.name, lambda row: column.quoted(what, row))
    return np.where(item == first, 1, np.where(item == second, -1, 0))
