r"""Exact K-norm noise on integers that change within a zonotope of pairs times intervals.

**Mechanism**, as in :mod:`privrank_jax.release.k_norm`: to integers that change by a point of cK between neighbors,
publish them plus Z with P(Z = z) ∝ a^{M(z)}, a = e^{-ε/c}, M(z) the smallest whole r with z in rK. It is ε-DP by the
proof there, which holds for every convex body that is symmetric around 0. Here K = Z(G) × [-b_1, b_1] × ... × [-b_k,
b_k] with whole b_j, and z has coordinates in the lattice of G for the items and any whole coordinates beside them.

**Drawing.** With F the number of spanning forests of G and p its dimension, draw r with P(r) ∝ a^r (2r + 1)^p Π_j (2r
b_j + 1), a point for the items by the rule there, which accepts each point of rZ(G) with probability 1/(F(2r + 1)^p)
and otherwise has everything drawn again, and uniform y_j in {-r b_j, ..., r b_j}. Each point of rK then has
probability ∝ a^r/F, so P(z) ∝ Σ_{r ≥ M(z)} a^r ∝ a^{M(z)}. The number of proposals at r is a product of linear
functions, so it is log-concave, as the draw of r needs.

*Large ε* makes the lattice finer, as there: kT changes within ckK.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

from privrank_jax.release.entropy import uniform_integers
from privrank_jax.release.k_norm import (
    AddNoise,
    noisy_sums,
    propose,
    zonotope_parts,
    zonotope_rate,
)
from privrank_jax.release.radius import Radius, check_rate, checked_radius
from privrank_jax.release.spanning_trees import Graph


def discrete_boxed_zonotope(
    graph: Graph, widths: tuple[int, ...], change: int, epsilon: float
) -> tuple[AddNoise, float]:
    """The mechanism for integers that change within ``change`` times the zonotope and the intervals, and its scale.

    ε-DP where neighbors differ so; proof at the head of this module.

    Args:
        graph: G, the pairs that are asked.
        widths: b_1, b_2, ..., whole, at least 0.
        change: c >= 1.
        epsilon: ε > 0, finite.

    Returns:
        The mechanism, for ``(m + k,)`` integers, those of the items first, whose values are integers for ε <= 4c and
        multiples of a power of 1/2 beyond; and c/ε.

    Raises:
        ValueError: ε so small that the noise exceeds 64 bits.

    >>> add_noise, scale = discrete_boxed_zonotope(Graph([(0, 1), (1, 2)], 3), (5,), 2, 1e5)
    >>> add_noise(np.array([4, 2, 1, 7])).round(1).tolist(), scale
    ([4.0, 2.0, 1.0, 7.0], 2e-05)
    """
    rate, parts = zonotope_rate(change, epsilon), zonotope_parts(change, epsilon)
    check_rate(rate, graph.dimension + len(widths), _room(graph, widths))

    def add_noise(values: np.ndarray) -> np.ndarray:
        return noisy_sums(values, boxed_noise(graph, widths, rate), parts)

    return add_noise, float(1 / (rate * parts))


def boxed_noise(graph: Graph, widths: tuple[int, ...], rate: Fraction) -> np.ndarray:
    """Integers z with P(z) ∝ e^{-rate·M(z)}.

    Args:
        graph: G.
        widths: b.
        rate: ε/c > 0.

    Returns:
        ``(m + k,)`` int64; those of the items sum to 0 over each component.
    """
    law = _radius(graph.dimension, widths, rate)
    while True:
        radius = checked_radius(law.draw(), _room(graph, widths))
        items = propose(graph, radius)
        if items is not None:
            sides = [uniform_integers(1, 2 * radius * b + 1) - radius * b for b in widths]
            return np.concatenate([items, *sides])


def _room(graph: Graph, widths: tuple[int, ...]) -> int:
    """Coordinates, and the numbers of those of an interval, stay below the radius times this number."""
    return max(len(graph.edges), *(4 * b for b in widths), 1)


@functools.lru_cache(maxsize=16)
def _radius(dimension: int, widths: tuple[int, ...], rate: Fraction) -> Radius:
    def proposals(radius: int) -> int:
        return (2 * radius + 1) ** dimension * math.prod(2 * radius * b + 1 for b in widths)

    return Radius(proposals, 1, rate)
