"""Reports and rankings shared by tests."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from privrank_jax.pairwise.fits import _of_counts

USERS, ITEMS, PAIRS = 14, 4, 6
_RNG = np.random.default_rng(2)
LISTS = [_RNG.permutation(5)[: _RNG.integers(2, 6)].tolist() for _ in range(40)]


def _problem(seed=0, low=0.4, high=4.0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    reports = rng.random((USERS, PAIRS)) < np.array([0.6, 0.7, 0.8, 0.55, 0.7, 0.6])
    observed = rng.random((USERS, PAIRS)) < 0.8
    return reports, observed, rng.uniform(low, high, USERS).astype(dtype)


def dense_objective(wins, link, gamma=0.0):
    """What a fit of win counts minimizes."""
    dtype = wins.matrix.dtype
    tilt = jnp.zeros(wins.num_items, dtype)
    return _of_counts(wins.matrix, wins.mask, tilt, jnp.asarray(gamma, dtype), link)
