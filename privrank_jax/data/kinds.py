"""What all data of named items and users have in common."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Int

from privrank_jax.data.columns import checksum
from privrank_jax.data.errors import DataError, listed
from privrank_jax.data.file import Origin
from privrank_jax.data.names import users_alike

SEEN_ITEMS = "the list of items was taken from the file and is treated as public"
NO_USERS = "the file names no users: only a guarantee per comparison is possible"
ITEMS, USERS = "items", "users"  # what a release needs somebody to declare

# Attributes that are no content.
_ABOUT = {"name", "notes", "reading", "remarks", "public", "origin", "users_are", "undeclared"}


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Data:
    """Data of users on named items; what they say of themselves. Their text shows nothing of answers.

    Attributes:
        item_names: the m names; public.
        user_names: names of the users, or () when the data name none.
        name: of the file, or of the data.
        notes: what the reader did, one sentence each; of the form of the data only, so that a release may show them.
        reading: what was detected in the form of a file, rather than said by the caller; part of the notes, unless
            rows of users decide it, as the keys of JSON objects do.
        remarks: what was counted in the data or depends on rows, for the data holder only.
        public: facts that this reading takes as public, by their names in a
            :class:`~privrank_jax.privacy.Guarantee`: ``"items"`` where the list of items was read off the data,
            ``"participation"`` where users who said nothing leave no trace.
        users_are: what one user is, such as ``"column 'user'"``; "" where the data name none.
        undeclared: what a private release still needs: ``"items"`` where nobody said that their names are public,
            ``"users"`` where nobody said whose answers a row holds.
        origin: where they come from; None for data made in Python.
    """

    user_names: tuple[str, ...] = ()
    name: str = ""
    notes: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    users_are: str = ""
    undeclared: tuple[str, ...] = ()
    origin: Origin | None = None

    def __post_init__(self) -> None:
        for field in ("item_names", "user_names", "notes", "reading", "remarks", "public"):
            object.__setattr__(self, field, tuple(getattr(self, field)))

    def _freeze(self, **arrays: np.ndarray) -> None:
        """Keep arrays that nothing writes to."""
        for field, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, field, array)

    @property
    def _names(self) -> tuple[str, ...]:
        return vars(self)["item_names"]  # a field of each kind, at its own place

    def check_declared(self) -> None:
        """Refuse a private release of data of which something is undeclared, and say what to declare.

        Raises:
            DataError: with the items, for their holder.
        """
        if ITEMS in self.undeclared:
            some, number = listed(self._names, 1000), len(self._names)
            raise DataError(
                f"{self.name}: a release publishes the names of its items, and nobody has said that these {number} are "
                f"public. If they are, say items='seen', or list those that are: items=[{some}]"
            )
        if USERS in self.undeclared:
            raise DataError(
                f"{self.name}: it has no column 'user', and a release must know whose answers a row holds: name the "
                "column by `user`, or say user=None if each row is another user's"
            )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {self.num_items} items; users and answers not shown>"

    @property
    def num_items(self) -> int:
        """Number m of items, whether users were asked about them or not."""
        return len(self._names)

    @property
    def users_alike(self) -> tuple[tuple[str, str], ...]:
        """Pairs of users whose names differ by case or accents alone. Private."""
        return tuple(users_alike(self.user_names))

    @property
    def has_users(self) -> bool:
        """Whether the data name users; if not, a guarantee can only cover single rows."""
        return bool(self.user_names)

    @property
    def sha256(self) -> str:
        """Checksum of the content, by which a ledger knows the data; "" of a table of an engine.

        It is that of the file or the data frame that was read, with the columns that were not, or of the data
        themselves where they were made in Python.

        Raises:
            DataError: the file has changed since it was read.
        """
        if self.origin is not None:
            return self.origin.sha256
        return checksum({name: value for name, value in vars(self).items() if name not in _ABOUT})


def counted_note(column: str) -> str:
    """What a column of counts is taken for, in words that depend on its name alone."""
    return f"each row counts as often as column {column!r} says"


def named_once(
    names: tuple[str, ...], users: Int[np.ndarray, "rows"], *items: Int[np.ndarray, "rows"]
) -> tuple[str, ...]:
    """Items that stand in the rows of one user alone.

    Args:
        names: of the items.
        users: of each row.
        items: of each row, index into ``names``; -1: none.

    >>> named_once(("a", "b", "c"), np.array([0, 0, 1]), np.array([0, 0, 0]), np.array([1, 1, -1]))
    ('b',)
    """
    some, several = np.full(len(names), -1), np.zeros(len(names), bool)
    for column in items:
        some[column[column >= 0]] = users[column >= 0]
    for column in items:
        several[column[(column >= 0) & (some[column] != users)]] = True
    return tuple(names[k] for k in np.flatnonzero((some >= 0) & ~several))
