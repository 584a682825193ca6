"""Noise on win totals and ties: its sensitivity by enumeration, and its scales."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise import noisy_ties
from privrank_jax.pairwise.noisy_totals import GAUSSIAN_TIE_WEIGHT
from privrank_jax.pairwise.questionnaire import change_of_totals, max_cut, totals_sensitivity
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.bodies import Independent
from tests.promises import promise
from tests.reference import davidson as reference

WINS = WinCounts.from_matrix(np.array([[0, 60, 70], [40, 0, 55], [30, 45, 0]]), ties=60)
CYCLE = pairwise.questionnaire_counts([(0, 1), (1, 2), (0, 2)], 3)
ASKED = Privacy(1.0, unit="user", adjacency="flip")


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_generic_sensitivities_by_enumeration(limit):
    """Attained where all comparisons are of one pair; a larger weight of the ties would cost more."""
    pairs = [(0, 1)] * limit
    assert reference.largest_change(pairs, 2, 1, 1.0) == 2 * limit
    assert reference.largest_change(pairs, 2, 1, 1.1) > 2 * limit
    weight = GAUSSIAN_TIE_WEIGHT[0] / GAUSSIAN_TIE_WEIGHT[1]
    assert reference.largest_change(pairs, 2, 2, weight) == pytest.approx(math.sqrt(2) * limit)
    assert reference.largest_change(pairs, 2, 2, 1.23) > math.sqrt(2) * limit
    asked = promise(1.0, "user", "flip", limit, delta=1e-6)
    assert totals_sensitivity(asked) == 2 * limit
    laplace, gaussian = (
        noisy_ties.noise(asked, Facts(2), kind) for kind in ("laplace", "gaussian")
    )
    assert laplace.scale == 2 * limit
    assert laplace.body == Independent((3,))
    assert gaussian.body == Independent((3,), (weight,))


@pytest.mark.parametrize(
    "pairs",
    [[(0, 1)], [(0, 1), (1, 2), (0, 2)], [(0, 1), (0, 1), (1, 2)], [(0, 1), (2, 3), (1, 2)]],
)
def test_sensitivity_to_a_questionnaire_by_enumeration(pairs):
    counts = pairwise.questionnaire_counts(pairs, 4)
    naive = reference.largest_change(pairs, 4, 1, 1.0)
    assert (
        change_of_totals("laplace", ASKED, counts, ties=True)
        == naive
        == len(pairs) + max_cut(counts)
    )
    few = dataclasses.replace(ASKED, contributions=1)
    assert change_of_totals("laplace", few, counts, ties=True) == 2
