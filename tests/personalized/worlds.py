"""Small simulated worlds for training."""

from __future__ import annotations

import jax

from privrank_jax.personalized.surrogate import wins_from_ranks
from privrank_jax.rankings import ranks_from_scores

KEY = jax.random.key(11)


def world(key, users=12, items=4):
    """Users who rank items by the product of their first features: rankings are personal and learnable."""
    user_key, item_key = jax.random.split(key)
    x = jax.random.uniform(user_key, (users, 2), minval=-1)
    y = jax.random.normal(item_key, (items, 2))
    ranks = jax.vmap(lambda user: ranks_from_scores(user[0] * y[:, 0]))(x)
    return x, y, ranks, jax.vmap(wins_from_ranks)(ranks)


WORLD = jax.jit(world)
