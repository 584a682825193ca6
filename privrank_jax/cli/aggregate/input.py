"""From the FILE argument of ``privrank aggregate`` to rankings."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privrank_jax import datasets
from privrank_jax._cells.columns import PARQUET
from privrank_jax._cells.names import did_you_mean
from privrank_jax.cli.aggregate.command import Request
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core.spending import users_of
from privrank_jax.cli.rank.input import Entropy, item_list, named_column, private_remarks

if TYPE_CHECKING:
    from privrank_jax.tables import RankingRows

MAX_ITEMS = 2_000


@dataclasses.dataclass(frozen=True)
class Input:
    """Rankings, ready for a release.

    Attributes:
        table: as the loader read it, ``missing`` as asked for; where a curator releases what is in a Parquet file,
            the rows in the engine, which holds them.
        votes: ranks ``(n, m)``, or their pairwise weights, which are all that a curator looks at.
        complete: whether everybody knows that all users ranked all items: by the kind of file, or the data set.
        users: what one user is, for the guarantee.
        remarks: for the data holder; not covered by the guarantee.
        entropy: keys.
    """

    table: datasets.RankingTable | RankingRows
    votes: Any
    complete: bool
    users: str
    remarks: tuple[str, ...]
    entropy: Entropy

    @property
    def rule(self) -> str:
        """What the table takes an item that was not ranked for, in words."""
        if self.table.missing == "last":
            return (
                "an item that a user did not rank counts as behind all that the user ranked "
                "(--missing last)"
            )
        return (
            "of pairs with an item that a user did not rank, that user gives both half a vote "
            "(--missing unknown)"
        )


def read_input(request: Request) -> Input:
    """Read a file or a named data set.

    Raises:
        Refusal, DataError: what is wrong, and what to do.
    """
    columns = {"user": request.user, "item": request.item, "rank": request.rank}
    parquet = Path(request.source).suffix.lower() in PARQUET
    central = request.trust == "central" or request.method == "none"
    read = _scan_ranking_table if parquet and central else read_ranking_table
    table = read(
        request.source, columns, request.items, num_users=request.users, cells=request.cells
    )
    if table.num_items > MAX_ITEMS:
        raise Refusal(
            f"{table.name} has {table.num_items:,} items; this command keeps a table of all pairs and takes at "
            f"most {MAX_ITEMS:,}."
        )
    if request.missing is not None:
        table = dataclasses.replace(table, missing=request.missing)
    if isinstance(table, datasets.RankingTable):
        votes, partial = table.ranks, int(np.sum(np.any(table.ranks < 0, axis=1)))
    else:
        votes, partial = table.weights(), table.partial_users
    remarks = private_remarks(table)
    if partial and request.missing is None:
        other = "unknown" if table.missing == "last" else "last"
        remarks += (
            f"{partial:,} of {table.num_users:,} users did not rank all items, which is taken as {table.missing}; "
            f"--missing {other} is the other rule. (For you alone: this is not covered by the guarantee.)",
        )
    known = request.source in datasets.available_rankings()
    known = known or Path(request.source).suffix.lower() in (".soc", ".toc")
    users = users_of(request.source, request.user)
    entropy = Entropy(request.simulate, request.seed)
    return Input(table, votes, known and not partial, users, remarks, entropy)


def read_ranking_table(
    source: str,
    columns: dict[str, str | None],
    items: str | None,
    ignore: Collection[str] = (),
    num_users: int | None = None,
    cells: str | None = None,
) -> datasets.RankingTable:
    """A file or a named data set; ``columns`` and ``items`` are the options as given.

    Args:
        source: FILE.
        columns: ``user``, ``item`` and ``rank`` to column; None where the option was left out.
        items: ``--items``.
        ignore: columns that hold no item's ranks.
        num_users: ``--users``.
        cells: of :func:`~privrank_jax.cli.options.cells`.
    """
    known = datasets.available_rankings()
    if source in known:
        given = [f"--{role}" for role, column in columns.items() if column is not None]
        given += ["--items"] if items is not None else []
        given += ["--users"] if num_users is not None else []
        given += [] if cells is None else ["--ranks" if cells == "ranks" else "--higher-is-better"]
        if given:
            raise Refusal(
                f"{source} is a named data set with its own columns, items and users: leave out {', '.join(given)}."
            )
        return datasets.load_rankings(source)
    path = Path(source)
    if not path.suffix and not path.exists():
        if source in datasets.available():
            raise Refusal(
                f"{source} holds comparisons, not rankings: privrank rank {source} ranks its items."
            )
        raise Refusal(
            f"{source!r} is neither a file nor a named data set{did_you_mean(source, known)}; the named ones are "
            f"{', '.join(known)}."
        )
    roles = _roles(columns, items)
    return datasets.read_rankings(path, ignore=ignore, num_users=num_users, cells=cells, **roles)


def _scan_ranking_table(
    source: str,
    columns: dict[str, str | None],
    items: str | None,
    num_users: int | None = None,
    cells: str | None = None,
) -> RankingRows:
    """A Parquet file, however large; arguments as of :func:`read_ranking_table`."""
    from privrank_jax.tables import scan_rankings

    roles = _roles(columns, items)
    return scan_rankings(
        Path(source), most_items=MAX_ITEMS, num_users=num_users, cells=cells, **roles
    )


def _roles(columns: dict[str, str | None], items: str | None) -> dict[str, Any]:
    """The options of columns and items as arguments of a loader."""
    return {
        "user": named_column(columns["user"] or None, "user"),
        "item": columns["item"],
        "rank": columns["rank"],
        "items": None if items is None else item_list(items),
    }
