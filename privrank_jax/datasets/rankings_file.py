"""A file of rankings into a table: used whole or refused.

Three shapes are read. *Wide*: one row per user, one column per item, cells are ranks, 1 = best, blank = not ranked.
*Long*: columns ``user``, ``item`` and ``rank``, one row per user and item. *PrefLib*: see
:mod:`privrank_jax.datasets.preflib`. Equal ranks of one user are ties.
"""

from __future__ import annotations

import dataclasses
import os
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privrank_jax.datasets.comparisons_file import BadCell, NameCodes, public_items
from privrank_jax.datasets.formats import (
    DELIMITERS,
    PARQUET,
    Source,
    check_file,
    open_source,
    read_header,
)
from privrank_jax.datasets.kamishima import SUFFIX as KAMISHIMA
from privrank_jax.datasets.kamishima import read_kamishima
from privrank_jax.datasets.names import MISSING, did_you_mean
from privrank_jax.datasets.preflib import SUFFIXES, read_preflib
from privrank_jax.datasets.ranking_table import MOST_CELLS, RankingTable
from privrank_jax.datasets.table import DataError

SYNTHETIC = "synthetic_epsilon"  # column of ε that marks synthetic rankings, never an item
_PLACE = re.compile(r"(rank|position|pos|place|choice|preference|pref|top)[ _.\-]*(\d+)", re.I)
NO_ITEM = ". If this column is no item, name the `items`"
_PUBLIC = "the list of items was taken from the file and is treated as public"
_ONE_ROW_EACH = "the file names no users: each row is taken for all that one user ranked"


def read_rankings(
    path: str | os.PathLike[str],
    *,
    user: str | None = "user",
    item: str | None = None,
    rank: str | None = None,
    items: Iterable[str] | None = None,
    missing: str | None = None,
    ignore: Iterable[str] = (),
    num_users: int | None = None,
) -> RankingTable:
    """Read rankings from CSV, TSV (UTF-8, with a header row), Parquet, PrefLib's files or Kamishima's.

    Args:
        path: ends in .csv, .tsv, .parquet, .pq (Parquet needs the extra ``tables``), .soc, .soi, .toc, .toi (PrefLib),
            or .order (:func:`~privrank_jax.datasets.kamishima.read_kamishima`).
        user: column of the user's id. In a wide file the default is used where the file has it, and None, like
            its absence, means one user per row; a long file needs it.
        item: column of items of a long file; default ``item``.
        rank: column of ranks of a long file; default ``rank``. A file is long where ``item`` or ``rank`` is
            given, or it has columns of both default names.
        items: the public list of items, in the order to use. In a wide file those columns are read, and the others
            are not used; default: all columns but the user's. In a long file the default are the items seen, sorted.
            None of the three may be given for other files, which list their items.
        ignore: columns of a wide file that are no items, as ``synthetic_epsilon`` never is.
        missing: what a blank or absent rank means, recorded in the table: ``"last"`` or ``"unknown"``; default
            ``"last"``, for incomplete .order files ``"unknown"``.
        num_users: n, the public number of users of a long file, those included who ranked nothing and have no row
            there; the table then has no names of users. Default: the users with a row (who ranked nothing may have one
            without item and rank); that these and no others took part is then public. Other files have a row for
            everybody.

    Raises:
        DataError: what is wrong, where (file, line, column), and how to mend it: a rank that is no whole number
            from 1, a user with two rows (wide) or two ranks for one item (long), an item named twice, columns that
            hold places ("Rank_1", ...) instead of items, and all that
            :func:`~privrank_jax.datasets.read_comparisons` refuses in a file.
    """
    path = Path(path)
    if path.suffix.lower() in (*SUFFIXES, KAMISHIMA):
        if items is not None or item is not None or rank is not None:
            raise DataError(f"{path.name} lists its items itself: leave out items, item and rank")
        check_lists_users(path.name, num_users)
        table = (read_kamishima if path.suffix.lower() == KAMISHIMA else read_preflib)(path)
        return dataclasses.replace(table, missing=missing or table.missing)
    if path.suffix.lower() not in (*DELIMITERS, *PARQUET):
        kinds = "give a .csv, .tsv or .parquet file, or one of PrefLib (.soc, .soi, .toc, .toi)"
        check_file(path, (*DELIMITERS, *PARQUET), "one file of rankings", "rankings", kinds)
    public, missing = None if items is None else public_items(items), missing or "last"
    header = read_header(path)
    if is_long(path.name, header, item, rank):
        return _long(path, user, item or "item", rank or "rank", public, missing, num_users)
    check_lists_users(path.name, num_users)
    columns = [column for column in header if column not in {SYNTHETIC, *ignore}]
    return wide_rankings(path, columns, user, public, missing)[0]


def is_long(name: str, header: Sequence[str], item: str | None, rank: str | None) -> bool:
    """Whether a file has a row for each user and item; :class:`DataError` where it holds comparisons."""
    if {"winner", "loser"} <= set(header):
        raise DataError(
            f"{name} holds comparisons (columns winner and loser), no rankings: `privrank rank` and "
            "datasets.read_comparisons take it"
        )
    return item is not None or rank is not None or {"item", "rank"} <= set(header)


_WHOLE = re.compile(r"\+?[0-9]{1,18}(\.0*)?", re.ASCII)


class RankCodes(dict[Any, int]):
    """Cells to ranks from 0, or -1 where there is none."""

    def __missing__(self, cell: str | None) -> int:
        text = (cell or "").strip()
        rank = -1
        if text and text.casefold() not in MISSING:
            value = int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else 0
            if not 1 <= value < 2**31:
                raise BadCell(
                    f"{cell!r} is no rank: write a whole number, 1 = best, the same for ties, or nothing where "
                    "the item was not ranked"
                )
            rank = value - 1
        self[cell] = rank
        return rank


def read_ranks(cells: Iterable[str | None]) -> list[int]:
    """Cells of ranks, 1 = best, as ranks from 0, -1 for blanks; :class:`DataError` for anything else."""
    ranks = RankCodes()
    try:
        return [ranks[cell] for cell in cells]
    except BadCell as error:
        raise DataError(str(error)) from None


def wide_rankings(
    path: Path,
    header: Sequence[str],
    user: str | None,
    public: tuple[str, ...] | None,
    missing: str,
) -> tuple[RankingTable, np.ndarray]:
    """A file with a column per item, and the ranks as they stand in it, from 0, which a table renumbers."""
    if user == "user" and "user" not in header:
        user = None
    columns = item_columns(path.name, header, user, public) if header else ()
    roles = {"user": user, **{f"item {k}": column for k, column in enumerate(columns)}}
    source = open_source(path, roles, "ranking")
    at = [source.positions[f"item {k}"] for k in range(len(columns))]
    at_user = source.positions.get("user")
    people, cells, ranks, column = NameCodes("user", False), RankCodes(), array("i"), user
    try:
        for row in source.rows:
            if at_user is not None:
                column = user
                known = len(people)
                if people[row[at_user]] < known:
                    raise two_rows(row[at_user])
            for k, column in zip(at, columns):  # noqa: B007  the column is named in errors
                ranks.append(cells[row[k]])
    except BadCell as error:
        hint = "" if column == user or public else NO_ITEM
        raise DataError(_at(source, column, f"{error}{hint}")) from None
    found = np.frombuffer(ranks, np.int32).reshape(-1, max(len(columns), 1))
    _check_size(source, *found.shape)
    table = RankingTable(
        found,
        item_names=tuple(columns),
        user_names=tuple(people),
        name=source.name,
        missing=missing,
        notes=notes_on(source.positions, source.ignored, seen_items=public is None),
    )
    return table, found


def item_columns(
    name: str, header: Sequence[str], user: str | None, public: tuple[str, ...] | None
) -> tuple[str, ...]:
    """The columns of a wide file that hold the ranks of an item; :class:`DataError` where there are none."""
    if public is not None:
        for column in public:
            if column not in header:
                raise DataError(
                    f"{name}: no column for the item {column!r}{did_you_mean(column, header)}; the columns are "
                    f"{', '.join(map(repr, header))}"
                )
        return public
    columns = tuple(column for column in header if column != user)
    if len(columns) > 1 and all(_PLACE.fullmatch(column.strip()) for column in columns):
        raise DataError(
            f"{name}: its columns {', '.join(map(repr, columns[:3]))}, ... are places, so its cells are items, "
            "best first; this reader wants one column per item with ranks in it, or rows of user, item, rank"
        )
    if not all(column.strip() for column in columns):
        raise DataError(
            f"{name}: a column has no name (row numbers that a program wrote?): name or remove it, or list the "
            "`items`"
        )
    if len(columns) < 2:
        raise DataError(
            f"{name}: the columns are {', '.join(map(repr, header))}; a file of rankings has one column per item "
            "with ranks in it, or columns user, item and rank. Separate a .csv by commas, a .tsv by tabs"
        )
    try:
        return public_items(columns)
    except DataError as error:
        raise DataError(f"{name}: {str(error).removeprefix('items: ')}") from None


def _long(
    path: Path,
    user: str | None,
    item: str,
    rank: str,
    public: tuple[str, ...] | None,
    missing: str,
    num_users: int | None,
) -> RankingTable:
    user = user_of_rows(path.name, user)
    roles = {"user": user, "item": item, "rank": rank}
    source = open_source(path, roles, "rank")
    at = source.positions
    people, names, cells = NameCodes("user", False), NameCodes("item", True, public), RankCodes()
    users, codes, ranks, seen, role = array("i"), array("i"), array("i"), set(), "user"
    try:
        for row in source.rows:
            role = "user"
            users.append(people[row[at["user"]]])
            role = "item"
            if ranked_nothing(row[at["item"]], row[at["rank"]]):
                users.pop()
                continue
            codes.append(names[row[at["item"]]])
            if (users[-1], codes[-1]) in seen:
                raise ranked_twice(row[at["user"]], row[at["item"]])
            seen.add((users[-1], codes[-1]))
            role = "rank"
            ranks.append(cells[row[at["rank"]]])
    except BadCell as error:
        raise DataError(_at(source, roles[role], str(error))) from None
    total = count_users(source.name, len(people), num_users)
    _check_size(source, total, len(names))
    order = tuple(names) if public is not None else tuple(sorted(names))
    place = {name: k for k, name in enumerate(order)}
    column = np.array([place[name] for name in names])
    table = np.full((total, len(order)), -1, np.int32)
    table[np.frombuffer(users, np.int32), column[np.frombuffer(codes, np.int32)]] = ranks
    return RankingTable(
        table,
        item_names=order,
        user_names=tuple(people) if num_users is None else (),
        name=source.name,
        missing=missing,
        notes=notes_on(source.positions, source.ignored, seen_items=public is None),
        public=public_facts(seen_items=public is None, seen_users=num_users is None),
    )


def ranked_nothing(item: str | None, rank: str | None) -> bool:
    """Whether a row of a long file says of its user only that there is one: neither item nor rank."""
    return not (item or "").strip() and not (rank or "").strip()


def count_users(name: str, seen: int, stated: int | None) -> int:
    """n; :class:`DataError` where more users were seen than were stated."""
    if stated is not None and seen > stated:
        raise DataError(
            f"{name} has rows of more users than the {stated:,} that were stated: give the number of all users who "
            "were asked, those included who ranked nothing"
        )
    return seen if stated is None else stated


def check_lists_users(name: str, stated: int | None) -> None:
    """:class:`DataError` where the number of users is stated of a file that has a row for each."""
    if stated is not None:
        raise DataError(
            f"{name} has a row for every user, also for those who ranked nothing: leave out the number of users"
        )


def public_facts(*, seen_items: bool, seen_users: bool) -> tuple[str, ...]:
    """What reading a long file takes as public."""
    return ("items",) * seen_items + ("participation",) * seen_users


def user_of_rows(name: str, user: str | None) -> str:
    """The column of users of a long file, which needs one."""
    if user is None:
        raise DataError(
            f"{name}: rows of one item each need a column of users, or nobody knows which belong together"
        )
    return user


def two_rows(user: str | None) -> BadCell:
    """What is wrong with two rows of a wide file."""
    return BadCell(f"user {user!r} has two rows: keep one ranking per user")


def ranked_twice(user: str | None, item: str | None) -> BadCell:
    """What is wrong with two rows of a long file."""
    return BadCell(f"user {user!r} ranks {item!r} twice: keep one row")


def _at(source: Source, column: str | None, message: str) -> str:
    return f"{source.name}, {source.where()}, column {column!r}: {message}"


def _check_size(source: Source, users: int, items: int) -> None:
    check_enough(source.name, users, items)
    if users * items > MOST_CELLS:
        raise DataError(
            f"{source.name}: {users:,} users times {items:,} items is more than this reader takes "
            f"({MOST_CELLS:,})"
        )


def check_enough(name: str, users: int, items: int) -> None:
    """Raise :class:`DataError` where there is nothing to rank."""
    if not users:
        raise DataError(f"{name} has no rows below its header: there is nothing to rank")
    if items < 2:
        raise DataError(f"{name}: a ranking needs at least two items, found {items}")


def notes_on(
    positions: Mapping[str, int], ignored: Sequence[str], *, seen_items: bool
) -> tuple[str, ...]:
    """What a loader says of a file: where the items came from, whether it has users, what it passed over."""
    notes = [_PUBLIC] if seen_items else []
    if "user" not in positions:
        notes.append(_ONE_ROW_EACH)
    if ignored:
        notes.append("columns not used: " + ", ".join(ignored))
    return tuple(notes)
