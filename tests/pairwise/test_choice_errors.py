"""Standard errors of Plackett-Luce scores, against those of pairs and a naive sum over sets."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from privrank_jax.pairwise import Choices
from privrank_jax.pairwise.uncertainty import standard_errors
from privrank_jax.privacy.bodies import Noise
from tests.pairwise.problems import LISTS
from tests.quick import quick_jit

THETA = np.array([0.6, -0.2, 0.1, -0.9, 0.4])
GAMMA = 0.8
NORMAL = Noise.independent("gaussian", 1.5, 5)


def test_choices_from_two_are_comparisons():
    pairs = [(one[0], one[1:2]) for one in LISTS]
    choices = Choices.from_top1(pairs, num_items=5)
    met = choices.wins.comparisons
    for noise in (1.5, NORMAL):
        for target in ("truth", "penalized"):
            told = {"gamma": GAMMA, "noise": noise, "target": target}
            found = quick_jit(functools.partial(standard_errors, **told))(THETA, choices.design)
            usual = quick_jit(functools.partial(standard_errors, **told))(THETA, met)
            np.testing.assert_allclose(found.covariance, usual.covariance, rtol=1e-6, atol=1e-12)
            np.testing.assert_allclose(found.center, usual.center, rtol=1e-6)
            assert bool(found.near) == bool(usual.near)


def test_the_covariance_is_that_of_one_newton_step():
    choices = Choices.from_top1([(one[0], one[1:]) for one in LISTS], num_items=5)
    fisher = np.zeros((5, 5))
    for items in LISTS:
        odds = np.exp(THETA[items])
        chances = np.zeros(5)
        chances[items] = odds / odds.sum()
        fisher += np.diag(chances) - np.outer(chances, chances)
    inverse = np.linalg.pinv(fisher)
    centered = np.eye(5) - 1 / 5
    found = standard_errors(THETA, choices.design, gamma=GAMMA, noise=NORMAL)
    expected = inverse @ (fisher + 1.5**2 * centered) @ inverse
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-6, atol=1e-12)
    center = THETA - THETA.mean()
    np.testing.assert_allclose(found.center, center + 0.8 * inverse @ center, rtol=1e-6)


def test_groups_that_were_never_shown_together_have_no_errors():
    choices = Choices.from_top1([(0, [1]), (1, [0]), (2, [3]), (3, [2])], num_items=4)
    found = standard_errors(np.zeros(4), choices.design)
    assert np.all(np.isinf(found.standard_errors))
    assert found.linked.tolist() == [[i // 2 == j // 2 for j in range(4)] for i in range(4)]


def test_other_shapes_and_negative_noise_are_refused():
    choices = Choices.from_top1([(0, [1])], num_items=2)
    with pytest.raises(ValueError, match="2 scores"):
        standard_errors(np.zeros(3), choices.design)
    with pytest.raises(ValueError, match="noise"):
        standard_errors(np.zeros(2), choices.design, noise=-1.0)
    with pytest.raises(ValueError, match="target"):
        standard_errors(np.zeros(2), choices.design, target="true")
