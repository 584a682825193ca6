"""What all data of named items and users have in common."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Int, Integer

from privrank_jax.data.errors import DataError, listed
from privrank_jax.data.file import Origin, checksum
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
        user_names: or () when the data name no users.
        name: of the file, or of the data.
        notes: sentences on what the reader did, by the form of the data only, so that a release may show them.
        reading: what was detected in the form of a file; part of the notes, unless rows of users decide it.
        remarks: what was counted in the data or depends on rows, for the data holder only.
        public: facts taken as public, by their names in a :class:`~privrank_jax.privacy.Guarantee`.
        users_are: what one user is, such as ``"column 'user'"``; "" where the data name none.
        undeclared: what a private release still needs, ``"items"`` or ``"users"``.
        origin: where they come from; None for data made in Python.

    ``public`` has ``"items"`` where their list was read off the data, and ``"participation"`` where users who said
    nothing leave no trace. ``undeclared`` has ``"items"`` where nobody said that their names are public, and
    ``"users"`` where nobody said whose answers a row holds.
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

    def about(self, *notes: str) -> dict[str, Any]:
        """What data that are made of these say of themselves: the same, and these notes."""
        said = {field.name: getattr(self, field.name) for field in dataclasses.fields(Data)}
        return said | {"notes": (*notes, *self.notes), "reading": (*self.reading, *notes)}

    def check_declared(self) -> None:
        """Raise :class:`DataError` on a private release of data of which something is undeclared: what to declare."""
        names = vars(self)["item_names"]  # a field of each kind, at its own place
        if ITEMS in self.undeclared:
            raise DataError(
                f"{self.name}: a release publishes the names of its items, and nobody has said that these are public. "
                f"If they are, say items='seen', or list those that are: items=[{listed(names, 1000)}]"
            )
        if USERS in self.undeclared:
            raise DataError(
                f"{self.name}: a release must know whose answers a row holds: name the column of users by `user`, or "
                "say user=None if each row is another user's"
            )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {self.num_items} items; users and answers not shown>"

    @property
    def num_items(self) -> int:
        """Number m of items, whether users were asked about them or not."""
        return len(vars(self)["item_names"])

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
        """Checksum by which a ledger knows the data: of the file or table that was read, else of the content."""
        if self.origin is not None:
            return self.origin.sha256
        return checksum({name: value for name, value in vars(self).items() if name not in _ABOUT})


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Answers(Data):
    """Data with several rows of a user: ``users`` are (N,), index into ``user_names``, or the row number."""

    users: Integer[np.ndarray, "rows"]

    def __len__(self) -> int:
        return self.users.size

    @property
    def num_users(self) -> int:
        """Number n of users; those whose answers are all missing count too."""
        return len(self.user_names) or int(self.users.max(initial=-1)) + 1

    @property
    def counts_per_user(self) -> Int[np.ndarray, "users"]:
        """(n,) int64, rows of each user. Private: do not publish without noise."""
        return np.bincount(self.users, minlength=self.num_users)

    @property
    def comparisons_per_user(self) -> int:
        """The largest number of rows of one user, the smallest L that drops nothing."""
        return int(self.counts_per_user.max(initial=0))


def named_once(
    names: tuple[str, ...], users: Int[np.ndarray, "rows"], *items: Int[np.ndarray, "rows"]
) -> tuple[str, ...]:
    """Items that stand in the rows of one user alone; ``items`` are indices into ``names``, -1: none."""
    every, who = np.concatenate(items), np.tile(users, len(items))
    some = np.full(len(names) + 1, -1)
    some[every] = who
    rare = np.isin(np.arange(len(names)), every)
    rare[every[(every >= 0) & (some[every] != who)]] = False
    return tuple(names[k] for k in np.flatnonzero(rare))
