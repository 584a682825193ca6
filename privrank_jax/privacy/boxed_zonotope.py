r"""K-norm noise, for simulation, in the shape of a zonotope of pairs times intervals.

**Body** K = Z × [-b_1, b_1] × ... × [-b_k, b_k], Z a zonotope (:mod:`privrank_jax.privacy.geometry`): numbers of the
items change within Z, and k more numbers by at most b_1, ..., b_k, whatever the others do. Its norm is the largest of
the norm in Z and of \|y_j\|/b_j, its dimension d = dim Z + k, and the guarantee is that of any K-norm noise: ε-DP at
scale 1/ε where neighbors differ by a point of K. An interval with b_j = 0 holds a number that nobody can change; it
gets no noise and counts as no dimension.

**Drawing.** A uniform point of K is one of Z beside uniform numbers of the intervals, all independent, and the radius
is Gamma(d + 1).

**Law** at scale 1: E r² = (d + 1)(d + 2), so the noise in Z has the covariance of noise in Z alone times (d + 1)(d +
2)/((z + 1)(z + 2)), z = dim Z; number j has variance (d + 1)(d + 2)b_j²/3; numbers of different parts are uncorrelated.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float

from privrank_jax._types import Count, Key, NumbersLike, Scalar
from privrank_jax._validate import check_nonnegative
from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.geometry import Zonotope, gauge, uniform

_NORMAL = 3.0  # kurtosis


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoxedZonotope:
    """Z × [-b_1, b_1] × ... × [-b_k, b_k].

    Attributes:
        zonotope: Z, of m items.
        widths: ``(k,)``, b, at least 0.
    """

    zonotope: Zonotope
    widths: Float[Array | np.ndarray, "k"]

    @property
    def dimension(self) -> Count:
        """That of the zonotope plus the number of intervals of positive length."""
        return self.zonotope.dimension + jnp.sum(jnp.asarray(self.widths) > 0)


def boxed_noise(
    key: Key, body: BoxedZonotope, scale: Scalar, dtype: DTypeLike | None = None
) -> Float[Array, "numbers"]:
    """Noise of density ∝ e^{-‖z‖/scale}, ‖·‖ the norm whose unit ball is the body.

    Args:
        key: PRNG key.
        body: K.
        scale: >= 0, may be traced: 1/ε where K holds what one unit changes; 0 gives zeros.
        dtype: float; default JAX's.

    Returns:
        ``(m + k,)``: of the items, whose numbers sum to 0 over each component of the pairs; then of the intervals.

    Raises:
        ValueError: a negative or infinite scale.

    >>> body = BoxedZonotope(Zonotope.of_all_pairs(3), jnp.array([2.0, 0.0]))
    >>> boxed_noise(jax.random.key(0), body, 0.0).tolist(), int(body.dimension)
    ([0.0, 0.0, 0.0, 0.0, 0.0], 3)
    """
    check_nonnegative("scale", scale)
    dtype = jnp.zeros(0, dtype).dtype
    return _boxed_noise(key, body, jnp.asarray(scale, dtype))


def boxed_gauge(body: BoxedZonotope, point: NumbersLike) -> Float[Array, ""]:
    """The least r such that r times the body holds the point.

    Args:
        body: K.
        point: ``(m + k,)``; entries of intervals of length 0 are ignored.

    >>> body = BoxedZonotope(Zonotope.of_all_pairs(3), jnp.array([2.0, 0.0]))
    >>> float(boxed_gauge(body, [2.0, 0.0, -2.0, 5.0, 0.0]))
    2.5
    """
    point, widths = jnp.asarray(point) * 1.0, jnp.asarray(body.widths)
    items = point.shape[0] - widths.shape[0]
    sides = jnp.abs(point[items:]) / jnp.where(widths > 0, widths, jnp.inf)
    return jnp.maximum(gauge(body.zonotope, point[:items]), jnp.max(sides, initial=0.0))


def boxed_covariance(body: BoxedZonotope) -> np.ndarray:
    """Covariance of the noise at scale 1, ``(m + k, m + k)``; that of Z as in :mod:`~privrank_jax.privacy.noise_law`.

    Args:
        body: K; not traced.

    >>> body = BoxedZonotope(Zonotope.of_all_pairs(2), np.array([3.0]))
    >>> boxed_covariance(body).tolist()
    [[4.0, -4.0, 0.0], [-4.0, 4.0, 0.0], [0.0, 0.0, 36.0]]
    """
    widths = np.asarray(body.widths, float)
    own, whole = _dimensions(body)
    square = (whole + 1) * (whole + 2)
    items = np.asarray(body.zonotope.lengths).shape[0]
    found = np.zeros((items + widths.size,) * 2)
    found[:items, :items] = noise_law.covariance(body.zonotope) * square / ((own + 1) * (own + 2))
    found[items:, items:] = np.diag(square * widths**2 / 3)
    return found


def boxed_kurtosis(body: BoxedZonotope) -> float:
    """A bound on the kurtosis of the noise in any number, in a difference of items, and in a sum of such parts.

    That of a uniform point of K is at most the larger of 3 and the one in Z, since excess kurtoses of independent
    parts of a sum are weighted by their squared shares of the variance.

    Args:
        body: K, whose zonotope has dimension 1 at least; not traced.
    """
    own, whole = _dimensions(body)
    of_place = noise_law.kurtosis(body.zonotope) / _of_radius(own)
    return _of_radius(whole) * max(of_place, _NORMAL)


def _of_radius(dimension: int) -> float:
    """E r⁴/(E r²)² of the radius."""
    return (dimension + 3) * (dimension + 4) / ((dimension + 1) * (dimension + 2))


def _dimensions(body: BoxedZonotope) -> tuple[int, int]:
    """Those of the zonotope and of the body."""
    own = noise_law.dimension_of(body.zonotope)
    return own, own + int(np.count_nonzero(np.asarray(body.widths)))


@jax.jit
def _boxed_noise(key: Key, body: BoxedZonotope, scale: Float[Array, ""]) -> Float[Array, "numbers"]:
    of_radius, of_items, of_sides = jax.random.split(fused(key), 3)
    dtype, widths = scale.dtype, jnp.asarray(body.widths, scale.dtype)
    items = uniform(of_items, body.zonotope, dtype)
    # A sum of d + 1 exponential numbers, which takes far less to compile than a gamma variable of unknown shape.
    steps = jnp.log1p(-jax.random.uniform(of_radius, (items.size + widths.size,), dtype))
    radius = -jnp.sum(jnp.where(jnp.arange(steps.size) <= body.dimension, steps, 0))
    sides = widths * jax.random.uniform(of_sides, widths.shape, dtype, -1, 1)
    return jnp.where(scale > 0, scale * radius * jnp.concatenate([items, sides]), 0)
