"""Read a file of comparisons, one per row, into a table; a faulty file is refused as a whole.

No row is dropped and no name is changed; anything that looks wrong raises an error that says where it is.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from privrank_jax._cells.codes import NameCodes, TieCodes, public_items
from privrank_jax._cells.columns import Roles
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.outcomes import check_outcomes
from privrank_jax._cells.public import notes_on_comparisons
from privrank_jax.datasets.formats import Source, open_source
from privrank_jax.datasets.table import ComparisonTable


def read_comparisons(
    path: str | os.PathLike[str],
    *,
    user: str | None = "user",
    winner: str = "winner",
    loser: str = "loser",
    tie: str | None = "tie",
    items: Iterable[str] | None = None,
) -> ComparisonTable:
    """Read comparisons from a file with a header row (CSV, TSV; UTF-8) or a Parquet file.

    Args:
        path: ends in .csv, .tsv, .parquet or .pq (Parquet needs the extra ``tables``).
        user: column of the user's id. None: the file names no users, each row is a separate user, and only a guarantee
            per comparison is possible.
        winner: column of the preferred item; for a tie, of either item.
        loser: column of the other item.
        tie: column that marks ties: 1, true, yes; or 0, false, no, blank. The default is used
            where the file has it; None reads every row as a decision.
        items: the public list of items, in the order to use, with those never compared. Default:
            the items seen in the file, sorted; that list is then public, as ``notes`` says: a
            release tells which items occur.

    Returns:
        A table of N comparisons in the order of the file. ``notes`` names the columns not used.

    Raises:
        DataError: what is wrong, where (file, line, column), and how to fix it. No such file, an
            empty one, a column or value missing, a row of the wrong length, bytes that are not
            UTF-8; an item compared with itself, outside ``items``, named twice (apart from case
            and blanks), or named like a column of the file unless ``items`` has it; a column that
            seems to say which of two items is preferred, where the columns of items go by other
            names than the defaults; a user named twice (apart from blanks); a tie neither yes nor no.
    """
    roles: Roles = {"user": user, "winner": winner, "loser": loser, "tie": tie}
    public = None if items is None else public_items(items)
    return _encode(open_source(Path(path), roles), roles, public)


def _encode(source: Source, roles: Roles, public: tuple[str, ...] | None) -> ComparisonTable:
    at = source.positions
    at_winner, at_loser = at["winner"], at["loser"]
    at_user, at_tie = at.get("user"), at.get("tie")
    columns = [*(column for role in at if (column := roles[role])), *source.ignored]
    check_outcomes(source.name, columns, roles["winner"] or "", roles["loser"] or "")
    items, people, ties = (
        NameCodes("item", True, public, columns),
        NameCodes("user", False),
        TieCodes(),
    )
    users, winners, losers, tied = array("i"), array("i"), array("i"), array("b")
    role = "winner"
    try:
        for row in source.rows:
            role = "winner"
            winners.append(first := items[row[at_winner]])
            role = "loser"
            losers.append(second := items[row[at_loser]])
            if first == second:
                raise BadCell(
                    f"item {row[at_loser]!r} is compared with itself: correct or remove the row"
                )
            if at_user is not None:
                role = "user"
                users.append(people[row[at_user]])
            if at_tie is not None:
                role = "tie"
                tied.append(ties[row[at_tie]])
    except BadCell as error:
        where = f"{source.name}, {source.where()}, column {roles[role]!r}"
        raise DataError(f"{where}: {error}", *error.arguments) from None
    rows = len(winners)
    if not rows:
        raise DataError(f"{source.name} has no rows below its header: there is nothing to rank")
    names, order = tuple(items), np.arange(len(items))
    if public is None:
        names = tuple(sorted(items))
        place = {name: k for k, name in enumerate(names)}
        order = np.array([place[name] for name in items])
    return ComparisonTable(
        users=np.arange(rows) if at_user is None else np.frombuffer(users, np.int32),
        winners=order[np.frombuffer(winners, np.int32)],
        losers=order[np.frombuffer(losers, np.int32)],
        tied=np.zeros(rows) if at_tie is None else np.frombuffer(tied, np.int8),
        item_names=names,
        user_names=tuple(people),
        name=source.name,
        notes=notes_on_comparisons(source.positions, source.ignored, seen_items=public is None),
        public=("items",) if public is None else (),
    )
