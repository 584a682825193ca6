"""The exact Mallows sampler: its law against enumeration, the law of its parts, personal budgets, what it refuses."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from privrank_jax.exact import mallows
from privrank_jax.mallows import sample

ALARM = 1e-6  # false-alarm rate of each comparison; the draws can't be seeded


def discordant(a, b):
    pairs = itertools.combinations(range(len(a)), 2)
    return sum((a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in pairs)


def law(center, epsilon):
    """All rankings and their Mallows probabilities, by enumeration."""
    every = list(itertools.permutations(range(len(center))))
    gamma = epsilon / (len(center) - 1)
    odds = np.array([math.exp(-gamma * discordant(ranks, center)) for ranks in every])
    return every, odds / odds.sum()


def test_items_not_ranked_stay_so_and_each_user_has_an_own_budget_and_length():
    draws = 40_000  # gamma 5 % larger is found with 99.9 %
    rows = np.array([[-1, 7, -1, 2, 4], [0, -1, -1, -1, 1], [-1, -1, 3, -1, -1], [-1] * 5])
    budgets = np.tile([3.0, 0.9, 1.0, 2.0], draws)
    drawn = sample.release(np.tile(rows, (draws, 1)), budgets)
    assert drawn.shape == (4 * draws, 5)
    assert drawn.dtype == np.int32
    np.testing.assert_array_equal(drawn < 0, np.tile(rows < 0, (draws, 1)))
    for first, epsilon in ((0, 3.0), (1, 0.9)):
        ranked = rows[first] >= 0
        part = drawn[first::4][:, ranked]
        every, chances = law(rows[first][ranked], epsilon)
        seen = [np.sum(np.all(part == ranks, axis=1)) for ranks in every]
        assert sum(seen) == draws
        assert stats.chisquare(seen, draws * chances).pvalue > ALARM
    np.testing.assert_array_equal(drawn[2::4], np.tile([-1, -1, 0, -1, -1], (draws, 1)))
    np.testing.assert_array_equal(drawn[3::4], np.full((draws, 5), -1))


def test_extremes(monkeypatch):
    """In chunks, which lose nothing."""
    monkeypatch.setattr(mallows, "_CHUNK", 3000)
    reverse = np.tile(np.arange(40)[::-1], (200, 1))
    np.testing.assert_array_equal(sample.release(reverse, np.linspace(1e6, 1e7, 200)), reverse)
    # m(m-1)/4 pairs are turned on average at ε near 0, with variance m(m-1)(2m+5)/72.
    drawn = sample.release(reverse, 1e-6)
    turned = np.array([np.sum(np.triu(row[:, None] < row, 1)) for row in drawn])
    spread = math.sqrt(40 * 39 * 85 / 72 / 200)
    assert abs(turned.mean() - 40 * 39 / 4) < 5 * spread
    assert sample.release([[0], [4]], 1.0).tolist() == [[0], [0]]
    assert sample.release(np.zeros((0, 3), int), 1.0).shape == (0, 3)


@pytest.mark.parametrize(
    ("ranks", "epsilon", "word"),
    [
        ([[0, 1]], 0.0, "positive"),
        ([[0, 1]], math.nan, "positive"),
        ([[0, 1]], math.inf, "finite"),
        ([[0, 1, 2]], 1e-16, "too small"),
        ([[0, 1]], [1.0, 2.0], "shape"),
        ([0, 1], 1.0, "shape"),
        ([[0.0, 1.0]], 1.0, "integers"),
        ([[0, 1, 2], [0, 1, 1]], 1.0, "row 1"),
    ],
)
def test_refusals(ranks, epsilon, word):
    with pytest.raises(ValueError, match=word):
        sample.release(ranks, epsilon)
