"""Files of synthetic rankings: ``user``, ``synthetic_epsilon``, then a column of ranks per item, one user a row.

Ranks are 1 = best, blank where the user did not rank the item; each row was drawn from the Mallows model around the
user's own ranking at the ε of its row. ``user`` may be absent (``user=None`` for readers). The column
``synthetic_epsilon`` is the mark of such a file: no reader takes it for an item, and other rankings must not
have it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from privrank_jax.data.ballots import SYNTHETIC, read_wide, wide_items
from privrank_jax.data.columns import Column, Faults, Table
from privrank_jax.data.errors import DataError, quoted
from privrank_jax.data.header import column_of, spelled_in
from privrank_jax.data.names import Names
from privrank_jax.data.rankings import Rankings
from privrank_jax.data.reports import check_destination, epsilon_of, write_columns
from privrank_jax.data.roles import SEEN, RankingRoles, SyntheticRoles
from privrank_jax.data.table import PARQUET


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

    Returns:
        The rankings and the ε of each user.

    Raises:
        DataError: as of other rankings; no column ``synthetic_epsilon``, an ε that isn't a number from 1e-9 to 1e9,
            ties, a rank left out, as where items were taken out of the file, or out of ``items``.
    """
    budgets: list[Column] = []

    def columns(names: Sequence[str]) -> list[Column]:
        *found, budget = table.columns([*names, of_budgets])
        budgets.append(budget)
        return found

    of_budgets = column_of(table.name, table.header, "epsilon", SYNTHETIC)
    header = type(table.header)(column for column in table.header if column != of_budgets)
    ranked = dataclasses.replace(table, header=header, columns=columns)
    asked = RankingRoles(
        user=roles.user,
        items=roles.items or SEEN,
        blank=roles.blank,
        missing=roles.missing,
        ranks=True,
    )
    rankings, ranks = read_wide(ranked, asked, wide_items(table.name, header, asked), counted=False)
    faults = Faults(table)
    epsilon = faults.read(budgets[0], epsilon_of, float)
    faults.stop()
    user = spelled_in(header, roles.user or "")
    if left := [column for column in header if column not in (user, *rankings.item_names)]:
        raise DataError(
            f"{table.name}: `items` has no {left[0]!r}, but synthetic rankings can only be debiased whole: name all "
            "items, or none"
        )
    if rankings.tied:
        raise DataError(f"{table.name} holds ties, which synthetic rankings never do")
    if np.any(gaps := np.any(ranks != rankings.ranks, axis=1)):
        raise DataError(
            f"{table.name}, row {int(np.argmax(gaps)) + 1} below the header leaves out a rank, which synthetic "
            "rankings never do: were items taken out? Aggregate the whole file"
        )
    return SyntheticRankings(rankings, epsilon)


def check_item_names(path: Path, item_names: Iterable[str]) -> None:
    """Raise :class:`DataError` where an item has the name of another column; in Parquet case makes no difference.

    A file without users whose item is named "user" would be read as a file with users.
    """
    parquet, taken = path.suffix.lower() in PARQUET, {"user", SYNTHETIC}
    for name in item_names:
        key = name.lower() if parquet else name
        if key in taken:
            raise DataError(f"an item is named {name!r}, like a column of {path.name}: rename it")
        taken.add(key)


def write_synthetic_rankings(
    path: str | os.PathLike[str], rankings: SyntheticRankings, *, users: bool = True
) -> tuple[str, ...]:
    """Write synthetic rankings atomically, replacing an existing file; rows are sorted by their contents.

    So the file depends on the *set* of rows alone, not on the order of the table, which may follow the answers.

    Args:
        path: ends in .csv, .tsv, .parquet or .pq.
        rankings: what to write.
        users: whether to write the column ``user``; there is none where the table names no users.

    Returns:
        The columns written.

    Raises:
        DataError: as :func:`~privrank_jax.data.write_reports`; an item or two with the name of another column.
    """
    path = Path(path)
    check_destination(path)
    table = rankings.table
    check_item_names(path, table.item_names)
    ranks = np.ma.masked_less(table.ranks, 0) + 1
    columns: dict[str, np.ndarray] = {SYNTHETIC: rankings.epsilon}
    keys = [*table.ranks.T[::-1], rankings.epsilon]
    if users and table.user_names:
        people = np.array(table.user_names, object)
        columns = {"user": people, **columns}
        keys.append(np.argsort(np.argsort(people)))
    columns |= {name: ranks[:, k] for k, name in enumerate(table.item_names)}
    order = np.lexsort(keys)
    write_columns(path, {name: column[order] for name, column in columns.items()})
    return tuple(columns)


def read_user_epsilon(table: Table, column: str, user: str) -> Float[np.ndarray, "users"]:
    """The ε of each user of a table with several rows per user, in order of first appearance.

    Args:
        table: with these columns.
        column: of ε.
        user: column of users.

    Raises:
        DataError: no such columns, a blank user, an ε that isn't a number from 1e-9 to 1e9, or that differs between
            rows of one user.
    """
    named = [
        column_of(table.name, table.header, one, given)
        for one, given in (("user", user), ("epsilon", column))
    ]
    people, budgets = table.columns(named)
    faults, names = Faults(table), Names("user")
    users = faults.read(people, names.__getitem__)
    epsilon = faults.read(budgets, epsilon_of, float)
    _, first = np.unique(users, return_index=True)
    found = epsilon[first]
    faults.where(
        epsilon != found[users],
        named[1],
        lambda row: (
            f"user {quoted(people.words[people.codes[row]])} has {found[users[row]]:g} and {epsilon[row]:g}: a "
            "ranking is drawn at one epsilon; write the same in all rows of a user"
        ),
    )
    faults.stop()
    return found
