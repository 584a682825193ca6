r"""Exact noise shaped like the changes that one user can cause: K-norm mechanisms on integers.

**Mechanism.** T is an integer vector, D the set of all differences T(w) - T(w') of neighbors, K a convex body,
symmetric around 0, with D ⊂ cK for a whole number c. Λ is a lattice (a group of integer vectors) that holds D and spans
the same space as K. For x in Λ, let M(x) be the smallest r = 0, 1, 2, ... with x in rK. Publish T + Z with P(Z = x) ∝
a^{M(x)} for x in Λ, a = e^{-ε/c}.

*It is ε-DP.* rK + sK = (r + s)K, since K is convex, so M(x + y) ≤ M(x) + M(y); and M ≤ c on D. Neighbors T and T - y,
y in D, publish the same value with noises x and x + y, both of which are in Λ or neither is. So the ratio of
probabilities is at most a^{-c} = e^ε. It is attained if some y in D lies on the boundary of cK: then M(y) = c, and the
noises 0 and y have this ratio.

*How near it is to the least noise.* This law is the ripple mechanism of Joseph, Kulesza, Wang and Yu (2026), for cubes
and zonotopes. Let D be all of Λ in cK. The *normalized matching property* says for all r: mass that is spread evenly
over the points with M = r can be moved by steps in K until it is spread evenly over those with M = r + 1. If it holds
and c = 1, no additive ε-DP mechanism on Λ has a smaller mean of any loss that grows with M. Cubes of all dimensions
have the property.

For c > 1 they have the least noise where P falls by e^{-ε} at every c-th radius, from one of 1, ..., c on: at ε ≤ 1,
for c = 2 or 5 and three or more numbers, its mean of M is smaller by at most 0.13 %. The page
``notebooks/not_shipped.md`` says where the proofs are.

**Shapes.** *Cube* [-1, 1]^d, Λ all integer vectors: every coordinate changes by at most c, independently of the others.
*Zonotope* of a graph G with items for vertices, Z(G) = Σ_{e=(i,j)} [-1, 1](e_i - e_j), Λ the integer vectors that sum
to 0 over each component of G.

Where one user's answer to the pair e adds t_e(e_i - e_j) to the totals, t_e a whole number that changes by at most c,
all of their answers together change them within cZ(G). Points of 2 for a win, 0 for a loss and 1 for a tie have c = 2:
a win, rather than a loss, moves 2 points. A pair that is asked repeatedly occurs repeatedly, and an item in no pair has
no noise. The dimension p is the number of items less the number of components.

**Drawing** is by mixtures: draw a radius r with P(r) ∝ a^r N_r, N_r the number of points of Λ in rK, then one of them,
uniformly: P(x) ∝ Σ_{r ≥ M(x)} a^r ∝ a^{M(x)}. For the cube N_r = (2r+1)^d, and a uniform point has uniform coordinates.
For the zonotope let F be the number of spanning forests of G (one tree for each component). There are F(2r+1)^p pairs
(S, c) of a forest S and c in {0, ..., 2r}^S. Each names a point below, and the rule there accepts exactly one pair for
each point of Λ in rK.

So r is proposed with P(r) ∝ a^r (2r+1)^p and (S, c) uniformly. Each point in rK is then proposed and accepted with
probability ∝ a^r (2r+1)^p / (F(2r+1)^p) ∝ a^r. Where the pair is not accepted, all three are drawn again, the radius
too. How long that takes depends on the noise and on public facts alone.

*Tiles.* Let r ≥ 1 and s = 2r, shift rZ(G) to Σ [0, s](e_i - e_j), and lift edge e to (e_i - e_j, h_e). The heights are
such that no cycle of G has signed heights that add up to 0. Consider a face of the lifted zonotope that is lowest in
direction (y, -1). It has t_e = s where y_i - y_j > h_e, t_e = 0 where it is less, and t_e free in [0, s] where both are
equal.

Such lower faces project onto pieces that cover the zonotope without overlap. The *tiles* are the pieces of dimension p.
Their edges with y_i - y_j = h_e connect all items of each component and hold no cycle: there is one tile for each
spanning forest S, whose edges determine y (Shephard 1974). The e_i - e_j of a spanning forest are a basis of Λ, so a
tile's closed box holds one point for each c in {0, ..., s}^S.

*Rule.* A point x on walls belongs to several tiles. Let q be an interior point of the zonotope whose coordinates f in
each tile, Σ_S f_e(e_i - e_j) = q - the tile's corner, are not integers. Move x to x + η(q - x), small η > 0. It stays
in the zonotope, so one of the tiles that hold x holds it.

There its coordinates are c + η(f - c): inside if c_e = 0 only where f_e > 0, and c_e = s only where f_e < s; outside
otherwise, never on a wall. Interiors of tiles are disjoint, so exactly one tile passes. At r = 0 every forest names the
one point, and one in F is accepted.

*Heights* are 2^{-k} for the k-th edge. A cycle holds no edge twice and 2^{-k} exceeds the sum of all later heights. So
y_i - y_j - h_e, a sum over the cycle that e closes with S, has the sign of its term of lowest k.

*q* is the center plus 1/(2m) for each item but the last of its component, from which their sum is subtracted. Removing
an edge of S splits its component, and f_e is up to sign the sum over one part of q - corner: an integer, plus or minus
between 1/(2m) and 1/2, positive if the last item lies on the side of the edge's second item. And q is an interior
point: its sum over a proper part of a component is below 1/2, and at least one edge leaves that part.

Everything here is integer arithmetic: no sum exceeds r times the number of edges, which is kept below 2^62. A mechanism
refuses ε where larger radii have a probability of more than e^{-500}, and beyond them a draw raises an error, equally
likely for all data.

*Large ε.* The rule accepts a share of about e^{-ε/(2c)} of the pairs, and at r = 0 almost none. So where ε/c would
exceed 4, T and D are multiplied by a power of two k first: kD ⊂ ckK and kD ⊂ Λ, hence all of the above holds for ck in
the place of c, and the noisy kT is divided by k. Beyond ε = 2^18 c, the noise is that of 2^18 c.

Sources: Hardt and Talwar (2010) for the mechanism; Awan and Slavković (2021) for the choice of the norm; Joseph,
Kulesza, Wang and Yu, COLT 2026, PMLR 336, for ripple mechanisms on lattices and when they are optimal.
"""

from __future__ import annotations

import functools
import secrets
from fractions import Fraction

import numpy as np

from privrank_jax.exact.discrete_noise import AddNoise
from privrank_jax.exact.entropy import uniform_integers
from privrank_jax.exact.radius import Radius, check_rate, checked_radius
from privrank_jax.exact.spanning_trees import Forest, Graph

_LARGEST_RATE = 4  # of a zonotope: ε/c
_MOST_PARTS = 2**16  # of a unit, for large ε


def discrete_cube(num_values: int, change: int, epsilon: float) -> tuple[AddNoise, float]:
    """The mechanism for integers of which each may change by up to ``change``, all at once, and its scale.

    ε-DP where neighbors differ so; proof at the head of this module.

    Args:
        num_values: d >= 1.
        change: c >= 1.
        epsilon: ε > 0, finite.

    Returns:
        The mechanism, and c/ε.

    Raises:
        ValueError: ε so small that the noise exceeds 64 bits.

    >>> add_noise, scale = discrete_cube(3, 2, 1000.0)
    >>> add_noise(np.array([4, 0, 1])).tolist(), scale
    ([4.0, 0.0, 1.0], 0.002)
    """
    rate = Fraction(epsilon) / change
    check_rate(rate, num_values)
    return lambda values: noisy_sums(values, cube_noise(num_values, rate)), change / epsilon


def discrete_zonotope(graph: Graph, change: int, epsilon: float) -> tuple[AddNoise, float]:
    """The mechanism for integers that change within ``change`` times a zonotope, and its scale.

    ε-DP where neighbors differ so; proof at the head of this module.

    Args:
        graph: the pairs that are asked.
        change: c >= 1.
        epsilon: ε > 0, finite.

    Returns:
        The mechanism, for ``(m,)`` integers, whose values are integers for ε <= 4c and multiples of a power of 1/2
        beyond; and c/ε.

    Raises:
        ValueError: ε so small that the noise exceeds 64 bits.

    >>> add_noise, scale = discrete_zonotope(Graph([(0, 1), (1, 2)], 3), 2, 1e5)
    >>> add_noise(np.array([4, 2, 1])).round(1).tolist(), scale
    ([4.0, 2.0, 1.0], 2e-05)
    """
    rate, parts = zonotope_rate(change, epsilon), zonotope_parts(change, epsilon)
    check_rate(rate, graph.dimension, len(graph.edges))
    scale = float(1 / (rate * parts))
    return lambda values: noisy_sums(values, zonotope_noise(graph, rate), parts), scale


def zonotope_rate(change: int, epsilon: float) -> Fraction:
    """ε/c on the lattice of :func:`discrete_zonotope`, which is finer than the integers for large ε.

    >>> zonotope_rate(2, 8.0), zonotope_rate(2, 12.0)
    (Fraction(4, 1), Fraction(3, 1))
    """
    spent = min(Fraction(epsilon), Fraction(_LARGEST_RATE * _MOST_PARTS * change))
    return spent / (change * zonotope_parts(change, epsilon))


def zonotope_parts(change: int, epsilon: float) -> int:
    """The power of two, k, by which the lattice of :func:`discrete_zonotope` is finer than the integers.

    >>> zonotope_parts(2, 8.0), zonotope_parts(2, 9.0)
    (1, 2)
    """
    parts = 1
    while parts < _MOST_PARTS and Fraction(epsilon) > _LARGEST_RATE * change * parts:
        parts *= 2
    return parts


def noisy_sums(values: np.ndarray, noise: np.ndarray, parts: int = 1) -> np.ndarray:
    """Values plus noise / parts, each rounded once.

    Args:
        values: integers, ``(d,)``.
        noise: integers, ``(d,)``.
        parts: of a unit.
    """
    pairs = zip(np.asarray(values).tolist(), noise.tolist(), strict=True)
    return np.array([(value * parts + drawn) / parts for value, drawn in pairs], np.float64)


def cube_noise(dimension: int, rate: Fraction) -> np.ndarray:
    """``(d,)`` int64, x with P(x) ∝ e^{-rate·max|x|}, rate = ε/c."""
    radius = checked_radius(draw_radius(dimension, rate))
    return uniform_integers(dimension, 2 * radius + 1) - radius


def zonotope_noise(graph: Graph, rate: Fraction) -> np.ndarray:
    """``(m,)`` int64, x with P(x) ∝ e^{-rate·M(x)}, rate = ε/c; they sum to 0 over each component."""
    while True:
        radius = draw_radius(graph.dimension, rate)
        items = propose(graph, checked_radius(radius, len(graph.edges)))
        if items is not None:
            return items


def propose(graph: Graph, radius: int) -> np.ndarray | None:
    """A point of the lattice in the zonotope of that radius, each with the same probability, or None if rejected."""
    forest = graph.draw_forest()
    if not radius:
        rejected = secrets.randbelow(graph.count_forests())
        return None if rejected else np.zeros(graph.num_items, np.int64)
    inside = uniform_integers(graph.dimension, 2 * radius + 1)
    point, kept = placed(graph, forest, inside, radius)
    return point if kept else None


def placed(
    graph: Graph, forest: Forest, inside: np.ndarray, radius: int
) -> tuple[np.ndarray, bool]:
    """The point of the tile of S with coordinates ``inside`` on S, in {0, ..., 2r}, and whether the rule keeps it."""
    side, ends = 2 * radius, tuple(graph.edges.T)
    lowest, forward = forest.lowest_on_paths(graph.edges)
    # On S the path of an edge is the edge itself.
    full = (lowest[ends] < np.arange(len(graph.edges))) & forward[ends]
    weight = np.where(full, side, 0) - radius
    weight[forest.edge] = -radius
    corner = graph.totals(weight)
    weight[forest.edge] += inside
    flow = forest.flows(-corner)  # of q, up to a fraction below 1
    more = forest.leaves_last_item  # whether that fraction is positive
    above = (flow > 0) | ((flow == 0) & more)
    below = (flow < side) | ((flow == side) & ~more)
    kept = np.all(((inside > 0) | above) & ((inside < side) | below))
    return graph.totals(weight), bool(kept)


def draw_radius(dimension: int, rate: Fraction) -> int:
    """r = 0, 1, ... with P(r) ∝ e^{-rate r} (2r+1)^p."""
    return _radius(dimension, rate).draw()


@functools.lru_cache(maxsize=32)
def _radius(dimension: int, rate: Fraction) -> Radius:
    return Radius(lambda radius: 2 * radius + 1, dimension, rate)
