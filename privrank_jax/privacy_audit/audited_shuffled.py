"""Audited consensus of rankings from shuffled reports: what is left of three users' answers once nobody knows whose."""

from __future__ import annotations

import itertools
import math

import jax.numpy as jnp
import numpy as np

from privrank_jax import aggregation
from privrank_jax.privacy import Privacy, shuffled_local_epsilon
from privrank_jax.privacy_audit import laws
from privrank_jax.privacy_audit.audited_local import one_pair_law, three_users
from privrank_jax.privacy_audit.registry import Facts
from privrank_jax.privacy_audit.rows import audited, on

_USERS, _ITEMS = 3, 3
_ALL = np.arange(_ITEMS)


def _loss(first: np.ndarray, second: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
    """Smallest ε at δ between the laws of the multisets of three reports."""
    local = shuffled_local_epsilon(_USERS, float(privacy.epsilon), float(privacy.delta))
    one, other = (_multisets(profiles, local) for profiles in (first, second))
    return laws.least_epsilon(one, other, privacy.delta)


def _multisets(profiles: np.ndarray, local: float) -> np.ndarray:
    """Law of the multiset of three reports of six kinds, ``(data sets, 56)``."""
    promise = Privacy(local, unit="user", adjacency="replace")
    one = np.exp(one_pair_law(profiles.reshape(-1, _ITEMS), promise, {}))
    reports = one.reshape(-1, _USERS, one.shape[-1])
    columns = []
    for kinds in itertools.combinations_with_replacement(range(one.shape[-1]), _USERS):
        ways = set(itertools.permutations(kinds))
        columns.append(
            sum(math.prod(reports[:, user, kind] for user, kind in enumerate(way)) for way in ways)
        )
    return np.stack(columns, axis=1)


AUDITED = (
    audited(
        "shuffled-pair-weights",
        "weights from one shuffled answer of each of three users, at δ = 0.01",
        on(aggregation.shuffled_pair_weights, jnp.asarray),
        neighbors=(np.stack([_ALL] * _USERS), np.stack([_ALL, _ALL, _ALL[::-1]])),
        reduce=lambda weights: jnp.sum(weights[np.triu_indices(_ITEMS, 1)]),
        sees="the sum of the weights above the diagonal",
        instances=three_users,
        loss=_loss,
        promise=Privacy(1.0, unit="user", adjacency="replace", delta=0.01),
        trust="shuffled",
        commands=("aggregate --trust shuffled --delta 1e-6",),
    ),
)
