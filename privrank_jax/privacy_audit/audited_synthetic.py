"""Audited ranking differential privacy: synthetic rankings and noisy ranks of one user's three items."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import mallows
from privrank_jax.mallows.laplace import laplace_rank_scale
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws, neighbors
from privrank_jax.privacy_audit.audited_consensus import NUM_ITEMS, ORDERS, number
from privrank_jax.privacy_audit.registry import Facts
from privrank_jax.privacy_audit.rows import audited, named, reported

Array = jax.Array

_RANKING, _REVERSAL = np.array([0, 1, 2]), np.array([2, 1, 0])
_MOVED = np.array([2, 0, 1])  # item 0 goes from the first place to the last


def _mallows_law(ranks: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
    rate = _per_rank(privacy) / (ranks.shape[1] - 1)
    outputs = neighbors.strict_orders(ranks.shape[1])
    return laws.softmax(-rate * laws.kendall_distances(ranks, outputs))


def _noisy_ranks_law(ranks: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
    scale = float(laplace_rank_scale(ranks.shape[1], privacy.epsilon))
    return laws.additive_laplace(ranks.astype(float), scale)


def _per_rank(privacy: Privacy) -> Any:
    """ε for one rank; a synthetic ranking loses m/2 times that for all ranks of a user together."""
    return privacy.epsilon if privacy.unit == "rank" else 2 * privacy.epsilon / NUM_ITEMS


def _sample(key: Array, ranks: Array, privacy: Privacy) -> Array:
    return mallows.sample(key, ranks, _per_rank(privacy))


_ONE_RANK: dict[str, Any] = {
    "neighbors": (_RANKING, _MOVED),
    "instances": functools.partial(neighbors.moved_ranks, NUM_ITEMS),
    "promise": Privacy(1.0, unit="rank", adjacency="replace"),
    "trust": "local",
}
_SYNTHETIC: dict[str, Any] = {
    "release": named(mallows.sample, _sample),
    "reduce": number,
    "sees": "the synthetic order",
    "outcomes": ORDERS,
    "finite": True,
    "law": _mallows_law,
}

AUDITED = (
    audited(
        "mallows-sample",
        "synthetic ranking, the rank of one item",
        commands=("privatize", "privatize --ties coin"),
        note="mallows/distribution.py",
        **_SYNTHETIC,
        **_ONE_RANK,
    ),
    audited(
        "mallows-sample-users",
        "synthetic ranking at 2ε/m for each rank, the whole ranking of a user",
        neighbors=(_RANKING, _REVERSAL),
        instances=lambda: neighbors.of_values(*neighbors.strict_orders(NUM_ITEMS)),
        promise=Privacy(1.0, unit="user", adjacency="replace"),
        trust="local",
        commands=("privatize --drop-user", "privatize --epsilon-column budget"),
        note="mallows/distribution.py: εm/2",
        **_SYNTHETIC,
    ),
    audited(
        "laplace-ranks",
        "ranks + Laplace(2(m-1)/ε)",
        reported(mallows.laplace_ranks),
        law=_noisy_ranks_law,
        reduce=lambda noisy: jnp.min((noisy - _RANKING) * np.sign(_RANKING - _MOVED)),
        sees="the least shift of the ranks, away from the neighbor",
        **_ONE_RANK,
    ),
)
