r"""K-norm noise, in the shape of what one user can change, for simulation: cubes and zonotopes of pairs.

**Mechanism.** T is a vector whose differences between neighbors lie in a convex body K, symmetric around 0, of
dimension p. Noise Z of density ∝ e^{-ε‖z‖_K}, ‖z‖_K = min{r : z ∈ rK}, makes T + Z ε-DP: ‖·‖_K is a norm and at most 1
on the differences, so the density at a point changes by a factor of at most e^ε between neighbors. It is attained along
every vertex of K that is a difference (Hardt and Talwar 2010). Z is r·U with U uniform in K and r ~ Gamma(p + 1, 1/ε),
since the volume of rK grows as r^p. On a lattice this is the ripple mechanism (Joseph, Kulesza, Wang and Yu, COLT
2026), of which :mod:`privrank_jax.exact.k_norm` says how near it is to the least noise.

**Cube** [-1, 1]^d: each coordinate changes by at most 1, whatever the others do. An example is the number of users who
rank i before j, for every pair, when one ranking is replaced.

**Zonotope** Z = Σ_{i<j} [-l_ij, l_ij](e_i - e_j), l_ij >= 0 the lengths: each pair moves at most l_ij points from one
of its items to the other. Win totals change within it where a user is asked each pair l_ij times and changes all
answers; so do n times the Borda scores, with all lengths 1 (a *complete* zonotope), when one ranking is replaced.
Entries sum to 0 over each component of the graph of pairs of positive length, and p is the number of items less that of
components. By the max-flow min-cut theorem the norm of z is the maximum of z(S)/cut(S) over the sets S of items, cut(S)
the sum of the lengths between S and the others: max over k of (sum of the k largest entries)/(k(m - k)) if complete.

**A uniform point.** Lift e_i - e_j to (e_i - e_j, h_ij) with generic heights: the lower faces of the lifted zonotope
project onto tiles that cover Z, one for each spanning forest S (Shephard 1974). Its volume is ∝ ∏_S l_ij, since the
e_i - e_j of a forest are a basis of the same lattice. So draw a forest with these odds
(:mod:`privrank_jax.privacy.spanning_forests`) and a uniform point of its tile: with y_i - y_j = h_ij on S, t_ij is
uniform in [-l_ij, l_ij] on S, l_ij where y_i - y_j > h_ij and -l_ij elsewhere.

**Heights** are fixed and have two parts of 30 - log₂ m random bits, the second of which decides where sums of the first
agree. Over their choice, both sums over the cycle that a pair closes are 0 with a chance of at most (m/2^30)²; its side
is arbitrary then. The exact twin, :mod:`privrank_jax.exact.k_norm`, has no such ties.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, DTypeLike, Float, Int, Integer

from privrank_jax._batches import of_each_problem
from privrank_jax._components import components
from privrank_jax._types import Count, Key, Mask, MaskLike, NumbersLike, PairMatrix, Scalar, Scores
from privrank_jax._validate import check_nonnegative, is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax._workarounds.xla import materialized
from privrank_jax.comparisons import default_float
from privrank_jax.privacy.spanning_forests import all_pairs_forest, weighted_forest


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Cube:
    """[-1, 1]^d.

    Attributes:
        real: the coordinates that exist, True ``d`` times; noise has this shape and is 0 elsewhere.
    """

    real: Bool[Array, "..."]

    @classmethod
    def of_pairs(cls, num_items: int, mask: MaskLike | None = None) -> Cube:
        """One coordinate for each pair i < j of items that are real by the mask, ``(m,)``, in an ``(m, m)`` matrix."""
        mask = _checked_mask(num_items, mask)
        above = np.triu(np.ones((num_items, num_items), bool), 1)
        return cls(_placed(above & mask[:, None] & mask[None, :]))

    @classmethod
    def of_numbers(cls, dimension: int) -> Cube:
        """[-1, 1]^d."""
        return cls(_placed(np.ones(dimension, bool)))

    @property
    def dimension(self) -> Count:
        """The number of coordinates."""
        return jnp.sum(self.real)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Zonotope:
    """Σ_{i<j} [-l_ij, l_ij](e_i - e_j).

    Attributes:
        lengths: ``(m, m)``, l, symmetric, >= 0, with a zero diagonal: how often one user is asked each pair.
        complete: all lengths between real items are 1, and the others 0; draws are faster.
    """

    lengths: Float[Array, "*batch items items"]
    complete: bool = dataclasses.field(default=False, metadata={"static": True})

    @classmethod
    def of_all_pairs(cls, num_items: int, mask: MaskLike | None = None) -> Zonotope:
        """Each pair of items once that are real by the mask, ``(m,)``."""
        mask = _checked_mask(num_items, mask)
        others = ~np.eye(num_items, dtype=bool)
        return cls(_placed(others & mask[:, None] & mask[None, :], default_float()), complete=True)

    @classmethod
    def of_pairs(
        cls, pairs: Integer[ArrayLike, "pairs 2"] | Sequence[tuple[int, int]], num_items: int
    ) -> Zonotope:
        """Each of these pairs of different items, once for each time that it is listed."""
        found = np.asarray(pairs, np.int64).reshape(-1, 2)
        if np.any((found < 0) | (found >= num_items)) or np.any(found[:, 0] == found[:, 1]):
            raise ValueError(f"pairs must hold two different items below {num_items}.")
        lengths = np.zeros((num_items, num_items))
        np.add.at(lengths, tuple(found.T), 1.0)
        return cls(jnp.asarray(lengths + lengths.T))

    @property
    @of_each_problem
    def dimension(self) -> Count:
        """The number of items less the number of components."""
        if self.complete:
            return jnp.maximum(jnp.sum(jnp.any(self.lengths > 0, axis=1)) - 1, 0)
        return self.lengths.shape[0] - jnp.sum(
            components(self.lengths) == jnp.arange(self.lengths.shape[0])
        )


Body: TypeAlias = Cube | Zonotope
"""What one user can change."""


def k_norm(
    key: Key, body: Body, scale: Scalar, dtype: DTypeLike | None = None
) -> Float[Array, "..."]:
    """Noise of density ∝ e^{-‖z‖/scale}, ‖·‖ the norm whose unit ball is the body; scale 0 gives zeros."""
    check_nonnegative("scale", scale)
    dtype = jnp.zeros(0, dtype).dtype
    return _k_norm(key, body, jnp.asarray(scale, dtype))


@jax.jit
def gauge(body: Body, point: NumbersLike) -> Float[Array, ""]:
    """The least r such that r times a cube or a complete zonotope holds the point; what isn't real is ignored.

    >>> float(gauge(Zonotope.of_all_pairs(3), jnp.array([2.0, 0.0, -2.0])))
    1.0
    """
    point = jnp.asarray(point) * 1.0
    if isinstance(body, Cube):
        return jnp.max(jnp.where(body.real, jnp.abs(point), 0), initial=0)
    assert body.complete
    mask = jnp.any(body.lengths > 0, axis=1)
    number = jnp.sum(mask)
    ordered = -jnp.sort(jnp.where(mask, -point, jnp.inf))
    size = jnp.arange(1, point.shape[0] + 1)
    sums = jnp.cumsum(jnp.where(size <= number, ordered, 0))
    cut = size * (number - size)
    return jnp.max(jnp.where(cut > 0, sums / jnp.maximum(cut, 1), 0))


def _placed(array: Mask | np.ndarray, dtype: DTypeLike = bool) -> Array:
    """A traced array as it is, one on the host moved to the device: no program is compiled for it."""
    if isinstance(array, jax.Array):
        return array.astype(dtype)
    return jax.device_put(np.asarray(array, dtype))


def _checked_mask(num_items: int, mask: MaskLike | None) -> Mask | np.ndarray:
    if num_items < 1:
        raise ValueError(f"num_items must be at least 1, got {num_items}.")
    if mask is None:
        return np.ones(num_items, bool)
    mask = jnp.asarray(mask, bool) if is_traced(mask) else np.asarray(mask, bool)
    if mask.shape != (num_items,):
        raise ValueError(f"mask must have shape ({num_items},), got {mask.shape}.")
    return mask


@jax.jit
def _k_norm(key: Key, body: Body, scale: Float[Array, ""]) -> Float[Array, "..."]:
    """A uniform point of K, scaled by its random radius, which is Gamma(p + 1) times the scale."""
    key, dtype = fused(key), scale.dtype
    if isinstance(body, Cube):
        of_radius, of_place = jax.random.split(key)
        shape = jnp.asarray(body.dimension + 1, dtype)
        radius = jax.random.gamma(of_radius, shape, dtype=dtype)
        place = materialized(uniform(of_place, body, dtype))  # read at every scale of a batch
    else:
        of_forest, of_place = jax.random.split(key)
        parent = _forest(of_forest, body)
        item = jnp.arange(parent.size)
        drawn = jax.random.uniform(of_place, (2 * parent.size + 1,), dtype)
        place = _tile(parent, body.lengths.astype(dtype), 2 * drawn[: parent.size] - 1)
        # One exponential number for each of the p pairs of the forest, and one more.
        counted = jnp.append(parent != item, True)
        radius = -jnp.sum(jnp.where(counted, jnp.log1p(-drawn[parent.size :]), 0))
    return jnp.where(scale == 0, 0, scale * radius * place)


@functools.partial(jax.jit, static_argnames=("dtype",))
def uniform(key: Key, body: Body, dtype: DTypeLike | None = None) -> Float[Array, "..."]:
    """A uniform point of the body, of the shape of ``real`` for a cube, ``(m,)`` for a zonotope."""
    key, dtype = fused(key), jnp.zeros(0, dtype).dtype
    if isinstance(body, Cube):
        drawn = jax.random.uniform(key, body.real.shape, dtype, -1, 1)
        return jnp.where(body.real, drawn, 0)
    of_forest, of_place = jax.random.split(key)
    parent = _forest(of_forest, body)
    inside = jax.random.uniform(of_place, parent.shape, dtype, -1, 1)
    return _tile(parent, body.lengths.astype(dtype), inside)


def _forest(key: Key, body: Zonotope) -> Int[Array, "items"]:
    if body.complete:
        return all_pairs_forest(key, jnp.any(body.lengths > 0, axis=1))
    return weighted_forest(key, body.lengths)


def _tile(
    parent: Int[Array, "items"], lengths: PairMatrix, inside: Float[Array, "items"]
) -> Scores:
    """The point of the forest's tile whose coordinate on the pair of an item and its parent is ``inside``."""
    num_items = parent.shape[0]
    item = jnp.arange(num_items)
    first, second = (jnp.asarray(part) for part in _heights(num_items))
    y = _sum_to_root(jnp.stack([first[item, parent], second[item, parent]], axis=1), parent)

    # One row at a time: a draw needs memory for m numbers, not for all pairs.
    def add(corner: Scores, row: tuple[Array, ...]) -> tuple[Scores, None]:
        other, height, second_height, length = row
        more = y[other, 0] - y[:, 0] - height
        # Where both parts agree, as they do on the forest, the item of the higher number gains.
        tie = y[other, 1] - y[:, 1] - second_height + (other > item)
        loses = (more > 0) | ((more == 0) & (tie > 0))
        return corner + jnp.where(loses, -length, length), None

    corner, _ = jax.lax.scan(add, jnp.zeros_like(inside), (item, first, second, lengths))
    change = lengths[item, parent] * (inside - jnp.where(item > parent, 1, -1))
    return (corner + change).at[parent].add(-change)


@functools.lru_cache(maxsize=8)
def _heights(num_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Fixed heights of the pairs in two parts, antisymmetric; sums over a path stay below 2^30."""
    most = (1 << 30) // num_items
    drawn = np.random.default_rng(num_items).integers(1, most, (2, num_items, num_items))
    first, second = np.triu(drawn, 1).astype(np.int32)
    return first - first.T, second - second.T


def _sum_to_root(
    step: Int[Array, "items parts"], parent: Int[Array, "items"]
) -> Int[Array, "items parts"]:
    """Sums of the steps from each item up to its root, whose step is 0, computed by doubling."""
    for _ in range(max(step.shape[0] - 1, 1).bit_length()):
        step, parent = step + step[parent], parent[parent]
    return step
