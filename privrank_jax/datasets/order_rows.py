"""Rows whose cells are items, best first, as rankings: a column per place, or a text such as ``A>B=C``."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from privrank_jax._cells.codes import NameCodes
from privrank_jax._cells.counts import CountCodes, check_no_counts, counted_note, repeated
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.names import MISSING
from privrank_jax._cells.order_shapes import (
    Sign,
    check_no_ranks,
    is_blank,
    orders_note,
    said_sign,
    sign_of,
)
from privrank_jax._cells.public import notes_on_rankings, public_facts
from privrank_jax._cells.ranking_shapes import check_enough, check_rows_of_users, two_rows
from privrank_jax.datasets.formats import Data, Row, open_source
from privrank_jax.datasets.ranking_table import MOST_CELLS, RankingTable


def read_orders(
    data: Data,
    name: str,
    columns: Sequence[str],
    header: Sequence[str],
    user: str | None,
    public: tuple[str, ...] | None,
    missing: str,
    separator: str | None = None,
    count: str | None = None,
    blank: Iterable[str] = (),
) -> RankingTable:
    """Read order lists, or texts where there is one column.

    Args:
        data: what to read.
        name: of it.
        columns: of items, the best first, or of texts.
        header: all columns.
        user: column of users; None: each row is a different user.
        public: the list of items; None: those seen, sorted.
        missing: what is said of items that a user did not rank.
        separator: what stands between the items of a text; None: one sign for the whole column, by its cells
            (:func:`~privrank_jax._cells.order_shapes.sign_of`).
        count: column of how many users gave the order of a row, if these are not named.
        blank: words that name no item, as marks of missing values don't, unless they are listed.

    Raises:
        DataError: no column of users where none was ruled out, a user with two rows, an item twice in a row, an item
            outside the list, a text that is no order, texts of which it is unclear what separates their items, numbers
            where items are expected.
    """
    if user is not None:
        check_rows_of_users(name, header, user, listed=public is not None)
    roles = {"user": user, "count": count}
    roles |= {f"place {k}": column for k, column in enumerate(columns)}
    sign = _sign_in(data, columns, public, separator) if len(columns) == 1 else None
    source = open_source(data, roles, "ranking")
    at = [source.positions[f"place {k}"] for k in range(len(columns))]
    check_no_counts(name, (one for one in header if one != user and one not in columns))
    at_user, at_count = source.positions.get("user"), source.positions.get("count")
    people, counts = NameCodes("user", False), CountCodes()
    names = NameCodes("item", True, public, blank=[*MISSING, *blank])
    users, items, places, number, column = array("i"), array("i"), array("i"), array("i"), user
    try:
        for row in source.rows:
            if at_user is not None:
                column, known = user, len(people)
                if people[row[at_user]] < known:
                    raise two_rows(row[at_user])
            column = count
            again = 1 if at_count is None else counts[row[at_count]]
            if not again:
                continue
            column, ranked = columns[0], set()
            for place, cell in _places(row, at, sign):
                column = columns[min(place, len(columns) - 1)]
                item = names[cell]
                if item < 0:
                    continue
                if item in ranked:
                    raise BadCell(
                        f"{cell!r} stands twice in one order: keep one place for each item"
                    )
                ranked.add(item)
                users.append(len(number))
                items.append(item)
                places.append(place)
            number.append(again)
    except BadCell as error:
        where = f"{source.name}, {source.where()}, column {column!r}"
        raise DataError(f"{where}: {error}", *error.arguments) from None
    total = sum(number)
    check_enough(source.name, total, len(names))
    if len(columns) > 1 and public is None:
        check_no_ranks(source.name, columns, names)
    order, place_of_item = names.in_order()
    if total * len(order) > MOST_CELLS:
        raise DataError(
            f"{source.name}: {total:,} users times {len(order):,} items is more than this reader accepts "
            f"({MOST_CELLS:,})"
        )
    ranks = np.full((len(number), len(order)), -1, np.int32)
    at_cells = (
        np.frombuffer(users, np.int32),
        np.array(place_of_item)[np.frombuffer(items, np.int32)],
    )
    ranks[at_cells] = np.frombuffer(places, np.int32)
    notes = notes_on_rankings(source.positions, seen_items=public is None, in_columns=False)
    if count is not None:
        ranks = ranks[repeated(source.name, number)]
        notes = (counted_note(count), *notes)
    return RankingTable(
        ranks,
        item_names=order,
        user_names=tuple(people),
        name=source.name,
        missing=missing,
        public=public_facts(seen_items=public is None),
        **source.said(orders_note(columns), notes=notes),
    )


def _sign_in(
    data: Data, columns: Sequence[str], public: tuple[str, ...] | None, separator: str | None
) -> Sign:
    """What separates the items of the only column."""
    if separator is not None:
        return said_sign(separator)
    source = open_source(data, {"order": columns[0]}, "ranking")
    at = source.positions["order"]
    cells = {cell for row in source.rows if (cell := row[at]) is not None and not is_blank(cell)}
    return sign_of(source.name, columns[0], cells, public)


def _places(row: Row, at: Sequence[int], sign: Sign | None) -> Iterator[tuple[int, str]]:
    """The items of a row with their places, from 0."""
    if sign is not None:
        cell = row[at[0]]
        if cell is not None and not is_blank(cell):
            for place, group in enumerate(sign.groups_of(cell)):
                yield from ((place, name) for name in group)
        return
    for place, k in enumerate(at):
        if (row[k] or "").strip():
            yield place, row[k] or ""
