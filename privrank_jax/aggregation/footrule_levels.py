r"""Trees of places: in which groups positions are counted, so that noise on the counts costs footrules least.

The m places are split into up to b₁ groups of adjacent places, each group into up to b₂, and so on to single places.
The edges between the groups of one node are its *cuts*. At a cut, an item of a user counts 1/2 if it is behind the cut
and -1/2 if before, as long as it is within the node, and else 0. All levels together have m - 1 cuts, and their counts,
with one user's total of 1, determine the position histogram of the item, linearly: it has no mass but at the ends of
nodes whose cuts have count 0.

**What one user changes.** Let z be the difference of an item's counts of one level between two positions. If both are
in one node, its entries are 0 or ±1 at the cuts of that node; if not, ±1/2 at cuts of two nodes. So Σ over nodes of the
largest \|z\| is at most 1, in each row. This body also holds what users with ties and unknown items change: their
counts are means over positions, and the body is convex. For all m items together, the body K is the product of those of
rows, of dimension d = m·k with k cuts of the level. K-norm noise of this shape at ε·a makes the level ε·a-DP
(:mod:`privrank_jax.privacy.geometry`), and all levels, with shares a that sum to 1, are ε-DP. A user who reverses a
ranking changes the first item by a boundary point of K at each level where the first and the last place are in nodes
with cuts: there the loss is attained.

**A uniform point of K.** In each row, the largest entries of nodes of s_1, s_2, ... cuts have the law Dirichlet(s_1,
s_2, ..., 1), its last part left out: the volume of {Σ ρ_i ≤ 1}, with surfaces that grow as ρ_i^(s_i - 1). Given it,
entries are those of a uniform point of a cube over its largest entry. So an entry has variance s(s+1)/((k+1)(k+2))·
(s+2)/(3s), and noise has (d+1)(d+2)/(ε²a²n²) times that.

**Shares.** Let V be the mean over places of the squared error of a cost, less the mean error of its row, at a = 1.
Σ V/a² is least at a ∝ V^(1/3), where it is (Σ V^(1/3))³. Of trees of one to three levels, and the binary one, that of
least error is taken. At m = 5, 10, 20, 50, 100 it is 0.79, 1.37, 2.20, 3.30, 4.22 times m⁴/(εn)², and for a single
level, which is the cube of all prefix counts, 0.79, 1.84, 4.03, 10.7, 21.8.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Level(NamedTuple):
    """The cuts of one level of a tree.

    Attributes:
        codes: ``(k, m)``, what an item at each place counts at each cut: 1/2, -1/2 or 0.
        nodes: ``(k,)``, the node of each cut, from 0 on.
        response: ``(m, k)``, how an item's costs change with the count of each cut.
        share: a, of ε.
        error: V, at the whole of ε, in multiples of 1/(εn)².
    """

    codes: Float[np.ndarray, "cuts places"]
    nodes: np.ndarray
    response: Float[np.ndarray, "places cuts"]
    share: float
    error: float


@functools.lru_cache(maxsize=32)
def footrule_levels(num_items: int, noise: str = "tree") -> tuple[Level, ...]:
    """The levels at which positions are counted, and their shares of ε.

    Args:
        num_items: m >= 1.
        noise: ``"tree"`` for the tree of least error, ``"k-norm"`` or ``"gaussian"`` for a single level.

    Returns:
        :class:`Level` of each level, the coarsest first; none for one item.

    >>> [len(level.codes) for level in footrule_levels(10)], len(footrule_levels(5))
    ([1, 8], 1)
    """
    if num_items == 1:
        return ()
    trees = _branchings(num_items) if noise == "tree" else iter([(num_items,)])
    return min((tree_levels(num_items, branching) for branching in trees), key=mean_square_error)


def mean_square_error(levels: tuple[Level, ...]) -> float:
    """Mean squared error of a cost, less the mean error of its row, in multiples of 1/(εn)².

    Args:
        levels: as of :func:`footrule_levels`.

    >>> round(mean_square_error(footrule_levels(20)) / 20**4, 3)
    2.196
    """
    return sum(level.error / level.share**2 for level in levels)


def _branchings(items: int) -> Iterator[tuple[int, ...]]:
    """Numbers of groups at each level."""
    yield (items,)
    yield (2,) * (items - 1).bit_length()
    for first in range(2, min(items, 13)):
        yield first, -(-items // first)
    for first in (2, 3, 4):
        for second in range(2, 9):
            if items > 2 * first * second:
                yield first, second, -(-items // (first * second))


def tree_levels(items: int, branching: tuple[int, ...]) -> tuple[Level, ...]:
    """The levels of one tree, with the shares of least error.

    Args:
        items: m >= 2.
        branching: b₁, b₂, ..., the most groups of a node of each level; their product is at least m.

    >>> [level.nodes.tolist() for level in tree_levels(4, (2, 2))]
    [[0], [0, 1]]
    """
    cuts = [found for found in _cuts(items, branching) if len(found[0])]
    response = _response(np.concatenate([found for found, _ in cuts]))
    parts, start = [], 0
    for found, nodes in cuts:
        columns = response[:, start : start + len(found)]
        parts.append((found, nodes, columns, _error(items, nodes, columns)))
        start += len(found)
    roots = [error ** (1 / 3) for *_, error in parts]
    return tuple(
        Level(found, nodes, columns, root / sum(roots), error)
        for root, (found, nodes, columns, error) in zip(roots, parts)
    )


def _response(codes: np.ndarray) -> np.ndarray:
    """How costs change with the counts, those of coarser levels first.

    With F the share at or before a place, a cut of a node that ends at s and t has F = (F_s + F_t)/2 less its count.
    """
    cuts, items = codes.shape
    before = np.zeros((items + 1, cuts))
    starts, edges = np.argmax(codes != 0, axis=1), np.argmax(codes > 0, axis=1)
    ends = items - np.argmax(codes[:, ::-1] != 0, axis=1)
    for cut, (start, edge, end) in enumerate(zip(starts, edges, ends)):
        before[edge] = (before[start] + before[end]) / 2
        before[edge, cut] -= 1
    sums = np.cumsum(before[:-1], axis=0)
    return 2 * sums - sums[-1]


def _cuts(items: int, branching: tuple[int, ...]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Codes and nodes of the cuts of each level."""
    groups = [(0, items)]
    for most in branching:
        codes, nodes, smaller = [], [], []
        node = 0
        for start, end in groups:
            parts = min(most, end - start)
            edges = [start + (end - start) * part // parts for part in range(parts + 1)]
            for edge in edges[1:-1]:
                code = np.zeros(items)
                code[start:edge], code[edge:end] = -0.5, 0.5
                codes.append(code)
                nodes.append(node)
            node += parts > 1
            smaller += itertools.pairwise(edges)
        groups = smaller
        yield np.array(codes), np.array(nodes, np.int32)


def _error(items: int, nodes: np.ndarray, response: np.ndarray) -> float:
    """V of a level, at the whole of ε."""
    centered = response - response.mean(axis=0)
    return float(np.mean((centered**2).dot(count_variances(items, nodes))))


def count_variances(items: int, nodes: np.ndarray) -> np.ndarray:
    """Variances of the noise on one item's counts at the cuts of a level, in multiples of 1/(εn)².

    Args:
        items: m.
        nodes: ``(k,)``, as of :class:`Level`.
    """
    cuts = len(nodes)
    dimension = items * cuts
    size = np.bincount(nodes)[nodes]
    entry = (size + 1) * (size + 2) / (3 * (cuts + 1) * (cuts + 2))
    return (dimension + 1) * (dimension + 2) * entry
