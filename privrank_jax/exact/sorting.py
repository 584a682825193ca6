"""Sorts of a release, whose pivots and shuffles come from the operating system's entropy."""

from __future__ import annotations

import secrets
from collections.abc import Callable


def partitioned(
    items: int, before: Callable[[list[tuple[int, int]]], list[bool]], budget: int
) -> tuple[list[list[int]], int]:
    """Segments of the items, the better ones first, each of one item unless a round would have exceeded the budget.

    All segments of two or more items are split around a random pivot in one round.

    Args:
        items: how many.
        before: whether the first item of each pair goes before the other.
        budget: the most pairs that are asked for.

    Returns:
        Segments, and how many pairs were asked for.

    >>> partitioned(4, lambda pairs: [i > j for i, j in pairs], 6)[0], partitioned(4, lambda pairs: [], 2)
    ([[3], [2], [1], [0]], ([[0, 1, 2, 3]], 0))
    """
    segments, queries = [list(range(items))], 0
    while any(len(segment) > 1 for segment in segments):
        pivots = [segment[secrets.randbelow(len(segment))] for segment in segments]
        asked = [
            (item, pivot)
            for segment, pivot in zip(segments, pivots)
            for item in segment
            if item != pivot
        ]
        if queries + len(asked) > budget:
            break
        queries += len(asked)
        left = {pair for pair, first in zip(asked, before(asked)) if first}
        parts = []
        for segment, pivot in zip(segments, pivots):
            ahead = [item for item in segment if (item, pivot) in left]
            behind = [item for item in segment if item != pivot and (item, pivot) not in left]
            parts += [part for part in (ahead, [pivot], behind) if part]
        segments = parts
    return segments, queries


def shuffled(items: list[int]) -> list[int]:
    """The same items in uniformly random order.

    Args:
        items: any.

    >>> shuffled([7])
    [7]
    """
    left = list(items)
    return [left.pop(secrets.randbelow(len(left))) for _ in items]
