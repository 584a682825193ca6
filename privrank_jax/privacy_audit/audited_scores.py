"""Audited totals of approvals and of points, two users and three items; data end with the number of users."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import jax
import numpy as np

from privrank_jax import aggregation
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import neighbors, shapes
from privrank_jax.privacy_audit.registry import Release
from privrank_jax.privacy_audit.rows import audited, gaussian, on, under_k_norm, under_laplace

NUM_ITEMS = 3
POINTS = 2  # of the scale, where users give points
USER = Privacy(1.0, unit="user", adjacency="replace")
_ADDED = dataclasses.replace(USER, adjacency="add-remove")
_DELTA = 0.01


def _on_totals(most: int = 1, limit: int | None = None, **options: Any) -> Release:
    """Turn the function into a release of totals and the number of users."""

    def made(data: jax.Array) -> aggregation.PointTotals:
        return aggregation.PointTotals(data[:-1], data[-1], most, limit)

    return on(aggregation.dp_scores, made, **options)


def _totals(data: np.ndarray) -> np.ndarray:
    """The totals, of stacked data sets."""
    return data[:, :-1]


def _less_half(data: np.ndarray) -> np.ndarray:
    """The totals of approvals less half of the users."""
    return data[:, :-1] - 0.5 * data[:, -1:]


def _ballots(most: int = 1, limit: int = NUM_ITEMS) -> np.ndarray:
    """All ballots of a user, each with 1 at its end: it counts as one user."""
    every = itertools.product(range(most + 1), repeat=NUM_ITEMS)
    return np.array([[*one, 1] for one in every if np.count_nonzero(one) <= limit], float)


def _replaced(most: int = 1, limit: int = NUM_ITEMS) -> neighbors.Instances:
    """The totals of all pairs of ballots; one user is replaced."""
    return neighbors.profiles(_ballots(most, limit), users=2, counted=lambda own: own.sum(axis=0))


def _one_more() -> neighbors.Instances:
    """The totals of one ballot, or of none, and of one more."""
    ballots = _ballots()
    data = np.concatenate(
        [0 * ballots[:1], ballots, (ballots[:, None] + ballots).reshape(-1, NUM_ITEMS + 1)]
    )
    return neighbors.those_near(
        np.unique(data, axis=0),
        lambda one, other: (
            abs(one[-1] - other[-1]) == 1
            and set((other - one)[:-1] * (other - one)[-1]) <= {0.0, 1.0}
        ),
    )


_FACETS = shapes.cube_facets(NUM_ITEMS)
_ALL, _NONE = np.array([2.0, 2.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0, 2.0])
_GONE = np.array([1.0, 1.0, 1.0, 1.0])
_FIRST, _SECOND = np.array([2.0, 0.0, 0.0, 2.0]), np.array([1.0, 1.0, 0.0, 2.0])
_PAIR, _BLANK = np.array([2.0, 1.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0, 2.0])
_BEST, _WORST = np.array([3.0, 3.0, 3.0, 2.0]), np.array([1.0, 1.0, 1.0, 2.0])
_CENTRAL = {"promise": USER, "instances": _replaced}

AUDITED = (
    audited(
        "dp-scores",
        "totals of approvals + K-norm noise",
        _on_totals(),
        commands=("aggregate --method scores --higher-is-better --points 1-4",),
        **_CENTRAL,
        **under_k_norm(_totals, _FACETS, _ALL, _NONE),
    ),
    audited(
        "dp-scores-points",
        "totals of up to 2 points + K-norm noise",
        _on_totals(POINTS),
        **_CENTRAL | {"instances": functools.partial(_replaced, POINTS)},
        **under_k_norm(_totals, _FACETS, _BEST, _WORST),
    ),
    audited(
        "dp-scores-plurality",
        "totals of approvals, one for each user, + Laplace",
        _on_totals(limit=1, noise="laplace"),
        commands=(
            "aggregate --method scores --higher-is-better --points 1-4 --limit 1 --noise laplace",
        ),
        **_CENTRAL | {"instances": functools.partial(_replaced, 1, 1)},
        **under_laplace(_totals, _FIRST, _SECOND),
    ),
    audited(
        "dp-scores-add-remove",
        "totals of approvals less half of the users + K-norm noise",
        _on_totals(),
        promise=_ADDED,
        instances=_one_more,
        commands=(
            "aggregate --method scores --higher-is-better --points 1-4 --adjacency add-remove",
        ),
        **under_k_norm(_less_half, _FACETS, _ALL, _GONE),
    ),
    audited(
        "dp-scores-gaussian",
        "totals of approvals + Gaussian noise at δ = 0.01",
        _on_totals(noise="gaussian"),
        neighbors=(_ALL, _NONE),
        loss=gaussian(_totals),
        reduce=lambda noisy: noisy.sum(),
        sees="the sum of the noisy totals",
        commands=(
            "aggregate --method scores --higher-is-better --points 1-4 --noise gaussian --delta 1e-6",
        ),
        **_CENTRAL | {"promise": dataclasses.replace(USER, delta=_DELTA)},
    ),
)
