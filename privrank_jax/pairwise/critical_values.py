r"""Critical values of errors that are a Gaussian variable plus a Laplace variable, for intervals of several kinds.

The errors are those of :mod:`privrank_jax.pairwise.intervals`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._roots import bracketed_root
from privrank_jax._types import Numbers, Scalar
from privrank_jax.links import normal
from privrank_jax.pairwise.uncertainty import Uncertainty

# Laplace shares of variance at which critical values are tabulated; below the first, the tail is Gaussian.
_SHARES = (0.002, 0.9999, 129)


def critical_value(alpha: Scalar, share: Numbers) -> Float[Array, "..."]:
    """Solve P(\\|√(1-s) Z + √s L\\| > c) = α for c, Z standard normal, L Laplace of variance 1.

    Args:
        alpha: α in (0, 1), shape ``()``, may be traced.
        share: s in [0, 1], any shape.

    Returns:
        c, of the shape of ``share``, to 1e-3 relative (interpolated over s).

    >>> [round(float(critical_value(0.05, s)), 2) for s in (0.0, 1.0)]
    [1.96, 2.12]
    """
    share = jnp.asarray(share, jnp.result_type(share, alpha, 0.0))
    return critical_at(critical_of(jnp.asarray(alpha, share.dtype)), share)


def critical_tables(uncertainty: Uncertainty, level: Scalar) -> Float[Array, "4 shares"]:
    """Critical values of one item, of all together, of an item's differences together, and of all differences.

    One search finds all: the functions of its steps are long programs.

    Args:
        uncertainty: of the items.
        level: confidence in (0, 1), may be traced.
    """
    items = jnp.sum(uncertainty.mask)
    counts = jnp.stack([jnp.ones_like(items), items, items - 1, items * (items - 1) // 2])
    level = jnp.asarray(level, uncertainty.center.dtype)
    return jax.vmap(critical_of)((1 - level) / jnp.maximum(counts, 1))


def critical_at(table: Float[Array, "shares"], share: Array) -> Array:
    """Critical values for any shares s of Laplace noise, interpolated in a table of :func:`critical_of`.

    Args:
        table: for one α.
        share: s in [0, 1], any shape, of its dtype.
    """
    first, last, number = _SHARES  # an even grid: jnp.interp would search it
    place = jnp.clip((share - first) / (last - first), 0, 1) * (number - 1)
    left = jnp.minimum(place.astype(jnp.int32), number - 2)
    return table[left] + (place - left) * (table[left + 1] - table[left])


def critical_of(alpha: Float[Array, ""]) -> Float[Array, "shares"]:
    """Solutions of :func:`critical_value` at each tabulated share.

    Args:
        alpha: α in (0, 1), may be traced.
    """
    grid = jnp.linspace(*_SHARES, dtype=alpha.dtype)
    gaussian, laplace = jnp.sqrt(1 - grid), jnp.sqrt(0.5 * grid)

    tilt = gaussian / laplace
    lift = 0.5 * tilt * tilt

    def tail(x: Array) -> Array:
        both = jnp.stack([x, -x])  # as one array: the functions are long programs
        low, high = jnp.exp(lift - both / laplace + normal.log_cdf(both / gaussian - tilt))
        return 2 * normal.cdf(-x / gaussian) + low - high

    depth = jnp.log(2 / alpha)
    end = jnp.full_like(grid, 1.0) * (jnp.sqrt(2 * depth) + depth)
    return bracketed_root(lambda x: tail(x) - alpha, jnp.zeros_like(grid), end)
