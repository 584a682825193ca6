"""Exact noise on win totals and ties: its grid, its scales, the numbers that reach the samplers, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.exact import integer_noise
from privrank_jax.pairwise.noisy_ties import tie_noise
from privrank_jax.pairwise.noisy_totals import noisy_counts
from privrank_jax.privacy import Privacy
from privrank_jax.release import exact_noisy_counts
from tests.promises import promise
from tests.reference import davidson as reference

PAIRS = [(0, 1), (1, 2), (0, 2)]
CYCLE = pairwise.questionnaire_counts(PAIRS, 3)
ASKED = Privacy(1.0, unit="user", adjacency="flip")
WINS = WinCounts.from_matrix(np.array([[0, 60, 70], [40, 0, 55], [30, 45, 0]]) + 0.0, ties=60)
CASES: dict[str, Any] = {
    "laplace": (promise(1.0, "user", "flip", 3), {}),
    "gaussian": (promise(1.0, "user", "flip", 3, delta=1e-5), {"noise": "gaussian"}),
    "questionnaire": (ASKED, {"questionnaire": CYCLE}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_scale_is_that_of_the_twin(case, key):
    asked, options = CASES[case]
    found = exact_noisy_counts(WINS, asked, **options, ties="davidson")
    twin = noisy_counts(key, WINS, asked, **options, ties="davidson")
    ratio = float(found.diagnostics.noise_scale) / float(twin.diagnostics.noise_scale)
    assert ratio == pytest.approx(1, rel=1e-6)
    assert found.guarantee is not None
    assert twin.guarantee is not None
    assert found.guarantee.attained == twin.guarantee.attained
    assert found.guarantee.numerics == "exact"
    step = 9 if case == "gaussian" else 1
    on_grid = 2 * step * (found.value[:-1] - np.asarray(WINS.totals))
    np.testing.assert_allclose(on_grid, np.round(on_grid), atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_numbers_that_reach_the_samplers_move_as_calibrated(case, monkeypatch):
    """All answers of one user to three pairs: the change never exceeds the sensitivity, and attains it."""
    asked, options = CASES[case]
    seen = []

    def laplace(sensitivity, _):
        seen.append(sensitivity)
        return (lambda values: seen.append(values) or values), 1.0

    def gaussian(sensitivity, epsilon, delta):
        return laplace(sensitivity, delta * epsilon)

    monkeypatch.setattr(integer_noise, "discrete_laplace", laplace)
    monkeypatch.setattr(integer_noise, "discrete_gaussian", gaussian)
    pairs = PAIRS if "questionnaire" in options else [(0, 1)] * 3
    values = []
    for answers in np.ndindex(3, 3, 3):
        outcomes = [(*p, *np.eye(3, dtype=int)[a]) for p, a in zip(pairs, answers)]
        matrix = np.zeros((3, 3))
        for i, j, won, tied, lost in outcomes:
            matrix[i, j] += won + tied / 2
            matrix[j, i] += lost + tied / 2
        totals, ties = reference.davidson_numbers(outcomes, 3)
        seen.clear()
        found = exact_noisy_counts(
            WinCounts.from_matrix(matrix, ties=ties), asked, **options, ties="davidson"
        )
        # Without noise, in its own units again.
        np.testing.assert_allclose(found.value, np.append(totals, ties))
        values.append(np.asarray(seen[1], float))
    moved = np.array(values)[:, None] - np.array(values)[None]
    norm = np.linalg.norm(moved, 2 if case == "gaussian" else 1, axis=-1)
    assert norm.max() == pytest.approx(seen[0])


def test_what_is_refused():
    asked = promise(1.0, adjacency="flip")
    with pytest.raises(ValueError, match="must be whole"):
        exact_noisy_counts(
            WinCounts.from_matrix([[0, 2.0], [1.0, 0]], ties=0.5), asked, ties="davidson"
        )
    with pytest.raises(ValueError, match="multiples of 1/2"):
        exact_noisy_counts(
            WinCounts.from_matrix([[0, 0.3], [1.0, 0]], ties=1), asked, ties="davidson"
        )
    with pytest.raises(ValueError, match="say how many"):
        exact_noisy_counts(WinCounts.from_matrix([[0, 3.0], [1.0, 0]]), asked, ties="davidson")
    with pytest.raises(ValueError, match="adjacency='flip'"):
        exact_noisy_counts(WINS, promise(1.0), ties="davidson")
    with pytest.raises(ValueError, match="contributions"):
        tie_noise(ASKED, "it", 3, None, None)
