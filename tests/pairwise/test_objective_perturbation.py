"""Objective perturbation of answers with several alternatives: exact losses at neighbors, and the law of the noise."""

from __future__ import annotations

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.objective_perturbation import choice_noise, meeting_noise
from privrank_jax.privacy import Privacy
from tests.promises import promise
from tests.reference import conditional_logit as naive

RANDOM = np.random.default_rng(0)


def points(numbers, *near):
    """Random points far and near, and given ones, of which numbers beyond their end are 1."""
    some = RANDOM.choice([-60.0, -12.0, -1.0, 0.0, 1.0, 12.0, 60.0], (60, numbers))
    return np.concatenate([[[*one, *[1.0] * (numbers - len(one))] for one in near], some])


def units(kinds, most):
    """All contents of a unit of at most so many answers."""
    return [
        [answer for kind in chosen for answer in kind]
        for size in range(most + 1)
        for chosen in itertools.combinations_with_replacement(kinds, size)
    ]


# Item 0 is far behind 1, and 2 behind 3: wins of 0 and of 2 are improbable. Many wins of 3 over 1, which is far ahead,
# fix the signs of the noise, so that the former adds to its sizes and the latter takes from them.
AHEAD = (-1.0, 90.0, 1.0, 30.0)


def of_meetings(features, davidson):
    """Kinds of answers of four items with one of these features, bases, and the noise of each number."""
    told = {"items": 4, "davidson": davidson}
    pairs = [(0, 1), (2, 3), (0, 2)]
    outcomes = (0.0, 0.5, 1.0)
    kinds = [
        naive.meeting(i, j, y, x, **told) for i, j in pairs for y in outcomes for x in features
    ]
    zero = [0.0] * len(features[0])
    base = naive.meeting(3, 1, 1.0, zero, **told, times=1e6)
    return kinds, [[], base], np.array([1] * 4 + [2] * (len(zero) + davidson))


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize(
    ("features", "davidson"),
    [([()], True), ([(-0.5,), (0.0,), (0.5,)], False), ([(-0.5,), (0.5,)], True)],
)
def test_exact_losses_of_meetings_reach_epsilon_and_no_more(features, davidson, adjacency):
    kinds, bases, weights = of_meetings(features, davidson)
    told = promise(1.0, "comparison", adjacency)
    scale, gamma = map(float, meeting_noise(told, len(features[0])))
    at = points(len(weights), AHEAD)

    def worst(shrunk):
        each = shrunk * scale * weights
        return naive.worst_loss(bases, units(kinds, 1), at, each, shrunk * gamma, adjacency)

    assert 0.99 < worst(1.0) <= 1 + 1e-9
    assert worst(0.95) > 1.03


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_exact_losses_of_choices_reach_epsilon_and_no_more(adjacency):
    """Sets of three of four items: 0 is chosen where 1 and 2 are equally likely; their wins over 3 fix signs."""
    sets = [(0, 1, 2), (1, 3), (0, 2, 3), (0, 1)]
    kinds = [naive.choice(s, one, items=4) for s in sets for one in s]
    base = [one for k in (1, 2) for one in naive.choice((k, 3), k, items=4, times=1e6)]
    scale, gamma = map(float, choice_noise(promise(1.0, "comparison", adjacency), 3))
    at = points(4, (1.0, 30.0, 30.0, 90.0))

    def worst(shrunk):
        each = shrunk * scale * np.ones(4)
        return naive.worst_loss([[], base], units(kinds, 1), at, each, shrunk * gamma, adjacency)

    assert 0.98 < worst(1.0) <= 1 + 1e-9
    assert worst(0.95) > 1.02


def test_users_of_two_answers_lose_epsilon_and_no_more():
    kinds, bases, weights = of_meetings([(-0.5,), (0.5,)], True)
    scale, gamma = map(float, meeting_noise(promise(1.0, "user", "replace", 2), 1))
    at = points(len(weights), AHEAD)[:20]
    worst = naive.worst_loss(bases, units(kinds, 2), at, scale * weights, gamma, "replace")
    assert 0.99 < worst <= 1 + 1e-9


def test_calibration_by_hand():
    told = promise(0.5, "user", "replace", 3)
    assert [float(x) for x in meeting_noise(told)] == pytest.approx([24, 24])
    assert [float(x) for x in meeting_noise(told, 2)] == pytest.approx([30, 30])
    assert [float(x) for x in choice_noise(told, 2)] == pytest.approx([24, 24])
    assert [float(x) for x in choice_noise(told, 5)] == pytest.approx([28.5, 28.5])
    scale, gamma = map(float, choice_noise(told, 5, 57.0))
    assert (scale, gamma) == pytest.approx((12 / (0.5 - 0.75 * 3 / 57), 57))
    added = dataclasses.replace(told, adjacency="add-remove")
    assert [float(x) for x in choice_noise(added, 5)] == pytest.approx([16.5, 16.5])
    assert float(meeting_noise(dataclasses.replace(told, epsilon=np.inf))[0]) == 0


def test_davidson_and_choices_solve_their_perturbed_equations(key):
    wins = WinCounts.from_matrix([[0.0, 20.5, 9], [10.5, 0, 7], [3, 4, 0]], ties=1)
    asked, keys = promise(2.0, "comparison", "replace"), jax.random.split(key, 1500)
    fits = jax.vmap(lambda k: pairwise.perturbed_mle(k, wins, asked, ties="davidson"))(keys)
    scale = float(fits.diagnostics.noise_scale[0])
    assert (scale, float(fits.diagnostics.tie_gamma[0])) == pytest.approx((2, 8))
    rows = [(0, 1, 1.0, 20), (0, 1, 0.5, 1), (0, 1, 0.0, 10), (0, 2, 1.0, 9), (0, 2, 0.0, 3)]
    rows += [(1, 2, 1.0, 7), (1, 2, 0.0, 4)]
    answers = [
        one
        for i, j, y, n in rows
        for one in naive.meeting(i, j, y, items=3, davidson=True, times=n)
    ]
    betas = np.column_stack([fits.value.scores, 2 * fits.value.log_tie])
    noise = np.array([naive.derivatives(answers, beta, scale)[0] for beta in betas])
    assert noise[:, 3].std() == pytest.approx(2 * np.sqrt(2) * scale, rel=0.12)
    assert noise[:, 0].std() == pytest.approx(np.sqrt(4 / 3) * scale, rel=0.12)

    choices = Choices.from_top1([(0, [1, 2])] * 9 + [(1, [2])] * 5 + [(2, [1, 0])], num_items=3)
    found = jax.vmap(lambda k: pairwise.perturbed_mle(k, choices, asked))(keys)
    scale, gamma = (float(x[0]) for x in (found.diagnostics.noise_scale, found.diagnostics.gamma))
    assert (scale, gamma) == pytest.approx((2.25, 2.25))
    answers = naive.choice((0, 1, 2), 0, items=3, times=9) + naive.choice((0, 1, 2), 2, items=3)
    answers += naive.choice((1, 2), 1, items=3, times=5)
    noise = np.array([naive.derivatives(answers, np.asarray(b), gamma)[0] for b in found.value])
    np.testing.assert_allclose(noise.std(0), np.sqrt(4 / 3) * scale, rtol=0.12)


REPLACE = Privacy(1.0, unit="comparison", adjacency="replace")
FLIP = dataclasses.replace(REPLACE, adjacency="flip")
TIED = WinCounts(jnp.ones((2, 2)) - jnp.eye(2), None, 0)
CHOSEN = Choices.from_top1([(0, [1])], num_items=2)


LOOSE = dataclasses.replace(REPLACE, delta=1e-6)


@pytest.mark.parametrize(
    ("data", "asked", "told", "words"),
    [
        (TIED, REPLACE, {"ties": "davidson", "tie_gamma": 9.0}, "tie_gamma: leave"),
        (CHOSEN, REPLACE, {"gamma": 0.5}, "gamma"),
        (CHOSEN, LOOSE, {"noise": "gaussian"}, "noise"),
        (CHOSEN, FLIP, {"link": "laplace"}, "link: leave"),
        (CHOSEN, FLIP, {"calibration": "published"}, "calibration: leave"),
        (TIED, FLIP, {"tie_gamma": 1.0}, "tie_gamma: leave"),
        (TIED, FLIP, {"ties": "davidson", "weighted": True}, "weighted: leave"),
        (
            CHOSEN,
            FLIP,
            {"questionnaire": TIED.comparisons, "tie_gamma": 1.0},
            "questionnaire, tie_gamma: leave",
        ),
        (CHOSEN, FLIP, {"ties": "davidson"}, "know no ties"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(data, asked, told, words, key):
    with pytest.raises(ValueError, match=words):
        pairwise.perturbed_mle(key, data, asked, **told)
