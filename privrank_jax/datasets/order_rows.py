"""Rows whose cells are items, best first, as rankings: a column per place, or a text such as ``A>B=C``."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from privrank_jax._cells.codes import NameCodes
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.names import MISSING
from privrank_jax._cells.order_shapes import check_no_ranks, groups_of, orders_note
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
        blank: words that name no item, as marks of missing values don't, unless they are listed.

    Raises:
        DataError: no column of users where none was ruled out, a user with two rows, an item twice in a row, an item
            outside the list, a text that is no order, numbers where items are expected.
    """
    if user is not None:
        check_rows_of_users(name, header, user, listed=public is not None)
    roles = {"user": user, **{f"place {k}": column for k, column in enumerate(columns)}}
    source = open_source(data, roles, "ranking")
    at = [source.positions[f"place {k}"] for k in range(len(columns))]
    at_user = source.positions.get("user")
    people = NameCodes("user", False)
    names = NameCodes("item", True, public, blank=[*MISSING, *blank])
    users, items, places, column, count = array("i"), array("i"), array("i"), user, 0
    try:
        for row in source.rows:
            if at_user is not None:
                column, known = user, len(people)
                if people[row[at_user]] < known:
                    raise two_rows(row[at_user])
            column, ranked = columns[0], set()
            for place, cell in _places(row, at):
                column = columns[min(place, len(columns) - 1)]
                item = names[cell]
                if item < 0:
                    continue
                if item in ranked:
                    raise BadCell(
                        f"{cell!r} stands twice in one order: keep one place for each item"
                    )
                ranked.add(item)
                users.append(count)
                items.append(item)
                places.append(place)
            count += 1
    except BadCell as error:
        where = f"{source.name}, {source.where()}, column {column!r}"
        raise DataError(f"{where}: {error}", *error.arguments) from None
    check_enough(source.name, count, len(names))
    if len(columns) > 1 and public is None:
        check_no_ranks(source.name, columns, names)
    order, place_of_item = names.in_order()
    if count * len(order) > MOST_CELLS:
        raise DataError(
            f"{source.name}: {count:,} users times {len(order):,} items is more than this reader accepts "
            f"({MOST_CELLS:,})"
        )
    ranks = np.full((count, len(order)), -1, np.int32)
    at_cells = (
        np.frombuffer(users, np.int32),
        np.array(place_of_item)[np.frombuffer(items, np.int32)],
    )
    ranks[at_cells] = np.frombuffer(places, np.int32)
    reading = (*source.reading, orders_note(columns))
    notes = notes_on_rankings(
        source.positions, source.ignored, seen_items=public is None, wide=False
    )
    return RankingTable(
        ranks,
        item_names=order,
        user_names=tuple(people),
        name=source.name,
        missing=missing,
        notes=(*reading, *notes),
        reading=reading,
        public=public_facts(seen_items=public is None, seen_users=False),
    )


def _places(row: Row, at: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The items of a row with their places, from 0."""
    if len(at) == 1:
        for place, group in enumerate(groups_of(row[at[0]])):
            yield from ((place, name) for name in group)
        return
    for place, k in enumerate(at):
        if (row[k] or "").strip():
            yield place, row[k] or ""
