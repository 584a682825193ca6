"""Pure Python twins of :mod:`privrank_jax._cells.ranks`, by the words of its head."""

from __future__ import annotations

from collections.abc import Sequence

Row = Sequence[int | None]  # ranks as they stand in the file, from 1; None: blank


def like_ranks(row: Row, left_out: bool) -> bool | None:
    """Whether a user's cells are like ranks; None where the user ranked nothing."""
    ranks = [rank for rank in row if rank is not None]
    different = set(ranks)
    if not ranks:
        return None
    if len(different) == len(ranks):
        return 1 in ranks or left_out
    by_those_before = all(rank == 1 + sum(other < rank for other in ranks) for rank in ranks)
    by_those_up_to = all(rank == sum(other <= rank for other in ranks) for rank in ranks)
    without_gaps = different == set(range(1, len(different) + 1))
    return by_those_before or by_those_up_to or (without_gaps and 2 * len(different) > len(ranks))


def unlike(rows: Sequence[Row], left_out: bool) -> tuple[int, int]:
    """How many users are unlike, of how many."""
    found = [like for row in rows if (like := like_ranks(row, left_out)) is not None]
    return found.count(False), len(found)


def from_ratings(ratings: Sequence[float | None]) -> list[int]:
    """How many items a user rated above each; -1 where it was not rated."""
    known = [rating for rating in ratings if rating is not None]
    return [-1 if own is None else sum(other > own for other in known) for own in ratings]
