"""Numbers beside items: how often a row counts, its weight, how often each of two items won, and what each scored.

A row that counts c times is read as c equal rows, so that whatever is bounded, counted or protected is so for each of
them: c answers of the user whom the row names, and, where it names none, of c users if the caller says that each
ranking is another user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from privrank_jax._arguments import value_of
from privrank_jax._cells.errors import ITEMS, BadCell, DataError
from privrank_jax._cells.outcomes import letters
from privrank_jax._cells.ranks import WHOLE, number_of

MOST_COUNTED = 2**26  # rows, of some 20 bytes each
_COUNTS = {
    "count", "counts", "cnt", "n", "freq", "freqs", "frequency", "frequencies", "weight", "weights", "votes", "ballots",
    "times", "multiplicity", "repetitions", "occurrences", "howoften", "howmany", "votecount", "ballotcount",
    "rowcount", "numvotes", "nvotes", "numballots", "nballots", "numberofvotes", "numberofballots",
}  # fmt: skip


def check_no_counts(name: str, unused: Iterable[str], *, items: bool = False) -> None:
    """Raise :class:`DataError` if a column says, by its name, how often a row counts, and would not be used.

    Args:
        name: of the file.
        unused: columns that no argument names.
        items: whether they would be read as items.
    """
    for column in unused:
        if letters(column) in _COUNTS:
            said, ignore = value_of("count", column), value_of("ignore", [column])
            item = f"; if it is an item, list the {ITEMS}" if items else ""
            raise DataError(
                f"{name}: column {column!r} looks like how often a row counts, and each row would count once: say "
                f"{said}{item}; if it is something else, leave it out by {ignore}",
                said,
                ignore,
                ITEMS,
            )


class CountCodes(dict[Any, int]):
    """Cells of a column of counts to whole numbers; 0 is a row that does not count."""

    def __missing__(self, cell: str | None) -> int:
        text = (cell or "").strip()
        number = int(text.partition(".")[0]) if WHOLE.fullmatch(text) else -1
        if not 0 <= number <= MOST_COUNTED:
            raise BadCell(
                f"{cell!r} does not say how often the row counts: write a whole number up to {MOST_COUNTED:,}, 0 for a "
                "row that does not count"
            )
        self[cell] = number
        return number


class WeightCodes(dict[Any, float]):
    """Cells of a column of weights to finite numbers of at least 0; a row of weight 0 says nothing."""

    def __missing__(self, cell: str | None) -> float:
        number = number_of(cell or "")
        if number is None or number < 0:
            raise BadCell(
                f"{cell!r} is no weight: write a number of at least 0, such as 1 divided by the probability of the row"
            )
        self[cell] = number
        return number


def weighted_note(column: str) -> str:
    """What a column of weights is taken for, in words that depend on its name alone."""
    return f"each row has the weight in column {column!r}"


def counted_note(column: str) -> str:
    """What a column of counts is taken for, in words that depend on its name alone."""
    return f"each row counts as often as column {column!r} says"


def repeated(name: str, counts: Sequence[int]) -> np.ndarray:
    """The number of each row as often as it counts, ``(sum of counts,)`` int64.

    Raises:
        DataError: of the file ``name``, if that is more than is read.

    >>> repeated("f", [2, 1]).tolist()
    [0, 0, 1]
    """
    if sum(counts) > MOST_COUNTED:
        raise DataError(
            f"{name}: its counts add up to more than {MOST_COUNTED:,} rows, the most that are read"
        )
    return np.repeat(np.arange(len(counts)), counts)


def higher(left: str | None, right: str | None) -> str:
    """Which of two scores is higher: ``"left"``, ``"right"``, or ``"tie"`` where they are equal.

    Raises:
        BadCell: one of them is no number.

    >>> higher("2", "1.5"), higher("0", "0.0")
    ('left', 'tie')
    """
    scores = [number_of(cell or "") for cell in (left, right)]
    for cell, score in zip((left, right), scores, strict=True):
        if score is None:
            raise BadCell(f"{cell!r} is no score: write a number, or remove the row")
    one, other = (score or 0.0 for score in scores)
    return "tie" if one == other else "left" if one > other else "right"
