"""Additive records with the naive twins of their data and numbers, for three items.

A record without a case of its own has one by its rows in the registry of audits: their units, promises and noises.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from privrank_jax import aggregation, pairwise
from privrank_jax.aggregation.plurality import noisy_plurality
from privrank_jax.mechanism import Additive
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import Audited, contents, get, names
from privrank_jax.privacy_audit.contents import Units

ITEMS = 3
ONE_COMPARISON = Privacy(1.0, unit="comparison", adjacency="replace")
OF_RANKS = Privacy(1.0, unit="rank", adjacency="replace")


@dataclasses.dataclass(frozen=True)
class Case:
    """One record.

    Attributes:
        record: the mechanism.
        units: naive twins of its data and numbers.
        balanced: contents of two units whose numbers are far from where the value is clipped.
        parts: of a unit that a feature has.
        promises: templates of what is promised; default one for each kind of the record.
        noises: that it has under these promises; default all.
        public: what else is public, as the record takes it.
        padded: data -> the same with padded items, and which are real; None: there is no padding.
        wrong: data of another type.
        beyond: a promise that the record can't keep; default one to comparisons, or to ranks if it protects these.
        made: contents of all units -> data; default by their sum.
    """

    record: Additive
    units: Units
    balanced: tuple[Any, Any]
    parts: int = 1
    promises: tuple[Privacy, ...] = ()
    noises: tuple[str, ...] = ()
    public: dict[str, Any] = dataclasses.field(default_factory=dict)
    padded: Callable[[Any], tuple[Any, np.ndarray]] | None = None
    wrong: Any = ((0.0, 1.0), (0.0, 0.0))
    beyond: Privacy | None = None
    made: Callable[[Sequence[np.ndarray]], Any] | None = None

    @property
    def refused(self) -> Privacy:
        comparisons = any(unit == "comparison" for unit, _ in self.record.kinds)
        return self.beyond or (OF_RANKS if comparisons else ONE_COMPARISON)

    def data(self, users: Sequence[np.ndarray]) -> Any:
        return self.made(users) if self.made else self.units.made(np.sum(users, axis=0))


_MASK = np.array([True, False, True, True])


def _wide(matrix):
    wide = np.zeros((4, 4), matrix.dtype)
    wide[np.ix_(_MASK, _MASK)] = matrix
    return wide


def _more_weights(weights):
    matrix = _wide(np.asarray(weights.matrix))
    return aggregation.PairWeights(matrix, weights.num_users, _MASK), _MASK


def _more_histograms(data):
    counts = np.zeros((4, 4), np.int32)
    counts[_MASK, :3] = data.counts
    return aggregation.PositionHistograms(counts, data.num_users, _MASK), _MASK


def _opposed(content):
    return content((0, 1, 2)), content((2, 1, 0))


def _promised(*adjacencies, unit="user", **more):
    return tuple(Privacy(1.0, unit=unit, adjacency=one, **more) for one in adjacencies)


_ALL = ("flip", "replace", "add-remove")
_WON, _LOST = (contents.with_ties_of(ITEMS, (*pair, 1)) for pair in ((0, 1), (1, 0)))
_ASKED = [(0, 1), (1, 2), (0, 1)]


def _counts(units, promises, noises=("laplace", "gaussian"), **more):
    balanced = _WON[0], _LOST[0]
    told = {"promises": promises, "noises": noises, **more}
    return Case(pairwise.noisy_counts, units, balanced, **told)


def _asked(adjacency, **more):
    facets = contents.questionnaire_facets(ITEMS, _ASKED, adjacency)
    counts = pairwise.questionnaire_counts(_ASKED, ITEMS)
    return _counts(
        contents.comparisons(ITEMS, asked=_ASKED, facets=facets),
        _promised(adjacency, **more),
        ("k-norm", "laplace", "gaussian"),
        public={"questionnaire": counts},
    )


# Each user is asked the same two questions, with the same feature of the first item.
_QUESTIONS = ((0, 1, (0.5,)), (0, 1, (0.5,)))


def _table(users):
    rows = len(users) * 2
    design = CovariateDesign(
        np.zeros(rows, int),
        np.ones(rows, int),
        np.full((rows, 1), 0.5),
        np.repeat(np.arange(len(users)), 2),
        np.ones(1),
        num_items=2,
        names=("x",),
    )
    return CovariateTable(design, np.concatenate([user @ [0, 0.5, 1] for user in users]))


def _sums(record, ties):
    return Case(
        record,
        contents.covariates(_QUESTIONS, (0, 0), ties=ties),
        (np.eye(3)[[2, 2]], np.eye(3)[[0, 0]]),
        promises=_promised("flip", public=("covariates",)),
        parts=2,
        beyond=ONE_COMPARISON,
        made=_table,
    )


CASES = {
    "dp_borda": Case(
        aggregation.dp_borda,
        contents.scores_of_rankings(),
        _opposed(contents.pair_shares),
        padded=_more_weights,
    ),
    "noise_all": Case(
        aggregation.noise_all,
        contents.weights_of_rankings(),
        _opposed(contents.pair_shares),
        padded=_more_weights,
    ),
    "dp_footrule": Case(
        aggregation.dp_footrule,
        contents.positions_of_rankings(),
        _opposed(contents.position_counts),
        padded=_more_histograms,
    ),
    "noisy_plurality": Case(
        noisy_plurality,
        contents.first_places(),
        _opposed(contents.position_counts),
        padded=_more_histograms,
    ),
    "dp_scores": Case(
        aggregation.dp_scores, contents.ballots(2), (np.array([2, 1, 0, 1]), np.array([0, 1, 2, 1]))
    ),
    "dp_scores of one item": Case(
        aggregation.dp_scores,
        contents.ballots(1, 1),
        (np.eye(4)[0] + np.eye(4)[3], np.eye(4)[1] + np.eye(4)[3]),
    ),
    "noisy_counts of a comparison": _counts(
        contents.comparisons(ITEMS), _promised(*_ALL, unit="comparison")
    ),
    "noisy_counts of users": _counts(
        contents.comparisons(ITEMS, 2), _promised(*_ALL, contributions=2)
    ),
    "noisy_counts of a questionnaire, flip": _asked("flip"),
    "noisy_counts of a questionnaire, replace": _asked("replace", public=("questionnaire",)),
    "noisy_ties": Case(
        pairwise.noisy_ties,
        contents.with_ties(ITEMS, 2),
        (_WON, _LOST),
        promises=_promised("flip", contributions=2),
        beyond=ONE_COMPARISON,
    ),
    "noisy_choices": Case(
        pairwise.noisy_choices,
        contents.choices(),
        (np.eye(5)[0], np.eye(5)[1]),
        promises=_promised(*_ALL, unit="comparison"),
    ),
    "noisy_sums": _sums(pairwise.noisy_sums, False),
    "noisy_sums_and_ties": _sums(pairwise.noisy_sums_and_ties, True),
}


def _farthest(units):
    """Two contents whose numbers are farthest apart."""
    numbers = units.numbers(units.contents)
    apart = np.abs(numbers[:, None] - numbers).sum(-1)
    return units.contents[list(np.unravel_index(np.argmax(apart), apart.shape))]


def _by_rows():
    """Cases of records that have none above."""
    known = {case.record for case in CASES.values()}
    rows = [row for row in map(get, names()) if row.twin is not None]
    found: dict[str, list[Audited]] = {}
    for row in rows:
        if isinstance(row.twin.function, Additive) and row.twin.function not in known:
            found.setdefault(row.twin.function.name, []).append(row)
    for name, of_record in found.items():
        twin = of_record[0].twin
        asked = (dataclasses.replace(row.promise, epsilon=1.0, delta=0.0) for row in of_record)
        public = {key: one for key, one in twin.given.items() if key != "noise"}
        noises = tuple(dict.fromkeys(row.twin.noise for row in of_record))
        told = {"promises": tuple(dict.fromkeys(asked)), "noises": noises, "public": public}
        yield name, Case(twin.function, twin.units, _farthest(twin.units), **told)


CASES |= dict(_by_rows())
