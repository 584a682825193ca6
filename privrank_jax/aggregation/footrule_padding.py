r"""Noise on footrule costs of padded items, whose number of real items may be traced.

The tree of places depends on the number r of real items, so the trees of all r up to m are prepared as tables with a
row for each. A tree of r places has r - 1 cuts on all of its levels together: they lie along one axis, each with its
level and its node. The law is that of :func:`~privrank_jax.aggregation.private_footrule.level_noises` for r items.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from privrank_jax._backend import product
from privrank_jax._types import Key, Mask
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.footrule_levels import footrule_levels, mean_square_error


class Trees(NamedTuple):
    """The trees of 0, 1, ..., m places.

    Attributes:
        levels: level of each cut; those that a tree lacks have the last number, which no level has.
        nodes: node of each cut, numbered through all levels, likewise.
        response: how an item's costs change with the count of each cut; 0 for cuts and places that a tree lacks.
        shares: a, of the level of each cut; 1 for cuts that a tree lacks.
        squares: mean squared error of a cost, less the mean error of its row, in multiples of 1/(εn)².
    """

    levels: Int[np.ndarray, "trees cuts"]
    nodes: Int[np.ndarray, "trees cuts"]
    response: Float[np.ndarray, "trees places cuts"]
    shares: Float[np.ndarray, "trees cuts"]
    squares: Float[np.ndarray, "trees"]


@functools.lru_cache(maxsize=8)
def trees(num_items: int, noise: str) -> Trees:
    """The trees of up to m places.

    Args:
        num_items: m >= 1, padding included.
        noise: ``"tree"``, or another, of a single level.

    >>> trees(7, "tree").levels[7].tolist()
    [0, 1, 1, 1, 1, 1]
    """
    cuts = num_items - 1
    found = Trees(
        np.full((num_items + 1, cuts), cuts, np.int32),
        np.full((num_items + 1, cuts), cuts, np.int32),
        np.zeros((num_items + 1, num_items, cuts)),
        np.ones((num_items + 1, cuts)),
        np.zeros(num_items + 1),
    )
    for real in range(2, num_items + 1):
        first = node = 0
        parts = footrule_levels(real, noise)
        for number, level in enumerate(parts):
            own = slice(first, first + len(level.nodes))
            found.levels[real, own] = number
            found.nodes[real, own] = node + level.nodes
            found.response[real, :real, own] = level.response
            found.shares[real, own] = level.share
            first, node = own.stop, node + int(level.nodes.max()) + 1
        found.squares[real] = mean_square_error(parts)
    return found


@functools.partial(jax.jit, static_argnames=("noise",))
def padded_noise(
    key: Key, mask: Mask, scale: Float[Array, ""], noise: str
) -> tuple[Float[Array, "items items"], Float[Array, ""]]:
    """Noise on costs of real items at the places of real items, 0 elsewhere; and its mean square at scale 1.

    Args:
        key: PRNG key.
        mask: ``(m,)``, True for real items.
        scale: of n times the counts, over n: 1/(εn), or σ/n.
        noise: ``"tree"``, ``"k-norm"`` or ``"gaussian"``.
    """
    items = mask.shape[0]
    real = jnp.sum(mask)
    if items == 1:
        return jnp.zeros((1, 1), scale.dtype), jnp.zeros((), scale.dtype)
    table = trees(items, noise)
    levels, nodes = (jnp.asarray(one)[real] for one in (table.levels, table.nodes))
    response, shares, square = (
        jnp.asarray(one, scale.dtype)[real] for one in (table.response, table.shares, table.squares)
    )
    if noise == "gaussian":
        counts = jax.random.normal(fused(key), (items - 1, items), scale.dtype)
        square = 2 * (jnp.square(real).astype(scale.dtype) - 1) / (3 * real)
    else:
        counts = _counts(key, real, levels, nodes, items, scale) / shares[:, None]
    drawn = product((scale * jnp.where(mask, counts, 0)).T, response.T)
    return jnp.where(scale > 0, drawn, 0), square


def _counts(
    key: Key, real: Array, levels: Array, nodes: Array, items: int, scale: Float[Array, ""]
) -> Float[Array, "cuts items"]:
    """For each level a uniform point of its body times Gamma(d + 1)."""
    of_norms, of_slack, of_places, of_radius = jax.random.split(fused(key), 4)
    dtype, cuts = scale.dtype, items - 1
    parts = jax.random.exponential(of_norms, (cuts, items), dtype)
    sums = jax.random.exponential(of_slack, (items, items), dtype)
    sums += jax.ops.segment_sum(parts, levels, items)
    norms = jax.ops.segment_sum(parts, nodes, items)[nodes] / sums[levels]
    places = jax.random.uniform(of_places, (cuts, items), dtype, -1, 1)
    largest = jax.ops.segment_max(jnp.abs(places), nodes, items)[nodes]
    sizes = jnp.sum(levels[:, None] == levels, axis=1).astype(dtype)
    # One radius for each level, looked up by its cuts.
    first = jnp.argmax(levels[:, None] == levels, axis=1)
    radius = jax.random.gamma(of_radius, real * sizes + 1, dtype=dtype)[first]
    return radius[:, None] * places * norms / jnp.where(largest > 0, largest, 1)
