"""Plackett-Luce fits against choix, their errors, private ones, and rankings broken into pairs."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import choix
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.pairwise.choices import Choices, break_rankings
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.pairwise.questionnaire import questionnaire_sensitivity, totals_sensitivity
from privrank_jax.pairwise.ridges import default_ridges
from privrank_jax.pairwise.uncertainty import standard_errors
from privrank_jax.privacy.bodies import Noise
from tests.promises import promise
from tests.quick import quick_jit, thorough

RNG = np.random.default_rng(2)
LISTS = [RNG.permutation(5)[: RNG.integers(2, 6)].tolist() for _ in range(40)]
FIRSTS: list[Any] = [(one[0], one[1:]) for one in LISTS]
TOP = Choices.from_top1(FIRSTS, num_items=5)

# choix 0.4, tests/data/testcase-top1-*.json and testcase-rankings-*.json: data and "ml_est".
TOP1 = [
    (3, [(0, [1, 2]), (1, [0, 2]), (2, [0, 1])], [0.0, 0.0, 0.0]),
    (3, [(0, [1]), (1, [2]), (2, [0, 1])], [0.16040395, -0.32080789, 0.16040394]),
]
RANKINGS = [
    (3, [[0, 1, 2], [1, 2, 0], [2, 0, 1]], [0.0, 0.0, 0.0]),
    (4, [[0, 1, 2], [3, 2, 0], [1, 3]], [-0.44328117, 0.69506219, -0.67061442, 0.4188334]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("items", "data", "printed"), TOP1)
def test_choices_are_fitted_as_choix_has_printed(items, data, printed):
    found = quick_jit(mle)(Choices.from_top1(data, num_items=items))
    np.testing.assert_allclose(found.value, printed, atol=1e-7)
    assert int(found.diagnostics.code) == 0


@pytest.mark.parametrize(("items", "data", "printed"), [thorough(*RANKINGS[0]), RANKINGS[1]])
def test_rankings_are_fitted_as_choix_has_printed(items, data, printed):
    """The second print is right to 3e-5: choix's own iteration, at 1e-12, comes to our numbers."""
    found = quick_jit(mle)(Choices.from_rankings(data, num_items=items)).value
    np.testing.assert_allclose(found, printed, atol=5e-5)
    exact = choix.ilsr_rankings(items, data, tol=1e-13)
    np.testing.assert_allclose(found, exact - exact.mean(), atol=1e-8)


@pytest.mark.slow
def test_fits_and_ridges_are_those_of_choix():
    """Run beside it: iterated spectral estimates are the maximum, and its α is half of our ridge."""
    stages = Choices.from_rankings(LISTS, num_items=5)
    spectral = choix.ilsr_rankings(5, LISTS, tol=1e-12)
    np.testing.assert_allclose(mle(stages).value, spectral - spectral.mean(), atol=1e-6)
    ridged = choix.opt_rankings(5, LISTS, alpha=0.7, tol=1e-12)
    np.testing.assert_allclose(mle(stages, gamma=1.4).value, ridged, atol=1e-5)
    top = choix.opt_top1(5, FIRSTS, alpha=0.7, tol=1e-12)
    np.testing.assert_allclose(mle(TOP, gamma=1.4).value, top, atol=1e-5)
    masked = Choices.from_rankings([*LISTS[:5], [4, 3, 2, 1, 0]], num_items=5)
    kept = jnp.arange(masked.weights.size) < masked.weights.size - 4
    fewer = mle(Choices.from_rankings(LISTS[:5], num_items=5), gamma=1.4).value
    found = mle(dataclasses.replace(masked, weights=masked.weights * kept), gamma=1.4)
    np.testing.assert_allclose(found.value, fewer, atol=1e-8)


solved = quick_jit(lambda choices, gamma: mle(choices, gamma=gamma))
WITHOUT = [[(0, [1]), (1, [0]), (1, [0])], [(0, [1]), (1, [0]), (2, [0])]]


@pytest.mark.parametrize("data", [thorough([(0, [1, 2]), (1, [2]), (0, [1])]), *WITHOUT])
def test_choices_without_a_finite_maximum_are_told(data):
    choices = Choices.from_top1(data, num_items=3)
    found = solved(choices, 0.0).diagnostics
    assert bool(found.separated) or int(found.components) > 1
    assert np.all(np.isfinite(solved(choices, 1.0).value))


def test_broken_rankings_move_totals_as_far_as_a_questionnaire():
    """Replacing a ranking of m items moves the totals by at most m(m - 1), less than that for a questionnaire."""
    orders = list(itertools.permutations(range(3)))
    totals = np.array(
        [break_rankings([order], num_items=3).win_counts().totals for order in orders]
    )
    moved = np.abs(totals[:, None] - totals[None]).sum(-1).max()
    asked = promise(1.0, "user", "flip", 3)
    assert moved == 4 <= totals_sensitivity(asked) == 6  # m(m - 1); exactly 2·maxcut = 4
    pairs = list(itertools.combinations(range(3), 2))
    assert questionnaire_sensitivity(pairwise.questionnaire_counts(pairs, 3), asked) == moved


def test_rows_of_any_sequence_and_type_of_whole_numbers_are_read():
    wanted = break_rankings([[2, 0, 1], [1, 2]], num_items=3)
    found = break_rankings([(2.0, 0.0, 1.0), jnp.array([1, 2])], num_items=3)
    np.testing.assert_array_equal(found.winners, wanted.winners)
    np.testing.assert_array_equal(found.users, wanted.users)
    wanted = mle(TOP, gamma=1.0).value
    found = mle(dataclasses.replace(TOP, weights=[1] * len(FIRSTS)), gamma=1.0)
    np.testing.assert_array_equal(found.value, wanted)


THETA = np.array([0.6, -0.2, 0.1, -0.9, 0.4])
GAMMA = 0.8
NORMAL = Noise.independent("gaussian", 1.5, 5)


def test_the_covariance_is_that_of_one_newton_step():
    fisher = np.zeros((5, 5))
    for items in LISTS:
        odds = np.exp(THETA[items])
        chances = np.zeros(5)
        chances[items] = odds / odds.sum()
        fisher += np.diag(chances) - np.outer(chances, chances)
    inverse = np.linalg.pinv(fisher)
    centered = np.eye(5) - 1 / 5
    found = standard_errors(THETA, TOP.design, gamma=GAMMA, noise=NORMAL)
    expected = inverse @ (fisher + 1.5**2 * centered) @ inverse
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-6, atol=1e-12)
    center = THETA - THETA.mean()
    np.testing.assert_allclose(found.center, center + 0.8 * inverse @ center, rtol=1e-6)


def test_groups_that_were_never_shown_together_have_no_errors():
    choices = Choices.from_top1([(0, [1]), (1, [0]), (2, [3]), (3, [2])], num_items=4)
    found = standard_errors(np.zeros(4), choices.design)
    assert np.all(np.isinf(found.standard_errors))
    assert found.linked.tolist() == [[i // 2 == j // 2 for j in range(4)] for i in range(4)]


def test_a_fit_to_exact_totals_is_that_to_the_choices():
    found = fit(TOP.design, TOP.totals, 1.0).value
    np.testing.assert_allclose(found, mle(TOP, gamma=1.0).value, atol=1e-9)


def test_the_default_ridge_counts_what_choices_tell():
    """50 choices from two items are 50 comparisons of each; one among three tells of them as 4/3 comparisons."""
    law = Noise.independent("gaussian", np.sqrt(5.0))
    for rows, comparisons in (([(0, [1])] * 50, 50.0), ([(0, [1, 2])] * 90, 80.0)):
        choices = Choices.from_top1(rows, num_items=len(rows[0][1]) + 1)
        gamma, none = quick_jit(default_ridges)(choices.design, law)
        assert none is None
        assert float(gamma) == pytest.approx(1 + 5 / (comparisons / 5))


def test_nothing_but_the_totals_tells_who_was_chosen():
    """Bit for bit: with other choices from the same sets, the same totals give the same scores and standard errors.

    A sum over a set in another order, for instance the chosen item first, differs in its last digits.
    """
    rng, totals = np.random.default_rng(0), np.linspace(3.3, 19.1, 9)
    sets = [rng.choice(9, rng.integers(2, 8), replace=False).tolist() for _ in range(60)]
    seen = set()
    for _ in range(4):
        rows = [(one[0], one[1:]) for one in (rng.permutation(one).tolist() for one in sets)]
        choices = Choices.from_top1(rows, num_items=9)
        found = fit(choices.design, totals, 0.7)
        errors = standard_errors(found.value, choices.design, noise=2.0, gamma=0.7)
        seen.add(np.stack([found.value, errors.standard_errors]).tobytes())
    assert len(seen) == 1
