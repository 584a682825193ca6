"""Roots of monotone functions, traced: by bisection, whose own autodiff would give the slope of the bracket's ends."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

_HALVINGS = 60  # from a bracket of any use to the last bit of float64


def bracketed_root(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The least x in [low, high] with function(x) <= 0, elementwise, rounded up.

    Derivatives with respect to all that the function closes over are those of the implicit function theorem, of any
    order. Where the function has one sign in the whole bracket, an end is returned, and the derivatives are NaN. A
    function that is NaN has the root NaN.

    Args:
        function: decreasing in each entry of an array, each independent of the others; may close over traced values.
        low: lower ends, of the shape and dtype of the root.
        high: upper ends, likewise.

    >>> round(float(jax.grad(lambda a: bracketed_root(lambda x: a - x * x, 0.0 * a, 9 + 0 * a))(4.0)), 6)
    0.25
    """
    low, high = map(jax.lax.stop_gradient, (low, high))

    def solve(function: Callable[[Array], Array], high: Array) -> Array:
        def halve(_: object, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            middle = 0.5 * (ends[0] + ends[1])
            value = function(middle)
            low = jnp.where(value <= 0, ends[0], middle)
            return low, jnp.where(value > 0, ends[1], jnp.where(jnp.isnan(value), jnp.nan, middle))

        return jax.lax.fori_loop(0, _HALVINGS, halve, (low, high))[1]

    def divide(slope: Callable[[Array], Array], value: Array) -> Array:
        return value / slope(jnp.ones_like(value))

    root = jax.lax.custom_root(function, high, solve, divide)
    above = root - low > 8 * jnp.finfo(root.dtype).eps * (high - low)
    return differentiable_where(above & (root < high), root)


def square_root(x: Array) -> Array:
    """√max(x, 0), with derivative 0 where x <= 0, for variances that may round to 0 and lengths that may be 0."""
    none = x <= 0
    return jnp.where(none, 0, jnp.sqrt(jnp.where(none, 1, x)))


@jax.custom_jvp
def differentiable_where(inside: Array, value: Array) -> Array:
    """``value``, floats, with NaN for its derivatives where ``inside``, of the same shape, is false."""
    return value


@differentiable_where.defjvp
def _differentiable_where_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    inside, value = primals
    # A product, not a choice between two tangents: that would turn 0 into NaN backwards.
    return differentiable_where(inside, value), tangents[1] * jnp.where(inside, 1.0, jnp.nan)
