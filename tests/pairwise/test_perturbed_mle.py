"""Perturbed fits to win counts beyond the contract of objectives: links, noises, padding, ridges, weights."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise import perturbed_mle
from privrank_jax.pairwise.perturbed_fit import bounded_weights
from privrank_jax.pairwise.published import published_mle
from privrank_jax.privacy import noise as noises
from tests import reference
from tests.promises import promise

ADJACENCIES = ("flip", "replace", "add-remove")
LINKS = ("logistic", "laplace")


def tournament(seed, items, times=3.0):
    """Win counts with every pair compared about ``times`` times, scores ~ N(0, 1)."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(items)
    chance = 1 / (1 + np.exp(scores[None, :] - scores[:, None]))
    met = np.triu(rng.poisson(times, (items, items)), 1)
    won = rng.binomial(met, chance)
    return WinCounts.from_matrix((won + (met - won).T).astype(float))


# --- the minimizer -------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("link", LINKS)
def test_equals_the_naive_minimization_with_the_same_noise(link, noise, key):
    wins = tournament(1, 6)
    draw = noises.laplace if noise == "laplace" else noises.gaussian
    for adjacency, epsilon in (("replace", 0.3), ("flip", 3.0), ("add-remove", math.inf)):
        asked = promise(epsilon, adjacency=adjacency, delta=1e-3)
        ours = perturbed_mle(key, wins, asked, link=link, noise=noise, gamma=60.0)
        tilt = np.asarray(draw(key, (6,), ours.diagnostics.noise_scale, np.float64))
        assert tilt.any() == (epsilon < math.inf)
        naive = reference.perturbed_mle(wins.matrix, tilt, 60.0, link)
        np.testing.assert_allclose(ours.value, naive - naive.mean(), atol=1e-6)
        assert int(ours.diagnostics.fit.code) == 0


@pytest.mark.parametrize("record", [perturbed_mle, published_mle])
def test_padding_changes_nothing(record, key):
    """The draws depend on the padded size, so fits are compared without noise; default ridges are those without."""
    wins, padded = tournament(8, 4), np.zeros((6, 6))
    padded[:4, :4] = wins.matrix
    masked = WinCounts.from_matrix(padded, np.arange(6) < 4)
    for epsilon in (math.inf, 1.0):
        asked = promise(epsilon, adjacency="flip")
        alone, within = (record(key, one, asked) for one in (wins, masked))
        ridges = (float(one.diagnostics.gamma) for one in (alone, within))
        assert next(ridges) == pytest.approx(next(ridges), rel=1e-12)
        np.testing.assert_array_equal(within.value[4:], 0.0)
        if math.isinf(epsilon):
            np.testing.assert_allclose(within.value[:4], alone.value, atol=1e-9)


@pytest.mark.parametrize("record", [perturbed_mle, published_mle])
def test_gamma_does_not_depend_on_outcomes_nor_on_a_private_count(record, key):
    wins = tournament(10, 6)
    turned, more = WinCounts.from_matrix(wins.matrix.T), WinCounts.from_matrix(30 * wins.matrix)

    def gamma(data, unit, adjacency):
        return float(record(key, data, promise(1.0, unit, adjacency, 2)).diagnostics.gamma)

    for unit, adjacency in itertools.product(("comparison", "user"), ADJACENCIES):
        assert gamma(wins, unit, adjacency) == gamma(turned, unit, adjacency)
        if adjacency == "add-remove" or (unit, adjacency) == ("user", "replace"):
            assert gamma(wins, unit, adjacency) == gamma(more, unit, adjacency)
    assert gamma(wins, "comparison", "flip") != gamma(more, "comparison", "flip")


def test_published_calibration(key):
    wins = tournament(11, 6)
    degree = float(wins.degrees.mean())
    edge = published_mle(key, wins, promise(1.0, adjacency="flip")).diagnostics
    assert float(edge.noise_scale) == 8.0
    assert float(edge.gamma) == pytest.approx(2 * math.sqrt(degree * math.log(6)))
    user = published_mle(key, wins, promise(1.0, "user", contributions=7)).diagnostics
    assert (float(user.noise_scale), float(user.gamma)) == pytest.approx((56.0, 14.0))


def test_weights_are_bounded_and_rounded_down():
    found = bounded_weights([0.0, 1.0, 0.9999, 3.0, 7.0], 3.0)
    assert found.tolist() == [0.0, 341 / 1024, 341 / 1024, 1.0, 1.0]


def weighted(winner, loser, weight):
    matrix = np.zeros((3, 3))
    matrix[winner, loser] = weight
    return matrix


@pytest.mark.parametrize("link", ["logistic", "laplace"])
def test_small_data_sets_lose_no_more_either(link):
    """Near a few comparisons, where curvatures matter, at random weights and points: exact densities lose at most ε."""
    draw, asked = np.random.default_rng(1), promise(1.0)
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
    assert 0.3 < worst <= 1 + 1e-9


def test_the_default_ridge_says_nothing_of_private_weights(key):
    wins = WinCounts.from_matrix([[0, 300.0], [100.0, 0]])
    light = WinCounts(wins.matrix / 64)

    def ridges(adjacency, epsilon=1.0, weighted=True):
        asked = promise(epsilon, "comparison", adjacency)
        found = (perturbed_mle(key, one, asked, weighted=weighted) for one in (wins, light))
        return {float(one.diagnostics.gamma) for one in found}

    assert len(ridges("replace")) == len(ridges("add-remove")) == 1
    assert ridges("replace", 50.0) == {1.0}
    assert len(ridges("flip", weighted=False)) == 2  # weights are public there


def test_weighted_comparisons_are_released():
    rows = (0, 1, 1 / 1024), (1, 0, 3 + 1 / 2048), (1, 2, 2.5)
    matrix = sum(weighted(*row) for row in rows)
    wins = WinCounts.from_matrix(matrix)
    found = perturbed_mle.release(wins, promise(1.0), weighted=True)
    assert (found.diagnostics.noise_scale, found.diagnostics.gamma) == (4.0, 4.0)
    found = perturbed_mle.release(wins, promise(1e9), weighted=True, gamma=1.0)
    np.testing.assert_allclose(found.value, reference.fit("logistic", matrix, ridge=1.0), atol=1e-5)
