"""Davidson's model of ties: fits, printed ones, existence, standard errors and how often intervals cover."""

from __future__ import annotations

import csv

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import graph
from privrank_jax.pairwise.designs import Counts, ModelScores
from privrank_jax.pairwise.intervals import confidence_intervals
from privrank_jax.pairwise.uncertainty import standard_errors
from tests.quick import quick_jit
from tests.reference import davidson as reference

OUTCOMES = [(0, 1, 5, 3, 2), (0, 2, 4, 1, 1), (1, 2, 3, 4, 3), (2, 3, 6, 2, 1), (0, 3, 2, 2, 0)]


def counts_of(outcomes, items=4):
    matrix, ties = np.zeros((items, items)), 0
    for i, j, won, tied, lost in outcomes:
        matrix[i, j] += won + tied / 2
        matrix[j, i] += lost + tied / 2
        ties += tied
    return WinCounts.from_matrix(matrix, ties=float(ties))


def fitted(wins, gamma=0.0, tie_gamma=0.0, **told):
    return pairwise.mle(wins, gamma=gamma, ties="davidson", tie_gamma=tie_gamma, **told)


@pytest.mark.parametrize("ridges", [(0.0, 0.0), (0.7, 2.0)])
def test_fits_are_those_of_the_naive_twin(ridges):
    found = fitted(counts_of(OUTCOMES), *ridges)
    scores, tie = reference.davidson_fit(OUTCOMES, 4, *ridges)
    np.testing.assert_allclose(found.value.scores, scores, atol=1e-5)
    np.testing.assert_allclose(found.value.tie, tie, atol=1e-5)
    assert int(found.diagnostics.code) == 0


@pytest.mark.slow
def test_the_pudding_fit_is_the_printed_one(data_folder):
    """Worths and ν as the overview vignette of the R package PlackettLuce prints them for Davidson's data.

    That fit was stopped after 7 iterations, as the vignette says, and its numbers are right to about 2e-4.
    """
    with (data_folder / "pudding" / "pudding.csv").open() as file:
        rows = [{name: int(one) for name, one in row.items()} for row in csv.DictReader(file)]
    outcomes = [(r["i"] - 1, r["j"] - 1, r["w_ij"], r["t_ij"], r["w_ji"]) for r in rows]
    found = fitted(counts_of(outcomes, 6)).value
    worths = np.exp(found.scores)
    printed = [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855]
    np.testing.assert_allclose(worths / worths.sum(), printed, rtol=2e-4)
    np.testing.assert_allclose(found.tie, 0.7468147, rtol=2e-4)


@pytest.mark.parametrize(
    ("outcomes", "exists"),
    [
        ([(0, 1, 3, 2, 0)], False),  # no loss: half wins link both items, yet ν grows with the gap
        ([(0, 1, 3, 2, 1)], True),
        ([(0, 1, 3, 0, 1)], False),  # no tie
        ([(0, 1, 0, 4, 0)], False),  # nothing but ties
        ([(0, 1, 2, 1, 0), (1, 2, 2, 1, 0)], False),  # a chain of wins
        ([(0, 1, 2, 1, 0), (1, 2, 2, 1, 0), (2, 0, 1, 0, 0)], True),  # a circle of wins
        ([(0, 1, 1, 1, 1), (2, 3, 1, 1, 1)], True),  # two components, each with its maximum
        # The first pair bounds ν, and ν the gap of the second.
        ([(0, 1, 1, 1, 1), (2, 3, 1, 1, 0)], True),
        ([], False),
    ],
)
def test_whether_a_maximum_exists(outcomes, exists):
    assert graph.has_maximum(counts_of(outcomes)) is exists


def test_large_problems_are_left_undecided(monkeypatch):
    monkeypatch.setattr(graph, "MOST_PAIRS", 1)
    assert graph.has_maximum(counts_of([(0, 1, 1, 1, 1), (1, 2, 1, 1, 1)])) is None


TRUTH, TIE = np.array([0.9, 0.2, -0.3, -0.8]), 0.8
DESIGN = Counts(jnp.asarray(400 * (1.0 - np.eye(4))), ties=True)


def test_several_components_and_strong_ridges_give_no_intervals():
    apart = np.array([[0, 9, 0, 0], [9, 0, 0, 0], [0, 0, 0, 9], [0, 0, 9, 0.0]])
    value = ModelScores(jnp.asarray(TRUTH), log_tie=jnp.log(TIE))
    errors = quick_jit(standard_errors)
    found = confidence_intervals(errors(value, Counts(jnp.asarray(apart))))
    assert np.all(np.isinf(found.low))
    assert float(found.log_tie.low) < np.log(TIE) < float(found.log_tie.high)
    shrunk = confidence_intervals(errors(value, DESIGN, gamma=1e4))
    assert np.isinf(shrunk.log_tie.low)
    assert np.all(np.isinf(shrunk.low))
    assert np.all(np.asarray(shrunk.rank_high) == 3)
