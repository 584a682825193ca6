"""What all data of named items and users have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from privrank_jax.data.columns import checksum
from privrank_jax.data.file import Origin
from privrank_jax.data.likeness import users_alike

Meetings = tuple[Float[np.ndarray, "some items"], Float[np.ndarray, "some items"]]

SEEN_ITEMS = "the list of items was taken from the file and is treated as public"
NO_USERS = "the file names no users: only a guarantee per comparison is possible"


_ABOUT = {"name", "notes", "reading", "remarks", "public", "origin", "users_are"}  # and no content


class Data:
    """Data of users on named items; their dataclasses take ``__repr__`` from here, which shows nothing of answers.

    Attributes:
        item_names: the m names; public.
        user_names: names of the users, or () when the data name none.
        name: of the file, or of the data.
        origin: where they come from; None for data made in Python.
    """

    item_names: tuple[str, ...]
    user_names: tuple[str, ...]
    name: str
    origin: Origin | None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {self.num_items} items; users and answers not shown>"

    @property
    def num_items(self) -> int:
        """Number m of items, whether users were asked about them or not."""
        return len(self.item_names)

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


def public_facts(*, seen_items: bool, seen_users: bool = False) -> tuple[str, ...]:
    """Facts that reading takes as public: items, and who took part, where users' rows say them."""
    return ("items",) * seen_items + ("participation",) * seen_users


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


def meetings_of_sets(sets: Bool[np.ndarray, "sets items"], items: Sequence[int]) -> Meetings:
    """In how many sets each of some items is together with each item, and in how many it would be by chance."""
    once = np.sum(sets, axis=0, dtype=float)
    met = (sets[:, list(items)].T.astype(np.float32) @ sets).astype(float)
    return met, np.outer(once[list(items)], once) / max(len(sets), 1)


def meetings_of_pairs(
    one: Int[np.ndarray, "rows"],
    other: Int[np.ndarray, "rows"],
    number: Shaped[np.ndarray, "rows"],
    num_items: int,
    items: Sequence[int],
) -> Meetings:
    """How often each of some items met each item, and how often it would if each item drew its opponents by chance.

    Args:
        one, other: the items of a pair.
        number: how often they met.
        num_items: m.
        items: k places of items.
    """
    met = np.zeros((len(items), num_items))
    for row, item in enumerate(items):
        met[row] += np.bincount(other[one == item], number[one == item], num_items)
        met[row] += np.bincount(one[other == item], number[other == item], num_items)
    once = np.bincount(one, number, num_items) + np.bincount(other, number, num_items)
    return met, np.outer(once[list(items)], once) / max(once.sum(), 1)
