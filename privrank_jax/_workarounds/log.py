"""Logarithms of positive numbers, without the cases that XLA's takes care of.

XLA's ``log`` on a CPU takes fifty operations, a third of which are for 0, ∞, NaN and numbers below 2⁻¹²⁶.

Upstream: none known. To reproduce: ``python -m tests.benchmarks mallows``, with ``jnp.log`` here.
Remove when: that takes as long.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_ROOT = np.float32(0.5**0.5).view(np.int32)  # bits of √½
_SERIES = (
    (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1),
    (-1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1),
    (2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
_HIGH, _LOW = 0.693359375, -2.12194440e-4  # log 2 in two parts, the first of few bits


def log_of_positive(value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """log x for finite x >= 2⁻¹²⁶: what ``jnp.log`` gives, to the last bit in a compiled program of JAX 0.10 on a CPU.

    Args:
        value: float32; of other types the logarithm is that of JAX. 0 counts as 2⁻¹²⁷.

    Returns:
        Same shape and dtype.

    Source: S. L. Moshier, Cephes, ``logf``, whose polynomial XLA takes, too.

    >>> jax.jit(log_of_positive)(jnp.array([1.0, 0.25])).round(5).tolist()
    [0.0, -1.38629]
    """
    if value.dtype != jnp.float32:
        return jnp.log(value)
    # x = 2^power (1 + z), √½ <= 1 + z < √2.
    bits = jax.lax.bitcast_convert_type(value, jnp.int32) - _ROOT
    power = (bits >> 23).astype(jnp.float32)
    z = jax.lax.bitcast_convert_type((bits & 0x7FFFFF) + _ROOT, jnp.float32) - 1
    square = z * z
    cube = square * z
    high, middle, low = ((a * z + b) * z + c for a, b, c in _SERIES)
    series = ((high * cube + middle) * cube + low) * cube
    return (z - 0.5 * square) + (series + _LOW * power) + _HIGH * power
