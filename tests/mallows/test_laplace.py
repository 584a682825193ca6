"""The Laplace mechanism on ranks: its scale, that no smaller one suffices, and items that are not ranked."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import mallows, rankings


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


def test_limits_and_types(key):
    center = [1, -1, 0, 2]
    plain = mallows.laplace_ranks(key, center, np.inf)
    np.testing.assert_array_equal(plain, [1.0, np.nan, 0.0, 2.0])
    assert rankings.ranks_from_scores(-plain).tolist() == [1, 3, 0, 2]
    assert mallows.laplace_ranks(key, [0], 1.0).tolist() == [0.0]
    assert np.isnan(mallows.laplace_ranks(key, [-1, -1], 1.0)).all()
    assert mallows.laplace_ranks(key, center, np.float32(1.0)).dtype == jnp.float32
    assert mallows.laplace_ranks(key, center, 1.0).dtype == jnp.float64
    for bad in ([0, 0], [1, 2], [0.5, 1.0]):
        with pytest.raises(ValueError, match="center_ranks"):
            mallows.laplace_ranks(key, bad, 1.0)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        mallows.laplace_ranks(key, center, 0.0)
