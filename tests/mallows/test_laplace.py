"""The Laplace mechanism on ranks: its scale, that no smaller one suffices, and items that are not ranked."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import mallows


def test_scale_is_two_places_for_every_other_item(key):
    """Mean |noise| is the scale and its standard deviation too: within five standard errors, for users of two sizes."""
    centers = jnp.array([[2, 0, 1, 3], [1, -1, -1, 0]])
    epsilon = jnp.array([3.0, 0.5])
    keys = jax.random.split(key, (5000, 2))
    noisy = jax.vmap(jax.vmap(mallows.laplace_ranks), (0, None, None))(keys, centers, epsilon)
    size = np.abs(np.asarray(noisy - centers))
    for user, scale in enumerate((2 * 3 / 3.0, 2 * 1 / 0.5)):
        mine = size[:, user][:, np.asarray(centers[user]) >= 0]
        assert abs(mine.mean() - scale) < 5 * scale / np.sqrt(mine.size)
        assert abs((mine**2).mean() - 2 * scale**2) < 5 * np.sqrt(20 / mine.size) * scale**2
    assert np.isnan(size[:, 1, 1:3]).all()
