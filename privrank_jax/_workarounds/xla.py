"""What XLA has to be told to make a fast program of ours."""

from __future__ import annotations

import jax
import jax.numpy as jnp

Array = jax.Array


def materialized(values: Array) -> Array:
    """The same values, kept in memory: what follows reads them, and does not compute them again for each use.

    XLA fuses element-wise operations into whatever reads them. On a CPU it does so even where each value is read
    many times, as by a gather or by all pairs of items, and it drops ``optimization_barrier`` first. Elsewhere nothing
    is done.
    """

    def keep(values: Array) -> Array:
        # A branch that XLA can't choose as it compiles.
        here = jax.lax.optimization_barrier(jnp.bool_(True))
        return jax.lax.cond(here, lambda x: x, jnp.zeros_like, values)

    return jax.lax.platform_dependent(values, cpu=keep, default=lambda x: x)
