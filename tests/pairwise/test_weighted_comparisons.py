"""Weights with a public bound: what one weighted comparison can do at most, and what is known of its weight."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.mechanism import Facts
from privrank_jax.pairwise import bounded_weights, perturbed_mle
from privrank_jax.privacy import Privacy
from tests import reference

EPSILON = 1.0


def test_weights_are_bounded_and_rounded_down():
    found = bounded_weights([0.0, 1.0, 0.9999, 3.0, 7.0], 3.0)
    assert found.tolist() == [0.0, 341 / 1024, 341 / 1024, 1.0, 1.0]
    draw = np.random.default_rng(0).gamma(1.0, size=1000)
    found = np.asarray(bounded_weights(draw, 2.0))
    assert np.all(found * 1024 == np.round(found * 1024))
    assert np.all((found <= np.minimum(draw / 2, 1)) & (found > np.minimum(draw / 2, 1) - 1 / 1024))
    np.testing.assert_array_equal(jax.jit(bounded_weights)(draw, 2.0), found)


@pytest.mark.parametrize(
    ("weights", "most", "message"),
    [
        ([1.0], 0.0, "most must be"),
        ([1.0], np.inf, "most must be"),
        ([-1.0], 1.0, "weights must be finite, at least 0"),
        ([np.nan], 1.0, "weights must be finite, at least 0"),
        ([[1.0]], 1.0, r"of shape \(N,\)"),
    ],
)
def test_other_weights_and_bounds_are_refused(weights, most, message):
    with pytest.raises(ValueError, match=message):
        bounded_weights(weights, most)


def weighted(winner, loser, weight):
    matrix = np.zeros((3, 3))
    matrix[winner, loser] = weight
    return matrix


@pytest.mark.parametrize("link", ["logistic", "laplace"])
def test_small_data_sets_lose_no_more_either(link):
    """Near a few comparisons, where curvatures matter, at random weights and points: exact densities lose at most ε."""
    draw, asked = np.random.default_rng(1), Privacy(EPSILON, unit="comparison", adjacency="replace")
    scale, gamma = map(float, perturbed_mle.scale(asked, Facts(3, rules=(get_link(link), True))))
    pairs, worst = list(itertools.permutations(range(3), 2)), 0.0
    for _ in range(150):
        base = draw.random((3, 3)) * (draw.random((3, 3)) < 0.5) * (1 - np.eye(3))
        chosen = draw.integers(0, 6, 2)
        one, other = (
            base + weighted(*pairs[k], w) for k, w in zip(chosen, draw.choice([0, 0.3, 1.0], 2))
        )
        for theta in draw.normal(size=(8, 3)) * draw.choice([0.3, 2.0, 8.0], (8, 1)):
            logs = [
                reference.perturbed_mle_log_density(theta, wins, scale, gamma, link)
                for wins in (one, other)
            ]
            worst = max(worst, abs(logs[0] - logs[1]))
    assert 0.3 * EPSILON < worst <= EPSILON * (1 + 1e-9)


def test_the_default_ridge_says_nothing_of_private_weights():
    wins = WinCounts.from_matrix([[0, 300.0], [100.0, 0]])
    light = WinCounts(wins.matrix / 64)

    def ridges(adjacency, *, known):
        asked = Privacy(EPSILON, unit="comparison", adjacency=adjacency)
        return [
            float(
                perturbed_mle(jax.random.key(0), one, asked, weighted=not known).diagnostics.gamma
            )
            for one in (wins, light)
        ]

    assert len(set(ridges("replace", known=False))) == 1
    assert len(set(ridges("add-remove", known=False))) == 1
    large = Privacy(50.0, unit="comparison", adjacency="replace")
    found = {
        float(perturbed_mle(jax.random.key(0), one, large, weighted=True).diagnostics.gamma)
        for one in (wins, light)
    }
    assert found == {1.0}
    assert len(set(ridges("flip", known=False))) == 2  # weights are public there


def test_weighted_comparisons_are_released():
    rows = (0, 1, 1 / 1024), (1, 0, 3 + 1 / 2048), (1, 2, 2.5)
    matrix = sum(weighted(*row) for row in rows)
    wins, asked = (
        WinCounts.from_matrix(matrix),
        Privacy(1.0, unit="comparison", adjacency="replace"),
    )
    found = perturbed_mle.release(wins, asked, weighted=True)
    assert found.guarantee.numerics == "exact"
    assert (found.diagnostics.noise_scale, found.diagnostics.gamma) == (4.0, 4.0)
    hardly = Privacy(1e9, unit="comparison", adjacency="replace")
    found = perturbed_mle.release(wins, hardly, weighted=True, gamma=1.0)
    np.testing.assert_allclose(found.value, reference.fit("logistic", matrix, ridge=1.0), atol=1e-5)
    with pytest.raises(ValueError, match="multiples of 1/2 "):
        perturbed_mle.release(wins, asked)
    odd = WinCounts.from_matrix(weighted(0, 1, 0.3))
    with pytest.raises(ValueError, match=r"multiples of 1/1024: .*bounded_weights"):
        perturbed_mle.release(odd, asked, weighted=True)
