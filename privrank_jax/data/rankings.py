"""Rankings, ratings and approvals of items by users; :mod:`privrank_jax.data.ballots` reads tables of them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from privrank_jax.data.errors import DataError
from privrank_jax.data.kinds import Data
from privrank_jax.data.names import public_items
from privrank_jax.data.roles import ApprovalRoles, RankingRoles, RatingRoles, reader_of

if TYPE_CHECKING:
    from privrank_jax.data.comparisons import Comparisons

_MOST_CELLS = 2**28  # users times items: a GiB of ranks
_BROKEN = (
    "each ranking of k items counts as the k(k - 1)/2 comparisons of its pairs, equal ranks as ties"
)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Rankings(Data):
    """The rankings of m named items by n users, one row each, as NumPy arrays that nothing writes to.

    Attributes:
        ranks: (n, m) int32: how many items the user ranked strictly before item i, so 0 = best; equal ranks
            are ties; -1: not ranked. Any whole numbers in this order may be given: they are renumbered.
        item_names: the m names, in the order of a public list, else sorted.
        missing: how these data treat an item that was not ranked: ``"last"`` (behind all that were) or
            ``"unknown"`` (nothing is known of it), as in :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`.
        whole: whether it is public, by the kind of file or the data set, that users rank all items.

    Raises:
        DataError: no users, fewer than two items, an item named twice, or arrays that don't fit together.

    >>> found = Rankings([[1, 5, 2], [3, 3, -1]], item_names=("a", "b", "c"))
    >>> found.ranks.tolist(), found.num_users, found.complete, found.tied
    ([[0, 2, 1], [0, 0, -1]], 2, False, True)
    """

    ranks: Int[np.ndarray, "users items"]
    item_names: tuple[str, ...]
    _: dataclasses.KW_ONLY
    missing: str = "last"
    whole: bool = False

    read = reader_of(RankingRoles)

    def __post_init__(self) -> None:
        super().__post_init__()
        public_items(self.item_names, self.name)
        ranks = np.array(self.ranks)
        shape = len(self.user_names) or len(ranks), len(self.item_names)
        if not ranks.size or ranks.shape != shape or not np.issubdtype(ranks.dtype, np.integer):
            got = f"got {ranks.dtype} {ranks.shape}"
            raise DataError(f"ranks must be whole numbers of shape (users, items) {shape}, {got}")
        if self.missing not in ("last", "unknown"):
            raise DataError(f"`missing` must be 'last' or 'unknown', got {self.missing!r}")
        self._freeze(ranks=before(ranks))

    @property
    def num_users(self) -> int:
        """Number n of users, including those who ranked nothing."""
        return len(self.ranks)

    @property
    def partial_users(self) -> int:
        """Number of users who did not rank all items. Private."""
        return int(np.sum(np.any(self.ranks < 0, axis=1)))

    @property
    def complete(self) -> bool:
        """Whether every user ranked every item."""
        return not self.partial_users

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone ranked. Private."""
        return self._once(self.ranks >= 0)

    def _once(self, named: np.ndarray) -> tuple[str, ...]:
        return tuple(self.item_names[k] for k in np.flatnonzero(np.sum(named, axis=0) == 1))

    @property
    def tied(self) -> bool:
        """Whether some user gave two items the same rank."""
        known = self.ranks >= 0
        number = np.sum(known, axis=1)  # without ties, their ranks are 0, 1, ..., number - 1
        return bool(np.any(2 * np.sum(self.ranks, axis=1, where=known) < number * (number - 1)))

    def comparisons(self) -> Comparisons:
        """The pairs of items that each user ranked, as comparisons of this user; items left out say nothing.

        A user who ranked k items has k(k - 1)/2 comparisons, which a guarantee for users must count as contributions.
        Where the rankings name no users, each row is one.

        >>> found = Rankings([[1, 0, -1], [0, 0, 1]], item_names=("a", "b", "c")).comparisons()
        >>> found.winners.tolist(), found.losers.tolist(), found.tied.tolist()
        ([1, 0, 0, 1], [0, 1, 2, 2], [False, True, False, False])
        """
        from privrank_jax.data.comparisons import Comparisons

        first, second = np.triu_indices(self.num_items, 1)
        users, pairs = np.nonzero((self.ranks[:, first] >= 0) & (self.ranks[:, second] >= 0))
        one, other = first[pairs], second[pairs]
        ranks = self.ranks[users, one], self.ranks[users, other]
        ahead, tied = ranks[0] <= ranks[1], ranks[0] == ranks[1]
        said = self.about(_BROKEN)
        said["user_names"] = self.user_names or tuple(map(str, range(1, self.num_users + 1)))
        pair = np.where(ahead, one, other), np.where(ahead, other, one)
        return Comparisons(users, *pair, tied, self.item_names, **said)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Ratings(Rankings):
    """Ratings of m named items by n users, the larger the better; as rankings, equal ratings of one user are ties.

    Attributes:
        levels: (n, m) int32, place of each rating on the scale; -1: not rated.
        scale: (k,) float64, the distinct ratings, best first.
        ends: the least and the largest rating that there may be, which are public; None where nobody said.
    """

    _: dataclasses.KW_ONLY
    levels: Int[np.ndarray, "users items"]
    scale: Float[np.ndarray, "levels"]
    ends: tuple[float, float] | None = None

    read = reader_of(RatingRoles)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._freeze(levels=self.levels, scale=self.scale)

    @property
    def ratings(self) -> Float[np.ndarray, "users items"]:
        """The ratings, (n, m) float64; NaN: not rated. Private."""
        return np.append(self.scale, np.nan)[self.levels]


class Approvals(Ratings):
    """Approvals of m named items by n users: ratings of 1 and 0, where that is public."""

    read = reader_of(ApprovalRoles)

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone approves of. Private."""
        return self._once(self.levels == 0)


def before(ranks: Int[np.ndarray, "users items"]) -> Int[np.ndarray, "users items"]:
    """Count the items of its row that are ranked strictly before an item, int32; -1 for blanks, which are negative."""
    keys = np.where(ranks < 0, np.iinfo(ranks.dtype).max, ranks)
    order = np.argsort(keys, axis=1, kind="stable")
    ordered = np.take_along_axis(keys, order, axis=1)
    starts = np.zeros(ranks.shape, np.int32)
    fresh = ordered[:, 1:] != ordered[:, :-1]
    starts[:, 1:] = np.where(fresh, np.arange(1, ranks.shape[1], dtype=np.int32), 0)
    found = np.empty(ranks.shape, np.int32)
    np.put_along_axis(found, order, np.maximum.accumulate(starts, axis=1), axis=1)
    return np.where(ranks < 0, np.int32(-1), found)


def check_size(name: str, users: int, items: int) -> None:
    """Raise :class:`DataError` for too few users or items, or too many, in a file of this name."""
    if not users or items < 2:
        raise DataError(
            f"{name} has {users} ballots of {items} items: a ranking needs rows, and at least two items"
        )
    if users * items > _MOST_CELLS:
        raise DataError(
            f"{name}: {users:,} users times {items:,} items is more than is held in memory ({_MOST_CELLS:,})"
        )


def ranks_from_orders(
    orders: Int[np.ndarray, "users places"], num_items: int
) -> Int[np.ndarray, "users items"]:
    """Order lists, item codes best first, into ranks; negative codes are places that were not filled."""
    ranks = np.full((len(orders), num_items), -1, np.int32)
    rows, places = np.nonzero(orders >= 0)
    ranks[rows, orders[rows, places]] = places
    return ranks
