"""Cells of a file of rankings: ranks (1 = best) or ratings (larger is better), and cells that cannot be ranks.

Ratings read as ranks would reverse the order, and ids would become an item that every user ranks. So unless the
caller says what the cells are, they must look like ranks:

- no rank exceeds the number of items (in a wide file the number of columns that could be items);
- not more than half of the users who ranked something have cells unlike ranks. Without ties they are like ranks if one
  of them is 1 (where columns of the file were left out, the 1 may be there). With ties they are like ranks if each is
  one more than the number of items before it (1, 2, 2, 4), or the number of items up to it (1, 3, 3, 4), or if they
  count without gaps (1, 2, 2, 3) and there are more different ones than half of the items.

Complete or sparse files of one to five stars fail the second test, whatever the number of items: of users who give
each star equally often at least 56 % are unlike, and 80 % where four stars are most frequent (simulated, 3 to 50 items,
0 to 80 % blank). Ranks of which some were taken away at random pass it as long as most users keep their 1. It is a test
of form: ratings from 1 to 3 of few items can look like ranks with ties, which is why results say how the cells were
read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from privrank_jax.data.cells import WHOLE, number_of, text_of
from privrank_jax.data.errors import BadCell, DataError, quoted, say
from privrank_jax.data.names import MISSING, place_of
from privrank_jax.data.places import places

CELLS = ("ranks", "ratings", "costs", "approvals")
_NOTES = {
    "ranks": "the cells are ranks, 1 = best",
    "ratings": "the cells are ratings, the larger the better; equal ones are ties",
    "costs": "the cells are ratings, the smaller the better; equal ones are ties",
    "approvals": "the cells say whether the user approves of the item; a blank one does not",
}
_AS_RATINGS = f"ratings are read by {say('cells', 'ratings')} or {say('cells', 'costs')}"
_AS_RANKS = f"ranks, whatever they look like, by {say('cells', 'ranks')}"
_COMMA = re.compile(r"[+-]?[0-9]{1,18},[0-9]{1,18}", re.ASCII)
_WORD = re.compile(r"[^\W\d_]+")
_RATED = {
    "score", "scores", "rating", "ratings", "rated", "star", "stars", "point", "points", "grade", "grades", "like",
    "likes", "mark", "marks", "utility", "approval", "percent", "percentage", "likert",
}  # fmt: skip
_BLOCK = 2**20  # cells that are checked together
_FEW = 10  # ratings that may all differ and follow each other by chance, or be alike
_LEAST = 7.0  # minus the logarithm of a chance that counts


def is_nothing(cell: Any) -> bool:
    """Whether a cell holds no rank."""
    text = text_of(cell)
    return not text or text.casefold() in MISSING


def rank_of(cell: Any, most: int | None = None) -> int:
    """The rank, from 0, that a cell holds; -1 for none.

    Args:
        cell: text.
        most: the largest possible rank, if known.

    Raises:
        BadCell: it is no whole number from 1 on, or too large.
    """
    if is_nothing(cell):
        return -1
    text = text_of(cell)
    value = int(text.partition(".")[0]) if WHOLE.fullmatch(text) else 0
    if not value and text.isascii():  # "1st", "2nd choice"
        value = place_of(text) or 0
    if not 1 <= value < 2**31:
        number = number_of(text)
        rated = f"; {_AS_RATINGS}" if number is not None else ""
        zero = ""
        if number == 0:
            zero = ". If 0 says that an item was not ranked, empty the cell; if ranks start at 0, add 1 to each"
        instead = ""
        if number is None and text.casefold() in _APPROVALS:
            instead = f"; if the cells say who approves of what, say {say('cells', 'approvals')}"
        if any(sign in text for sign in ">≻;|\n"):
            instead = f"; if the cell holds items, best first, name its column by {say('order')}"
        raise BadCell(
            f"{quoted(cell)} is not a rank: write a whole number, 1 = best, the same for ties, or nothing where the "
            f"item was not ranked{instead}{rated}{zero}{_with_a_point(text)}"
        )
    if most is not None and value > most:
        raise BadCell(
            f"{quoted(cell)} is not a rank, 1 = best, of {most} items: {_AS_RATINGS}, {_AS_RANKS}"
        )
    return value - 1


def rating_of(cell: Any) -> float:
    """The rating that a cell holds; NaN for none.

    Raises:
        BadCell: it is no number.
    """
    if is_nothing(cell):
        return math.nan
    value = number_of(text_of(cell))
    if value is None:
        raise BadCell(
            f"{quoted(cell)} is not a rating: write a number, or nothing where the item was not "
            f"rated{_with_a_point(text_of(cell))}"
        )
    return value


_APPROVED = [
    "1",
    "1.0",
    "x",
    "✓",
    "✔",
    "☑",
    "yes",
    "y",
    "true",
    "t",
    "approve",
    "approved",
    "approves",
]
_NOT_APPROVED = ["0", "0.0", "✗", "✘", "☐", "no", "n", "false", "f", "disapprove", "disapproved"]
_APPROVALS = {
    **dict.fromkeys(_APPROVED, 1.0),
    **dict.fromkeys([*_NOT_APPROVED, "not approved"], 0.0),
}


def approval_of(cell: Any) -> float:
    """1 where a cell says that the user approves of the item, 0 where it says no, or nothing.

    Raises:
        BadCell: it says something else.

    >>> approval_of("Yes "), approval_of("0"), approval_of("")
    (1.0, 0.0, 0.0)
    """
    if is_nothing(cell):
        return 0.0
    found = _APPROVALS.get(text_of(cell).casefold())
    if found is None:
        raise BadCell(
            f"{quoted(cell)} does not say whether the user approves: write 1 or 0, yes or no, x or nothing"
        )
    return found


def _with_a_point(text: str) -> str:
    """What to write in the place of a decimal comma."""
    if not _COMMA.fullmatch(text):
        return ""
    return f". Numbers have a decimal point: write {text.replace(',', '.')}"


def cells_note(cells: str | None) -> str:
    """What the cells are taken for, in words; nothing of it depends on the data."""
    return _NOTES[cells or "ranks"]


def meaning_of_blanks(cells: str | None) -> str:
    """What a blank cell means if nothing is said: behind all that were ranked; of ratings, nothing at all."""
    return "last" if cells in (None, "ranks") else "unknown"


def check_not_named_ratings(name: str, columns: Sequence[str], cells: str | None) -> None:
    """Raise :class:`DataError` where columns are named as ratings are, and their cells would be read as ranks.

    Args:
        name: of the file.
        columns: of ranks: the one of a long file, or all of a wide file, which must all be named so.
        cells: what the caller says that they hold; None: nothing.
    """
    rated = (_RATED & set(_WORD.findall(column.casefold())) for column in columns)
    if cells is None and columns and all(rated):
        raise DataError(
            f"{name}: columns such as {columns[0]!r} are named like ratings, and would be read as ranks, 1 = best. Say "
            f"which: {_AS_RATINGS}, {_AS_RANKS}"
        )


def check_like_ranks(name: str, unlike: int, users: int) -> None:
    """Raise :class:`DataError` where of ``users`` who ranked something too many, ``unlike``, did not rank."""
    if 2 * unlike > users:
        raise DataError(
            f"{name}: the cells of {unlike:,} of {users:,} users don't look like ranks, 1 = best (numbers repeat and "
            f"skip as in no ranking with ties, or nothing comes first): {_AS_RATINGS}, {_AS_RANKS}"
        )


def unlike_ranks(ranks: np.ndarray, left_out: bool) -> tuple[int, int]:
    """How many users' ranks are unlike ranks, as this module's head says, and how many users ranked something.

    Args:
        ranks: (n, m) int, from 0 as they stand in the file; -1: not ranked.
        left_out: whether other columns of the file may hold ranks too.
    """
    unlike = users = 0
    rows = max(1, _BLOCK // max(ranks.shape[1], 1))
    for start in range(0, len(ranks), rows):
        block = ranks[start : start + rows]
        block = block[np.any(block >= 0, axis=1)]
        users += len(block)
        unlike += int(np.sum(~_like_ranks(block, left_out)))
    return unlike, users


def _like_ranks(ranks: np.ndarray, left_out: bool) -> np.ndarray:
    """Whether each row is like ranks, (n,) bool; every row has a rank."""
    blank = ranks < 0
    before, up_to, different = places(ranks)
    number, last = np.sum(~blank, axis=1), np.max(ranks, axis=1)
    first = np.min(np.where(blank, last[:, None], ranks), axis=1)
    by_those_before = np.all(ranks == before, axis=1, where=~blank)
    by_those_up_to = np.all(ranks == up_to - 1, axis=1, where=~blank)
    counted = (last == different - 1) & (2 * different > number)
    tied = by_those_before | by_those_up_to | counted
    return np.where(different == number, (first == 0) | left_out, tied)


def check_ranks_of_few(name: str, column: str, largest: int, items: int) -> None:
    """Raise :class:`DataError` where the largest rank of a long file, from 0, is too large for its items."""
    if largest >= items:
        raise DataError(
            f"{name}, column {column!r}: {largest + 1} is not a rank, 1 = best, of {items} items: {_AS_RATINGS}, "
            f"{_AS_RANKS}"
        )


# --- columns that are no items, by what their cells hold -----------------------------------------------
#
# Whether a file is refused depends on answers, as it does for other faults of its cells; which columns are read does
# not.


class Ends(NamedTuple):
    """Of an item's ratings: how many, how many different ones, the smallest and the largest."""

    number: int
    different: int
    least: float
    largest: float


def who_ranked(column: str) -> str:
    """What to do with a column that may be no item, where every row stands for a user."""
    return f"If it says who ranked, say {say('user', column)}; if it is not an item, list the {say('items')}"


def perhaps_no_item(column: str, user: str | None, public: Collection[str] | None) -> str:
    """What to add to the fault of a cell, where its column may be no item."""
    if public is not None:
        return ""
    if user is None:
        return f". {who_ranked(column)}"
    return f". If this column is not an item, leave it out by {say('ignore', [column])}, or list the {say('items')}"


def check_no_numbers_of_rows(name: str, columns: Sequence[str], ranks: np.ndarray) -> None:
    """Raise :class:`DataError` where a column of ranks seems to say who ranked.

    It has another one in each of three rows or more, and without it each row ranks 1, 2, ... without a tie or gap.

    Args:
        name: of the file, of which each row stands for a user.
        columns: of items.
        ranks: (n, m) int, from 0 as they stand in the file; -1: not ranked.
    """
    if not 3 <= len(ranks) <= len(columns):
        return
    for k in np.flatnonzero(np.all(ranks == _over(ranks)[:, None], axis=0)).tolist():
        if len(np.unique(ranks[:, k])) == len(ranks) and np.all(whole(np.delete(ranks, k, axis=1))):
            raise DataError(
                f"{name}: column {columns[k]!r} seems to number the rows: it holds a different number in each, and "
                f"without it each row is a whole ranking. {who_ranked(columns[k])}; {_AS_RANKS}"
            )


def _over(ranks: np.ndarray) -> np.ndarray:
    """What the sum of the r ranks of a row leaves over 0 + ... + (r - 2), the sum of the others of a whole ranking."""
    number = np.sum(ranks >= 0, axis=1)
    return np.sum(np.maximum(ranks, 0), axis=1) - (number - 1) * (number - 2) // 2


def whole(ranks: np.ndarray) -> np.ndarray:
    """Whether the ranks of each row are 0, 1, ... without ties, (n,) bool."""
    number = np.sum(ranks >= 0, axis=1)
    return (places(ranks).different == number) & (np.max(ranks, axis=1) == number - 1)


def check_no_numbers_of_raters(name: str, columns: Mapping[str, Ends], users: int) -> None:
    """Raise :class:`DataError` where a column of ratings seems to say who rated.

    It is more than ten numbers, each another, that leave no gap or lie above all other ratings.

    Args:
        name: of the file, of which each row stands for a user.
        columns: of items that somebody rated.
        users: number of rows.
    """
    for column, ends in columns.items():
        if not ends.number == ends.different == users > _FEW:
            continue
        above = all(ends.least > one.largest for other, one in columns.items() if other != column)
        if above or ends.largest - ends.least == users - 1:
            raise DataError(
                f"{name}: column {column!r} seems to number the rows: it holds a different number in each. "
                f"{who_ranked(column)}"
            )


def is_beside(items: int, users: int, unlike: int) -> bool:
    """Whether ``unlike`` of ``users`` rows of ``items`` columns are too many that are rankings but for one column.

    Where each row is a ranking 1, 2, ... without ties once one column is left out, and most rows are none with it, that
    column holds something else, such as a group or a flag. Were it an item, all ties would be ties with it. Of m items
    a tie of two is with a given one with probability 2/m, so that with u such rows this happens by chance at most with
    probability m(2/m)^u; it counts from (2/m)^u = e^-7 on.
    """
    return items > 2 and 2 * unlike >= users and unlike * math.log(items / 2) >= _LEAST


def check_ranks_of_items(name: str, columns: Sequence[str], ranks: np.ndarray) -> None:
    """Raise :class:`DataError` where rows are rankings but for one column.

    Args:
        name: of the file.
        columns: of items.
        ranks: (n, m) int, from 0 as they stand in the file; -1: not ranked.
    """
    ranks = ranks[np.any(ranks >= 0, axis=1)]
    unlike = int(np.sum(~whole(ranks)))
    if not is_beside(len(columns), len(ranks), unlike):
        return
    found = [
        k
        for k in np.flatnonzero(np.all(ranks == _over(ranks)[:, None], axis=0)).tolist()
        if np.all(whole(np.delete(ranks, k, axis=1)))
    ]
    if len(found) == 1:
        why = f"without it each row is a ranking, and with it {unlike:,} are not"
        raise _no_item(name, columns[found[0]], why)


def check_ratings_of_items(name: str, columns: Mapping[str, Ends]) -> None:
    """Raise :class:`DataError` where a column has a scale of its own, or the same number in each row.

    Numbers all above twice the others' scale, such as years; or, in more than ten rows, always the same one that is
    neither the worst nor the best of the others, such as a wave. An item may be rated best, or worst, by all.

    Args:
        name: of the file.
        columns: of items that somebody rated.
    """
    if len(columns) < 3:
        return
    low, high = (float(np.median([one[k] for one in columns.values()])) for k in (2, 3))
    varied = sum(one.least < one.largest for one in columns.values())
    for column, ends in columns.items():
        if ends.number <= _FEW:
            continue
        if ends.least > high + max(high - low, abs(high)):
            why = f"its numbers begin at {ends.least:g}, far above the ratings of most columns"
            raise _no_item(name, column, why)
        others = [one for other, one in columns.items() if other != column]
        edges = min(one.least for one in others), max(one.largest for one in others)
        constant = ends.least == ends.largest and ends.least not in edges
        if constant and 2 * varied > len(columns):
            why = f"it holds {ends.least:g} in each of {ends.number:,} rows"
            raise _no_item(name, column, why)


def _no_item(name: str, column: str, why: str) -> DataError:
    """The message on a column that is no item."""
    return DataError(
        f"{name}: column {column!r} seems to be no item: {why}. Leave it out by {say('ignore', [column])}, or list the "
        f"{say('items')}, with it if it is one"
    )
