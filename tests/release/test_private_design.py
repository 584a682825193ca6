"""Exact noise on numbers of comparisons: its law, its scales, and what is refused."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.private_design import noisy_design
from privrank_jax.privacy import Privacy
from privrank_jax.release import exact_noisy_design

ALARM = 1e-4  # false-alarm rate on fresh noise, which can't be seeded
USER = Privacy(1.0, unit="user", adjacency="replace", contributions=2)
WINS = WinCounts.from_matrix(np.array([[0, 3.5, 1], [2.5, 0, 0], [0, 4, 0]]))
MET = np.array([[0, 6, 1], [6, 0, 4], [1, 4, 0]])


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_the_law_is_that_of_the_twin_and_no_other(adjacency):
    asked = Privacy(1.0, unit="user", adjacency=adjacency, contributions=2)
    draws = [exact_noisy_design(WINS, asked) for _ in range(1500)]
    twin = noisy_design(jax.random.key(0), WINS, asked)
    twin_scales = [float(twin.value.appearances_scale), float(twin.value.pairs_scale)]
    scales = [draws[0].value.appearances_scale, draws[0].value.pairs_scale]
    assert scales == pytest.approx(twin_scales, rel=1e-6)
    appearances = np.concatenate([one.value.appearances - MET.sum(1) for one in draws])
    upper = np.triu_indices(3, 1)
    pairs = np.concatenate([(one.value.pairs - MET)[upper] for one in draws])
    for noise, scale in zip((appearances, pairs), scales):
        smeared = noise + np.random.default_rng(0).uniform(-0.25, 0.25, noise.size)
        assert stats.kstest(smeared, stats.laplace(scale=scale).cdf).pvalue > ALARM
        assert stats.kstest(smeared, stats.laplace(scale=1.3 * scale).cdf).pvalue < ALARM
    assert draws[0].guarantee.numerics == "exact"
    assert draws[0].guarantee.attained.epsilon == 1.0


def test_counts_are_symmetric_halves():
    found = exact_noisy_design(WINS, USER).value
    assert np.array_equal(found.pairs, found.pairs.T)
    assert np.all(np.diag(found.pairs) == 0)
    assert np.all(2 * found.pairs == np.round(2 * found.pairs))
    assert np.all(2 * found.appearances == np.round(2 * found.appearances))


@pytest.mark.parametrize(
    ("wins", "privacy", "words"),
    [
        (WINS, Privacy(1.0, unit="comparison", adjacency="flip"), "public"),
        (WINS, Privacy(1.0, unit="user", adjacency="replace"), "contributions"),
        (WINS, Privacy(np.inf, unit="comparison", adjacency="replace"), "epsilon"),
        (WinCounts(np.full((2, 2), 0.3)), USER, "multiples of 1/2"),
    ],
)
def test_bad_input_is_refused(wins, privacy, words):
    with pytest.raises(ValueError, match=words):
        exact_noisy_design(wins, privacy)
