"""Graphs of questions and their uniform spanning forests, drawn from the operating system's entropy.

For a graph with all pairs once, a tree comes from a random walk that goes to a uniform one of the m items at each step,
maybe to that on which it stands. The steps by which items are reached for the first time are a uniform spanning tree
(Aldous 1990, Broder 1989), and the items are first reached in a uniform order.

The i-th of them, i ≥ 2, is reached from the one before it if the walk finds a new item at once, with probability (m - i
+ 1)/m; otherwise, after a step to a uniform one of the i - 1 known items, from a uniform one of these, whatever comes
later.

So the i-th item of a random order is joined to item number min(U_i, i - 1) of it, U_i uniform on 1, ..., m: to the last
one with probability (m - i + 1)/m + 1/m, to each other one with probability 1/m (Aldous's Algorithm 2).

For other graphs it comes from loop-erased random walks, each step along a uniform one of the edges at an item, repeated
pairs counting repeatedly (Wilson 1996): uniform over the forests with one tree for each component.

The number of trees is m^{m-2} for all pairs (Cayley), else any cofactor of the Laplacian (Kirchhoff), computed in whole
numbers; for several components it is the product.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import ArrayLike, Integer

from privrank_jax._components import components
from privrank_jax.exact.entropy import uniform_integers

_FAR = np.iinfo(np.int64).max


class Graph:
    """Items and the pairs that are asked, in a fixed order.

    Attributes:
        num_items: m.
        edges: ``(E, 2)`` int64, each pair from the item with the lower number; a repeated pair is listed repeatedly.
        components: arrays of items, isolated ones included.
        dimension: m minus the number of components.
        complete: whether each pair occurs exactly once.

    Args:
        pairs: ``(E, 2)`` integers below m.
        num_items: m.
    """

    def __init__(
        self, pairs: Integer[ArrayLike, "edges 2"] | Sequence[tuple[int, int]], num_items: int
    ) -> None:
        found = np.sort(np.array(pairs, np.int64).reshape(-1, 2), axis=1)
        self.edges = found[np.lexsort((found[:, 1], found[:, 0]))]
        self.num_items = num_items
        self._incident: list[list[tuple[int, int]]] = [[] for _ in range(num_items)]
        for index, (first, second) in enumerate(self.edges.tolist()):
            self._incident[first].append((second, index))
            self._incident[second].append((first, index))
        self._met = np.zeros((num_items, num_items), np.int64)
        np.add.at(self._met, tuple(np.concatenate([self.edges, self.edges[:, ::-1]]).T), 1)
        lowest = components(self._met)
        self.components = [np.flatnonzero(lowest == one).tolist() for one in np.unique(lowest)]
        self.dimension = num_items - len(self.components)
        self.complete = np.array_equal(self._met, 1 - np.eye(num_items))

    @classmethod
    def of_all_pairs(cls, num_items: int) -> Graph:
        """The graph with each pair once."""
        return cls(np.stack(np.triu_indices(num_items, 1), axis=1), num_items)

    @classmethod
    def of_counts(cls, counts: Integer[np.ndarray, "items items"]) -> Graph:
        """The graph that joins each two items as often as a symmetric matrix says."""
        upper = np.triu(counts, 1)
        pairs = np.stack(np.nonzero(upper), axis=1)
        return cls(np.repeat(pairs, upper[tuple(pairs.T)], axis=0), len(counts))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self.num_items == other.num_items and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash((self.num_items, self.edges.tobytes()))

    def totals(self, weight: np.ndarray) -> np.ndarray:
        """Σ_e weight_e (e_i - e_j), ``(m,)`` int64."""
        found = np.zeros(self.num_items, np.int64)
        np.add.at(found, self.edges[:, 0], weight)
        np.subtract.at(found, self.edges[:, 1], weight)
        return found

    def draw_forest(self) -> Forest:
        """A spanning forest, each with the same probability."""
        return Forest(self, self._all_pairs_tree() if self.complete else self._wilson())

    def _all_pairs_tree(self) -> list[tuple[int, int, int]]:
        order = list(range(self.num_items))
        secrets.SystemRandom().shuffle(order)
        drawn = uniform_integers(self.num_items, self.num_items).tolist()
        joined = [(-1, order[0], -1)]
        for place in range(1, self.num_items):
            item, parent = order[place], order[min(drawn[place], place - 1)]
            joined.append((parent, item, self._index_of_pair(item, parent)))
        return joined

    def _index_of_pair(self, item: int, other: int) -> int:
        low, high = min(item, other), max(item, other)
        return low * (2 * self.num_items - low - 1) // 2 + high - low - 1

    def _wilson(self) -> list[tuple[int, int, int]]:
        joined = []
        for members in self.components:
            inside = {members[0]}
            joined.append((-1, members[0], -1))
            for start in members[1:]:
                step, item = {}, start
                # The last departure from each item is its step without loops.
                while item not in inside:
                    ways = self._incident[item]
                    step[item] = ways[secrets.randbelow(len(ways))]
                    item = step[item][0]
                path, item = [], start
                while item not in inside:
                    path.append(item)
                    item = step[item][0]
                for item in reversed(path):
                    parent, index = step[item]
                    inside.add(item)
                    joined.append((parent, item, index))
        return joined

    def count_forests(self) -> int:
        """The number of spanning forests with one tree per component (Cayley; Kirchhoff's matrix)."""
        if self.complete:
            return self.num_items ** max(self.num_items - 2, 0)
        import flint

        laplacian = np.diag(self._met.sum(0)) - self._met
        minors = (
            laplacian[np.ix_(one[1:], one[1:])].tolist() for one in self.components if one[1:]
        )
        return math.prod(int(flint.fmpz_mat(minor).det()) for minor in minors)


class Forest:
    """A spanning forest with a root in each component.

    Attributes:
        edge: ``(p,)`` indices of its edges, ordered by the endpoint that is farther from the root, parents first.
        leaves_last_item: ``(p,)`` bool: whether the last item of the component lies on the side of the edge's second
            item.

    Args:
        graph: G.
        joined: (parent, item, index of the edge), parents first; parent and index -1 for roots.
    """

    def __init__(self, graph: Graph, joined: Iterable[tuple[int, int, int]]) -> None:
        self._graph, self._joined = graph, list(joined)
        steps = [step for step in self._joined if step[0] >= 0]
        self._parents, self._items, self.edge = (
            np.array(column, np.int64) for column in (zip(*steps) if steps else ((), (), ()))
        )
        # +1 where the edge leaves the item farther from the root, -1 where it leads to it.
        self._away = np.where(graph.edges[self.edge, 0] == self._items, 1, -1)
        last = np.zeros(graph.num_items, np.int64)
        last[[members[-1] for members in graph.components]] = 1
        self.leaves_last_item = (self._below(last) == 1) != (self._away == 1)

    def _below(self, values: np.ndarray) -> np.ndarray:
        """For each edge, the sum of values over the items that it connects to the root."""
        sums = values.copy()
        for parent, item in zip(self._parents[::-1].tolist(), self._items[::-1].tolist()):
            sums[parent] += sums[item]
        return sums[self._items]

    def flows(self, demands: np.ndarray) -> np.ndarray:
        """f with Σ_S f_e(e_i - e_j) = ``demands``, which sum to 0 over each component; ``(p,)``."""
        return self._away * self._below(demands)

    def lowest_on_paths(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For items i, j of one component: the lowest index on their path, and whether that edge leads from i to j."""
        size = self._graph.num_items
        lowest = np.full((size, size), _FAR, np.int64)
        forward = np.zeros((size, size), bool)
        seen: list[int] = []
        for parent, item, index in self._joined:
            if parent < 0:
                seen = [item]
                continue
            others = np.array(seen)
            nearer = index < lowest[parent, others]
            lowest[item, others] = np.where(nearer, index, lowest[parent, others])
            leaves = edges[index, 0] == item
            forward[item, others] = np.where(nearer, leaves, forward[parent, others])
            lowest[others, item] = lowest[item, others]
            forward[others, item] = ~forward[item, others]
            seen.append(item)
        return lowest, forward
