"""Tables of items, best first: in a column per place (``rank_1, rank_2, ...``), or in a text such as ``A>B=C``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from privrank_jax._arguments import value_of
from privrank_jax._cells.columns import spelled_in
from privrank_jax._cells.errors import ITEMS, BadCell, DataError
from privrank_jax._cells.names import MISSING, form, place_of

_USUAL = ("order", "ranking", "ballot", "preference order", "preferences")
_NUMBER = re.compile(r"\s*[0-9]+(\.[0-9]*)?\s*", re.ASCII)


def place_columns(header: Sequence[str]) -> tuple[str, ...]:
    """The columns of places 1, 2, ... or 0, 1, ..., the best first; none where there is a gap, or a place twice.

    >>> place_columns(["user", "Rank_2", "Rank_1"]), place_columns(["rank_1", "rank_3"])
    (('Rank_1', 'Rank_2'), ())
    """
    found = {column: place for column in header if (place := place_of(column)) is not None}
    order = sorted(found, key=found.__getitem__)
    places = [found[column] for column in order]
    if len(places) < 2 or len(found) != sum(place_of(column) is not None for column in header):
        return ()
    return tuple(order) if places in (_from(1, places), _from(0, places)) else ()


def _from(first: int, places: Sequence[int]) -> list[int]:
    return list(range(first, first + len(places)))


def order_columns(
    name: str,
    header: Sequence[str],
    user: str | None,
    order: str | None,
    public: Collection[str] | None,
) -> tuple[str, ...]:
    """The columns whose cells are items, best first, or the one of texts; none where the cells are no items.

    Args:
        name: of the file, for messages.
        header: its columns, without those that are not to be used.
        user: column of users.
        order: column of texts, if it was named.
        public: the list of items, if there is one; columns of these names hold ranks.

    Raises:
        DataError: no column ``order``.
    """
    if order is not None:
        found = spelled_in(header, order)
        if found not in header:
            said = value_of("order", order)
            raise DataError(
                f"{name}: no column {order!r}, of {said}; the columns are {', '.join(map(repr, header))}",
                said,
            )
        return (order if found is None else found,)
    if public is not None and set(public) <= set(header):
        return ()
    if places := place_columns(header):
        return places
    others = [column for column in header if column != user]
    return tuple(others) if len(others) == 1 and form(others[0]) in _USUAL else ()


def lists_orders(header: Sequence[str], user: str | None) -> bool:
    """Whether the columns of a table are places, or the only one beside the user's is of orders, by usual names.

    >>> lists_orders(["user", "rank_1", "rank_2"], "user"), lists_orders(["user", "winner", "loser"], "user")
    (True, False)
    """
    return bool(order_columns("", header, spelled_in(header, user), None, None))


def orders_note(columns: Sequence[str]) -> str:
    """How such columns are read, in words that depend on them alone."""
    if len(columns) == 1:
        return f"column {columns[0]!r} holds orders such as A>B=C, the best first, = for ties"
    return f"columns {columns[0]!r} to {columns[-1]!r} are places, so their cells are items, the best in {columns[0]!r}"


def groups_of(text: str | None) -> Iterator[list[str]]:
    """Items of a text, best first, those that are tied together; none where it is blank.

    Raises:
        BadCell: a sign without a name beside it.

    >>> list(groups_of("a > b=c")), list(groups_of(" "))
    ([['a'], ['b', 'c']], [])
    """
    if is_blank(text):
        return
    for group in (text or "").split(">"):
        names = [name.strip() for name in group.split("=")]
        if not all(names):
            raise BadCell(
                f"{text!r} is no order: write the items, best first, with > between them, and = between ties, such as "
                "A>B=C"
            )
        yield names


def is_blank(cell: str | None) -> bool:
    """Whether a cell names no item."""
    text = (cell or "").strip()
    return not text or text.casefold() in MISSING


def check_no_ranks(name: str, columns: Sequence[str], items: Collection[str]) -> None:
    """Raise :class:`DataError` where all cells below places are numbers, so that they may be ranks of items."""
    if items and all(_NUMBER.fullmatch(item) for item in items):
        raise DataError(
            f"{name}: its columns {', '.join(map(repr, columns[:2]))}, ... are places, but all their cells are "
            f"numbers. If these are items, best first, list the {ITEMS}; if they are ranks of items, name the "
            "columns after the items",
            ITEMS,
        )
