r"""Facets of the convex bodies that K-norm noise is shaped like, for laws, losses and statistics of audits.

A body K that is symmetric around 0 is given by rows a, one for each pair of opposite facets: its norm is ‖z‖ = max
\|⟨a, z⟩\|. They are found by other ways than those of :mod:`privrank_jax.privacy.geometry`: for a zonotope by all cuts,
so items are few.

**Where the loss is largest.** Noise of density ∝ e^{-‖z‖/λ} loses (‖y + v‖ - ‖y‖)/λ at y beyond a data set whose
neighbor is v farther back. For a v on the boundary of K this is 1/λ, the most there can be, if and only if ‖y‖ =
⟨a, y⟩ for a facet with ⟨a, v⟩ = 1: then ‖y + v‖ >= ⟨a, y + v⟩ = ‖y‖ + 1. :func:`margin` tells such y from others, and
by how much.
"""

from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, Real

from privrank_jax._backend import product


def cube_facets(dimension: int) -> Float[np.ndarray, "d d"]:
    """Rows of [-1, 1]^d.

    Args:
        dimension: d.
    """
    return np.eye(dimension)


def zonotope_facets(lengths: Real[np.ndarray, "items items"]) -> Float[np.ndarray, "facets items"]:
    """Rows of Σ_{i<j} [-l_ij, l_ij](e_i - e_j): 1_S/cut(S), S any items without the last one.

    Args:
        lengths: ``(m, m)``, l, symmetric, >= 0.

    >>> zonotope_facets(np.array([[0, 2], [2, 0]])).tolist()
    [[0.5, 0.0]]
    """
    items = len(lengths)
    sides = np.array(list(itertools.product((0.0, 1.0), repeat=items - 1)))
    sides = np.column_stack([sides, np.zeros(len(sides))])
    cuts = np.einsum("si,ij,sj->s", sides, lengths, 1 - sides)
    return sides[cuts > 0] / cuts[cuts > 0, None]


def body_norm(
    facets: Float[np.ndarray, "facets d"], points: Real[np.ndarray, "... d"]
) -> Float[np.ndarray, "..."]:
    """‖z‖ of points.

    Args:
        facets: rows a.
        points: z.
    """
    return np.max(np.abs(points @ facets.T), axis=-1)


def margin(
    noise: Float[Array, "d"],
    facets: Float[np.ndarray, "facets d"],
    change: Integer[np.ndarray, "d"] | Float[np.ndarray, "d"],
) -> Float[Array, ""]:
    """How far y lies inside the facets next to v, where the loss is largest; negative elsewhere.

    Args:
        noise: y.
        facets: rows a.
        change: v, on the boundary of the body.
    """
    side = facets @ change
    near = np.isclose(np.abs(side), 1.0)
    reached = product(jnp.asarray(facets, noise.dtype), noise)
    ahead = jnp.where(near, jnp.sign(jnp.asarray(side)) * reached, -jnp.inf)
    elsewhere = jnp.where(near, -jnp.sign(jnp.asarray(side)) * reached, jnp.abs(reached))
    return jnp.max(ahead) - jnp.max(elsewhere)
