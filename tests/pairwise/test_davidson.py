"""Davidson's model of ties: fits against a naive twin and printed ones, half wins, existence, derivatives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.designs import Counts, ModelScores
from tests.pairwise.games import data
from tests.quick import quick_jit
from tests.reference import davidson as reference

OUTCOMES = [(0, 1, 5, 3, 2), (0, 2, 4, 1, 1), (1, 2, 3, 4, 3), (2, 3, 6, 2, 1), (0, 3, 2, 2, 0)]


def counts(outcomes, items=None) -> Any:
    items = 1 + max(max(i, j) for i, j, *_ in outcomes) if items is None else items
    matrix, ties = np.zeros((items, items)), 0
    for i, j, won, tied, lost in outcomes:
        matrix[i, j] += won + tied / 2
        matrix[j, i] += lost + tied / 2
        ties += tied
    return WinCounts.from_matrix(matrix, ties=float(ties))


def fitted(wins, gamma=0.0, tie_gamma=0.0, **told):
    return pairwise.mle(wins, gamma=gamma, ties="davidson", tie_gamma=tie_gamma, **told)


def games(rows, first, second, result, won, tied):
    names = sorted({row[first] for row in rows} | {row[second] for row in rows})
    place = {name: number for number, name in enumerate(names)}
    kinds = {won: (1, 0, 0), tied: (0, 1, 0)}
    return [
        (place[row[first]], place[row[second]], *kinds.get(row[result], (0, 0, 1))) for row in rows
    ]


@pytest.mark.parametrize("ridges", [(0.0, 0.0), (0.7, 2.0)])
def test_fits_are_those_of_the_naive_twin(ridges):
    found = fitted(counts(OUTCOMES), *ridges)
    scores, tie = reference.davidson_fit(OUTCOMES, 4, *ridges)
    np.testing.assert_allclose(found.value.scores, scores, atol=1e-5)
    np.testing.assert_allclose(found.value.tie, tie, atol=1e-5)
    assert int(found.diagnostics.code) == 0


def padded(outcomes) -> Any:
    """Counts among 58 items, as many as there are hockey teams, so that all data share a program."""
    wins, size = counts(outcomes), 58
    matrix = np.zeros((size, size))
    matrix[: wins.num_items, : wins.num_items] = wins.matrix
    return WinCounts.from_matrix(matrix, np.arange(size) < wins.num_items, wins.ties)


def test_the_pudding_fit_is_the_printed_one():
    """Worths and ν as the overview vignette of the R package PlackettLuce prints them for Davidson's data.

    That fit was stopped after 7 iterations, as the vignette says, and its numbers are right to about 2e-4.
    """
    rows = data("pudding", "pudding.csv")
    outcomes = [
        (int(r["i"]) - 1, int(r["j"]) - 1, int(r["w_ij"]), int(r["t_ij"]), int(r["w_ji"]))
        for r in rows
    ]
    found = fitted(padded(outcomes)).value
    worths = np.exp(found.scores[:6])
    printed = [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855]
    np.testing.assert_allclose(worths / worths.sum(), printed, rtol=2e-4)
    np.testing.assert_allclose(found.tie, 0.7468147, rtol=2e-4)


def test_half_wins_are_the_model_at_two():
    """Scores fitted to half wins are half of those at ν = 2, exactly."""
    wins = counts(OUTCOMES)
    halves = 2 * quick_jit(pairwise.mle)(wins).value
    design = Counts(wins.comparisons, ties=True)
    at_two = design.beta_of(ModelScores(halves, None, jnp.log(2.0)))
    slope = design.mean(at_two) - design.excess(jnp.append(wins.totals, wins.ties))
    np.testing.assert_allclose(slope[:-1], 0, atol=1e-8)


def test_implicit_derivatives():
    wins, step = counts(OUTCOMES), 1e-5

    @jax.jit
    def tie(ties, gamma):
        made = WinCounts(wins.matrix, None, ties)
        return fitted(made, gamma, tolerance=1e-12).value.log_tie

    at = jnp.array([float(wins.ties), 0.4])
    for place, slope in enumerate(jax.grad(tie, argnums=(0, 1))(*at)):
        ends = [tie(*at.at[place].add(way)) for way in (step, -step)]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-5)


def test_bad_input_is_refused_in_clear_words():
    unknown = WinCounts.from_matrix([[0.0, 3.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="ties=T"):
        fitted(unknown)
    with pytest.raises(ValueError, match="ties must lie between 0 and"):
        WinCounts.from_matrix([[0.0, 3.0], [1.0, 0.0]], ties=5)
    with pytest.raises(ValueError, match="tie_gamma must be"):
        fitted(counts(OUTCOMES), tie_gamma=-1.0)
    nothing: Any = np.zeros((2, 2))
    with pytest.raises(TypeError, match="must be WinCounts"):
        fitted(nothing)
