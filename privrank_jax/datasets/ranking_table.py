"""A table of rankings on the host: what a loader of rankings returns, before anything is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from privrank_jax._cells.codes import check_names
from privrank_jax._cells.errors import DataError
from privrank_jax._cells.meetings import Meetings, meetings_of_sets
from privrank_jax._cells.places import places
from privrank_jax._cells.public import NamedTable

MOST_CELLS = 2**28  # users times items: a GiB of ranks


@dataclass(frozen=True, eq=False, repr=False)
class RankingTable(NamedTable):
    """The rankings of m named items by n users, one row each, as NumPy arrays that nothing writes to.

    The list of items is public: it appears in the output of every release.

    Attributes:
        ranks: (n, m) int32: how many items the user ranked strictly before item i, so 0 = best; equal ranks
            are ties; -1: not ranked. Any whole numbers in this order may be given: they are renumbered.
        item_names: the m names, in the order of a public list, else sorted.
        user_names: the n original user ids, or () when the data name no users; each row is one user anyway.
        name: name of the data set or file.
        missing: how these data treat an item that was not ranked: ``"last"`` (behind all that were) or
            ``"unknown"`` (nothing is known of it), as in :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`.
        notes: what the loader did, one sentence each; on the form of the data only, so that a private release may show
            them.
        reading: what was detected in the form of a file, rather than said by the caller; part of the notes, unless
            rows of users decide it, as the keys of JSON objects do.
        remarks: the same including what was counted in the data or depends on rows, for the data holder only.
        public: facts that this reading takes as public, by their names in a
            :class:`~privrank_jax.privacy.Guarantee`: ``"items"`` where the list of items was read off the rows,
            ``"participation"`` where users who ranked nothing leave no trace.

    Raises:
        DataError: no users, fewer than two items, an item named twice, or arrays that don't fit together.

    >>> table = RankingTable([[1, 5, 2], [3, 3, -1]], item_names=("a", "b", "c"))
    >>> table.ranks.tolist(), table.num_users, table.complete, table.tied
    ([[0, 2, 1], [0, 0, -1]], 2, False, True)
    """

    ranks: Int[np.ndarray, "users items"]
    item_names: tuple[str, ...]
    user_names: tuple[str, ...] = ()
    name: str = ""
    missing: str = "last"
    notes: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    public: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ranks = np.array(self.ranks)
        if ranks.ndim != 2 or not ranks.size or not np.issubdtype(ranks.dtype, np.integer):
            raise DataError(
                f"ranks must be whole numbers of shape (users, items), got {ranks.dtype} {ranks.shape}"
            )
        for field in ("item_names", "user_names", "notes", "reading", "remarks", "public"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if ranks.shape[1] != len(self.item_names):
            raise DataError(f"{ranks.shape[1]} columns of ranks, {len(self.item_names)} item names")
        check_names(self.item_names)
        if self.user_names and len(self.user_names) != len(ranks):
            raise DataError(f"{len(ranks)} rows of ranks, {len(self.user_names)} user names")
        if self.missing not in ("last", "unknown"):
            raise DataError(f"missing must be 'last' or 'unknown', got {self.missing!r}")
        ranks = places(ranks).before
        ranks.setflags(write=False)
        object.__setattr__(self, "ranks", ranks)

    @property
    def num_users(self) -> int:
        """Number n of users, including those who ranked nothing."""
        return len(self.ranks)

    @property
    def complete(self) -> bool:
        """Whether every user ranked every item."""
        return bool(np.all(self.ranks >= 0))

    def meetings(self, items: Sequence[int]) -> Meetings:
        """How many users ranked each of these items together with each item, and how many would by chance.

        Args:
            items: k places of items.

        Returns:
            Two ``(k, m)`` arrays. Private.
        """
        return meetings_of_sets(self.ranks >= 0, items)

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone ranked. Private."""
        once = np.flatnonzero(np.sum(self.ranks >= 0, axis=0) == 1)
        return tuple(self.item_names[k] for k in once)

    @property
    def tied(self) -> bool:
        """Whether some user gave two items the same rank."""
        known = np.sum(self.ranks >= 0, axis=1)
        return bool(np.any(places(self.ranks).different < known))


def ranks_from_orders(orders: np.ndarray, num_items: int) -> np.ndarray:
    """Order lists, item codes best first, into ranks; negative codes are places that were not filled.

    Args:
        orders: (n, k) int.
        num_items: m.

    Raises:
        DataError: an item in two places of one row, or a code out of range; says in which row.

    >>> ranks_from_orders(np.array([[2, 0, -1]]), 3).tolist()
    [[1, -1, 0]]
    """
    orders = np.asarray(orders)
    ranks = np.full((len(orders), num_items + 1), -1, np.int32)
    if orders.size and orders.max() >= num_items:
        row = int(np.argmax(orders.max(axis=1) >= num_items))
        raise DataError(
            f"row {row + 1} of the orders names an item beyond the {num_items} there are"
        )
    places = np.broadcast_to(np.arange(orders.shape[1], dtype=np.int32), orders.shape)
    np.put_along_axis(ranks, np.where(orders < 0, num_items, orders), places, axis=1)
    ranks = ranks[:, :num_items]
    twice = np.sum(ranks >= 0, axis=1) != np.sum(orders >= 0, axis=1)
    if np.any(twice):
        raise DataError(f"row {int(np.argmax(twice)) + 1} of the orders names an item twice")
    return ranks
