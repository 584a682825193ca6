"""What fits of win counts minimize."""

from __future__ import annotations

import jax.numpy as jnp

from privrank_jax.pairwise.fits import _of_counts


def dense_objective(wins, link, gamma=0.0):
    dtype = wins.matrix.dtype
    tilt = jnp.zeros(wins.num_items, dtype)
    return _of_counts(wins.matrix, wins.mask, tilt, jnp.asarray(gamma, dtype), link)
