"""How often items meet, as they are ranked, shown or compared together, and how often they would by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

Meetings = tuple[Float[np.ndarray, "some items"], Float[np.ndarray, "some items"]]


def meetings_of_sets(sets: Bool[np.ndarray, "sets items"], items: Sequence[int]) -> Meetings:
    """In how many sets each of some items is together with each item, and in how many it would be by chance."""
    once = np.sum(sets, axis=0, dtype=float)
    met = (sets[:, list(items)].T.astype(np.float32) @ sets).astype(float)
    return met, np.outer(once[list(items)], once) / max(len(sets), 1)


def meetings_of_pairs(
    one: Int[np.ndarray, "rows"],
    other: Int[np.ndarray, "rows"],
    number: np.ndarray,
    num_items: int,
    items: Sequence[int],
) -> Meetings:
    """How often each of some items met each item, and how often it would if each item drew its opponents by chance.

    Args:
        one, other: the items of a pair.
        number: ``(rows,)``, how often they met.
        num_items: m.
        items: k places of items.
    """
    met = np.zeros((len(items), num_items))
    for row, item in enumerate(items):
        met[row] += np.bincount(other[one == item], number[one == item], num_items)
        met[row] += np.bincount(one[other == item], number[other == item], num_items)
    once = np.bincount(one, number, num_items) + np.bincount(other, number, num_items)
    return met, np.outer(once[list(items)], once) / max(once.sum(), 1)
