"""All pairs of neighbors among small data sets, for exact privacy losses; in NumPy and float64."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Integer, Shaped


@dataclass(frozen=True, eq=False)
class Instances:
    """Small data sets, and which of them are neighbors.

    Attributes:
        data: ``(D, ...)``, one data set per row.
        pairs: ``(P, 2)`` row numbers; each unordered pair once.
    """

    data: Shaped[np.ndarray, "data_sets *data"]
    pairs: Integer[np.ndarray, "pairs 2"]


def of_values(*values: object) -> Instances:
    """Data sets all of which are neighbors of one another."""
    return Instances(np.array(values), near(range(len(values)), "replace"))


def those_near(data: np.ndarray, check: Callable[[np.ndarray, np.ndarray], object]) -> Instances:
    """Data sets, of which those are neighbors that ``check`` says are."""
    pairs = near(range(len(data)), "replace")
    return Instances(data, pairs[[bool(check(data[one], data[other])) for one, other in pairs]])


def near(groups: Sequence[Hashable], adjacency: str) -> np.ndarray:
    """Pairs of contents of one unit that are neighbors: any two, under add-remove any and the first, which is nothing.

    Under flip these are of the same group.
    """
    pairs = np.stack(np.triu_indices(len(groups), 1), axis=1)
    if adjacency == "flip":
        return pairs[[groups[one] == groups[other] for one, other in pairs]]
    return pairs[pairs[:, 0] == 0] if adjacency == "add-remove" else pairs


def over_bases(contents: np.ndarray, pairs: np.ndarray, bases: Sequence[np.ndarray]) -> Instances:
    """Each base, which is what other units hold, with each content of one unit, and which of these are neighbors."""
    data = np.concatenate([base + contents for base in bases])
    shifts = range(0, len(data), len(contents))
    return Instances(data, np.concatenate([pairs + shift for shift in shifts]))


def strict_orders(num_items: int) -> np.ndarray:
    """All rankings without ties, ``(m!, m)`` ranks in lexicographic order."""
    return np.array(list(itertools.permutations(range(num_items))))


def moved_ranks(num_items: int) -> Instances:
    """All rankings without ties; two are neighbors if they agree after the removal of one item."""

    def agree(first: np.ndarray, second: np.ndarray) -> bool:
        orders = [np.argsort(ranks) for ranks in (first, second)]
        left = ([one[one != item] for one in orders] for item in range(num_items))
        return any(np.array_equal(one, other) for one, other in left)

    return those_near(strict_orders(num_items), agree)
