"""Noise on win totals and ties: its sensitivity by enumeration, and its scales."""

from __future__ import annotations

import dataclasses
import math

import jax
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.noisy_ties import (
    GAUSSIAN_TIE_WEIGHT,
    tie_noise,
)
from privrank_jax.pairwise.noisy_totals import noisy_counts
from privrank_jax.pairwise.questionnaire import max_cut
from privrank_jax.pairwise.totals_noise import change_of_totals, totals_sensitivity
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
        tie_noise(asked, "it", 2, kind, None)[1] for kind in ("laplace", "gaussian")
    )
    assert laplace.scale == 2 * limit
    assert laplace.body == Independent((3,), (1.0,))
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
        == len(pairs) + max_cut(pairs, 4)[0]
    )
    few = dataclasses.replace(ASKED, contributions=1)
    assert change_of_totals("laplace", few, counts, ties=True) == 2


@pytest.mark.parametrize(
    ("options", "delta", "scales"),
    [
        ({}, 0.0, (6.0, 6.0)),
        ({"noise": "gaussian"}, 1e-5, None),
        ({"questionnaire": CYCLE}, 0.0, (5.0, 5.0)),
    ],
    ids=["laplace", "gaussian", "questionnaire"],
)
def test_noise_has_its_scales_and_no_others(options, delta, scales, key):
    """20,000 draws: a mean absolute value has a relative standard error of 0.7%; 5% off is refused."""
    asked = promise(1.0, "user", "flip", 3, delta=delta)

    def draw(k):
        return noisy_counts(k, WINS, asked, **options, ties="davidson").value

    drawn = jax.vmap(draw)(jax.random.split(key, 20_000))
    moves = drawn[:, :-1] - WINS.totals, drawn[:, -1] - WINS.ties
    errors = [float(np.abs(move).mean()) for move in moves]
    scale = noisy_counts(key, WINS, asked, **options, ties="davidson").diagnostics.noise_scale
    if scales is None:
        usual = math.sqrt(2 / math.pi) * float(scale)
        scales = (usual, usual * 9 / 11)
    for error, wanted in zip(errors, scales):
        assert error == pytest.approx(wanted, rel=0.03)
        assert abs(error / (1.1 * wanted) - 1) > 0.05


@pytest.mark.parametrize(
    ("asked", "options", "words"),
    [
        (promise(1.0), {}, "needs adjacency='flip'"),
        (promise(1.0, adjacency="add-remove"), {}, "needs adjacency='flip'"),
        (promise(1.0, adjacency="flip"), {"noise": "gaussian"}, "delta > 0"),
        (
            promise(1.0, adjacency="flip"),
            {"noise": "k-norm"},
            "must be one of 'laplace', 'gaussian'",
        ),
        (ASKED, {"noise": "k-norm", "questionnaire": CYCLE}, "must be one of 'laplace'"),
        (
            promise(1.0, "user", "flip", 3, delta=1e-6),
            {"noise": "gaussian", "questionnaire": CYCLE},
            "no Gaussian noise for a questionnaire",
        ),
        (ASKED, {}, "contributions"),
    ],
)
def test_what_is_refused(asked, options, words, key):
    with pytest.raises(ValueError, match=words):
        noisy_counts(key, WINS, asked, **options, ties="davidson")
