"""Covariates beside the comparisons of a file: which item was shown first, and by how much the two differ.

A release with covariates under flips protects outcomes and takes everything else in the file as public. So columns must
not tell the outcome by where they stand: "how much longer the winner's answer was" would. Two forms are read. A column,
such as ``length``, beside a column of who was shown first (on the left, at home): how much more the *first* item has.
Or two columns, ``winner_length`` and ``loser_length``, which change places with the items if the outcome does. Where a
row names two items and an outcome, these are named after the columns of items: ``model_a_length``, ``model_b_length``.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from privrank_jax._arguments import value_of
from privrank_jax._cells.columns import Roles
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.outcomes import Sides
from privrank_jax._cells.pair_shapes import Pairs, Shape, Tally
from privrank_jax._cells.public import notes_on_comparisons, public_repr
from privrank_jax.datasets.comparisons_file import shape_in
from privrank_jax.datasets.formats import Source, open_source, read_header
from privrank_jax.datasets.outcome_rows import columns_of
from privrank_jax.datasets.table import ComparisonTable

if TYPE_CHECKING:  # readers of other files would wait for it
    from privrank_jax.pairwise import CovariateTable

_SIDE = value_of("side", "COLUMN")
_MOST_GROUPS = 200


@dataclass(frozen=True, eq=False)
class CovariateRows:
    """A table of comparisons with covariates; items that come first do so whatever the outcome.

    Attributes:
        table: the comparisons.
        first: (N,) int, the item shown first, or where none was the one that comes first in ``item_names``.
        second: (N,) int, the other.
        covariates: name to (N,) numbers, of the first item against the second.
        sides: names of those that are the advantage of being shown first, 1 where it is one and 0 elsewhere.
    """

    table: ComparisonTable
    first: Int[np.ndarray, "rows"]
    second: Int[np.ndarray, "rows"]
    covariates: Mapping[str, Float[np.ndarray, "rows"]]
    sides: tuple[str, ...] = ()

    __repr__ = public_repr

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.table.name

    @property
    def num_items(self) -> int:
        """Number m of items."""
        return self.table.num_items

    def covariate_table(
        self,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        kept: Bool[np.ndarray, "rows"] | None = None,
        *,
        private: bool = False,
    ) -> CovariateTable:
        """The rows that are kept, as :func:`~privrank_jax.pairwise.covariate_table` makes it.

        Args:
            bounds: name to (low, high), between which values are clipped.
            kept: (N,) bool; default: all rows.
            private: whether covariates are; each needs bounds then, but for the advantage of the first item.

        Raises:
            ValueError: as there.
        """
        from privrank_jax.pairwise import covariate_table

        table = self.table
        rows = np.ones(len(table), bool) if kept is None else kept
        outcomes = np.where(table.tied, 0.5, self.first == table.winners)
        return covariate_table(
            self.first[rows],
            self.second[rows],
            outcomes[rows],
            {name: column[rows] for name, column in self.covariates.items()},
            num_items=table.num_items,
            users=table.users[rows],
            bounds={**dict.fromkeys(self.sides, (0.0, 1.0)), **(bounds or {})},
            private=private,
        )


def add_covariates(
    path: str | os.PathLike[str],
    table: ComparisonTable,
    *,
    covariates: Sequence[str] = (),
    side: str | None = None,
    group: str | None = None,
    user: str | None = "user",
    winner: str = "winner",
    loser: str = "loser",
    tie: str | None = "tie",
    left: str | None = None,
    right: str | None = None,
    outcome: str | None = None,
    left_score: str | None = None,
    right_score: str | None = None,
) -> CovariateRows:
    """Read the covariates of comparisons from the file that they were read from.

    Args:
        path: as for :func:`~privrank_jax.datasets.read_comparisons`.
        table: what that returned.
        covariates: names: of a column of numbers, how much more the first item has, or the end of the names of two
            columns, ``winner_NAME`` and ``loser_NAME``, what each item has (with the names of the columns of items,
            whatever these are).
        side: column with the name of the item that was shown first (left, at home), blank where none was. It gives a
            covariate of its own: the advantage of being first.
        group: column of groups, such as kinds of judges: the advantage of being first is then one for each group.
        user, winner, loser, tie, left, right, outcome, left_score, right_score: as there.

    Returns:
        :class:`CovariateRows`.

    Raises:
        DataError: a column is missing, or has two roles; a cell that is no number, names neither item, or names no
            group; a column of numbers without ``side``, or with a row in which it is blank; groups without ``side``; a
            file whose rows are several comparisons.
    """
    header = read_header(path)
    named = Sides(
        *(column or "" for column in (left, right, outcome, "", "", left_score, right_score))
    )
    shape = shape_in(table.name, header, winner, loser, named)
    told = () if shape is None else item_columns(table.name, shape)
    if told:
        winner, loser = told[:2]
    roles: dict[str, str | None] = {"winner": winner, "loser": loser}
    for name in covariates:
        pair = f"{winner}_{name}", f"{loser}_{name}"
        if (side is None or name not in header) and set(pair) <= set(header):
            roles |= {f"winner's {name}": pair[0], f"loser's {name}": pair[1]}
            continue
        roles[name_of(name)] = name
        if side is None and name in header:
            raise DataError(
                f"{table.name}: column {name!r} says how much more one item has, but not which: give {_SIDE}, a column "
                f"that names the item shown first, or two columns, {pair[0]!r} and {pair[1]!r}",
                _SIDE,
            )
    if group is not None and side is None:
        raise DataError(
            f"{table.name}: a group of judges, column {group!r}, tells nothing of the items that are compared, so it "
            f"can only change the advantage of the item shown first: give {_SIDE}",
            _SIDE,
        )
    # Where the column of one of the items is named, the item there was always shown first.
    always = {winner: 1, loser: -1}.get(side or "", 0) if told else 0
    shown = None if always else side
    roles |= {role: column for role, column in (("side", shown), ("group", group)) if column}
    source = open_source(path, roles)
    read = _Reader(source, roles, covariates, table, always)
    unused = [column for column in source.ignored if column not in (user, tie, *told)]
    said = dataclasses.replace(source, ignored=unused).said(
        *(() if shape is None else (shape.reading,)),
        notes=notes_on_comparisons(
            {"user": 0} if table.has_users else {}, seen_items="items" in table.public
        ),
    )
    return read.rows(dataclasses.replace(table, notes=said["notes"], remarks=said["remarks"]), side)


def item_columns(name: str, shape: Shape) -> tuple[str, ...]:
    """The columns of two items, then those of the outcome.

    Args:
        name: of the file.
        shape: how it is written.

    Raises:
        DataError: its rows are several comparisons.
    """
    if isinstance(shape, Pairs | Tally):
        raise DataError(
            f"{name}: a row is several comparisons, and covariates are read of each: write a row for each comparison"
        )
    found = columns_of(shape, None, None, None, None)
    outcomes = [
        column for role, column in found.items() if column and role not in ("left", "right")
    ]
    return (shape.left, shape.right, *outcomes)


def name_of(covariate: str) -> str:
    """The role of a column of numbers, in words."""
    return f"covariate {covariate}"


class _Reader:
    """Reads the cells of all rows."""

    def __init__(
        self,
        source: Source,
        roles: Roles,
        covariates: Sequence[str],
        table: ComparisonTable,
        always: int,
    ) -> None:
        at, self._always = source.positions, always
        self._covariates, self._at = covariates, at
        self.sides, self.groups, self.ones = [], [], []
        self.numbers: dict[str, list[float]] = {name: [] for name in covariates}
        role = "side"
        try:
            for row in source.rows:
                role = "side"
                self.ones.append((row[at["winner"]] or "").strip())
                self.sides.append(self._side(row))
                if "group" in at:
                    role = "group"
                    self.groups.append(_named(row[at["group"]]))
                for name in covariates:
                    role = name_of(name) if name_of(name) in at else f"winner's {name}"
                    self.numbers[name].append(self._number(name, row))
        except BadCell as error:
            where = f"{source.name}, {source.where()}, column {roles[role]!r}"
            raise DataError(f"{where}: {error}", *error.arguments) from None
        if len(self.sides) != len(table):
            raise DataError(f"{source.name} changed while it was read: run again")

    def _side(self, row: Sequence[str | None]) -> int:
        """1 where the item of the first column was shown first, -1 where the other was, 0 where neither."""
        if "side" not in self._at:
            return self._always
        cell = (row[self._at["side"]] or "").strip()
        if not cell:
            return 0
        items = [(row[self._at[role]] or "").strip() for role in ("winner", "loser")]
        if cell not in items:
            raise BadCell(
                f"{cell!r} is neither of the two items, {' and '.join(map(repr, items))}: name the one shown first, "
                "or leave the cell blank where none was"
            )
        return 1 if cell == items[0] else -1

    def _number(self, name: str, row: Sequence[str | None]) -> float:
        """How much more the item of the first column has."""
        if name_of(name) in self._at:
            if not self.sides[-1]:
                raise BadCell(
                    "which item was shown first is blank here, so the sign of the number is not known"
                )
            return self.sides[-1] * _value(row[self._at[name_of(name)]])
        pair = (_value(row[self._at[f"{role} {name}"]]) for role in ("winner's", "loser's"))
        return next(pair) - next(pair)

    def rows(self, table: ComparisonTable, side: str | None) -> CovariateRows:
        names = np.array(table.item_names)
        ones = names[table.winners] == self.ones  # the first column need not be that of winners
        turned = np.where(ones, 1, -1)
        if np.any(names[np.where(ones, table.winners, table.losers)] != self.ones):
            raise DataError(f"{table.name} changed while it was read: run again")
        sides = turned * np.array(self.sides)
        ahead = np.where(sides == 0, table.winners < table.losers, sides > 0)
        sign = np.where(ahead, 1.0, -1.0)
        # Adding 0 makes the difference of equal values 0 whoever won, and never -0.
        found = {
            name: sign * turned * np.array(column) + 0.0 for name, column in self.numbers.items()
        }
        shown = (sides != 0).astype(float)
        if self.groups:
            kinds = sorted(set(self.groups))
            if len(kinds) > _MOST_GROUPS:
                raise DataError(
                    f"{table.name}: more than {_MOST_GROUPS} groups: give a column of fewer, coarser ones"
                )
            groups = np.array(self.groups)
            found |= {f"{side}, {name}": shown * (groups == name) for name in kinds}
        elif side is not None:
            found[side] = shown
        first = np.where(ahead, table.winners, table.losers)
        second = np.where(ahead, table.losers, table.winners)
        return CovariateRows(
            table, first, second, found, tuple(name for name in found if name not in self.numbers)
        )


def _named(cell: str | None) -> str:
    if not (cell or "").strip():
        raise BadCell("blank: name the group of each comparison")
    return (cell or "").strip()


def _value(cell: str | None) -> float:
    try:
        found = float(cell or "")
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise BadCell(f"{cell!r} is not a finite number")
    return found
