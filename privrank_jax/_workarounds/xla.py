"""Workarounds that keep XLA from recomputing values and from folding constants, and that detect exhausted memory.

``materialized``. Upstream: none known; https://github.com/openxla/xla/issues/20440 has another barrier that XLA's CPU
compiler does not keep. To reproduce: ``tests/workarounds/test_xla.py`` counts what the compiled program computes again.
Remove when: that test passes with ``jax.lax.optimization_barrier`` in its place.

``fixed``. Upstream: https://github.com/openxla/xla/issues/1652, https://github.com/jax-ml/jax/issues/14655.
Remove when: XLA bounds the time that it spends on folding constants.

``out_of_memory``. Upstream: none known. Remove when: JAX raises an exception of its own where memory runs out.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Shaped


def materialized(values: Shaped[Array, "*shape"]) -> Shaped[Array, "*shape"]:
    """The same values, kept in memory: what follows reads them, and does not compute them again for each use.

    XLA fuses element-wise operations into whatever reads them. On a CPU it does so even where each value is read
    many times, as by a gather or by all pairs of items, and it drops ``optimization_barrier`` first. Elsewhere nothing
    is done.
    """

    def keep(values: Shaped[Array, "*shape"]) -> Shaped[Array, "*shape"]:
        # A branch that XLA can't choose as it compiles.
        here = jax.lax.optimization_barrier(jnp.bool_(True))
        return jax.lax.cond(here, lambda x: x, jnp.zeros_like, values)

    return jax.lax.platform_dependent(values, cpu=keep, default=lambda x: x)


def fixed(values: Shaped[ArrayLike, "*shape"]) -> Shaped[Array, "*shape"]:
    """Values that are the same in every replicate of a batch, for a trial: kept from XLA's constant folding.

    XLA evaluates what depends on constants alone as it compiles, with an interpreter that takes seconds for what the
    program itself does in milliseconds. Behind a barrier the values are not constants.

    Args:
        values: an array of any shape and dtype.

    Returns:
        The same values.

    >>> fixed(jnp.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return jax.lax.optimization_barrier(jnp.asarray(values))


def out_of_memory(error: Exception) -> bool:
    """Whether this is what JAX raises where a device has no memory left: it has no exception of its own for that."""
    return "RESOURCE_EXHAUSTED" in str(error)
