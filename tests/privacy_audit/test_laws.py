"""Laws of outputs, against other ways to compute them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

from privrank_jax.aggregation.split_weights import private_weights
from privrank_jax.mechanism import Facts
from privrank_jax.privacy_audit import audited_rankings, laws
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
