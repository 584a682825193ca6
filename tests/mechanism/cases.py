"""Records with naive twins of all that the contract needs to know of them, for three items.

Nothing here comes from the record: contents are enumerated, numbers added up user by user, bodies given by facets.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from privrank_jax import aggregation, pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism import Additive
from privrank_jax.pairwise import Choices, questionnaire_counts
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable
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
        parts: of a unit that a feature has.
        promises: templates of what is promised; default one for each kind of the record.
        noises: that it has under these promises; default all.
        public: what else is public, as the record takes it.
        group: content -> what neighbors under ``flip`` share.
        weights: noise -> c of each number, whose noise is 1/c times as large.
        padded: data -> the same with padded items, and which are real; None: there is no padding.
        wrong: data of another type.
        beyond: a promise that the record can't keep.
    """

    record: Additive
    contents: Sequence[Any]
    made: Callable[[Sequence[Any]], Any]
    numbers: Callable[[Any], np.ndarray]
    facets: np.ndarray | None
    balanced: tuple[Any, Any]
    read: Callable[[np.ndarray], np.ndarray] = np.asarray
    center: float = 0.0
    parts: int = 1
    promises: tuple[Privacy, ...] = ()
    noises: tuple[str, ...] = ()
    public: dict[str, Any] = dataclasses.field(default_factory=dict)
    group: Callable[[Any], Any] = lambda content: 0
    weights: Callable[[str], Any] = lambda noise: 1.0
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

# --- comparisons -----------------------------------------------------------------------------------

_PAIRS = list(itertools.combinations(range(ITEMS), 2))


def _answers(limit, pairs=None):
    """All that a user of at most so many comparisons can answer: tuples of (i, j, share of i)."""
    one = [(*pair, won) for pair in _PAIRS for won in (0.0, 0.5, 1.0)]
    if pairs is None:
        sizes = range(limit + 1)
        return [user for n in sizes for user in itertools.combinations_with_replacement(one, n)]
    each = [[(), *(((*pair, won),) for won in (0.0, 0.5, 1.0))] for pair in pairs]
    return [sum(user, ()) for user in itertools.product(*each)]


def _matrix(user):
    wins = np.zeros((ITEMS, ITEMS))
    for i, j, won in user:
        wins[i, j] += won
        wins[j, i] += 1 - won
    return wins


def _wins(users):
    ties = sum(won == 0.5 for user in users for _, _, won in user)
    return WinCounts.from_matrix(sum(map(_matrix, users)), ties=ties)


def _totals(user):
    return _matrix(user).sum(1)


def _with_ties(user):
    return np.append(_totals(user), sum(won == 0.5 for _, _, won in user))


def _met(user):
    return tuple(sorted((i, j) for i, j, _ in user))


def _promised(*adjacencies, unit="user", **more):
    return tuple(Privacy(1.0, unit=unit, adjacency=one, **more) for one in adjacencies)


_ALL = ("flip", "replace", "add-remove")
_ASKED = [(0, 1), (1, 2), (0, 1)]
_COUNTS = questionnaire_counts(_ASKED, ITEMS)
_UNANSWERED = np.append(_COUNTS.sum(1), 0)
_PLUS = np.block([[_COUNTS, _UNANSWERED[:-1, None]], [_UNANSWERED[None]]]) / 2
OF_RANKS = Privacy(1.0, unit="rank", adjacency="replace")


def _counts(limit, promises, *, pairs=None, facets=None, noises=("laplace", "gaussian"), **more):
    return Case(
        pairwise.noisy_counts,
        _answers(limit, pairs),
        _wins,
        _totals,
        facets,
        (((0, 1, 1.0),), ((0, 1, 0.0),)),
        promises=promises,
        noises=noises,
        group=_met,
        beyond=OF_RANKS,
        **more,
    )


def _tie_weights(noise):
    return np.array([1, 1, 1, 11 / 9]) if noise == "gaussian" else 1.0


# Each user is asked the same two questions, with the same feature of the first item.
_FEATURE = 0.5


def _table(users):
    rows = len(users) * 2
    design = CovariateDesign(
        np.zeros(rows, int),
        np.ones(rows, int),
        np.full((rows, 1), _FEATURE),
        np.repeat(np.arange(len(users)), 2),
        np.ones(1),
        num_items=2,
        names=("x",),
    )
    return CovariateTable(design, np.array([won for user in users for won in user]))


def _sums(user):
    return sum(won * np.array([1, -1, _FEATURE]) for won in user)


_OUTCOMES = list(itertools.product((0.0, 0.5, 1.0), repeat=2))
_COVARIATES = _promised("flip", public=("covariates",))

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
    "noisy_counts of a comparison": _counts(1, _promised(*_ALL, unit="comparison")),
    "noisy_counts of users": _counts(2, _promised(*_ALL, contributions=2)),
    "noisy_counts of a questionnaire, flip": _counts(
        3,
        _promised("flip"),
        pairs=_ASKED,
        public={"questionnaire": _COUNTS},
        facets=shapes.zonotope_facets(_COUNTS),
        noises=("k-norm", "laplace", "gaussian"),
    ),
    "noisy_counts of a questionnaire, replace": _counts(
        3,
        _promised("replace", public=("questionnaire",)),
        pairs=_ASKED,
        public={"questionnaire": _COUNTS},
        facets=shapes.zonotope_facets(_PLUS)[:, :ITEMS],
        noises=("k-norm", "laplace", "gaussian"),
    ),
    "noisy_ties": Case(
        pairwise.noisy_ties,
        _answers(2),
        _wins,
        _with_ties,
        None,
        (((0, 1, 1.0),), ((0, 1, 0.0),)),
        promises=_promised("flip", contributions=2),
        group=_met,
        weights=_tie_weights,
        beyond=ONE_COMPARISON,
    ),
    "noisy_choices": Case(
        pairwise.noisy_choices,
        [(k, set_) for set_ in ((0, 1, 2), (0, 1)) for k in set_],
        lambda users: Choices.from_top1(
            [(k, [j for j in set_ if j != k]) for k, set_ in users], num_items=ITEMS
        ),
        lambda user: np.eye(ITEMS)[user[0]],
        None,
        ((0, (0, 1, 2)), (1, (0, 1, 2))),
        promises=_promised(*_ALL, unit="comparison"),
        group=lambda user: user[1],
        beyond=OF_RANKS,
    ),
    "noisy_sums": Case(
        pairwise.noisy_sums,
        _OUTCOMES,
        _table,
        _sums,
        None,
        ((1.0, 1.0), (0.0, 0.0)),
        promises=_COVARIATES,
        parts=2,
        beyond=ONE_COMPARISON,
    ),
    "noisy_sums_and_ties": Case(
        pairwise.noisy_sums_and_ties,
        _OUTCOMES,
        _table,
        lambda user: np.append(_sums(user), user.count(0.5)),
        None,
        ((1.0, 1.0), (0.0, 0.0)),
        promises=_COVARIATES,
        parts=2,
        weights=_tie_weights,
        beyond=ONE_COMPARISON,
    ),
}
