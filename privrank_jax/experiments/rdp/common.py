"""Shared parts of the studies of ranking differential privacy: exact laws, and checks of estimates against them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from privrank_jax.experiments.claims import Verdict
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row

PAPER = "Xu, Sun and Cheng, Ranking Differential Privacy"
MALLOWS, LAPLACE = "Mallows", "Laplace"
AXES = ("metric", "estimator")

Z = 4.5  # standard errors: a false alarm has probability 7e-6


def laplace_concordance(num_items: int, epsilon: float) -> float:
    """Expected number of the m(m-1)/2 pairs whose order survives Laplace noise of scale λ = 2(m-1)/ε on the ranks.

    The difference of two such noises exceeds d with probability e^{-d/λ}(1 + d/2λ)/2.

    >>> round(laplace_concordance(2, 1.0), 4)
    0.6209
    """
    gap = np.arange(1, num_items) * epsilon / (2 * (num_items - 1))
    kept = 1 - 0.5 * np.exp(-gap) * (1 + gap / 2)
    return float(np.sum(np.arange(num_items - 1, 0, -1) * kept))


def neighbors(items: int) -> np.ndarray:
    """The ranking in index order, then the (m-1)² rankings that arise by moving one item: ``(K, m)`` ranks."""
    found = {tuple(range(items)): None}
    for item, place in itertools.product(range(items), repeat=2):
        order = [other for other in range(items) if other != item]
        order.insert(place, item)
        found[tuple(int(rank) for rank in np.argsort(order))] = None
    return np.array(list(found), np.int32)


def all_rankings(items: int) -> np.ndarray:
    """Ranks of all rankings, ``(m!, m)``, in lexicographic order."""
    return np.array(list(itertools.permutations(range(items))), np.int32)


def mallows_law(items: int, epsilon: float) -> np.ndarray:
    """Probability of each of :func:`all_rankings` around each of :func:`neighbors`: ``(K, m!)``."""
    every = all_rankings(items)
    first, second = np.triu_indices(items, 1)
    ahead = every[:, first] < every[:, second]
    centers = neighbors(items)
    apart = np.sum(ahead != (centers[:, None, first] < centers[:, None, second]), axis=2)
    odds = np.exp(-epsilon / (items - 1) * apart)
    return odds / odds.sum(axis=1, keepdims=True)


def matches_exact(
    table: StudyResult, *, where: Callable[[Row], bool], rare: float = 12.0
) -> Verdict:
    """Is every mean within ``Z`` standard errors, and ``rare``/replicates, of the column ``exact``?

    The second term allows for events so rare that no replicate may show them, whose standard error is then 0.
    """
    rows = [row for row in table.rows if where(row) and math.isfinite(row["exact"])]
    if not rows:
        return Verdict(None, "no such cells")

    def score(row: Row) -> float:
        allowed = Z * row["standard_error"] + rare / row["replicates"]
        return abs(row["mean"] - row["exact"]) / allowed

    worst = max(rows, key=score)
    off = sum(score(row) > 1 for row in rows)
    evidence = (
        f"{len(rows) - off} of {len(rows)} cells within {Z:g} SE of the exact value; farthest: {worst['mean']:.5g} ± "
        f"{worst['standard_error']:.2g} against {worst['exact']:.5g} ({worst['estimator']}, m = "
        f"{worst['num_items']}, ε = {worst['epsilon']:.3g})"
    )
    return Verdict(not off, evidence)
