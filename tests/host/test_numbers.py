"""Primitives that act on each number, against JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from tests.host.agreement import assert_agree

FLOATS = np.array([-np.inf, -2.5, -1.5, -0.5, -0.0, 0.0, 0.3, 0.5, 1.5, 2.0, 40.0, np.inf, np.nan])
ABOVE = np.array([1e-3, 0.2, 0.7, 1.0, 3.0, 20.0])
WHOLE = np.array([-9, -8, -1, 0, 1, 2, 7, 8])
OTHER = np.array([2, -3, 4, 5, 0, -7, 3, 3])

EXACT = {
    "sign": lambda x: jnp.sign(x),
    "even": lambda x: jnp.round(x),
    "away": lambda x: jax.lax.round(x, jax.lax.RoundingMethod.AWAY_FROM_ZERO),
    "floor": lambda x: jnp.floor(x),
    "ceil": lambda x: jnp.ceil(x),
    "finite": lambda x: jnp.isfinite(x),
    "rem": lambda x: jax.lax.rem(x, jnp.asarray(0.4)),
    "clamp": lambda x: jax.lax.clamp(-1.0, x, 1.0),
    "maximum": lambda x: jnp.maximum(x, 0.1),
    "minimum": lambda x: jnp.minimum(x, 0.1),
    "where": lambda x: jnp.where(x > 0, x, -1.0),
    "select": lambda x: jax.lax.select_n(jnp.arange(x.size) % 3, x, x + 1, x + 2),
    "single": lambda x: x.astype(jnp.float32) + jnp.float32(0.1),
    "bits": lambda x: jax.lax.bitcast_convert_type(x, jnp.uint64),
    "order": lambda x: jnp.sort(x),
    "ordered": lambda x: (x[:, None] <= x, x[:, None] < x, x[:, None] == x),
}
ROUNDED = {
    "exp": lambda x: (jnp.exp(-x), jnp.exp2(-x), jnp.expm1(-x)),
    "log": lambda x: (jnp.log(x), jnp.log1p(x), jnp.log2(x)),
    "roots": lambda x: (jnp.sqrt(x), jax.lax.rsqrt(x), jnp.cbrt(x), jnp.square(x)),
    "powers": lambda x: (x**3, x**-2, x**1.7),
    "logistic": lambda x: (jax.nn.sigmoid(x), jax.nn.sigmoid(-x), jnp.tanh(x)),
    "hyperbolic": lambda x: (jnp.sinh(x), jnp.cosh(x), jax.grad(lambda y: jnp.tanh(y).sum())(x)),
    "angles": lambda x: (jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.arctan2(x, 2.0)),
    "inverse": lambda x: jax.lax.asin(x / 30),
    "normal": lambda x: (jax.lax.erf(x), jax.lax.erfc(x), jax.scipy.special.erfinv(x / 30)),
    "gamma": lambda x: (jax.lax.lgamma(x), jax.lax.digamma(x)),
    "incomplete": lambda x: (jax.lax.igamma(2.0 + 0 * x, x), jax.lax.igammac(2.0 + 0 * x, x)),
}
INTEGERS = {
    "div": lambda x, y: jax.lax.div(x, jnp.where(y == 0, 2, y)),
    "floor": lambda x, y: x // jnp.where(y == 0, 2, y),
    "rem": lambda x, y: jax.lax.rem(x, jnp.where(y == 0, 2, y)),
    "power": lambda x, y: x**3,
    "logic": lambda x, y: (x & y, x | y, x ^ y, ~x),
    "left": lambda x, y: jax.lax.shift_left(x, jnp.abs(y) * 11),
    "right": lambda x, y: jax.lax.shift_right_logical(x, jnp.abs(y) * 11),
    "arithmetic": lambda x, y: jax.lax.shift_right_arithmetic(x, jnp.abs(y) * 11),
    "bits": lambda x, y: (jax.lax.population_count(x), jax.lax.clz(x)),
    "narrow": lambda x, y: (x.astype(jnp.int8), x.astype(jnp.uint8), x.astype(bool)),
    "float": lambda x, y: x / jnp.where(y == 0, 2, y),
    "wrapped": lambda x, y: x.astype(jnp.int32) * jnp.int32(2**30),
}


def test_exact_operations_are_those_of_jax():
    assert_agree(EXACT, FLOATS)


def test_functions_agree_to_rounding():
    assert_agree(ROUNDED, ABOVE, tolerance=1e-13)


def test_integers_are_those_of_jax():
    assert_agree(INTEGERS, WHOLE, OTHER)
    assert_agree(INTEGERS, WHOLE.astype(np.int32), OTHER.astype(np.int32))
