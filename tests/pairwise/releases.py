"""Releases in one vmapped program, and how often intervals cover."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import (
    perturbed_mle,
)
from tests.promises import promise

SIZE, PER_PAIR, RELEASES = 8, 200, 1500
TRUTH = np.array([1.2, 0.8, 0.4, 0.4, 0.0, -0.5, -0.9, -1.4])  # items 2 and 3 are tied
CHANCE = 1 / (1 + np.exp(TRUTH[None, :] - TRUTH[:, None]))
DESIGN = PER_PAIR * (1.0 - np.eye(SIZE))


def drawn(comparisons, seed=0):
    """Win counts ``(RELEASES, m, m)`` in float32, outcomes drawn under the truth."""
    met = np.broadcast_to(np.triu(comparisons, 1).astype(int), (RELEASES, SIZE, SIZE))
    won = np.random.default_rng(seed).binomial(met, CHANCE)
    return jnp.asarray(won + np.swapaxes(met - won, 1, 2), jnp.float32)


@jax.jit
def released(keys, wins, epsilon, gamma):
    def release(key, matrix):
        found = perturbed_mle(
            key, WinCounts(matrix), promise(epsilon, adjacency="flip"), gamma=gamma
        )
        return found.value, found.diagnostics.noise_scale

    return jax.vmap(release)(keys, wins)


def release(key, epsilon, gamma, comparisons=DESIGN, seed=0):
    keys = jax.random.split(key, RELEASES)
    scores, scales = released(keys, drawn(comparisons, seed), epsilon, gamma)
    return scores, scales[0]
