"""Columns of a wide file that are no items by what their cells hold, where no list says which are.

Whether a file is refused depends on answers, as it does for other faults of its cells; which columns are read does not.

*Ranks*: where each row is a ranking 1, 2, ... without ties once one column is left out, and most rows are none with it,
that column holds something else, such as a group or a flag. Were it an item, all ties would be ties with it. Of m items
a tie of two is with a given one with probability 2/m, so that with u such rows this happens by chance at most with
probability m(2/m)^u; it counts from (2/m)^u = e^-7 on.

*Ratings*: numbers all above twice the others' scale, such as years; or, in more than ten rows, always the same one that
is neither the worst nor the best of the others, such as a wave. An item may be rated best, or worst, by all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from privrank_jax._arguments import value_of
from privrank_jax._cells.errors import ITEMS, DataError
from privrank_jax._cells.places import places
from privrank_jax._cells.ranks import RankCodes, RatingCodes

_LEAST = 7.0  # minus the logarithm of a chance that counts
_FEW = 10  # users who may rate an item alike


def is_beside(items: int, users: int, unlike: int) -> bool:
    """Whether ``unlike`` of ``users`` rows of ``items`` columns are too many that are rankings but for one column."""
    return items > 2 and 2 * unlike >= users and unlike * math.log(items / 2) >= _LEAST


def check_cells_of_items(
    name: str,
    columns: Sequence[str],
    ranks: np.ndarray,
    codes: RankCodes | RatingCodes,
    cells: str | None,
) -> None:
    """Apply the rules of this module to a wide file.

    Args:
        name: of the file.
        columns: of items.
        ranks: (n, m) int, from 0 as they stand in the file, or among all ratings; -1: blank.
        codes: what the cells were read by.
        cells: what they were said to be.
    """
    if cells is None:
        check_ranks_of_items(name, columns, ranks)
    if cells == "ratings" and isinstance(codes, RatingCodes):
        known = ranks >= 0
        worst = np.max(ranks, axis=0)
        best = np.min(np.where(known, ranks, worst), axis=0)
        found = zip(np.sum(known, axis=0), worst, best, strict=True)
        check_ratings_of_items(name, dict(zip(columns, found)), codes)


def check_ranks_of_items(name: str, columns: Sequence[str], ranks: np.ndarray) -> None:
    """Raise :class:`DataError` where rows are rankings but for one column.

    Args:
        name: of the file.
        columns: of items.
        ranks: (n, m) int, from 0 as they stand in the file; -1: not ranked.
    """
    ranks = ranks[np.any(ranks >= 0, axis=1)]
    unlike = int(np.sum(~_whole(ranks)))
    if not is_beside(len(columns), len(ranks), unlike):
        return
    # The others of the r ranks of a row are to be 0 to r - 2: what their sum leaves over is in that column.
    number = np.sum(ranks >= 0, axis=1)
    over = np.sum(np.maximum(ranks, 0), axis=1) - (number - 1) * (number - 2) // 2
    found = [
        k
        for k in np.flatnonzero(np.all(ranks == over[:, None], axis=0)).tolist()
        if np.all(_whole(np.delete(ranks, k, axis=1)))
    ]
    if len(found) == 1:
        raise beside_rankings(name, columns[found[0]], unlike)


def beside_rankings(name: str, column: str, unlike: int) -> DataError:
    """The message on a column without which rows are rankings, ``unlike`` of which are none with it."""
    return _no_item(
        name, column, f"without it each row is a ranking, and with it {unlike:,} are not"
    )


def _whole(ranks: np.ndarray) -> np.ndarray:
    """Whether the ranks of each row are 0, 1, ... without ties, (n,) bool."""
    number = np.sum(ranks >= 0, axis=1)
    return (places(ranks).different == number) & (np.max(ranks, axis=1) == number - 1)


def check_ratings_of_items(
    name: str, columns: Mapping[str, tuple[int, int, int]], codes: RatingCodes
) -> None:
    """Raise :class:`DataError` where a column has a scale of its own, or the same number in each row.

    Args:
        name: of the file.
        columns: of each item how many rated it, and the ranks, from 0 among all ratings, of the worst rating and of
            the best.
        codes: what the cells were read by.
    """
    scale = codes.scale()
    ends = {
        column: (*sorted((float(scale[worst]), float(scale[best]))), number)
        for column, (number, worst, best) in columns.items()
        if number
    }
    if len(ends) < 3:
        return
    low, high = (float(np.median([one[k] for one in ends.values()])) for k in (0, 1))
    varied = sum(least < largest for least, largest, _ in ends.values())
    for column, (least, largest, number) in ends.items():
        if number <= _FEW:
            continue
        if least > high + max(high - low, abs(high)):
            raise _no_item(
                name,
                column,
                f"its numbers begin at {least:g}, far above the ratings of most columns",
            )
        others = [one[:2] for other, one in ends.items() if other != column]
        edges = min(one[0] for one in others), max(one[1] for one in others)
        if least == largest and least not in edges and 2 * varied > len(ends):
            raise _no_item(name, column, f"it holds {least:g} in each of {number:,} rows")


def _no_item(name: str, column: str, why: str) -> DataError:
    """The message on a column that is no item."""
    ignore = value_of("ignore", [column])
    return DataError(
        f"{name}: column {column!r} seems to be no item: {why}. Leave it out by {ignore}, or list the {ITEMS}, with it "
        "if it is one",
        ignore,
        ITEMS,
    )
