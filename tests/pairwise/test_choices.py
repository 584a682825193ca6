"""Plackett-Luce fits against choix and its own test cases, and rankings broken into pairs."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import choix
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.pairwise.choices import Choices, break_rankings
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.pairwise.questionnaire import questionnaire_sensitivity, totals_sensitivity
from tests.pairwise.problems import LISTS
from tests.promises import promise
from tests.quick import quick_jit

# choix 0.4, tests/data/testcase-top1-*.json and testcase-rankings-*.json: data and "ml_est".
TOP1 = [
    (3, [(0, [1, 2]), (1, [0, 2]), (2, [0, 1])], [0.0, 0.0, 0.0]),
    (3, [(0, [1]), (1, [2]), (2, [0, 1])], [0.16040395, -0.32080789, 0.16040394]),
]
RANKINGS = [
    (3, [[0, 1, 2], [1, 2, 0], [2, 0, 1]], [0.0, 0.0, 0.0]),
    (4, [[0, 1, 2], [3, 2, 0], [1, 3]], [-0.44328117, 0.69506219, -0.67061442, 0.4188334]),
]


@pytest.mark.parametrize(("items", "data", "printed"), TOP1)
def test_choices_are_fitted_as_choix_has_printed(items, data, printed):
    found = quick_jit(mle)(Choices.from_top1(data, num_items=items))
    np.testing.assert_allclose(found.value, printed, atol=1e-7)
    assert int(found.diagnostics.code) == 0


@pytest.mark.parametrize(("items", "data", "printed"), RANKINGS)
def test_rankings_are_fitted_as_choix_has_printed(items, data, printed):
    """The second print is right to 3e-5: choix's own iteration, at 1e-12, comes to our numbers."""
    found = quick_jit(mle)(Choices.from_rankings(data, num_items=items)).value
    np.testing.assert_allclose(found, printed, atol=5e-5)
    exact = choix.ilsr_rankings(items, data, tol=1e-13)
    np.testing.assert_allclose(found, exact - exact.mean(), atol=1e-8)


def test_fits_and_ridges_are_those_of_choix():
    """Run beside it: iterated spectral estimates are the maximum, and its α is half of our ridge."""
    stages = Choices.from_rankings(LISTS, num_items=5)
    spectral = choix.ilsr_rankings(5, LISTS, tol=1e-12)
    np.testing.assert_allclose(mle(stages).value, spectral - spectral.mean(), atol=1e-6)
    ridged = choix.opt_rankings(5, LISTS, alpha=0.7, tol=1e-12)
    np.testing.assert_allclose(mle(stages, gamma=1.4).value, ridged, atol=1e-5)
    firsts: Any = [(one[0], one[1:]) for one in LISTS]
    top = choix.opt_top1(5, firsts, alpha=0.7, tol=1e-12)
    chosen = Choices.from_top1(firsts, num_items=5)
    np.testing.assert_allclose(
        quick_jit(functools.partial(mle, gamma=1.4))(chosen).value, top, atol=1e-5
    )


def test_derivatives_flow_to_weights_and_masked_choices_do_not_count():
    stages = Choices.from_rankings(LISTS[:12], num_items=5)

    def value(weights, gamma):
        given = dataclasses.replace(stages, weights=weights)
        return mle(given, gamma=gamma, tolerance=1e-12).value[0]

    weights, step, first = stages.weights, 1e-5, quick_jit(value)
    slopes = quick_jit(jax.grad(value, argnums=(0, 1)))(weights, 0.5)
    ends = [first(weights.at[3].add(s), 0.5) for s in (step, -step)]
    np.testing.assert_allclose(slopes[0][3], (ends[0] - ends[1]) / (2 * step), rtol=1e-5)
    ends = [first(weights, 0.5 + s) for s in (step, -step)]
    np.testing.assert_allclose(slopes[1], (ends[0] - ends[1]) / (2 * step), rtol=1e-5)
    fewer = Choices.from_rankings(LISTS[:11], num_items=5)
    kept = jnp.arange(weights.size) < fewer.weights.size
    expected = quick_jit(functools.partial(mle, gamma=0.5))(fewer).value[0]
    np.testing.assert_allclose(first(weights * kept, 0.5), expected, atol=1e-8)


@pytest.mark.parametrize(
    "data", [[(0, [1, 2]), (1, [2])], [(0, [1]), (1, [0])], [(0, [1]), (1, [0]), (2, [0])]]
)
def test_choices_without_a_finite_maximum_are_told(data):
    choices = Choices.from_top1(data, num_items=3)
    found = quick_jit(mle)(choices).diagnostics
    assert bool(found.separated) or int(found.components) > 1
    assert np.all(np.isfinite(quick_jit(functools.partial(mle, gamma=1.0))(choices).value))


def test_broken_rankings_go_through_noisy_counts(key):
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
    wins = break_rankings(orders * 50 + [orders[0]] * 200, num_items=3).win_counts()
    found = pairwise.noisy_counts(
        key, wins, asked, questionnaire=pairwise.questionnaire_counts(pairs, 3)
    )
    assert np.argsort(-np.asarray(found.value)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "no choices"),
        ([(0, [])], "choice 0 needs two different items"),
        ([(0, [1]), (0, [1, 1])], "choice 1 needs two different items"),
        ([(0, [3])], "items 0..2 must stand"),
        ([(0, [-1])], "items 0..2 must stand"),
        ([(0, [0.5])], "items 0..2 must stand"),
        ([(0, [True])], "items 0..2 must stand"),
        ([([0, 1], [2])], "place 0 holds .*no ties"),
        ([(0, [[1, 2]])], "place 1 holds .*no ties"),
        ([(0, 1)], "what else was offered must be a sequence"),
        ([(0,)], "must be .chosen item, other items"),
        ([0, 1], "choice 0 must be a sequence"),
        (None, "choices must be a sequence"),
    ],
)
def test_bad_choices_are_refused(data, words):
    with pytest.raises(ValueError, match=words):
        Choices.from_top1(data, num_items=3)


@pytest.mark.parametrize("read", [Choices.from_rankings, break_rankings])
@pytest.mark.parametrize(
    ("orders", "words"),
    [
        ([], "there are no"),
        ([[0]], "ranking 0 needs two different items"),
        ([[0, 1], [0, 1, 0]], "ranking 1 needs two different items"),
        ([[0, 3]], "items 0..2 must stand"),
        ([[0, -1]], "items 0..2 must stand"),
        ([[0, np.nan, 1]], "items 0..2 must stand"),
        ([[0, 1.5]], "items 0..2 must stand"),
        ([["0", "1"]], "items 0..2 must stand"),
        ([[0, 1], [2, (0, 1)]], "ranking 1: place 1 holds .*no ties"),
        ([[0, np.array([1, 2])]], "no ties"),
        ([0, 1], "ranking 0 must be a sequence"),
        (["012"], "ranking 0 must be a sequence"),
        (None, "rankings must be a sequence"),
    ],
)
def test_bad_rankings_are_refused(read, orders, words):
    with pytest.raises(ValueError, match=words):
        read(orders, num_items=3)


def test_rows_of_any_sequence_and_type_of_whole_numbers_are_read():
    wanted = break_rankings([[2, 0, 1], [1, 2]], num_items=3)
    for orders in (
        [(2.0, 0.0, 1.0), np.array([1, 2])],
        (jnp.array(o) for o in ([2, 0, 1], [1, 2])),
    ):
        found = break_rankings(orders, num_items=3)  # type: ignore[arg-type]
        np.testing.assert_array_equal(found.winners, wanted.winners)
        np.testing.assert_array_equal(found.users, wanted.users)


def test_weights_of_choices_may_be_whole_numbers():
    choices = Choices.from_top1([(0, [1]), (1, [0, 2]), (2, [1])], num_items=3)
    wanted = mle(choices, gamma=1.0).value
    for weights in (np.ones(3, int), [1, 1, 1], jnp.ones(3, bool)):
        found = mle(dataclasses.replace(choices, weights=weights), gamma=1.0)
        np.testing.assert_array_equal(found.value, wanted)
