"""Intervals of Davidson's model: how often they cover, with privacy noise of every kind."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism import Facts
from privrank_jax.pairwise import noisy_ties
from privrank_jax.pairwise.designs import Counts, ModelScores
from privrank_jax.pairwise.intervals import confidence_intervals
from privrank_jax.pairwise.ridges import default_ridges
from privrank_jax.pairwise.uncertainty import standard_errors
from privrank_jax.privacy.bodies import Noise
from tests.promises import promise
from tests.quick import quick_jit

TRUTH, TIE, TIMES, RELEASES = np.array([0.9, 0.2, -0.3, -0.8]), 0.8, 400, 600
PAIRS = list(itertools.combinations(range(4), 2))
MET = TIMES * (1.0 - np.eye(4))
DESIGN = Counts(jnp.asarray(MET), ties=True)


def drawn(seed):
    """Win counts ``(RELEASES, m, m)`` and ties of data under the truth."""
    rng = np.random.default_rng(seed)
    matrices, ties = np.zeros((RELEASES, 4, 4)), np.zeros(RELEASES)
    for i, j in PAIRS:
        gap = TRUTH[i] - TRUTH[j]
        odds = np.array([np.exp(gap / 2), TIE, np.exp(-gap / 2)])
        won, tied, lost = rng.multinomial(TIMES, odds / odds.sum(), RELEASES).T
        matrices[:, i, j], matrices[:, j, i] = won + tied / 2, lost + tied / 2
        ties += tied
    return jnp.asarray(matrices), jnp.asarray(ties)


@jax.jit
@jax.vmap
def fitted(counts, gamma, tie_gamma):
    return pairwise.fit(DESIGN, counts, gamma, tie_gamma).value


def intervals_at(gamma, tie_gamma):
    """A function of fits and a noise scale that gives intervals."""
    told = {"gamma": gamma, "tie_gamma": tie_gamma}

    def of_one(value, scale):
        return confidence_intervals(standard_errors(value, DESIGN, noise=scale, **told))

    return quick_jit(jax.vmap(of_one, (0, None)))


def covered(found):
    """Shares of intervals that hold the truth: of scores, of log ν, of ranks."""
    assert np.all(np.isfinite(found.low))
    scores = (found.low <= TRUTH) & (found.high >= TRUTH)
    ties = (found.log_tie.low <= np.log(TIE)) & (found.log_tie.high >= np.log(TIE))
    ranks = (found.rank_low <= np.arange(4)) & (found.rank_high >= np.arange(4))
    return [float(part.mean()) for part in (scores, ties, ranks)]


def test_intervals_cover_as_often_as_they_say(key):
    """Of 600 releases 95% have a standard deviation of 0.9%; without the noise in the errors far fewer are covered."""
    law = noisy_ties.noise(promise(1.0, "user", "flip", 6), Facts(4))
    matrices, ties = drawn(3)
    keys = jax.random.split(key, RELEASES)
    asked = promise(1.0, "user", "flip", 6)
    release = jax.vmap(lambda k, w, t: noisy_ties(k, WinCounts(w, None, t), asked).value)
    counts = release(keys, matrices, ties)
    gamma, tie_gamma = map(float, default_ridges(Counts(MET, ties=True), law))
    value = fitted(counts, jnp.full(RELEASES, gamma), jnp.full(RELEASES, tie_gamma))
    intervals = intervals_at(gamma, tie_gamma)
    scores, of_ties, ranks = covered(intervals(value, law.scale))
    assert 0.92 < scores < 0.98
    assert 0.92 < of_ties < 0.98
    assert ranks > 0.97
    assert covered(intervals(value, 0.0 * law.scale))[0] < 0.92


def test_errors_without_privacy_are_those_of_the_inverse_information():
    value = ModelScores(jnp.asarray(TRUTH), log_tie=jnp.log(TIE))
    found = standard_errors(value, DESIGN)
    whole = np.asarray(DESIGN.information(jnp.append(TRUTH, jnp.log(TIE))))
    inverse = np.linalg.pinv(whole)
    np.testing.assert_allclose(found.covariance[:4, :4], inverse[:4, :4], atol=1e-9)
    np.testing.assert_allclose(found.covariance, inverse, atol=1e-9)


def test_several_components_and_strong_ridges_give_no_intervals():
    apart = np.array([[0, 9, 0, 0], [9, 0, 0, 0], [0, 0, 0, 9], [0, 0, 9, 0.0]])
    value = ModelScores(jnp.asarray(TRUTH), log_tie=jnp.log(TIE))
    found = confidence_intervals(standard_errors(value, Counts(jnp.asarray(apart))))
    assert np.all(np.isinf(found.low))
    assert float(found.log_tie.low) < np.log(TIE) < float(found.log_tie.high)
    shrunk = confidence_intervals(standard_errors(value, DESIGN, gamma=1e4))
    assert np.isinf(shrunk.log_tie.low)
    assert np.all(np.isinf(shrunk.low))
    assert np.all(np.asarray(shrunk.rank_high) == 3)


def test_what_is_refused():
    value = ModelScores(jnp.zeros(4), log_tie=jnp.log(TIE))
    with pytest.raises(ValueError, match="on 5 numbers"):
        standard_errors(value, DESIGN, noise=Noise.independent("laplace", 1.0, 4))
    with pytest.raises(ValueError, match="level"):
        confidence_intervals(standard_errors(value, DESIGN), level=1.5)
    with pytest.raises(ValueError, match="finite; did the fit converge"):
        standard_errors(ModelScores(jnp.full(4, jnp.nan), log_tie=jnp.log(TIE)), DESIGN)
    with pytest.raises(ValueError, match="must have shapes"):
        standard_errors(jnp.zeros(3), DESIGN)
    with pytest.raises(ValueError, match="ties are about comparisons"):
        standard_errors(value, DESIGN, ties=np.zeros(4, bool))
