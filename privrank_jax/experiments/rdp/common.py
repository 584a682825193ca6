"""Shared parts of the studies of ranking differential privacy: exact laws, training data of methods, item scores."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, DTypeLike, Float

from privrank_jax import mallows, personalized
from privrank_jax._backend import product
from privrank_jax._types import Epsilon, Key, Scores
from privrank_jax.mallows.laplace import laplace_ranks
from privrank_jax.personalized import Users
from privrank_jax.personalized.surrogate import wins_from_ranks
from privrank_jax.rankings import ranks_from_scores

PAPER = "Xu, Sun and Cheng, Ranking Differential Privacy"
MALLOWS, LAPLACE = "Mallows", "Laplace"

Z = 4.5  # standard errors: a false alarm has probability 7e-6


def laplace_concordance(num_items: int, epsilon: float) -> float:
    """Expected number of the m(m-1)/2 pairs whose order survives Laplace noise of scale λ = 2(m-1)/ε on the ranks.

    The difference of two such noises exceeds d with probability e^{-d/λ}(1 + d/2λ)/2.

    >>> round(laplace_concordance(2, 1.0), 4)
    0.6209
    """
    gap = np.arange(1, num_items) * epsilon / (2 * (num_items - 1))
    kept = 1 - 0.5 * np.exp(-gap) * (1 + gap / 2)
    return float(np.sum(np.arange(num_items - 1, 0, -1) * kept))


def neighbors(items: int) -> np.ndarray:
    """The ranking in index order, then the (m-1)² rankings that arise by moving one item: ``(K, m)`` ranks."""
    found = {tuple(range(items)): None}
    for item, place in itertools.product(range(items), repeat=2):
        order = [other for other in range(items) if other != item]
        order.insert(place, item)
        found[tuple(int(rank) for rank in np.argsort(order))] = None
    return np.array(list(found), np.int32)


def all_rankings(items: int) -> np.ndarray:
    """Ranks of all rankings, ``(m!, m)``, in lexicographic order."""
    return np.array(list(itertools.permutations(range(items))), np.int32)


def mallows_law(items: int, epsilon: float) -> np.ndarray:
    """Probability of each of :func:`all_rankings` around each of :func:`neighbors`: ``(K, m!)``."""
    every = all_rankings(items)
    first, second = np.triu_indices(items, 1)
    ahead = every[:, first] < every[:, second]
    centers = neighbors(items)
    apart = np.sum(ahead != (centers[:, None, first] < centers[:, None, second]), axis=2)
    odds = np.exp(-epsilon / (items - 1) * apart)
    return odds / odds.sum(axis=1, keepdims=True)


ACCURACY, UTILITY = "pairwise_accuracy", "relative_utility"
UNBIASED, RAW_LAPLACE = "Mallows, unbiased ranks", "Laplace, noisy ranks as they are"
LINEAR, NO_PRIVACY = "Mallows, linear scorer", "no privacy"


@dataclass(frozen=True)
class ItemScorer:
    """The linear scorer αᵀx_u + βᵀy_i without αᵀx_u, which cancels in every pair: all users have the same scores.

    As ``vmap`` over users finds nothing of theirs in the scores, the risk sums over pairs of items once for all users.
    """

    def init(
        self, key: Key, user_size: int, item_size: int, dtype: DTypeLike | None = None
    ) -> dict[str, Float[Array, "q"]]:
        """``{"item": β}``, zeros; neither the key nor the size of the users' features is used."""
        del key, user_size
        return {"item": jnp.zeros(item_size, dtype)}

    def score(
        self,
        params: Mapping[str, Float[Array, "q"]],
        user: Float[Array, "p"],
        items: Float[Array, "items q"],
    ) -> Scores:
        """Scores ``(m,)`` of ``items`` ``(m, q)``, the same for every user."""
        del user
        return product(items, params["item"])


NETWORK_SCORER, LINEAR_SCORER = personalized.TwoTowers(), ItemScorer()

_PRECISE = optax.adam(optax.exponential_decay(0.1, 20, 0.8))  # for convex problems of a few scores
_STEPS, _ROUNDS = 20, 30

METRIC = (
    "pairwise accuracy (11) over m(m-1)/2 instead of m(m-1): the share of pairs in order, 1 at best"
)


def wins_by_method(
    key: Key, ranks: Array, epsilon: Epsilon, names: tuple[str, ...]
) -> dict[str, Array]:
    """Training data of each method: ``(n, m)`` wins, from the users' own or their privatized rankings ``(n, m)``."""
    sample_key, noise_key = jax.random.split(key)
    each = functools.partial(jax.vmap, in_axes=(0, 0, None))
    synthetic = each(mallows.sample)(jax.random.split(sample_key, len(ranks)), ranks, epsilon)
    noisy = each(laplace_ranks)(jax.random.split(noise_key, len(ranks)), ranks, epsilon)
    made = {
        NO_PRIVACY: lambda: ranks,
        MALLOWS: lambda: synthetic,
        LINEAR: lambda: synthetic,
        UNBIASED: lambda: jax.vmap(mallows.unbiased_ranks, in_axes=(0, None))(synthetic, epsilon),
        LAPLACE: lambda: jax.vmap(ranks_from_scores)(-noisy),
        RAW_LAPLACE: lambda: noisy,
    }
    return {name: jax.vmap(wins_from_ranks)(made[name]()) for name in names}


def item_scores(mean_wins: Array) -> Array:
    """Train a free score for every item, ``(m,)``, on users whose wins have this mean, ``(m,)``.

    All users have the same scores, so their mean risk is the risk of their mean wins: one user stands for all.
    """
    everyone = Users(jnp.zeros((1, 1), mean_wins.dtype), mean_wins[None])
    found = personalized.train(
        jax.random.key(0),  # neither initialization nor batches are random
        LINEAR_SCORER,
        jnp.eye(mean_wins.shape[0], dtype=mean_wins.dtype),
        everyone,
        everyone,
        optimizer=_PRECISE,
        batch_size=None,
        steps=_STEPS,
        max_rounds=_ROUNDS,
    )
    return found.params["item"]
