"""Audited footrule costs: two users and three items, one user is replaced.

Noise is on prefix counts, which are half of the differences between the costs of adjacent places. Its scale follows
from the standard deviation that the mechanism reports.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.aggregation.footrule import PositionHistograms
from privrank_jax.aggregation.private_footrule import dp_footrule
from privrank_jax.privacy_audit import neighbors, shapes
from privrank_jax.privacy_audit.audited_consensus import NUM_ITEMS, USER, USERS
from privrank_jax.privacy_audit.registry import Release
from privrank_jax.privacy_audit.rows import (
    audited,
    gaussian,
    on,
    under_k_norm,
    under_laplace,
)

Array = jax.Array

_CUTS = NUM_ITEMS * (NUM_ITEMS - 1)
# Mean squared error of a cost for noise of variance 1 on each prefix count.
_SPREAD = 2 * (NUM_ITEMS**2 - 1) / (3 * NUM_ITEMS)


def histograms(rankings: np.ndarray, missing: str = "last") -> np.ndarray:
    """Counts ``(K, m, m)`` of one user each."""
    made = [PositionHistograms.from_ranks(ranking[None], missing=missing) for ranking in rankings]
    return np.stack([np.asarray(one.counts) for one in made])


def every_user() -> np.ndarray:
    """Different counts of one user, with ties and gaps under both rules."""
    ranks = np.array(list(itertools.product(range(-1, NUM_ITEMS), repeat=NUM_ITEMS)))
    both = [histograms(ranks, missing) for missing in ("last", "unknown")]
    return np.unique(np.concatenate(both), axis=0)


def instances() -> neighbors.Instances:
    """All profiles of two users, added up."""
    return neighbors.profiles(every_user(), USERS, functools.partial(np.sum, axis=0))


def _two(first: tuple[int, ...], second: tuple[int, ...]) -> np.ndarray:
    return histograms(np.array([first, second])).sum(axis=0)


_APART, _AGREED = _two((0, 1, 2), (2, 1, 0)), _two((2, 1, 0), (2, 1, 0))


def _prefixes(counts: np.ndarray) -> np.ndarray:
    """F, flattened."""
    shares = np.cumsum(counts, axis=-1)[..., :-1] / (4 * USERS)
    return shares.reshape(*counts.shape[:-2], _CUTS)


def _noisy_prefixes(costs: Array) -> Array:
    """F with noise, of published costs."""
    return 0.5 * (1 + jnp.diff(costs, axis=1).reshape(-1))


def _on_counts(noise: str) -> Release:
    return on(dp_footrule, lambda counts: PositionHistograms(counts, USERS), noise=noise)


_MOVE = (_prefixes(_APART) - _prefixes(_AGREED)) * USERS  # entries 0, 1 and -1
_CUBE = shapes.cube_facets(_CUTS)


AUDITED = (
    audited(
        "dp-footrule",
        "footrule costs + K-norm noise",
        _on_counts("k-norm"),
        promise=USER,
        instances=instances,
        commands=(
            "aggregate --method footrule",
            "aggregate --method footrule --missing unknown",
        ),
        **under_k_norm(_prefixes, _CUBE, _APART, _AGREED, read=_noisy_prefixes),
    ),
    audited(
        "dp-footrule-laplace",
        "footrule costs + Laplace noise",
        _on_counts("laplace"),
        promise=USER,
        instances=instances,
        commands=("aggregate --method footrule --noise laplace",),
        **under_laplace(_prefixes, _APART, _AGREED, read=_noisy_prefixes),
    ),
    audited(
        "dp-footrule-gaussian",
        "footrule costs + Gaussian noise at δ = 0.01",
        _on_counts("gaussian"),
        neighbors=(_APART, _AGREED),
        promise=dataclasses.replace(USER, delta=0.01),
        instances=instances,
        reduce=lambda costs: jnp.sum((_noisy_prefixes(costs) - _prefixes(_APART)) * _MOVE),
        sees="the sum of the prefix counts that differ, each in its direction",
        loss=gaussian(_prefixes),
        commands=("aggregate --method footrule --noise gaussian --delta 1e-6",),
    ),
)
