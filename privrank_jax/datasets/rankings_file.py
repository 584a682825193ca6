"""Read a file of rankings into a table; a faulty file is refused as a whole.

Several shapes are read. *Wide*: one row per user, one column per item, cells are ranks, 1 = best, blank = not ranked.
*Long*: columns ``user``, ``item`` and ``rank``, one row per user and item. *Orders*: one row per user, cells are items,
in a column per place, or one text such as ``A>B=C``: see :mod:`privrank_jax.datasets.order_rows`. *PrefLib*: see
:mod:`privrank_jax.datasets.preflib`. Equal ranks of one user are ties. For what counts as a rank, and how ratings are
read, see :mod:`privrank_jax._cells.ranks`.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from privrank_jax._arguments import value_of
from privrank_jax._cells.codes import NameCodes, public_items
from privrank_jax._cells.columns import TABLES, check_file, spelled_in, without
from privrank_jax._cells.counts import CountCodes, check_no_counts, counted_note, repeated
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.order_shapes import check_no_separator, order_columns
from privrank_jax._cells.public import notes_on_rankings, public_facts
from privrank_jax._cells.ranking_shapes import (
    SYNTHETIC,
    check_enough,
    check_items_by_name,
    check_lists_users,
    check_no_words,
    check_own_rows,
    could_be_items,
    count_users,
    is_long,
    item_columns,
    not_a_row,
    not_an_item,
    ranked_nothing,
    ranked_twice,
    two_rows,
    user_of_rows,
)
from privrank_jax._cells.ranks import (
    CELLS,
    RankCodes,
    ZeroRank,
    cell_codes,
    cells_note,
    check_like_ranks,
    check_no_numbers_of_rows,
    check_not_named_ratings,
    check_ranks_of_few,
    meaning_of_blanks,
    unlike_ranks,
    zeros_of_users,
)
from privrank_jax._cells.text_files import File
from privrank_jax._cells.unlike_items import check_cells_of_items
from privrank_jax._validate import check_choice
from privrank_jax.datasets.formats import Data, Source, naming_sheets, open_source, read_header
from privrank_jax.datasets.frames import Frame
from privrank_jax.datasets.kamishima import SUFFIX as KAMISHIMA
from privrank_jax.datasets.kamishima import read_kamishima
from privrank_jax.datasets.order_rows import read_orders
from privrank_jax.datasets.preflib import SUFFIXES, read_preflib
from privrank_jax.datasets.ranking_table import MOST_CELLS, RankingTable


def read_rankings(
    path: str | os.PathLike[str],
    *,
    user: str | None = "user",
    item: str | None = None,
    rank: str | None = None,
    order: str | None = None,
    order_separator: str | None = None,
    items: Iterable[str] | None = None,
    missing: str | None = None,
    ignore: Iterable[str] = (),
    blank: Iterable[str] = (),
    num_users: int | None = None,
    cells: str | None = None,
    count: str | None = None,
) -> RankingTable:
    """Read rankings from CSV, TSV (with a header row), JSON Lines, Parquet, PrefLib's files or Kamishima's.

    Columns are found whatever the case of their names.

    Args:
        path: ends in .csv, .tsv, .jsonl, .ndjson, .json, .parquet, .pq (Parquet needs the extra ``tables``), .soc,
            .soi, .toc, .toi (PrefLib), or .order (:func:`~privrank_jax.datasets.kamishima.read_kamishima`), all but
            Parquet also in .gz or .zst; or a :class:`~privrank_jax.datasets.File` with its separator and encoding.
        user: column of the user's id. In a wide file None says that each row is a different user; a long file needs it.
        item: column of items of a long file; default ``item``.
        rank: column of ranks of a long file; default ``rank``. A file is long where ``item`` or ``rank`` is
            given, or it has columns of both default names.
        order: column of texts such as ``A>B=C``; default: the only column beside the user's, if it has a usual name
            such as ``order`` or ``ranking``. Columns ``rank_1``, ``rank_2``, ... are read as places by themselves.
        order_separator: what stands between the items of such a text: any sign, ``"newline"`` or ``"blank"``. Default:
            ``>`` (or ``≻``), ``;``, ``|``, newline, comma or blank, one for all cells, by their form; refused where
            that is unclear.
        items: the public list of items, in the order to use. In a wide file those columns are read, and the others
            are not used; default: all columns but the user's. In other tables the default are the items seen, sorted.
            None of item, rank, order and items may be given for other files, which list their items.
        ignore: columns that are not used, whatever they are called; also several in one text with commas between.
            ``synthetic_epsilon`` never is.
        blank: words that name no item where cells name items, such as ``"overvote"``, besides those that mark a missing
            value, such as ``undervote``, unless ``items`` has them.
        missing: what a blank or absent rank means, recorded in the table: ``"last"`` or ``"unknown"``; default
            ``"last"``, for ratings, costs and incomplete .order files ``"unknown"``.
        num_users: n, the public number of users of a long file, including those who ranked nothing and have no row; the
            table then has no names of users. Default: the users with a row (a user who ranked nothing may have one
            without item and rank); that these and no others took part is then public. Other files have a row for every
            user.
        cells: ``"ratings"``: numbers, the larger the better, equal ones ties; they are turned into ranks of each
            user. ``"costs"``: the same, the smaller the better, such as seconds. ``"ranks"``: ranks, 1 = best,
            whatever they look like. Default: ranks, which are refused where they can't be, or don't look like any
            (:mod:`~privrank_jax._cells.ranks`).
        count: column of how many users gave the ranking of a row, in a file that names no users (``user=None``); the
            table has a row for each of them.

    Returns:
        A table with one row per user. ``notes`` names the columns not used.

    Raises:
        DataError: what is wrong, where (file, line, column), and how to fix it: a rank that is not a whole number
            from 1 to the number of items, ranks like ratings, no column of users where none was ruled out, one that
            numbers the rows, a user with two rows (wide) or two ranks for one item (long), an item named twice,
            columns that hold places ("Rank_1", ...) instead of items, and all that
            :func:`~privrank_jax.datasets.read_comparisons` refuses in a file.
        ValueError: unknown ``cells``.
    """
    file = File.of(path)
    if file.suffix in (*SUFFIXES, KAMISHIMA):
        check_choice("cells", "ranks" if cells is None else cells, CELLS)
        named = (items, item, rank, order, order_separator)
        if any(given is not None for given in named) or ignore or blank:
            raise DataError(
                f"{file.name} lists its items itself: leave out items, item, rank, order, order_separator, ignore and "
                "blank"
            )
        check_lists_users(file.name, num_users)
        _check_no_cells(file.name, cells)
        table = (read_kamishima if file.suffix == KAMISHIMA else read_preflib)(file)
        return dataclasses.replace(table, missing=missing or table.missing)
    if file.suffix not in TABLES and file.separator is None:
        kinds = "give a .csv, .tsv, .jsonl, .parquet or .xlsx file, or one of PrefLib (.soc, .soi, .toc, .toi)"
        check_file(file, TABLES, "one file of rankings", "rankings", kinds)
    columns = (item, rank, order, order_separator, count)
    return _read(file, user, columns, items, missing, (ignore, blank), num_users, cells)


def rankings_from(
    frame: Any,
    *,
    user: str | None = "user",
    item: str | None = None,
    rank: str | None = None,
    order: str | None = None,
    order_separator: str | None = None,
    items: Iterable[str] | None = None,
    missing: str | None = None,
    ignore: Iterable[str] = (),
    blank: Iterable[str] = (),
    num_users: int | None = None,
    cells: str | None = None,
    count: str | None = None,
    name: str = "the table",
) -> RankingTable:
    """Read rankings from columns in memory, by the rules of :func:`read_rankings`.

    Args:
        frame: a dict of columns; a frame of pandas or polars; a table of Arrow, Ibis or DuckDB. None of these packages
            is needed or imported.
        user, item, rank, order, order_separator, items, missing: as for :func:`read_rankings`.
        ignore, blank, num_users, cells, count: likewise.
        name: of the data.

    Returns:
        A table with one row per user.

    Raises:
        DataError: as there; an object that is no table; a cell that is a list or a structure.

    >>> table = rankings_from({"user": ["ann", "bob"], "rank_1": ["tea", "milk"], "rank_2": ["milk", None]})
    >>> table.item_names, table.ranks.tolist()
    (('milk', 'tea'), [[1, 0], [0, -1]])
    """
    data = Frame(frame, name)
    columns = (item, rank, order, order_separator, count)
    return _read(data, user, columns, items, missing, (ignore, blank), num_users, cells)


def _read(
    data: File | Frame,
    user: str | None,
    named: tuple[str | None, ...],
    items: Iterable[str] | None,
    missing: str | None,
    left_out: tuple[Iterable[str], Iterable[str]],
    num_users: int | None,
    cells: str | None,
) -> RankingTable:
    check_choice("cells", "ranks" if cells is None else cells, CELLS)
    (item, rank, order, separator, count), (ignore, blank) = named, left_out
    public = None if items is None else public_items(items)
    missing = missing or meaning_of_blanks(cells)
    with naming_sheets(data):
        header = without(data.name, read_header(data), ignore)
        long = order is None and is_long(data.name, header, item, rank)
    if long:
        check_no_separator(data.name, separator)
        check_own_rows(data.name, count, user, long=True)
        item, rank = item or "item", rank or "rank"
        check_not_named_ratings(data.name, [rank], cells)
        return _long(data, user, item, rank, public, missing, num_users, cells, header, blank)
    check_lists_users(data.name, num_users)
    user, count = spelled_in(header, user), spelled_in(header, count)
    check_own_rows(data.name, count, user)
    header = [column for column in header if column not in {SYNTHETIC, count}]
    if columns := order_columns(data.name, header, user, order, public):
        _check_no_cells(data.name, cells)
        if len(columns) > 1:
            check_no_separator(data.name, separator)
        return read_orders(
            data, data.name, columns, header, user, public, missing, separator, count, blank
        )
    check_no_separator(data.name, separator)
    check_no_words(data.name, blank)
    columns = [column for column in header if column != user]
    unlisted = [column for column in columns if column not in (public or ())]
    check_no_counts(data.name, unlisted, items=public is None)
    check_not_named_ratings(data.name, public or columns, cells)
    if public is None and header:
        with naming_sheets(data):
            check_items_by_name(data.name, header, user)
    return wide_rankings(data, header, user, public, missing, cells, count)[0]


def _check_no_cells(name: str, cells: str | None) -> None:
    """Refuse to take orders for ranks or ratings."""
    if cells is not None:
        said = value_of("cells", cells)
        raise DataError(f"{name} holds orders, best first: leave out {said}", said)


def read_ranks(cells: Iterable[str | None]) -> list[int]:
    """Cells of ranks, 1 = best, as ranks from 0, -1 for blanks; :class:`DataError` for anything else."""
    ranks = RankCodes()
    try:
        return [ranks[cell] for cell in cells]
    except BadCell as error:
        raise DataError(str(error), *error.arguments) from None


def wide_rankings(
    data: Data,
    header: Sequence[str],
    user: str | None,
    public: tuple[str, ...] | None,
    missing: str,
    cells: str | None = None,
    count: str | None = None,
) -> tuple[RankingTable, np.ndarray]:
    """A file with a column per item, and the ranks as they stand in it, from 0, which a table renumbers."""
    name = data.name if isinstance(data, Frame) else File.of(data).name
    user = spelled_in(header, user)
    with naming_sheets(data):
        columns = item_columns(name, header, user, public) if header else ()
    roles = {"user": user, "count": count}
    roles |= {f"item {k}": column for k, column in enumerate(columns)}
    source = open_source(data, roles, "ranking")
    at = [source.positions[f"item {k}"] for k in range(len(columns))]
    at_user, at_count = source.positions.get("user"), source.positions.get("count")
    most = could_be_items(header, user)
    people, counts, codes = NameCodes("user", False), CountCodes(), cell_codes(cells, most)
    number, found, column = array("i"), array("i"), user
    row: Sequence[str | None] = ()
    try:
        for row in source.rows:
            if at_user is not None:
                column = user
                known = len(people)
                if people[row[at_user]] < known:
                    raise two_rows(row[at_user])
            if at_count is not None:
                column = count
                if not counts[row[at_count]]:
                    continue
                number.append(counts[row[at_count]])
            for k, column in zip(at, columns):  # noqa: B007  the column is named in errors
                found.append(codes[row[k]])
    except BadCell as error:
        where = source.where()
        if isinstance(error, ZeroRank):
            known = found[: len(found) // len(at) * len(at)]  # of whole rows, in which nothing is 0
            before = [(-1, "1")] if max(known, default=-1) >= 0 else []
            rows = enumerate(itertools.chain([row], source.rows))
            error = error.advised(
                *zeros_of_users([*before, *((j, r[k]) for j, r in rows for k in at)])
            )
        if column not in (user, count) and not public:
            error = not_a_row(not_an_item(error, column, user), [row[k] for k in at])
        raise DataError(_at(name, where, column, str(error)), *error.arguments) from None
    read = np.frombuffer(found, np.int32).reshape(-1, max(len(columns), 1))
    if at_count is not None:
        _check_size(source, sum(number), len(columns))
        read = read[repeated(name, number)]
    _check_size(source, *read.shape)
    ranks = codes.ranks(read)
    if cells is None:
        check_like_ranks(source.name, *unlike_ranks(ranks, left_out=most > len(columns)))
    if user is None and public is None and cells != "ranks":
        check_no_numbers_of_rows(source.name, columns, ranks, codes)
    if public is None:
        check_cells_of_items(source.name, columns, ranks, codes, cells)
    seen = public is None
    notes = notes_on_rankings(source.positions, seen_items=seen, in_columns=source.form)
    if count is not None:
        notes = (counted_note(count), *notes)
    table = RankingTable(
        ranks,
        item_names=tuple(columns),
        user_names=tuple(people),
        name=source.name,
        missing=missing,
        public=public_facts(seen_items=seen and not source.form),
        **source.said(notes=(cells_note(cells), *notes)),
    )
    return table, ranks


def _long(
    data: File | Frame,
    user: str | None,
    item: str,
    rank: str,
    public: tuple[str, ...] | None,
    missing: str,
    num_users: int | None,
    cells: str | None,
    header: Sequence[str],
    blank: Iterable[str],
) -> RankingTable:
    user = user_of_rows(data.name, user)
    roles = {"user": user, "item": item, "rank": rank}
    source = open_source(data, roles, "rank")
    check_no_counts(source.name, (one for one in source.ignored if one in header))
    at = source.positions
    people, names, known = (
        NameCodes("user", False),
        NameCodes("item", True, public, blank=blank),
        cell_codes(cells),
    )
    users, codes, ranks, seen, role = array("i"), array("i"), array("i"), set(), "user"
    row: Sequence[str | None] = ()
    try:
        for row in source.rows:
            role = "user"
            users.append(people[row[at["user"]]])
            role = "item"
            if ranked_nothing(row[at["item"]], row[at["rank"]]):
                users.pop()
                continue
            code = names[row[at["item"]]]
            if code < 0:
                users.pop()
                continue
            codes.append(code)
            if (users[-1], codes[-1]) in seen:
                raise ranked_twice(row[at["user"]], row[at["item"]])
            seen.add((users[-1], codes[-1]))
            role = "rank"
            ranks.append(known[row[at["rank"]]])
    except BadCell as error:
        where = source.where()
        if isinstance(error, ZeroRank):
            before = ((user, "1") for user, known in zip(users, ranks) if known >= 0)
            later = ((people[row[at["user"]]], row[at["rank"]]) for row in (row, *source.rows))
            error = error.advised(*zeros_of_users([*before, *later]))
        raise DataError(
            _at(source.name, where, roles[role], str(error)), *error.arguments
        ) from None
    total = count_users(source.name, len(people), num_users)
    _check_size(source, total, len(names))
    order, place = names.in_order()
    table = np.full((total, len(order)), -1, np.int32)
    place_of_row = np.frombuffer(users, np.int32), np.array(place)[np.frombuffer(codes, np.int32)]
    table[place_of_row] = known.ranks(np.frombuffer(ranks, np.int32))
    if cells is None:
        check_ranks_of_few(source.name, rank, int(table.max()), len(order))
        check_like_ranks(source.name, *unlike_ranks(table, left_out=False))
    notes = notes_on_rankings(source.positions, seen_items=public is None, in_columns=False)
    return RankingTable(
        table,
        item_names=order,
        user_names=tuple(people) if num_users is None else (),
        name=source.name,
        missing=missing,
        public=public_facts(seen_items=public is None, seen_users=num_users is None),
        **source.said(notes=(cells_note(cells), *notes)),
    )


def _at(name: str, where: str, column: str | None, message: str) -> str:
    return f"{name}, {where}, column {column!r}: {message}"


def _check_size(source: Source, users: int, items: int) -> None:
    check_enough(source.name, users, items)
    if users * items > MOST_CELLS:
        raise DataError(
            f"{source.name}: {users:,} users times {items:,} items is more than this reader accepts "
            f"({MOST_CELLS:,})"
        )
