"""Records with noise in the objective, with naive twins of all that the contract needs to know of them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism import Objective
from privrank_jax.pairwise import Choices
from tests.reference import conditional_logit as naive

ITEMS = 3
ALL, PRIVATE = ("flip", "replace", "add-remove"), ("replace", "add-remove")
BOUNDS = {"home": (0.0, 1.0), "length": (-2.0, 2.0)}


@dataclasses.dataclass(frozen=True)
class Case:
    """One record.

    Attributes:
        record: the mechanism.
        data: an example.
        answers: of the example, as the naive twin takes them.
        adjacencies: that it has.
        multiples: of λ, of the noise of each number.
        sign: of the noise that a simulation draws, in the objective.
        scale: D and V of the theorem, for the example.
        kinds: all that one answer can be, of items in ``near``.
        group: kind -> what neighbors under ``flip`` share.
        base: answers that fix the signs of the noise where the loss is largest.
        near: scores where it is.
        public: what else is public, as the record takes it.
        units: what a number of the value is divided by.
        more: the same data with padding, which is refused; None: there is none.
    """

    record: Objective
    data: Any
    answers: list[Any]
    adjacencies: tuple[str, ...]
    multiples: tuple[int, ...]
    sign: int
    scale: tuple[float, float]
    kinds: list[Any]
    base: list[Any]
    near: tuple[float, ...]
    group: Callable[[Any], Any] = lambda kind: None
    public: dict[str, Any] = dataclasses.field(default_factory=dict)
    units: Any = 1.0
    more: Any = None

    def numbers(self, value: Any) -> np.ndarray:
        """β of a value: scores, coefficients of features, τ = 2 log ν."""
        if not hasattr(value, "scores"):
            return np.asarray(value, float)
        parts = [np.asarray(value.scores, float)]
        if value.coefficients is not None:
            parts.append(np.asarray(value.coefficients, float) * self.units)
        if value.log_tie is not None:
            parts.append(2 * np.asarray(value.log_tie, float)[..., None])
        return np.concatenate(parts, axis=-1)


# --- examples ----------------------------------------------------------------------------------------

WINS = WinCounts.from_matrix([[0.0, 20.5, 9], [10.5, 0, 7], [3, 4, 0]], ties=1)
PADDED = WinCounts(np.pad(WINS.matrix, (0, 1)), np.arange(4) < 3, 1)


def answers_of_wins(davidson):
    matrix, found = np.asarray(WINS.matrix, float), []
    for i, j in itertools.combinations(range(ITEMS), 2):
        tied = 0.5 if (i, j) == (0, 1) else 0
        for y, n in ((1.0, matrix[i, j] - tied), (0.0, matrix[j, i] - tied), (0.5, 2 * tied)):
            found += naive.meeting(i, j, y, items=ITEMS, davidson=davidson, times=n)
    return found


def table_of(rows=40, private=True):
    rng = np.random.default_rng(1)
    first = rng.integers(0, ITEMS, rows)
    second = (first + rng.integers(1, ITEMS, rows)) % ITEMS
    columns = {"home": np.ones(rows), "length": rng.uniform(-3, 3, rows)}
    outcomes = rng.choice([0.0, 0.5, 1.0], rows)
    told = {"num_items": ITEMS, "bounds": BOUNDS, "private": private}
    return pairwise.covariate_table(first, second, outcomes, columns, **told)


TABLE = table_of()


def answers_of_table(davidson):
    columns = (TABLE.design.first, TABLE.design.second, TABLE.outcomes, TABLE.design.features)
    told = {"items": ITEMS, "davidson": davidson}
    return [
        answer
        for i, j, y, x in zip(*(np.asarray(column, float) for column in columns))
        for answer in naive.meeting(int(i), int(j), y, [float(one) for one in x], **told)
    ]


CHOICES = dataclasses.replace(
    Choices.from_top1([(0, [1, 2]), (1, [2]), (2, [1, 0])], num_items=ITEMS),
    weights=jnp.array([9.0, 5.0, 1.0]),
)

# --- where losses are largest ------------------------------------------------------------------------

# Item 0 is far behind 1, and 2 behind 3: wins of 0 and of 2 are improbable. Many wins of 3 over 1, which is far ahead,
# fix the signs of the noise, so that the former adds to its sizes and the latter takes from them.
AHEAD = (-1.0, 90.0, 1.0, 30.0)


def _met(features, davidson):
    """Kinds of answers of four items with one of these features."""
    told = {"items": 4, "davidson": davidson}
    return [
        naive.meeting(i, j, y, x, **told)
        for i, j in ((0, 1), (2, 3), (0, 2))
        for y in (0.0, 0.5, 1.0)
        for x in features
    ]


def _meetings(record, data, answers, features, davidson, **more):
    numbers = 2 if "units" in more else 0  # covariates of the example
    base = naive.meeting(3, 1, 1.0, [0.0] * len(features[0]), items=4, davidson=davidson, times=1e6)
    return Case(
        record,
        data,
        answers,
        multiples=(1,) * ITEMS + (2,) * (numbers + davidson),
        scale=(2 + numbers / 4, 0.0),
        kinds=_met(features, davidson),
        base=base,
        near=AHEAD,
        **more,
    )


def _vectors(kind):
    """The pair and features of a meeting, whoever won."""
    return sorted(map(tuple, kind[0][0]))


_HALVES = [(-0.5,), (0.0,), (0.5,)]
_SETS = [(0, 1, 2), (1, 3), (0, 2, 3), (0, 1)]
_UNITS = np.asarray(TABLE.design.units)

OBJECTIVES = {
    "wins": _meetings(
        pairwise.perturbed_mle,
        WINS,
        answers_of_wins(False),
        [()],
        False,
        sign=1,
        adjacencies=ALL,
        group=_vectors,
        more=PADDED,
    ),
    "ties": _meetings(
        pairwise.perturbed_davidson,
        WINS,
        answers_of_wins(True),
        [()],
        True,
        sign=-1,
        adjacencies=PRIVATE,
        more=PADDED,
    ),
    "covariates": _meetings(
        pairwise.perturbed_covariates,
        TABLE,
        answers_of_table(False),
        _HALVES,
        False,
        sign=-1,
        adjacencies=PRIVATE,
        units=_UNITS,
    ),
    "covariates and ties": _meetings(
        pairwise.perturbed_covariates,
        TABLE,
        answers_of_table(True),
        _HALVES[::2],
        True,
        sign=-1,
        adjacencies=PRIVATE,
        public={"ties": "davidson"},
        units=_UNITS,
    ),
    "choices": Case(
        pairwise.perturbed_choices,
        CHOICES,
        naive.choice((0, 1, 2), 0, items=ITEMS, times=9)
        + naive.choice((0, 1, 2), 2, items=ITEMS)
        + naive.choice((1, 2), 1, items=ITEMS, times=5),
        adjacencies=PRIVATE,
        multiples=(1,) * ITEMS,
        sign=-1,
        scale=(2.0, 0.5),
        kinds=[naive.choice(s, one, items=4) for s in _SETS for one in s],
        # 0 is chosen where 1 and 2 are equally likely; their wins over 3 fix signs.
        base=[one for k in (1, 2) for one in naive.choice((k, 3), k, items=4, times=1e6)],
        near=(1.0, 30.0, 30.0, 90.0),
    ),
}
