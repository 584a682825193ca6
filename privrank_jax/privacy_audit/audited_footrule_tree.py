"""Audited footrule costs in a tree of two levels: one user and six items; the user is replaced.

Each level has K-norm noise at its share of ε, in a body whose facets are listed here: in a row, a cut and a sign for
each node. The published costs determine the noisy counts of both levels.
"""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from privrank_jax._backend import product
from privrank_jax.aggregation.footrule import PositionHistograms
from privrank_jax.aggregation.footrule_levels import Level, footrule_levels, mean_square_error
from privrank_jax.aggregation.private_footrule import dp_footrule
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import neighbors, shapes
from privrank_jax.privacy_audit.audited_consensus import USER
from privrank_jax.privacy_audit.audited_footrule import histograms
from privrank_jax.privacy_audit.registry import Facts
from privrank_jax.privacy_audit.rows import audited, on

Array = jax.Array

_ITEMS = 6
_LEVELS = footrule_levels(_ITEMS)
_RANKS = np.array(
    [
        [0, 1, 2, 3, 4, 5],
        [5, 4, 3, 2, 1, 0],
        [1, 0, 3, 2, 5, 4],
        [3, 4, 5, 0, 1, 2],
        [2, 0, 1, 5, 3, 4],
        [0, 0, 1, 1, 2, 2],
        [0, 1, 1, 1, 1, 2],
        [0, 0, 0, 0, 0, 0],
        [0, -1, -1, -1, -1, 1],
        [-1, -1, 1, 0, -1, -1],
    ]
)


def facets(level: Level) -> Float[np.ndarray, "facets entries"]:
    """Rows of the body of a level for all items.

    Args:
        level: of a tree.
    """
    nodes = [np.flatnonzero(level.nodes == node) for node in range(level.nodes.max() + 1)]
    found = []
    for chosen in itertools.product(*nodes):
        for signs in itertools.product((1, -1), repeat=len(nodes) - 1):
            row = np.zeros(len(level.nodes))
            row[list(chosen)] = (1, *signs)
            found.append(row)
    return np.kron(np.eye(_ITEMS), np.array(found))


_FACETS = [facets(level) for level in _LEVELS]


def _counts(data: np.ndarray, level: Level) -> np.ndarray:
    """Counts of the level, flattened, of users' counts of positions."""
    counts = np.dot(data / 4, level.codes.T)
    return counts.reshape(*data.shape[:-2], -1)


_FIRST, _SECOND = histograms(_RANKS[:2])


def _noise(costs: Array, level: Level) -> Array:
    """How far the noisy counts of the level are from those of the first neighbor."""
    inner = 0.5 * (1 + jnp.diff(costs, axis=1))
    shares = jnp.diff(inner, axis=1, prepend=0, append=1)
    return product(shares, jnp.asarray(level.codes.T, costs.dtype)).reshape(-1) - _counts(
        _FIRST, level
    )


def _margin(costs: Array) -> Array:
    """The smaller one of the margins at both levels."""
    found = [
        shapes.margin(_noise(costs, level), rows, np.rint(_counts(_FIRST - _SECOND, level) * 2) / 2)
        for level, rows in zip(_LEVELS, _FACETS)
    ]
    return jnp.min(jnp.stack(found))


def _law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Log densities up to a constant, at the counts of each data set."""
    unit = facts["cost_deviation"] / mean_square_error(_LEVELS) ** 0.5
    total = np.zeros((len(data), len(data)))
    for level, rows in zip(_LEVELS, _FACETS):
        centers = _counts(data, level)
        total -= shapes.body_norm(rows, centers[None] - centers[:, None]) * level.share / unit
    return total


AUDITED = (
    audited(
        "dp-footrule-tree",
        "footrule costs of six items + noise in a tree of two levels",
        on(dp_footrule, lambda counts: PositionHistograms(counts, 1)),
        neighbors=(_FIRST, _SECOND),
        promise=USER,
        reduce=_margin,
        sees="how far a count is beyond all others in the direction of the change, at the level where it is less",
        instances=lambda: neighbors.of_values(*histograms(_RANKS), *histograms(_RANKS, "unknown")),
        law=_law,
        commands=("aggregate --method footrule",),
        note="aggregation/footrule_levels.py",
    ),
)
