"""All pairs of neighbors among small data sets, for exact privacy losses.

A small data set is a common part (the *base*) and what one unit holds. Every content of the unit is listed, so the
pairs of contents over one base are all pairs of neighbors. Everything here is small, in NumPy and float64.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
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
    return Instances(np.array(values), _all_pairs(len(values)))


def those_near(data: np.ndarray, near: Callable[[np.ndarray, np.ndarray], object]) -> Instances:
    """Data sets, of which those are neighbors that ``near`` says are."""
    pairs = _all_pairs(len(data))
    return Instances(data, pairs[[bool(near(data[one], data[other])) for one, other in pairs]])


def comparison_kinds(num_items: int) -> list[tuple[np.ndarray, tuple[int, int]]]:
    """All one-comparison win matrices, wins and ties, each with the pair that it compares."""
    kinds = []
    for i, j in itertools.permutations(range(num_items), 2):
        win = np.zeros((num_items, num_items))
        win[i, j] = 1.0
        kinds.append((win, (min(i, j), max(i, j))))
    for i, j in itertools.combinations(range(num_items), 2):
        tie = np.zeros((num_items, num_items))
        tie[i, j] = tie[j, i] = 0.5
        kinds.append((tie, (i, j)))
    return kinds


def with_ties_apart(wins: np.ndarray) -> np.ndarray:
    """Wins and ties of one comparison, ``(2, m, m)``: the win matrix, and the same where it is a tie, else 0."""
    return np.stack([wins, np.where(wins == 0.5, wins, 0.0)])


@functools.cache
def unit_contents(num_items: int, limit: int, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Everything that one unit can hold: ``(K, m, m)`` win matrices of at most ``limit`` comparisons, and groups.

    Two contents have equal group numbers ``(K,)`` if they compare the same pairs. The empty one comes first. With
    ``ties`` a content is ``(2, m, m)``, the ties apart (:func:`with_ties_apart`).
    """
    kinds = comparison_kinds(num_items)
    if ties:
        kinds = [(with_ties_apart(wins), pair) for wins, pair in kinds]
    return contents_of(kinds, limit)


def contents_of(
    kinds: Sequence[tuple[np.ndarray, tuple[int, ...]]], limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of at most ``limit`` of ``kinds``, data with what they ask, and groups of those that ask the same."""
    sums, asked = [], []
    for size in range(limit + 1):
        for chosen in itertools.combinations_with_replacement(kinds, size):
            sums.append(sum((kind for kind, _ in chosen), np.zeros_like(kinds[0][0])))
            asked.append(tuple(sorted(question for _, question in chosen)))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(asked))}
    return np.array(sums), np.array([numbers[name] for name in asked])


def comparisons(bases: Iterable[np.ndarray], limit: int, adjacency: str) -> Instances:
    """Win matrices: each base plus everything that one unit of at most ``limit`` comparisons can add to it.

    Args:
        bases: ``(m, m)`` win counts of the others, or ``(2, m, m)`` with the ties apart (:func:`with_ties_apart`).
        limit: L; 1 for a single comparison.
        adjacency: ``"flip"``: contents on the same pairs; ``"replace"``: any two; ``"add-remove"``: any and none.
    """
    bases = list(bases)
    contents, groups = unit_contents(bases[0].shape[-1], limit, ties=bases[0].ndim == 3)
    near = _near(groups, adjacency)
    data = np.concatenate([base + contents for base in bases])
    return Instances(data, _over_bases(near, len(bases), len(contents)))


def neighbors_among(
    kinds: Sequence[tuple[np.ndarray, tuple[int, ...]]], limit: int, adjacency: str
) -> Instances:
    """Data sets of one unit alone: sums of at most ``limit`` of ``kinds``, each with what it asks."""
    contents, groups = contents_of(kinds, limit)
    return Instances(contents, _near(groups, adjacency))


def _near(groups: np.ndarray, adjacency: str) -> np.ndarray:
    """Pairs of contents that are neighbors."""
    near = _all_pairs(len(groups))
    if adjacency == "flip":
        return near[groups[near[:, 0]] == groups[near[:, 1]]]
    return near[near[:, 0] == 0] if adjacency == "add-remove" else near


def questionnaires(
    bases: Iterable[np.ndarray], pairs: Sequence[tuple[int, int]], adjacency: str
) -> Instances:
    """Win matrices: each base plus every answer of one user to all of ``pairs``: a win, a loss, a tie or none.

    Args:
        bases: ``(m, m)`` win counts of the others, or ``(2, m, m)`` with the ties apart.
        pairs: what a user is asked; a pair may occur repeatedly.
        adjacency: ``"flip"``: the same pairs are answered; ``"replace"``: any.
    """
    bases = list(bases)
    kinds = comparison_kinds(bases[0].shape[-1])
    if bases[0].ndim == 3:
        kinds = [(with_ties_apart(wins), pair) for wins, pair in kinds]
    answers = [
        [(np.zeros_like(bases[0]), False), *((win, True) for win, of in kinds if of == pair)]
        for pair in pairs
    ]
    found = {}
    for chosen in itertools.product(*answers):
        matrix = np.sum([win for win, _ in chosen], axis=0)
        answered = tuple(sorted(pair for pair, (_, known) in zip(pairs, chosen) if known))
        found.setdefault((matrix.tobytes(), answered), matrix)
    names = {answered: number for number, (_, answered) in enumerate(found)}
    groups = np.array([names[answered] for _, answered in found])
    near = _near(groups, adjacency)
    data = np.concatenate([base + np.array(list(found.values())) for base in bases])
    return Instances(data, _over_bases(near, len(bases), len(found)))


def weak_orders(num_items: int) -> np.ndarray:
    """All rankings with ties, ``(K, m)`` ranks, equal for tied items: 13 for 3 items, 75 for 4."""
    ranks = itertools.product(range(num_items), repeat=num_items)
    return np.array([r for r in ranks if set(r) == set(range(len(set(r))))])


def with_gaps(num_items: int) -> np.ndarray:
    """All rankings with ties and unknown items (rank -1), ``(K, m)``, one per matrix of weights: 19 for 3 items."""
    ranks = itertools.product(range(-1, num_items), repeat=num_items)
    found = [r for r in ranks if set(r) - {-1} == set(range(len(set(r) - {-1})))]
    by_weights: dict[bytes, tuple[int, ...]] = {}
    for ranking in sorted(found, key=lambda r: r.count(-1)):
        by_weights.setdefault(weights(np.array([ranking])).tobytes(), ranking)
    return np.array(list(by_weights.values()))


def strict_orders(num_items: int) -> np.ndarray:
    """All rankings without ties, ``(m!, m)`` ranks in lexicographic order."""
    return np.array(list(itertools.permutations(range(num_items))))


def weights(rankings: np.ndarray) -> np.ndarray:
    """w_ij, the share of the rankings ``(n, m)`` with i before j, ties and unknown items counting half; ``(m, m)``."""
    first, second = rankings[:, :, None], rankings[:, None, :]
    known = (first >= 0) & (second >= 0)
    shares = np.mean(np.where(known, (first < second) + 0.5 * (first == second), 0.5), axis=0)
    np.fill_diagonal(shares, 0.0)
    return shares


def profiles(
    rankings: np.ndarray, users: int, counted: Callable[[np.ndarray], np.ndarray] = weights
) -> Instances:
    """Weights ``(D, m, m)`` of all profiles of n users with the given rankings; one user is replaced.

    Args:
        rankings: of one user, ``(K, ...)``.
        users: n.
        counted: from those of n users to the data.
    """
    others = itertools.combinations_with_replacement(range(len(rankings)), users - 1)
    data, count = [], 0
    for base in others:
        count += 1
        data += [counted(rankings[[*base, own]]) for own in range(len(rankings))]
    near = _all_pairs(len(rankings))
    return Instances(np.array(data), _over_bases(near, count, len(rankings)))


def joined(rankings: np.ndarray) -> Instances:
    """Counts of all profiles of one user, and of that user and one who joins; the number of users is on the diagonal.

    Args:
        rankings: of one user, ``(K, m)``.
    """
    data, pairs = [], []
    for base in rankings:
        alone = len(data)
        data.append(counts(base[None]))
        for own in rankings:
            pairs.append((alone, len(data)))
            data.append(counts(np.stack([base, own])))
    return Instances(np.array(data), np.array(pairs))


def counts(rankings: np.ndarray) -> np.ndarray:
    """n times :func:`weights`, and n on the diagonal; ``(m, m)``."""
    return len(rankings) * (weights(rankings) + np.eye(rankings.shape[1]))


def moved_ranks(num_items: int) -> Instances:
    """All rankings without ties; two are neighbors if they agree after the removal of one item."""

    def near(first: np.ndarray, second: np.ndarray) -> bool:
        orders = [np.argsort(ranks) for ranks in (first, second)]
        left = ([one[one != item] for one in orders] for item in range(num_items))
        return any(np.array_equal(one, other) for one, other in left)

    return those_near(strict_orders(num_items), near)


def _all_pairs(count: int) -> np.ndarray:
    return np.stack(np.triu_indices(count, 1), axis=1)


def _over_bases(near: np.ndarray, bases: int, contents: int) -> np.ndarray:
    shifts: Sequence[int] = range(0, bases * contents, contents)
    return np.concatenate([near + shift for shift in shifts])
