"""Rank centrality against the plain random walk, and where the walk has no unique limit."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax import links
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.spectral import rank_centrality
from tests import reference


def random_wins(seed, size, most, probability=1.0):
    generator = np.random.default_rng(seed)
    matrix = generator.integers(0, most, (size, size)) * 1.0
    met = np.triu(generator.random((size, size)) < probability, 1)
    return matrix * (met | met.T)


@pytest.mark.parametrize(("seed", "probability"), [(0, 1.0), (1, 0.6), (2, 0.4)])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_matches_the_walk(seed, probability, smoothing):
    matrix = random_wins(seed, 8, 9, probability)
    estimate = rank_centrality(WinCounts.from_matrix(matrix), smoothing)
    expected = reference.rank_centrality(matrix, smoothing)
    np.testing.assert_allclose(estimate.value, expected, rtol=1e-9, atol=1e-11)
    assert float(estimate.diagnostics.change) < 1e-8
    assert estimate.guarantee is None


def test_expected_counts_of_bradley_terry_give_the_scores_back():
    scores = np.random.default_rng(5).normal(size=12)
    matrix = np.asarray(links.logistic.cdf(scores[:, None] - scores[None, :])) * 7
    np.fill_diagonal(matrix, 0)
    value = np.asarray(rank_centrality(WinCounts.from_matrix(matrix)).value)
    weights = np.exp(scores)
    np.testing.assert_allclose(value, weights / weights.sum(), rtol=1e-9)


def test_slow_walk_is_still_exact():
    # A chain of 40 items, each compared with the next: spectral gap near 1e-4, π is geometric.
    size, odds = 40, 1.1
    matrix = np.zeros((size, size))
    for i in range(size - 1):
        matrix[i, i + 1], matrix[i + 1, i] = odds, 1.0
    value = np.asarray(rank_centrality(WinCounts.from_matrix(matrix)).value)
    np.testing.assert_allclose(value[:-1] / value[1:], odds, rtol=1e-8)


def test_walks_without_a_unique_limit_are_finite_and_flagged():
    apart = np.zeros((5, 5))
    apart[0, 1], apart[1, 0] = 3, 1
    apart[2, 3], apart[3, 2], apart[3, 4], apart[4, 3] = 1, 1, 1, 1
    estimate = rank_centrality(WinCounts.from_matrix(apart))
    # Each component keeps its initial weight: 2/5 and 3/5.
    np.testing.assert_allclose(estimate.value, [0.3, 0.1, 0.2, 0.2, 0.2], rtol=1e-7)
    assert int(estimate.diagnostics.components) == 2
    beaten = np.array([[0, 2, 1], [1, 0, 1], [0, 0, 0.0]])
    estimate = rank_centrality(WinCounts.from_matrix(beaten))
    np.testing.assert_allclose(estimate.value, [2 / 3, 1 / 3, 0], atol=1e-9)
    assert bool(estimate.diagnostics.separated)
    assert float(rank_centrality(WinCounts.from_matrix(beaten), 1.0).value[2]) > 0.05


def test_masked_items_change_nothing():
    matrix = random_wins(3, 6, 9)
    padded = np.pad(matrix, (0, 2), constant_values=4.0) * (1 - np.eye(8))
    wins = WinCounts.from_matrix(padded, mask=np.arange(8) < 6)
    value = np.asarray(rank_centrality(wins).value)
    np.testing.assert_allclose(
        value[:6], rank_centrality(WinCounts.from_matrix(matrix)).value, rtol=1e-9
    )
    np.testing.assert_array_equal(value[6:], 0.0)


def test_negative_smoothing_is_refused():
    with pytest.raises(ValueError, match="smoothing"):
        rank_centrality(WinCounts.from_matrix(np.zeros((2, 2))), -1.0)
