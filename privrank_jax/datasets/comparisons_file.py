"""A file of comparisons, one row each, into a table: used whole or refused.

No row is dropped and no name is changed; what looks wrong is an error that says where it is.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privrank_jax._arguments import ArgumentError
from privrank_jax.datasets.formats import Roles, Source, open_source
from privrank_jax.datasets.names import MISSING, did_you_mean, difference, form
from privrank_jax.datasets.outcomes import WRITE_ITEMS, check_outcomes
from privrank_jax.datasets.table import ITEMS, ComparisonTable, DataError

_TIES = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), 1),
    **dict.fromkeys(("", "0", "0.0", "false", "no"), 0),
}


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
        user: column of the user's id. None: the file names no users, every row stands for itself,
            and only a guarantee per comparison is possible.
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


class BadCell(ArgumentError):
    """What is wrong with a cell; the reader adds where it is."""


class NameCodes(dict[Any, int]):
    """Names to codes by first appearance; a name is checked once, when it first appears.

    Args:
        what: is named, for messages.
        fold_case: whether spellings that differ by case are one name.
        public: all names there can be.
        columns: of a file of comparisons; without ``public`` no item has the name of one.
    """

    def __init__(
        self,
        what: str,
        fold_case: bool,
        public: tuple[str, ...] | None = None,
        columns: Iterable[str] | None = None,
    ) -> None:
        super().__init__({name: code for code, name in enumerate(public or ())})
        self.what, self.fold_case, self.closed = what, fold_case, public is not None
        self.spellings: dict[str, str] = {}
        self.compared = columns is not None
        self.columns = {form(column) for column in columns or ()}

    def __missing__(self, name: str | None) -> int:
        present = check_present(name, self.what, _BOTH if self.compared else _FILL)
        if self.closed:
            raise BadCell(
                f"{name!r} is not in the list of items{did_you_mean(present, self)}: correct the file "
                f"or add it to {ITEMS}",
                ITEMS,
            )
        if "\0" in present:
            raise BadCell(f"the {self.what} is {name!r}, with a NUL character: remove that")
        if form(present) in self.columns:
            raise BadCell(
                f"{present!r} is the name of a column: if cells say in which column the preferred item stands, "
                f"{WRITE_ITEMS}. If it is an item, put it into {ITEMS}",
                ITEMS,
            )
        twin = self.spellings.setdefault(form(present, self.fold_case), present)
        if twin != name:
            raise named_twice(self.what, twin, present)
        self[name] = code = len(self)
        return code


_FILL = "fill it in or remove the row"
_BOTH = (
    "name both items of a comparison. A tie has both of them and a 1 in a column `tie`; only a row without an answer "
    "may be left out"
)


def check_present(name: str | None, what: str, mend: str = _FILL) -> str:
    """The name, unless it is blank, marks a missing value or holds NUL: :class:`BadCell`, which says how to fix it."""
    if name is None or not name.strip():
        raise BadCell(f"the {what} is missing: {mend}")
    if name.strip().casefold() in MISSING:
        raise BadCell(
            f"the {what} is {name!r}, which marks a missing value: {mend}"
            f"{'; if it is a name, put it into {ITEMS}' if what == 'item' else ''}",
            ITEMS,
        )
    if "\0" in name:
        raise BadCell(f"the {what} is {name!r}, with a NUL character: remove that")
    return name


def named_twice(what: str, first: str, second: str) -> BadCell:
    """What is wrong with two spellings of one name."""
    return BadCell(f"{what} named twice: {first!r} and {second!r} {difference(first, second)}")


class TieCodes(dict[Any, int]):
    """Cells of the tie column to 0 or 1."""

    def __missing__(self, cell: str | None) -> int:
        code = _TIES.get((cell or "").strip().casefold())
        if code is None:
            raise BadCell(f"{cell!r} does not say whether it is a tie: write 1 or 0 (yes, no)")
        self[cell] = code
        return code


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
        notes=notes_on(source.positions, source.ignored, seen_items=public is None),
        public=("items",) if public is None else (),
    )


def notes_on(
    positions: Mapping[str, int], ignored: Sequence[str], *, seen_items: bool
) -> tuple[str, ...]:
    """What a loader says of a file: where the items came from, whether it has users, what it skipped."""
    notes = []
    if seen_items:
        notes.append("the list of items was taken from the file and is treated as public")
    if "user" not in positions:
        notes.append("the file names no users: only a guarantee per comparison is possible")
    if ignored:
        notes.append("columns not used: " + ", ".join(ignored))
    return tuple(notes)


def public_items(items: Iterable[str]) -> tuple[str, ...]:
    """The given list of items, checked: at least two names, none blank, each listed once."""
    if isinstance(items, str):
        raise DataError(f"items must be a list of names, got the single text {items!r}")
    names = tuple(str(item) for item in items)
    if len(names) < 2:
        raise DataError(f"items must name at least two items to rank, got {list(names)}")
    spellings: dict[str, str] = {}
    for name in names:
        if not name.strip():
            raise DataError("items holds a blank name: remove it")
        if "\0" in name:
            raise DataError(f"items: {name!r} has a NUL character: remove that")
        if form(name) in spellings:
            twin = spellings[form(name)]
            raise DataError(f"items: item named twice, {twin!r} and {name!r}: keep one of them")
        spellings[form(name)] = name
    return names
