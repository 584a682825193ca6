r"""K-norm noise, in the shape of what one user can change, for simulation: cubes and zonotopes of all pairs.

**Mechanism.** T is a vector whose differences between neighbors lie in a convex body K, symmetric around 0, of
dimension p. Noise Z of density ∝ e^{-ε‖z‖_K}, ‖z‖_K = min{r : z ∈ rK}, makes T + Z ε-DP: ‖·‖_K is a norm and at most
1 on the differences, so the density at a point changes by a factor of at most e^ε between neighbors. It is attained
along every vertex of K that is a difference (Hardt and Talwar 2010). Z is r·U with U uniform in K and r ~ Gamma(p +
1, 1/ε), since the volume of rK grows as r^p.

**Cube** [-1, 1]^d: each coordinate changes by at most 1, whatever the others do. An example is the number of users who
rank i before j, for every pair, when one ranking is replaced.

**Zonotope of all pairs** Z(K_m) = Σ_{i<j} [-1, 1](e_i - e_j), of dimension m - 1: where one ranking is replaced, ties
and gaps allowed, each pair moves at most one point from one of its items to the other, so n times the Borda scores
change within it. Its norm is max over k of (sum of the k largest entries)/(k(m - k)), entries summing to 0: a cut of
k items from m - k has k(m - k) pairs.

**A uniform point.** Lift e_i - e_j to (e_i - e_j, h_ij) with generic heights: the lower faces of the lifted zonotope
project onto tiles that cover Z(K_m), one for each spanning tree S (Shephard 1974), of equal volume, since the e_i -
e_j of a tree are a basis of the same lattice. So draw a uniform tree and a uniform point of its tile: with y_i - y_j
= h_ij on S, t_ij is uniform in [-1, 1] on S, 1 where y_i - y_j > h_ij and -1 elsewhere. Trees come from a random
order of the items in which the i-th is joined to number min(U_i, i - 1), U_i uniform (Aldous 1990). Heights are fixed
integers of 20 bits, or fewer so that sums stay below 2^31; two sums agree, so that a pair's side is arbitrary, about
once in 10^6 pairs. The exact twin, :mod:`privrank_jax.release.k_norm`, has no such ties.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float, Int

from privrank_jax._types import Count, Epsilon, Key, Mask, MaskLike, Scores, ScoresLike
from privrank_jax._validate import check_epsilon


def cube_noise(
    key: Key, dimension: int, epsilon: Epsilon, dtype: DTypeLike | None = None
) -> Float[Array, "dimension"]:
    """Noise of density ∝ e^{-ε·max|z|}, ``(d,)``.

    Args:
        key: PRNG key.
        dimension: d >= 1.
        epsilon: ε > 0, may be traced; ∞ gives zeros.
        dtype: float; default JAX's.

    Raises:
        ValueError: d < 1, ε <= 0.

    >>> cube_noise(jax.random.key(0), 3, jnp.inf).tolist()
    [0.0, 0.0, 0.0]
    """
    check_epsilon(epsilon)
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, got {dimension}.")
    dtype = jnp.zeros(0, dtype).dtype
    return _cube_noise(key, dimension, jnp.asarray(epsilon, dtype))


def zonotope_noise(
    key: Key,
    num_items: int,
    epsilon: Epsilon,
    mask: MaskLike | None = None,
    dtype: DTypeLike | None = None,
) -> Scores:
    """Noise of density ∝ e^{-ε‖z‖} on the vectors that sum to 0, ‖·‖ the norm of the zonotope of all pairs.

    Args:
        key: PRNG key.
        num_items: m >= 2.
        epsilon: ε > 0, may be traced; ∞ gives zeros.
        mask: ``(m,)`` bool, True for real items; the noise of the others is 0.
        dtype: float; default JAX's.

    Returns:
        ``(m,)``.

    Raises:
        ValueError: m < 2, ε <= 0, a mask of another shape.

    >>> zonotope_noise(jax.random.key(0), 3, jnp.inf).tolist()
    [0.0, 0.0, 0.0]
    """
    check_epsilon(epsilon)
    mask = _checked_mask(num_items, mask)
    dtype = jnp.zeros(0, dtype).dtype
    return _zonotope_noise(key, num_items, jnp.asarray(epsilon, dtype), mask)


def uniform_zonotope(
    key: Key, num_items: int, mask: MaskLike | None = None, dtype: DTypeLike | None = None
) -> Scores:
    """A uniform point of Σ_{i<j} [-1, 1](e_i - e_j), ``(m,)``, summing to 0.

    Args and errors: as :func:`zonotope_noise`.
    """
    dtype = jnp.zeros(0, dtype).dtype
    return _uniform_zonotope(key, num_items, _checked_mask(num_items, mask), dtype)


def zonotope_gauge(point: ScoresLike, mask: MaskLike | None = None) -> Float[Array, ""]:
    """The least r such that r times the zonotope of all pairs holds a point: the norm whose unit ball it is.

    Args:
        point: ``(m,)`` numbers that sum to 0.
        mask: ``(m,)`` bool, True for real items; the others are ignored.

    Returns:
        Scalar, dtype of ``point``, floating.

    >>> float(zonotope_gauge(jnp.array([2.0, 0.0, -2.0])))
    1.0
    """
    point = jnp.asarray(point) * 1.0
    return _gauge(point, _checked_mask(point.shape[-1], mask, least=1))


def _checked_mask(num_items: int, mask: MaskLike | None, least: int = 2) -> Mask:
    if num_items < least:
        raise ValueError(f"num_items must be at least {least}, got {num_items}.")
    mask = jnp.ones(num_items, bool) if mask is None else jnp.asarray(mask, bool)
    if mask.shape != (num_items,):
        raise ValueError(f"mask must have shape ({num_items},), got {mask.shape}.")
    return mask


@functools.partial(jax.jit, static_argnames=("dimension",))
def _cube_noise(key: Key, dimension: int, epsilon: Float[Array, ""]) -> Float[Array, "dimension"]:
    of_radius, of_place = jax.random.split(key)
    place = jax.random.uniform(of_place, (dimension,), epsilon.dtype, -1, 1)
    return _scaled(of_radius, dimension, epsilon, place)


@functools.partial(jax.jit, static_argnames=("num_items",))
def _zonotope_noise(key: Key, num_items: int, epsilon: Float[Array, ""], mask: Mask) -> Scores:
    of_radius, of_place = jax.random.split(key)
    place = _uniform_zonotope(of_place, num_items, mask, epsilon.dtype)
    return _scaled(of_radius, jnp.sum(mask) - 1, epsilon, place)


def _scaled(
    key: Key, dimension: Count, epsilon: Float[Array, ""], place: Float[Array, "p"]
) -> Float[Array, "p"]:
    """A uniform point of K, scaled by its random distance, which is Gamma(p + 1, 1/ε)."""
    shape = jnp.asarray(dimension + 1, epsilon.dtype)
    radius = jax.random.gamma(key, shape, dtype=epsilon.dtype) / epsilon
    return jnp.where(jnp.isinf(epsilon), 0, radius * place)


@functools.lru_cache(maxsize=8)
def _heights(num_items: int) -> np.ndarray:
    """Fixed generic heights of the pairs i < j, antisymmetric; sums over a path stay below 2^30."""
    most = min(1 << 20, (1 << 30) // num_items)
    heights = np.random.default_rng(num_items).integers(1, most, (num_items, num_items))
    upper = np.triu(heights, 1).astype(np.int32)
    return upper - upper.T


@functools.partial(jax.jit, static_argnames=("num_items", "dtype"))
def _uniform_zonotope(key: Key, num_items: int, mask: Mask, dtype: DTypeLike) -> Scores:
    of_order, of_parents, of_place = jax.random.split(key, 3)
    number = jnp.sum(mask)
    drawn = jax.random.uniform(of_order, (num_items,))
    order = jnp.argsort(jnp.where(mask, drawn, 2.0))  # real items first
    place = jnp.arange(num_items)
    parent = jnp.minimum(
        jax.random.randint(of_parents, (num_items,), 0, jnp.maximum(number, 1)), place - 1
    )
    parent = jnp.where(
        (place > 0) & (place < number), parent, place
    )  # the first, and padding: roots
    heights = jnp.asarray(_heights(num_items))
    child_item, parent_item = order, order[parent]
    step = heights[child_item, parent_item]  # y of the child minus y of its parent
    potential = _sum_to_root(step, parent)
    y = jnp.zeros(num_items, potential.dtype).at[order].set(potential)
    above = y[:, None] - y[None, :] > heights
    first = place[:, None] < place[None, :]  # pairs i < j; the others mirror them
    side = jnp.where(first, jnp.where(above, 1, -1), jnp.where(above.T, -1, 1))
    real = mask[:, None] & mask[None, :] & (place[:, None] != place[None, :])
    corner = jnp.sum(jnp.where(real, side, 0), axis=1)
    inside = jax.random.uniform(of_place, (num_items,), dtype, -1, 1)
    on_tree = parent != place
    change = jnp.where(on_tree, inside - side[child_item, parent_item], 0)
    point = corner.astype(dtype)
    return point.at[child_item].add(change).at[parent_item].add(-change)


def _sum_to_root(step: Int[Array, "places"], parent: Int[Array, "places"]) -> Int[Array, "places"]:
    """Sums of the steps from each place up to its root, whose step is 0, computed by doubling."""

    def double(_: object, state: tuple[Array, Array]) -> tuple[Array, Array]:
        total, above = state
        return total + total[above], above[above]

    rounds = max(step.shape[0] - 1, 1).bit_length()
    return jax.lax.fori_loop(0, rounds, double, (step, parent))[0]


@jax.jit
def _gauge(point: Float[Array, "items"], mask: Mask) -> Float[Array, ""]:
    ordered = -jnp.sort(jnp.where(mask, -point, jnp.inf))
    number = jnp.sum(mask)
    size = jnp.arange(1, point.shape[0] + 1)
    sums = jnp.cumsum(jnp.where(size <= number, ordered, 0))
    cut = size * (number - size)
    return jnp.max(jnp.where(cut > 0, sums / jnp.maximum(cut, 1), 0))
