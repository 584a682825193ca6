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
from privrank_jax.privacy_audit.audited_reports import reported
from privrank_jax.privacy_audit.registry import Audited, Facts

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
    "function": "sample",
    "release": _sample,
    "reduce": number,
    "sees": "the synthetic order",
    "outcomes": ORDERS,
    "finite": True,
    "law": _mallows_law,
}

AUDITED = (
    Audited(
        name="mallows-sample",
        title="synthetic ranking, the rank of one item",
        calibration="tight",
        released_by="exact_mallows",
        commands=(
            "privatize",
            "privatize --ties coin",
        ),
        note="mallows/distribution.py",
        **_SYNTHETIC,
        **_ONE_RANK,
    ),
    Audited(
        name="mallows-sample-users",
        title="synthetic ranking at 2ε/m for each rank, the whole ranking of a user",
        calibration="tight",
        neighbors=(_RANKING, _REVERSAL),
        instances=lambda: neighbors.of_values(*neighbors.strict_orders(NUM_ITEMS)),
        promise=Privacy(1.0, unit="user", adjacency="replace"),
        trust="local",
        released_by="exact_mallows",
        commands=(
            "privatize --drop-user",
            "privatize --epsilon-column budget",
        ),
        note="mallows/distribution.py: εm/2",
        **_SYNTHETIC,
    ),
    Audited(
        name="laplace-ranks",
        title="ranks + Laplace(2(m-1)/ε)",
        calibration="tight",
        function="laplace_ranks",
        release=reported(mallows.laplace_ranks),
        reduce=lambda noisy: jnp.minimum(-noisy[0], jnp.min(noisy[1:] - jnp.arange(1, NUM_ITEMS))),
        sees="the least of item 0's rise ahead of its place and the others' fall behind theirs",
        law=_noisy_ranks_law,
        note="mallows/laplace.py",
        **_ONE_RANK,
    ),
)
