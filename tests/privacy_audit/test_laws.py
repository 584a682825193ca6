"""Laws of outputs, norms by facets and naive losses, against other ways to compute them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from scipy import optimize

from privrank_jax.aggregation.split_weights import private_weights
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy_audit import audited_rankings, contents, laws, minimizers
from privrank_jax.privacy_audit.contents import questionnaire_facets
from tests.promises import user


def test_one_shot_lists_by_adaptive_quadrature():
    scores, scale = np.array([2.0, 0.0, 1.5]), 1.3
    table = laws.one_shot(scores[None], scale, 2)[0]
    law = [scipy.stats.laplace(x, scale) for x in scores]
    for found, (i, j) in zip(table, itertools.permutations(range(3), 2)):
        rest = 3 - i - j

        def density(z, i=i, j=j, rest=rest):
            return law[j].pdf(z) * law[i].sf(z) * law[rest].cdf(z)

        integral = scipy.integrate.quad(density, -60, 60, points=sorted(scores), limit=500)[0]
        assert np.exp(found) == pytest.approx(integral, rel=1e-7)


def test_the_largest_score_with_exponential_noise_by_quadrature():
    scores, scale = np.array([1.0, 0.0, 2.5]), 0.8
    laws_of = [scipy.stats.expon(one, scale) for one in scores]
    chances = [
        scipy.integrate.quad(
            lambda z, i=i: (
                laws_of[i].pdf(z) * np.prod([laws_of[j].cdf(z) for j in {0, 1, 2} - {i}])
            ),
            *(0, 60),
            points=scores,
        )[0]
        for i in range(3)
    ]
    np.testing.assert_allclose(np.exp(laws.permute_and_flip(scores[None], scale, 1)[0]), chances)
    two = np.exp(laws.permute_and_flip(scores[None], scale, 2)[0])
    assert two.sum() == pytest.approx(1)
    np.testing.assert_allclose(two.reshape(3, 2).sum(1), chances)


def test_additive_noise_loses_its_shift():
    centers = np.random.default_rng(0).normal(size=(5, 3))
    logs = laws.additive_laplace(centers, 0.7)
    for i, j in itertools.combinations(range(5), 2):
        shift = np.abs(centers[i] - centers[j]).sum()
        assert np.abs(logs[i] - logs[j]).max() == pytest.approx(shift / 0.7)


@pytest.mark.parametrize("focus", [0.5, 0.9])
def test_scales_of_both_releases_of_weights_follow_from_what_is_reported(focus):
    """1/(nφε) on scores and 1/(n(1 - φ)ε) on pairs."""
    reported = private_weights.scale(user(0.7), Facts(3, 10), focus=focus)
    names = ("gradient_scale", "cycle_scale")
    found = audited_rankings.scales(dict(zip(names, map(float, reported))))
    np.testing.assert_allclose(found, [1 / (7 * focus), 1 / (7 * (1 - focus))], rtol=1e-5)


PAIRS = ((0, 1), (0, 1), (0, 2), (1, 2))
BODIES = {
    "cube": np.eye(3),
    "zonotope": questionnaire_facets(3, PAIRS, "flip"),
    "replaced": questionnaire_facets(3, PAIRS, "replace"),
}


def corners(name):
    """Points whose hull is the body: corners of the cube, and all differences of two users' totals."""
    if name.endswith("cube"):
        every = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=3)))
        named = np.maximum((every > 0).sum(axis=1), (every < 0).sum(axis=1))
        return every[(every != 0).all(axis=1) if name == "cube" else named <= 2]
    unit = np.eye(3)
    answers = [[unit[i], unit[j]] + [0 * unit[0]] * (name == "replaced") for i, j in PAIRS]
    totals = np.array([np.sum(chosen, axis=0) for chosen in itertools.product(*answers)])
    return np.unique((totals[:, None] - totals[None, :]).reshape(-1, 3), axis=0)


@pytest.mark.parametrize("name", BODIES)
def test_the_norm_is_that_of_the_hull_of_changes(name):
    """The least sum of weights on the corners, by linear programming."""
    every, rng = corners(name), np.random.default_rng(0)
    for weights in rng.standard_normal((12, len(every))):
        point = weights @ every
        least = optimize.linprog(np.ones(len(every)), A_eq=every.T, b_eq=point).fun
        assert laws.body_norm(BODIES[name], point) == pytest.approx(least)


@pytest.mark.parametrize("step", [1.0, 0.5])
def test_davidsons_model(step):
    """Odds of a win, a loss and a tie are e^{gap/2}, e^{-gap/2} and ν; a half stands on both sides of the diagonal."""
    theta, told = np.array([0.7, -0.4, 0.9]), contents.with_ties_of(2, (0, 1, 2), (1, 0, 1), ties=3)
    gap, nu = theta[0] - theta[1], math.exp(step * theta[2])
    odds = np.array([math.exp(gap / 2), math.exp(-gap / 2), nu])
    wanted = np.array([2, 1, 3]) @ np.log(odds / odds.sum())
    assert float(minimizers.of_ties(step)(theta, told)) == pytest.approx(-wanted)
