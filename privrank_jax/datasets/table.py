"""A table of comparisons on the host: what a loader returns, before anything is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int, Integer

from privrank_jax._cells.codes import check_names
from privrank_jax._cells.errors import DataError
from privrank_jax._cells.meetings import Meetings, meetings_of_pairs
from privrank_jax._cells.public import NamedTable
from privrank_jax._counting import count_on_host

if TYPE_CHECKING:
    from privrank_jax.comparisons import Comparisons


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonTable(NamedTable):
    """N comparisons of m named items by n users, as NumPy arrays that nothing writes to.

    The list of items is public: it appears in the output of every release. A loader that had no
    public list says in ``notes`` that it took the items from the data.

    Attributes:
        users: (N,) int32, index into ``user_names`` (the row number when the data name no users).
        winners: (N,) int32, index into ``item_names``; for a tie the first item that was shown.
        losers: (N,) int32, the other item.
        tied: (N,) bool, the user preferred neither.
        item_names: the m names, in the public order of a named data set, else sorted.
        user_names: the n original user ids, or () when the data name no users; then each row stands
            for itself and only a guarantee per comparison can be given.
        name: name of the data set or file.
        questionnaire: (P, 2) int32, the pairs that *every* user was asked, when that is public;
            else None. It lists what was asked, not what was answered: see ``missing``.
        notes: what the loader did to the data (rows left out, a column turned), one sentence each; of the form of the
            data only, so that a private release may show them.
        reading: what was detected in the form of a file, rather than said by the caller; part of the notes, unless
            rows of users decide it, as the keys of JSON objects do.
        remarks: what the loader did, with what was counted in the data or depends on rows, for the data holder only.
        public: facts that this reading takes as public, by their names in a
            :class:`~privrank_jax.privacy.Guarantee`: ``"items"`` where the list of items was read off the data.
        weights: (N,) float64, at least 0, or None where each comparison counts once; :meth:`comparisons` has none.

    Raises:
        DataError: arrays that do not fit together, an index out of range, an item compared with
            itself, fewer than two items, or an item named twice.

    >>> users, winners, losers, tied = [0, 0, 1], [0, 1, 0], [1, 2, 2], [False, False, True]
    >>> table = ComparisonTable(users, winners, losers, tied, item_names=("a", "b", "c"))
    >>> table.num_items, table.num_users, table.comparisons_per_user, table.ties
    (3, 2, 2, 1)
    """

    users: Integer[np.ndarray, "rows"]
    winners: Integer[np.ndarray, "rows"]
    losers: Integer[np.ndarray, "rows"]
    tied: Bool[np.ndarray, "rows"]
    item_names: tuple[str, ...]
    user_names: tuple[str, ...] = ()
    name: str = ""
    questionnaire: Integer[np.ndarray, "pairs 2"] | None = None
    notes: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    weights: Float[np.ndarray, "rows"] | None = None

    def __post_init__(self) -> None:
        for field, dtype in (
            ("users", np.int32),
            ("winners", np.int32),
            ("losers", np.int32),
            ("tied", np.bool_),
        ):
            _freeze(self, field, np.array(getattr(self, field), dtype=dtype))
        if self.weights is not None:
            _freeze(self, "weights", np.array(self.weights, dtype=np.float64))
        if self.questionnaire is not None:
            pairs = np.array(self.questionnaire, dtype=np.int32).reshape(-1, 2)
            _freeze(self, "questionnaire", pairs)
        for field in ("item_names", "user_names", "notes", "reading", "remarks", "public"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        self._check()

    def _check(self) -> None:
        shapes = {a.shape for a in (self.users, self.winners, self.losers, self.tied)}
        if len(shapes) != 1 or self.users.ndim != 1:
            raise DataError(f"users, winners, losers and tied must share one shape (N,): {shapes}")
        if self.weights is not None:
            right = self.weights.shape == self.users.shape and np.all(np.isfinite(self.weights))
            if not right or self.weights.min(initial=0) < 0:
                raise DataError("weights must be finite numbers of at least 0, one for each row")
        check_names(self.item_names)
        items = np.concatenate([self.winners, self.losers])
        if self.questionnaire is not None:
            items = np.concatenate([items, self.questionnaire.ravel()])
        if items.size and (items.min() < 0 or items.max() >= self.num_items):
            raise DataError(f"items must be given as indices 0 to {self.num_items - 1}")
        if np.any(self.winners == self.losers):
            raise DataError("an item is compared with itself: remove that row")
        bound = len(self.user_names) or None
        if self.users.size and (self.users.min() < 0 or (bound and self.users.max() >= bound)):
            raise DataError("users must be indices into user_names")

    def __len__(self) -> int:
        return self.users.size

    @property
    def num_users(self) -> int:
        """Number n of users; those whose answers are all missing count too."""
        return len(self.user_names) or int(self.users.max(initial=-1)) + 1

    @property
    def counts_per_user(self) -> Int[np.ndarray, "users"]:
        """(n,) int64, comparisons of each user. Private: do not publish without noise."""
        return np.bincount(self.users, minlength=self.num_users)

    @property
    def comparisons_per_user(self) -> int:
        """The largest number of comparisons of one user, the smallest L that drops nothing."""
        return int(self.counts_per_user.max(initial=0))

    def meetings(self, items: Sequence[int]) -> Meetings:
        """How often each of these items was compared with each item, and how often it would be by chance.

        Args:
            items: k places of items.

        Returns:
            Two ``(k, m)`` arrays. Private.
        """
        return meetings_of_pairs(
            self.winners, self.losers, np.ones(len(self)), self.num_items, items
        )

    @property
    def ties(self) -> int:
        """Number of ties."""
        return int(self.tied.sum())

    def ties_of_pairs(self) -> Float[np.ndarray, "items items"]:
        """(m, m) symmetric, how many comparisons of each pair are ties. Private.

        >>> ComparisonTable([0, 0], [0, 1], [1, 0], [True, False], ("a", "b")).ties_of_pairs().tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        first, second = self.winners[self.tied], self.losers[self.tied]
        found = count_on_host(first, second, self.num_items, None, None)
        return found + found.T

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone was shown, or one row where the data name no users. Private."""
        return named_once(self.item_names, self.users, self.winners, self.losers)

    @property
    def missing(self) -> int | None:
        """Questions left unanswered, over all users; None without a questionnaire.

        The sensitivity 2 maxcut(G) of noisy counts holds while *which* questions a user answered is
        public. Where an answer may also vanish or appear, a pair inside a side of the cut can move
        the totals by 1, and the bound is maxcut(G) + P.
        """
        if self.questionnaire is None:
            return None
        return len(self.questionnaire) * self.num_users - len(self)

    def comparisons(self) -> Comparisons:
        """The same comparisons as a pytree of JAX arrays, no row masked."""
        import jax.numpy as jnp

        from privrank_jax.comparisons import Comparisons

        return Comparisons(
            users=jnp.asarray(self.users),
            winners=jnp.asarray(self.winners),
            losers=jnp.asarray(self.losers),
            tied=jnp.asarray(self.tied),
            mask=jnp.ones(len(self), dtype=bool),
            num_items=self.num_items,
        )


def named_once(names: tuple[str, ...], users: np.ndarray, *items: np.ndarray) -> tuple[str, ...]:
    """Items that stand in the rows of one user alone.

    Args:
        names: of the items.
        users: ``(N,)`` int.
        items: ``(N,)`` int each, index into ``names``; -1: none.

    >>> named_once(("a", "b", "c"), np.array([0, 0, 1]), np.array([0, 0, 0]), np.array([1, 1, -1]))
    ('b',)
    """
    some = np.full(len(names), -1)
    several = np.zeros(len(names), bool)
    for column in items:
        some[column[column >= 0]] = users[column >= 0]
    for column in items:
        several[column[(column >= 0) & (some[column] != users)]] = True
    return tuple(names[k] for k in np.flatnonzero((some >= 0) & ~several))


def _freeze(table: ComparisonTable, field: str, array: np.ndarray) -> None:
    array.setflags(write=False)
    object.__setattr__(table, field, array)
