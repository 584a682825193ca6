"""Naive twins of the solvers on weight matrices: loops over users, pairs, permutations and subsets."""

from __future__ import annotations

import itertools

import numpy as np


def pairwise_weights(ranks: np.ndarray, missing: str = "last") -> np.ndarray:
    """User by user, pair by pair."""
    users, items = ranks.shape
    total = np.zeros((items, items))
    for row in ranks:
        for i, j in itertools.permutations(range(items), 2):
            known = row[i] >= 0, row[j] >= 0
            if all(known):
                total[i, j] += 1.0 if row[i] < row[j] else 0.5 * (row[i] == row[j])
            elif missing == "unknown" or not any(known):
                total[i, j] += 0.5
            else:
                total[i, j] += known[0]
    return total / users


def kemeny_score(ranks: np.ndarray, w: np.ndarray) -> float:
    """Pair by pair."""
    pairs = itertools.permutations(range(len(w)), 2)
    return float(sum(w[j, i] for i, j in pairs if ranks[i] < ranks[j]))


def least_kemeny_score(w: np.ndarray) -> float:
    """Over all permutations."""
    return min(kemeny_score(np.array(r), w) for r in itertools.permutations(range(len(w))))


def subset_layers(items: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Subsets of each size from 1 on, their items, and the subsets without them: shared by many problems."""
    members = (np.arange(2**items)[:, None] >> np.arange(items)) & 1
    layers = []
    for size in range(1, items + 1):
        subsets = np.flatnonzero(members.sum(1) == size)
        inside = np.nonzero(members[subsets])[1].reshape(-1, size)
        layers.append((subsets, inside, subsets[:, None] ^ (1 << inside)))
    return layers


def subset_program_by_layers(w: np.ndarray, layers: list) -> tuple[float, list[int]]:
    """The least Kemeny score and its order, by all subsets, those of one size at once; the diagonal of w is 0."""
    items = len(w)
    members = ((np.arange(2**items)[:, None] >> np.arange(items)) & 1).astype(float)
    sums = members @ w.T
    best, last = np.zeros(2**items), np.zeros(2**items, int)
    for subsets, inside, smaller in layers:
        costs = best[smaller] + sums[subsets[:, None], inside]
        place, rows = costs.argmin(1), np.arange(len(subsets))
        best[subsets], last[subsets] = costs[rows, place], inside[rows, place]
    order, subset = [], 2**items - 1
    while subset:
        order.append(int(last[subset]))
        subset ^= 1 << last[subset]
    return float(best[-1]), order[::-1]


def insertion_neighbors(ranks: np.ndarray) -> list[np.ndarray]:
    """Every ranking that differs by taking out one item and putting it back elsewhere."""
    order, found = list(np.argsort(ranks)), []
    for item in order:
        rest = [other for other in order if other != item]
        for place in range(len(order)):
            found.append(np.argsort([*rest[:place], item, *rest[place:]]))
    return found


def tournaments(kind: str, number: int, items: int, seed: int = 0) -> np.ndarray:
    """Weights (number, items, items): of a few random ``votes``, ``uniform`` shares, ``majority`` of 0 and 1 without
    any order, ``inconsistent`` ones with w_ij + w_ji far from 1, or ``sparse``, with pairs that are tied or unknown."""
    rng = np.random.default_rng([seed, items])
    if kind == "votes":
        center = rng.normal(size=(number, 1, items))
        ranks = np.argsort(np.argsort(center + rng.gumbel(size=(number, 7, items)), -1), -1)
        return (ranks[..., :, None] < ranks[..., None, :]).mean(1)
    upper = np.triu(rng.random((number, items, items)), 1)
    if kind == "majority":
        upper = np.triu(upper > 0.5, 1).astype(float)
    w = upper + np.tril(1 - np.swapaxes(upper, 1, 2), -1)
    if kind == "inconsistent":
        w = rng.random(w.shape) * (1 - np.eye(items))
    if kind == "sparse":
        w *= rng.random(w.shape) < 0.5
    return w


KINDS = ("votes", "uniform", "majority", "inconsistent", "sparse")
