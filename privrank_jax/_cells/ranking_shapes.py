"""Tables of rankings, wide or long: roles of columns, and checks of the table as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from privrank_jax._arguments import value_of
from privrank_jax._cells.codes import item_list, public_items
from privrank_jax._cells.columns import SEPARATOR, perhaps_a_title
from privrank_jax._cells.errors import ITEMS, BadCell, DataError
from privrank_jax._cells.metadata import check_no_metadata
from privrank_jax._cells.names import did_you_mean, form, place_of
from privrank_jax._cells.outcomes import battle_of
from privrank_jax._cells.ranks import is_number, user_or_items, who_ranked

SYNTHETIC = "synthetic_epsilon"  # column of ε that marks synthetic rankings, never an item


def is_long(name: str, header: Sequence[str], item: str | None, rank: str | None) -> bool:
    """Whether a file has a row for each user and item; :class:`DataError` where it holds comparisons."""
    forms = set(map(form, header))
    if {"winner", "loser"} <= forms:
        raise DataError(
            f"{name} holds comparisons (columns winner and loser), not rankings: rank it with "
            "`privrank rank`, read it with datasets.read_comparisons"
        )
    return item is not None or rank is not None or {"item", "rank"} <= forms


def could_be_items(header: Sequence[str], user: str | None) -> int:
    """How many columns of a wide file could hold ranks: no rank is larger."""
    return sum(column != user for column in header)


def not_an_item(error: BadCell, column: str | None, user: str | None) -> BadCell:
    """The error with what to do where a cell is not a rank because its column is not an item."""
    if user is None and column is not None:
        hint, named = who_ranked(column), user_or_items(column)
    else:
        hint, named = f"If this column is not an item, name the {ITEMS}", (ITEMS,)
    return BadCell(f"{error}. {hint}", *error.arguments, *named)


def not_a_row(error: BadCell, cells: Sequence[str | None]) -> BadCell:
    """The error with what to do where most cells of the line are words, as in a second header."""
    filled = [cell for cell in cells if cell and cell.strip()]
    if 2 * sum(map(is_number, filled)) >= len(filled):
        return error
    hint = "If this line repeats or explains the header, remove it"
    return BadCell(f"{error}. {hint}", *error.arguments)


def check_shape(name: str, header: Sequence[str]) -> None:
    """Raise :class:`DataError` where the columns of a file are places, or one that nothing separates."""
    found = {column: place_of(column) for column in header}
    places = [column for column, place in found.items() if place is not None]
    if {1, 2} <= set(found.values()) or {0, 1} <= set(found.values()):
        raise DataError(
            f"{name}: its columns {', '.join(map(repr, places[:3]))}, ... are places, so its cells are items, "
            "best first, and they are read so where each place from the first on has one column; here they are not. "
            f"If the columns are items nevertheless, list the {ITEMS}",
            ITEMS,
        )
    if len(header) == 1:
        raise DataError(
            f"{name}: the only column is {header[0]!r}; a file of rankings has one column per item with ranks in it, "
            f"or columns user, item and rank. Separate cells by commas, semicolons or tabs, or say {SEPARATOR}"
            f"{perhaps_a_title(header)}",
            SEPARATOR,
        )
    if battle := battle_of(header):
        raise DataError(
            f"{name} seems to hold comparisons (columns {', '.join(map(repr, battle))}), not rankings: rank it with "
            f"`privrank rank`, read it with datasets.read_comparisons. If its columns are items, list the {ITEMS}",
            ITEMS,
        )


def check_rows_of_users(name: str, header: Sequence[str], user: str | None, listed: bool) -> None:
    """A file with a row per user must name them, unless the caller says that each row is a different user."""
    if user == "user" and "user" not in header:
        near = did_you_mean(user, [c for c in header if user in c.casefold()])
        named, none = value_of("user", "COLUMN"), value_of("user", None)
        raise DataError(
            f"{name}: no column 'user'{near}; the columns are {', '.join(map(repr, header))}. Name the column that "
            f"says who ranked, {named}, or say {none}: then each row is a different user"
            f"{perhaps_a_title(header)}",
            named,
            none,
        )
    if user is None and "user" in header and not listed:
        none = value_of("user", None)
        raise DataError(
            f"{name}: its column 'user' would be ranked as an item: leave out {none}, or list the {ITEMS}",
            none,
            ITEMS,
        )


def check_items_by_name(name: str, header: Sequence[str], user: str | None) -> None:
    """Raise :class:`DataError` where a column that would be an item, as no list says which are, has another name.

    Files of synthetic rankings, of which all columns are items, are read without this.
    """
    check_shape(name, header)
    check_rows_of_users(name, header, user, listed=False)
    check_no_metadata(name, [column for column in header if column != user], user)


def item_columns(
    name: str, header: Sequence[str], user: str | None, public: tuple[str, ...] | None
) -> tuple[str, ...]:
    """The columns of a wide file that hold the ranks of an item; :class:`DataError` where there are none."""
    if public is None:
        check_shape(name, header)
    check_rows_of_users(name, header, user, listed=public is not None)
    if public is not None:
        for column in public:
            if column not in header:
                raise DataError(
                    f"{name}: no column for the item {column!r}{did_you_mean(column, header)}; the columns are "
                    f"{', '.join(map(repr, header))}"
                )
        return public
    columns = item_list(column for column in header if column != user)
    if not all(column.strip() for column in columns):
        raise DataError(
            f"{name}: a column has no name (row numbers that a program wrote?): name or remove it, or list the "
            f"{ITEMS}{perhaps_a_title(header)}",
            ITEMS,
        )
    if len(columns) == 1:
        raise DataError(
            f"{name}: there is one item, {columns[0]!r}, and a ranking needs at least two; a file of rankings has one "
            "column per item with ranks in it, or columns user, item and rank"
        )
    try:
        return public_items(columns)
    except DataError as error:
        raise DataError(f"{name}: {str(error).removeprefix('items: ')}") from None


def ranked_nothing(item: str | None, rank: str | None) -> bool:
    """Whether a row of a long file only names a user, with neither item nor rank."""
    return not (item or "").strip() and not (rank or "").strip()


def check_no_words(name: str, blank: Iterable[str]) -> None:
    """Raise :class:`DataError` if words are to name no item where cells name none anyway."""
    if words := list(blank):
        said = value_of("blank", words)
        raise DataError(f"{name}: its cells are no names of items: leave out {said}", said)


def count_users(name: str, seen: int, stated: int | None) -> int:
    """Return n; :class:`DataError` if more users were seen than were stated."""
    if stated is not None and seen > stated:
        raise DataError(
            f"{name} has rows of more users than the {stated:,} that were stated: give the number of all users who "
            "were asked, those included who ranked nothing"
        )
    return seen if stated is None else stated


def check_lists_users(name: str, stated: int | None) -> None:
    """Raise :class:`DataError` if the number of users is given for a file that has a row for each."""
    if stated is not None:
        raise DataError(
            f"{name} has a row for every user, also for those who ranked nothing: leave out the number of users"
        )


def user_of_rows(name: str, user: str | None) -> str:
    """Return the column of users of a long file, which needs one."""
    if user is None:
        raise DataError(
            f"{name}: rows of one item each need a column of users, or it is unclear which belong together"
        )
    return user


def check_own_rows(name: str, count: str | None, user: str | None, *, long: bool = False) -> None:
    """Refuse to count a row as several users where a column says whose it is."""
    if count is not None and (user is not None or long):
        said, none = value_of("count", count), value_of("user", None)
        raise DataError(
            f"{name}: {said} says how many users gave the ranking of a row, and a user has one ranking: say {none}, "
            "for a file with a whole ranking in each row, or leave it out",
            said,
            none,
        )


def two_rows(user: str | None) -> BadCell:
    """The message on two rows of one user in a wide file."""
    return BadCell(f"user {user!r} has two rows: keep one ranking per user")


def ranked_twice(user: str | None, item: str | None) -> BadCell:
    """The message on two ranks of one item by a user in a long file."""
    return BadCell(f"user {user!r} ranks {item!r} twice: keep one row")


def check_enough(name: str, users: int, items: int) -> None:
    """Raise :class:`DataError` if there is nothing to rank."""
    if not users:
        raise DataError(f"{name} has no rows below its header: there is nothing to rank")
    if items < 2:
        raise DataError(f"{name}: a ranking needs at least two items, found {items}")
