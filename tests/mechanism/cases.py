"""Records with naive twins of all that the contract needs to know of them, for three items.

Nothing here comes from the record: contents are enumerated, numbers added up user by user, bodies given by facets.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from privrank_jax import aggregation
from privrank_jax.mechanism import Additive
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import shapes
from tests.reference import borda, footrule, scores

ITEMS = 3
ABOVE = np.triu_indices(ITEMS, 1)


ONE_COMPARISON = Privacy(1.0, unit="comparison", adjacency="replace")


@dataclasses.dataclass(frozen=True)
class Case:
    """One record.

    Attributes:
        record: the mechanism.
        contents: all that one unit can hold.
        made: contents of all units -> data.
        numbers: content of one unit -> the numbers that are released of it.
        read: value of a release -> its numbers with noise.
        facets: of the body that K-norm noise has.
        center: what each unit's numbers count less where their number is private.
        balanced: contents of two units whose numbers are far from where the value is clipped.
        padded: data -> the same with padded items, and which are real; None: there is no padding.
        wrong: data of another type.
        beyond: a promise that the record can't keep.
    """

    record: Additive
    contents: Sequence[Any]
    made: Callable[[Sequence[Any]], Any]
    numbers: Callable[[Any], np.ndarray]
    facets: np.ndarray
    balanced: tuple[Any, Any]
    read: Callable[[np.ndarray], np.ndarray] = np.asarray
    center: float = 0.0
    padded: Callable[[Any], tuple[Any, np.ndarray]] | None = None
    wrong: Any = ((0.0, 1.0), (0.0, 0.0))
    beyond: Privacy = ONE_COMPARISON


_MASK = np.array([True, False, True, True])


def _weights(users):
    shares = np.mean([borda.pair_shares(*user) for user in users], axis=0)
    return aggregation.PairWeights(shares, len(users))


def _wide(matrix):
    wide = np.zeros((4, 4), matrix.dtype)
    wide[np.ix_(_MASK, _MASK)] = matrix
    return wide


def _more_weights(weights):
    matrix = _wide(np.asarray(weights.matrix))
    return aggregation.PairWeights(matrix, weights.num_users, _MASK), _MASK


def _histograms(users):
    counts = sum(footrule.histograms([row], rule) for row, rule in users)
    return aggregation.PositionHistograms(np.asarray(counts, np.int32), len(users))


def _more_histograms(data):
    counts = np.zeros((4, 4), np.int32)
    counts[_MASK, :3] = data.counts
    return aggregation.PositionHistograms(counts, data.num_users, _MASK), _MASK


def _points(most, limit):
    def made(ballots):
        totals = scores.totals(ballots, most, limit)
        return aggregation.PointTotals(np.array(totals), len(ballots), most, limit)

    return made


_RANKINGS = borda.incomplete_rankings(ITEMS)
_OPPOSED = ((0, 1, 2), "last"), ((2, 1, 0), "last")
_WEAK = list(itertools.product(footrule.weak_orders(ITEMS, gaps=True), ("last", "unknown")))

CASES = {
    "dp_borda": Case(
        aggregation.dp_borda,
        _RANKINGS,
        _weights,
        lambda user: borda.pair_shares(*user).sum(1),
        shapes.zonotope_facets(1 - np.eye(ITEMS)),
        _OPPOSED,
        center=1.0,
        padded=_more_weights,
    ),
    "noise_all": Case(
        aggregation.noise_all,
        _RANKINGS,
        _weights,
        lambda user: borda.pair_shares(*user)[ABOVE],
        shapes.cube_facets(3),
        _OPPOSED,
        read=lambda value: np.asarray(value)[..., *ABOVE],
        padded=_more_weights,
    ),
    "dp_footrule": Case(
        aggregation.dp_footrule,
        _WEAK,
        _histograms,
        lambda user: footrule.prefixes(*user).ravel(),
        shapes.cube_facets(6),
        _OPPOSED,
        read=lambda value: (1 + np.diff(value, axis=-1)).reshape(*np.shape(value)[:-2], 6) / 2,
        padded=_more_histograms,
    ),
    "dp_scores": Case(
        aggregation.dp_scores,
        scores.ballots(ITEMS, 2),
        _points(2, None),
        np.array,
        shapes.cube_facets(3),
        ((2, 1, 0), (0, 1, 2)),
        center=1.0,
    ),
    "dp_scores of one item": Case(
        aggregation.dp_scores,
        scores.ballots(ITEMS, 1, 1),
        _points(1, 1),
        np.array,
        shapes.cube_facets(3),
        ((1, 0, 0), (0, 1, 0)),
        center=0.5,
    ),
}
