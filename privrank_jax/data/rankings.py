"""Rankings, ratings and approvals of items by users; :mod:`privrank_jax.data.ballots` reads tables of them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from jaxtyping import Float, Int

from privrank_jax.data.errors import DataError
from privrank_jax.data.kinds import Data
from privrank_jax.data.names import check_names
from privrank_jax.data.places import places
from privrank_jax.data.roles import ApprovalRoles, RankingRoles, RatingRoles, reader_of

if TYPE_CHECKING:
    from privrank_jax.data.comparisons import Comparisons

MOST_CELLS = 2**28  # users times items: a GiB of ranks
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

    Other attributes are those of all data; each row is one user, also where none is named.

    Raises:
        DataError: no users, fewer than two items, an item named twice, or arrays that don't fit together.

    >>> found = Rankings([[1, 5, 2], [3, 3, -1]], item_names=("a", "b", "c"))
    >>> found.ranks.tolist(), found.num_users, found.complete, found.tied
    ([[0, 2, 1], [0, 0, -1]], 2, False, True)
    """

    ranks: Int[np.ndarray, "users items"]
    item_names: tuple[str, ...]
    missing: str = dataclasses.field(default="last", kw_only=True)
    whole: bool = dataclasses.field(default=False, kw_only=True)

    read = reader_of(RankingRoles)

    def __post_init__(self) -> None:
        super().__post_init__()
        ranks = np.array(self.ranks)
        if ranks.ndim != 2 or not ranks.size or not np.issubdtype(ranks.dtype, np.integer):
            raise DataError(
                f"ranks must be whole numbers of shape (users, items), got {ranks.dtype} {ranks.shape}"
            )
        if ranks.shape[1] != len(self.item_names):
            raise DataError(f"{ranks.shape[1]} columns of ranks, {len(self.item_names)} item names")
        check_names(self.item_names)
        if self.user_names and len(self.user_names) != len(ranks):
            raise DataError(f"{len(ranks)} rows of ranks, {len(self.user_names)} user names")
        if self.missing not in ("last", "unknown"):
            raise DataError(f"`missing` must be 'last' or 'unknown', got {self.missing!r}")
        self._freeze(ranks=places(ranks).before)

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
        return bool(np.all(self.ranks >= 0))

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone ranked. Private."""
        return self._once(self.ranks >= 0)

    def _once(self, named: np.ndarray) -> tuple[str, ...]:
        return tuple(self.item_names[k] for k in np.flatnonzero(np.sum(named, axis=0) == 1))

    @property
    def tied(self) -> bool:
        """Whether some user gave two items the same rank."""
        known = np.sum(self.ranks >= 0, axis=1)
        return bool(np.any(places(self.ranks).different < known))

    def comparisons(self) -> Comparisons:
        """The pairs of items that each user ranked, as comparisons of this user; items left out say nothing.

        A user who ranked k items has k(k - 1)/2 comparisons, which a guarantee for users must count as contributions.
        The twin of :func:`~privrank_jax.pairwise.break_rankings`, with ties. Where the rankings name no users, each row
        is one.

        Returns:
            Their comparisons, sorted by user.

        >>> found = Rankings([[1, 0, -1], [0, 0, 1]], item_names=("a", "b", "c")).comparisons()
        >>> found.winners.tolist(), found.losers.tolist(), found.tied.tolist()
        ([1, 0, 0, 1], [0, 1, 2, 2], [False, True, False, False])
        """
        from privrank_jax.data.comparisons import Comparisons

        first, second = np.triu_indices(self.num_items, 1)
        users, pairs = np.nonzero((self.ranks[:, first] >= 0) & (self.ranks[:, second] >= 0))
        one, other = first[pairs], second[pairs]
        ranks = self.ranks[users, one], self.ranks[users, other]
        ahead = ranks[0] <= ranks[1]
        said = {field.name: getattr(self, field.name) for field in dataclasses.fields(Data)}
        said["user_names"] = self.user_names or tuple(map(str, range(1, self.num_users + 1)))
        said |= {"notes": (_BROKEN, *self.notes), "reading": (*self.reading, _BROKEN)}
        return Comparisons(
            users=users,
            winners=np.where(ahead, one, other),
            losers=np.where(ahead, other, one),
            tied=ranks[0] == ranks[1],
            item_names=self.item_names,
            **said,
        )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Ratings(Rankings):
    """Ratings of m named items by n users, the larger the better; as rankings, equal ratings of one user are ties.

    Attributes:
        levels: (n, m) int32, place of each rating on the scale; -1: not rated.
        scale: (k,) float64, the distinct ratings, best first.
        ends: the least and the largest rating that there may be, which are public; None where nobody said.
    """

    levels: Int[np.ndarray, "users items"] = dataclasses.field(
        default_factory=lambda: np.zeros((0, 0), int), kw_only=True
    )
    scale: Float[np.ndarray, "levels"] = dataclasses.field(
        default_factory=lambda: np.zeros(0), kw_only=True
    )
    ends: tuple[float, float] | None = dataclasses.field(default=None, kw_only=True)

    read = reader_of(RatingRoles)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._freeze(levels=self.levels, scale=self.scale)

    @classmethod
    def of_levels(
        cls, levels: Int[np.ndarray, "users items"], scale: Float[np.ndarray, "levels"], **said: Any
    ) -> Self:
        """Ratings by their places on the scale; ``said`` are the other attributes of rankings."""
        return cls(levels, levels=levels, scale=scale, **said)

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


def ranks_from_orders(
    orders: Int[np.ndarray, "users places"], num_items: int
) -> Int[np.ndarray, "users items"]:
    """Order lists, item codes best first, into ranks; negative codes are places that were not filled.

    Args:
        orders: codes.
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
    at = np.broadcast_to(np.arange(orders.shape[1], dtype=np.int32), orders.shape)
    np.put_along_axis(ranks, np.where(orders < 0, num_items, orders), at, axis=1)
    ranks = ranks[:, :num_items]
    twice = np.sum(ranks >= 0, axis=1) != np.sum(orders >= 0, axis=1)
    if np.any(twice):
        raise DataError(f"row {int(np.argmax(twice)) + 1} of the orders names an item twice")
    return ranks
