"""Davidson's model fitted to noisy totals and ties: post-processing, ridges, and what is refused."""

from __future__ import annotations

import functools
import math

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import noisy_ties
from privrank_jax.pairwise.fits import DesignObjective
from tests.promises import promise

WINS = WinCounts.from_matrix(np.array([[0, 60, 70], [40, 0, 55], [30, 45, 0]]), ties=60)
davidson = functools.partial(pairwise.perturbed_mle, ties="davidson")
DESIGN = pairwise.Counts(WINS.comparisons, ties=True)


def slope(value, totals, ties, ridges):
    """The gradient of the penalized likelihood of these numbers at a fit."""
    gamma, tie_gamma = ridges
    ridge = jnp.array([gamma] * 3 + [tie_gamma])
    objective = DesignObjective.of(DESIGN, jnp.append(totals, ties), ridge)
    return objective.gradient(DESIGN.beta_of(value))


def test_the_fit_is_that_of_the_noisy_counts(key):
    """Also at unattainable numbers, and without noise at those observed."""
    ridges = 2.0, 3.0
    for epsilon in (0.5, 0.01, math.inf):
        asked = promise(epsilon, adjacency="flip")
        counts = noisy_ties(key, WINS, asked).value
        found = davidson(key, WINS, asked, gamma=ridges[0], tie_gamma=ridges[1])
        again = pairwise.fit(DESIGN, counts, *ridges)
        assert int(again.diagnostics.code) <= 1
        np.testing.assert_array_equal(found.value.scores, again.value.scores)
        assert found.guarantee is not None
        assert (found.guarantee.adjacency, found.guarantee.epsilon) == ("flip", epsilon)
        # Centered scores solve the equations up to the pull of the ridge on the mean.
        left = np.asarray(slope(found.value, counts[:-1], counts[-1], ridges))
        np.testing.assert_allclose(left[:3] - left[:3].mean(), 0, atol=1e-8)
        assert abs(left[3]) < 1e-8
    assert float(counts[-1]) == 60  # at ε = ∞


def test_ridges_come_from_public_numbers(key):
    asked = promise(0.5, adjacency="flip")
    other = WinCounts.from_matrix(np.asarray(WINS.matrix).T, ties=3)
    told = [davidson(key, wins, asked).diagnostics for wins in (WINS, other)]
    facts = [(one.noise_scale, float(one.gamma), float(one.tie_gamma)) for one in told]
    assert facts[0] == facts[1]
    assert facts[0] == (4.0, pytest.approx(1 + 32 / (200 / 7)), pytest.approx(1 + 32 * 4.5 / 300))


@pytest.mark.parametrize(
    ("ridges", "words"),
    [
        ({"gamma": 0.0}, "gamma must be positive"),
        ({"tie_gamma": -1.0}, "tie_gamma must be positive"),
        ({"gamma": math.inf}, "gamma must be finite"),
    ],
)
def test_bad_ridges_are_refused(ridges, words, key):
    with pytest.raises(ValueError, match=words):
        davidson(key, WINS, promise(1.0, adjacency="flip"), **ridges)


@pytest.mark.parametrize(
    ("counted", "ridges", "words"),
    [
        ([1.0, 2.0, 1.0], (1.0, 1.0), r"shape \(4,\)"),
        ([1.0, 2.0, 3.0, 1.0], (1.0,), "tie_gamma is the ridge"),
        ([1.0, 2.0, 3.0, 1.0], (np.ones(4), 1.0), r"gamma none or \(3,\)"),
        ([1.0, 2.0, 3.0, 1.0], (1.0, 0.0), "tie_gamma must be positive"),
    ],
)
def test_shapes_and_ridges_must_match(counted, ridges, words):
    with pytest.raises(ValueError, match=words):
        pairwise.fit(DESIGN, counted, *ridges)
