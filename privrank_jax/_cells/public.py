"""Notes of readers on a table: public facts, and nothing that depends on who answered what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from privrank_jax._cells.likeness import users_alike

_SEEN_ITEMS = "the list of items was taken from the file and is treated as public"
_COLUMNS = "the items are the columns of the file, which is taken for a form that does not depend on anyone's answers"
_NO_USERS = "the file names no users: only a guarantee per comparison is possible"
_ONE_ROW_EACH = "the file names no users: each row is taken for all that one user ranked"


@runtime_checkable
class _Table(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def num_items(self) -> int: ...


def public_repr(self: _Table) -> str:
    """``__repr__`` of a table of users, as in a log or a notebook: nothing that depends on who answered what."""
    return f"<{type(self).__name__} {self.name!r}, {self.num_items} items; users and answers not shown>"


class NamedTable:
    """What tables of named items and users have in common; their dataclasses take ``__repr__`` from here.

    Attributes:
        item_names: the m names.
        user_names: names of the users, or () when the data name none.
        name: of the file.
    """

    item_names: tuple[str, ...]
    user_names: tuple[str, ...]
    name: str

    __repr__ = public_repr

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


def notes_on_comparisons(positions: Mapping[str, int], *, seen_items: bool) -> tuple[str, ...]:
    """Notes on a file of comparisons: where items come from, and whether it has users."""
    return (_SEEN_ITEMS,) * seen_items + (_NO_USERS,) * ("user" not in positions)


def public_facts(*, seen_items: bool, seen_users: bool = False) -> tuple[str, ...]:
    """Facts that reading a file takes as public: items, and who took part, where users' rows say them."""
    return ("items",) * seen_items + ("participation",) * seen_users


def notes_on_rankings(
    positions: Mapping[str, int], *, seen_items: bool, in_columns: bool
) -> tuple[str, ...]:
    """Notes on a file of rankings: where items come from, and whether it has users.

    Args:
        positions: from roles to positions of columns.
        seen_items: whether no list of items was given.
        in_columns: whether the items are columns of a form. Whatever one user answers, such a file keeps its columns,
            so its list of items is no fact that neighbors share beyond the adjacency, as one seen in answers is.
    """
    items = (_COLUMNS if in_columns else _SEEN_ITEMS,) * seen_items
    each = _ONE_ROW_EACH.replace("row", "ranking") if "count" in positions else _ONE_ROW_EACH
    return items + (each,) * ("user" not in positions)


def not_used(ignored: Sequence[str]) -> tuple[str, ...]:
    """A note on the columns that were not read."""
    return ("columns not used: " + ", ".join(ignored),) * bool(ignored)
