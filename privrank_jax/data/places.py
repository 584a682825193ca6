"""Places in rankings with ties and blanks, by one sort of each row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Places(NamedTuple):
    """Places of each item in each row; negative ranks are blanks.

    Attributes:
        before: (n, m) int32, how many items of its row are ranked strictly before an item; blanks -1.
        up_to: (n, m) int32, how many are ranked before it or tied with it, itself included; blanks -1.
        different: (n,) int, how many different ranks the row holds.
    """

    before: np.ndarray
    up_to: np.ndarray
    different: np.ndarray


def places(ranks: np.ndarray) -> Places:
    """Compute places of whole numbers, smaller is better.

    Args:
        ranks: (n, m) int; negative: blank.

    >>> found = places(np.array([[30, 10, 10, -5]]))
    >>> found.before.tolist(), found.up_to.tolist(), found.different.tolist()
    ([[2, 0, 0, -1]], [[3, 2, 2, -1]], [2])
    """
    known = ranks >= 0
    number = np.sum(known, axis=1, keepdims=True)
    keys = np.where(known, ranks, np.iinfo(ranks.dtype).max)
    order = np.argsort(keys, axis=1, kind="stable")
    ordered = np.take_along_axis(keys, order, axis=1)
    position = np.broadcast_to(np.arange(ranks.shape[1], dtype=np.int32), ranks.shape)
    starts = np.ones(ranks.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ends = np.ones(ranks.shape, bool)
    ends[:, :-1] = starts[:, 1:]
    start = np.maximum.accumulate(np.where(starts, position, 0), axis=1)
    last = np.where(ends, position, np.int32(ranks.shape[1]))
    end = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1] + 1

    def of_items(sorted_values: np.ndarray) -> np.ndarray:
        found = np.empty(ranks.shape, np.int32)
        np.put_along_axis(found, order, sorted_values, axis=1)
        return np.where(known, found, np.int32(-1))

    return Places(
        before=of_items(start),
        up_to=of_items(np.minimum(end, number)),
        different=np.sum(starts & (position < number), axis=1),
    )
