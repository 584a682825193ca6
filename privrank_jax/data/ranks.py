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

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from privrank_jax._arguments import Argument, value_of
from privrank_jax.data.errors import ITEMS, BadCell, DataError
from privrank_jax.data.names import MISSING
from privrank_jax.data.places import places

CELLS = ("ranks", "ratings", "costs")
RANKS_SAID = "the cells are ranks, 1 = best"
RATINGS_SAID = "the cells are ratings, the larger the better; equal ones are ties"
COSTS_SAID = "the cells are ratings, the smaller the better; equal ones are ties"
WHOLE = re.compile(r"\+?[0-9]{1,18}(\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]{1,18}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
CELLS_SAID = (
    value_of("cells", "ratings"),
    value_of("cells", "costs"),
    value_of("cells", "ranks"),
)
_AS_RATINGS = f"ratings are read by {CELLS_SAID[0]} or {CELLS_SAID[1]}"
_AS_RANKS = f"ranks, whatever they look like, by {CELLS_SAID[2]}"
_COMMA = re.compile(r"[+-]?[0-9]{1,18},[0-9]{1,18}", re.ASCII)
_WORD = re.compile(r"[^\W\d_]+")
_RATED = {
    "score", "scores", "rating", "ratings", "rated", "star", "stars", "point", "points", "grade", "grades", "like",
    "likes", "mark", "marks", "utility", "approval", "percent", "percentage", "likert",
}  # fmt: skip
_BLOCK = 2**20  # cells that are checked together
_FEW = 10  # ratings that may all differ and follow each other by chance


class ZeroRank(BadCell):
    """A cell that is 0, where ranks start at 1."""

    def advised(self, least: int, most: int) -> BadCell:
        """The error with what to do, by the smallest and the largest number of cells of a user that are 0."""
        if least == 0 or most > 1:
            hint = "Where 0 says that an item was not ranked, it must be blank: empty these cells"
        else:
            hint = "If 0 says that an item was not ranked, empty the cell; if ranks start at 0, add 1 to each"
        return BadCell(f"{self}. {hint}", *self.arguments)


def zeros_of_users(cells: Iterable[tuple[Hashable, str | None]]) -> tuple[int, int]:
    """The smallest and the largest number of cells of a user that are 0, of pairs of a user and a cell.

    >>> zeros_of_users([("ann", "1"), ("ann", "0"), ("bob", "2"), ("bob", " "), ("cy", "")])
    (0, 1)
    """
    zeros: dict[Hashable, int] = {}
    for user, cell in cells:
        text = (cell or "").strip()
        if text and text.casefold() not in MISSING:
            zeros[user] = zeros.get(user, 0) + is_zero(text)
    return min(zeros.values(), default=0), max(zeros.values(), default=0)


def is_zero(text: str) -> bool:
    """Whether a cell is a whole number that is 0."""
    return bool(WHOLE.fullmatch(text.strip())) and number_of(text) == 0


class RankCodes(dict[Any, int]):
    """Cells to ranks from 0, or -1 where there is none.

    Args:
        most: the largest possible rank, if known.
    """

    def __init__(self, most: int | None = None) -> None:
        super().__init__()
        self.most = most

    def __missing__(self, cell: str | None) -> int:
        text = (cell or "").strip()
        rank = -1
        if text and text.casefold() not in MISSING:
            value = int(text.partition(".")[0]) if WHOLE.fullmatch(text) else 0
            if not 1 <= value < 2**31:
                rated = f"; {_AS_RATINGS}" if is_number(text) else ""
                raise (ZeroRank if is_zero(text) else BadCell)(
                    f"{cell!r} is not a rank: write a whole number, 1 = best, the same for ties, or nothing where "
                    f"the item was not ranked{rated}{_with_a_point(text)}",
                    *CELLS_SAID,
                )
            if self.most is not None and value > self.most:
                raise BadCell(
                    f"{cell!r} is not a rank, 1 = best, of {self.most} items: {_AS_RATINGS}, {_AS_RANKS}",
                    *CELLS_SAID,
                )
            rank = value - 1
        self[cell] = rank
        return rank

    def ranks(self, codes: np.ndarray) -> np.ndarray:
        """Decode the codes of cells: ranks from 0, int32, -1 for none."""
        return codes


class RatingCodes(dict[Any, int]):
    """Cells to codes of ratings by first appearance, or -1 where there is none.

    Args:
        less_is_better: whether the smallest rating is the best, not the largest.
    """

    def __init__(self, less_is_better: bool = False) -> None:
        super().__init__()
        self.ratings: list[float] = []
        self.less_is_better = less_is_better

    def __missing__(self, cell: str | None) -> int:
        text = (cell or "").strip()
        code = -1
        if text and text.casefold() not in MISSING:
            value = number_of(text)
            if value is None:
                better = "smaller" if self.less_is_better else "larger"
                raise BadCell(
                    f"{cell!r} is not a rating: write a number, the {better} the better, or nothing where the item was "
                    f"not rated{_with_a_point(text)}"
                )
            code = len(self.ratings)
            self.ratings.append(value)
        self[cell] = code
        return code

    def ranks(self, codes: np.ndarray) -> np.ndarray:
        """Decode the codes of cells: ranks from 0 among all ratings, int32, -1 for none."""
        if not self.ratings:
            return codes
        sign = 1 if self.less_is_better else -1
        ranks = np.searchsorted(sign * self.scale(), sign * np.array(self.ratings))
        return np.where(codes < 0, -1, ranks[codes]).astype(np.int32)

    def scale(self) -> np.ndarray:
        """The distinct ratings, float64, best first: those of the ranks 0, 1, ..."""
        found = np.unique(self.ratings)
        return found if self.less_is_better else found[::-1]


def number_of(text: str) -> float | None:
    """The finite number that a cell holds; None if it holds none.

    >>> number_of(" 1.5"), number_of("1,5"), number_of("1e999")
    (1.5, None, None)
    """
    value = float(text) if _NUMBER.fullmatch(text.strip()) else np.inf
    return value if np.isfinite(value) else None


def is_number(text: str) -> bool:
    """Whether a cell is a number, with a decimal point or comma."""
    return bool(_NUMBER.fullmatch(text.strip()) or _COMMA.fullmatch(text.strip()))


def _with_a_point(text: str) -> str:
    """What to write in the place of a decimal comma."""
    if not _COMMA.fullmatch(text):
        return ""
    return f". Numbers have a decimal point: write {text.replace(',', '.')}"


def cell_codes(cells: str | None, most: int | None = None) -> RankCodes | RatingCodes:
    """The reader of cells that are ``"ranks"``, ``"ratings"`` (more is better), ``"costs"`` (less is), or None: ranks,
    of which none may exceed ``most``."""
    if cells in ("ratings", "costs"):
        return RatingCodes(less_is_better=cells == "costs")
    return RankCodes(most if cells is None else None)


def cells_note(cells: str | None) -> str:
    """What the cells are taken for, in words; nothing of it depends on the data."""
    return {"ratings": RATINGS_SAID, "costs": COSTS_SAID}.get(cells or "", RANKS_SAID)


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
    if (
        cells is None
        and columns
        and all(_RATED & set(_WORD.findall(c.casefold())) for c in columns)
    ):
        several = (
            f"columns such as {columns[0]!r} are"
            if len(columns) > 1
            else f"column {columns[0]!r} is"
        )
        raise DataError(
            f"{name}: {several} named like ratings, and would be read as ranks, 1 = best. Say which: {_AS_RATINGS}, "
            f"{_AS_RANKS}",
            *CELLS_SAID,
        )


def check_like_ranks(name: str, unlike: int, users: int) -> None:
    """Raise :class:`DataError` where of ``users`` who ranked something too many, ``unlike``, did not rank.

    Args:
        name: of the file.
        unlike: as counted by :func:`unlike_ranks`.
        users: users who ranked something, as counted there.
    """
    if 2 * unlike > users:
        raise DataError(
            f"{name}: the cells of {unlike:,} of {users:,} users don't look like ranks, 1 = best (numbers repeat and "
            f"skip as in no ranking with ties, or nothing comes first): {_AS_RATINGS}, {_AS_RANKS}",
            *CELLS_SAID,
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


def who_ranked(column: str) -> str:
    """What to do with a column that may be no item, where every row stands for a user."""
    named, items = user_or_items(column)
    return f"If it says who ranked, say {named}; if it is not an item, list the {items}"


def user_or_items(column: str) -> tuple[Argument, Argument]:
    """The arguments that :func:`who_ranked` names."""
    return value_of("user", column), ITEMS


def check_ranks_of_few(name: str, column: str, largest: int, items: int) -> None:
    """Raise :class:`DataError` where the largest rank of a long file, from 0, is too large for its items."""
    if largest >= items:
        raise DataError(
            f"{name}, column {column!r}: {largest + 1} is not a rank, 1 = best, of {items} items: {_AS_RATINGS}, "
            f"{_AS_RANKS}",
            *CELLS_SAID,
        )


def check_no_numbers_of_rows(
    name: str, columns: Sequence[str], ranks: np.ndarray, codes: RankCodes | RatingCodes
) -> None:
    """Raise :class:`DataError` where a column of a wide file seems to say who ranked.

    Ranks: it has another one in each of three rows or more, and without it each row ranks 1, 2, ... without a tie or
    gap. Ratings: :func:`check_no_numbers_of_raters`.

    Args:
        name: of the file, of which each row stands for a user.
        columns: of items.
        ranks: (n, m) int, from 0 as they stand in the file; -1: not ranked.
        codes: what the cells were read by.
    """
    if isinstance(codes, RatingCodes):
        worst = np.max(ranks, axis=0)
        best = np.min(np.where(ranks < 0, worst + 1, ranks), axis=0)
        found = zip(np.sum(ranks >= 0, axis=0), places(ranks.T).different, worst, best, strict=True)
        check_no_numbers_of_raters(name, dict(zip(columns, found)), codes, len(ranks))
        return
    if not 3 <= len(ranks) <= len(columns):
        return
    # The others of the r ranks of a row are to be 0 to r - 2: what their sum leaves over is in that column.
    number = np.sum(ranks >= 0, axis=1)
    over = np.sum(np.maximum(ranks, 0), axis=1) - (number - 1) * (number - 2) // 2
    for k in np.flatnonzero(np.all(ranks == over[:, None], axis=0)).tolist():
        column, others = columns[k], np.delete(ranks, k, axis=1)
        whole = (places(others).different == number - 1) & (np.max(others, axis=1) == number - 2)
        if len(np.unique(ranks[:, k])) == len(ranks) and np.all(whole):
            raise DataError(
                f"{name}: column {column!r} seems to number the rows: it holds a different number in each, and "
                f"without it each row is a whole ranking. {who_ranked(column)}; {_AS_RANKS}",
                *user_or_items(column),
                *CELLS_SAID,
            )


def check_no_numbers_of_raters(
    name: str,
    columns: Mapping[str, tuple[int, int, int, int]],
    codes: RatingCodes,
    users: int,
) -> None:
    """Raise :class:`DataError` where a column of ratings seems to say who rated.

    It is more than ten numbers, each another, that leave no gap or lie above all other ratings.

    Args:
        name: of the file, of which each row stands for a user.
        columns: of each item how many rated it, the number of different ratings, and the ranks, from 0 among all
            ratings, of the worst rating and of the best.
        codes: what the cells were read by.
        users: number of rows.
    """
    scale = codes.scale()
    columns = {column: facts for column, facts in columns.items() if facts[0]}
    ends = {
        column: sorted((scale[worst], scale[best])) for column, (*_, worst, best) in columns.items()
    }
    for column, (number, different, *_) in columns.items():
        if not number == different == users > _FEW:
            continue
        least, largest = ends[column]
        above = all(least > high for other, (_, high) in ends.items() if other != column)
        if above or largest - least == users - 1:
            raise DataError(
                f"{name}: column {column!r} seems to number the rows: it holds a different number in each. "
                f"{who_ranked(column)}",
                *user_or_items(column),
            )
