"""Files of synthetic rankings: ``user``, ``synthetic_epsilon``, then a column of ranks per item, one user a row.

Ranks are 1 = best, blank where the user did not rank the item; each row was drawn from the Mallows model around the
user's own ranking at the ε of its row. ``user`` may be absent (``user=None`` for readers). The column
``synthetic_epsilon`` is the mark of such a file: no reader takes it for an item, and other rankings must not
have it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from privrank_jax.data.ballots import SYNTHETIC, Cells, read_wide, wide_items
from privrank_jax.data.columns import Faults, Table
from privrank_jax.data.errors import DataError
from privrank_jax.data.header import column_of, spelled_in
from privrank_jax.data.rankings import Rankings
from privrank_jax.data.reports import check_destination, epsilon_of, write_sorted
from privrank_jax.data.roles import SEEN, RankingRoles, SyntheticRoles


@dataclass(frozen=True, eq=False)
class SyntheticRankings:
    """Synthetic rankings of m named items by n users.

    Attributes:
        table: the rankings, without ties.
        epsilon: (n,) float64, finite and positive: the ε of each user's draw.
    """

    table: Rankings
    epsilon: Float[np.ndarray, "users"]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.table!r}>"

    @property
    def lengths(self) -> Int[np.ndarray, "users"]:
        """How many items each user ranked, (n,) int."""
        return np.sum(self.table.ranks >= 0, axis=1)


def read_synthetic_rankings(table: Table, roles: SyntheticRoles) -> SyntheticRankings:
    """Read synthetic rankings from an opened table: wide, with all of its items, for the law of a rank depends on them.

    Raises:
        DataError: as of other rankings; no column ``synthetic_epsilon``, an ε that isn't a number from 1e-9 to 1e9,
            ties, a rank or an item left out.
    """
    name, budgets = table.name, column_of(table.name, table.header, "epsilon", SYNTHETIC)
    cells = {column.name: column for column in table.columns(table.header)}  # rows are read once
    header = type(table.header)(column for column in table.header if column != budgets)
    ranked = dataclasses.replace(
        table, header=header, columns=lambda names: [cells[one] for one in names]
    )
    told = {one: getattr(roles, one) for one in ("user", "blank", "missing")}
    asked = RankingRoles(**told, items=roles.items or SEEN, ranks=True)
    items = wide_items(name, header, asked)
    rankings, ranks = read_wide(ranked, asked, items, Cells("ranks"), counted=False)
    faults = Faults(table)
    epsilon = faults.read(cells[budgets], epsilon_of, float)
    faults.stop()
    known = (spelled_in(header, roles.user or ""), *rankings.item_names)
    if left := [column for column in header if column not in known]:
        raise DataError(f"{name}: `items` has no {left[0]!r}: name all items of the file, or none")
    items, known = ranks.shape[1], np.sum(ranks >= 0, axis=1, keepdims=True)
    each_once = np.maximum(np.arange(items) - items + known, -1)
    if np.any(wrong := np.any(np.sort(ranks, axis=1) != each_once, axis=1)):
        row = int(np.argmax(wrong)) + 1
        raise DataError(f"{name}, row {row} below the header has ties, or leaves out a rank")
    return SyntheticRankings(rankings, epsilon)


def check_item_names(path: Path, item_names: Iterable[str]) -> None:
    """Raise :class:`DataError` where an item is named like another column, in any case: it would be read as that."""
    names = ["user", SYNTHETIC, *map(str.casefold, item_names)]
    if len(set(names)) < len(names):
        raise DataError(f"an item is named like another column of {path.name}: rename it")


def write_synthetic_rankings(
    path: str | os.PathLike[str], rankings: SyntheticRankings, *, users: bool = True
) -> tuple[str, ...]:
    """Write synthetic rankings atomically, replacing an existing file, with rows sorted by their contents.

    Args:
        path: ends in .csv, .tsv, .parquet or .pq.
        rankings: what to write.
        users: whether to write the column ``user``; there is none where the table names no users.

    Returns:
        The columns written.

    Raises:
        DataError: the file can't be written, or an item has the name of another column.
    """
    path, table = Path(path), rankings.table
    check_destination(path)
    check_item_names(path, table.item_names)
    ranks = np.ma.masked_less(table.ranks, 0) + 1
    columns = {SYNTHETIC: rankings.epsilon, **dict(zip(table.item_names, ranks.T))}
    keys = [*table.ranks.T[::-1], rankings.epsilon]
    people = table.user_names if users else ()
    return write_sorted(path, columns, keys, people, np.arange(len(table.ranks)))
