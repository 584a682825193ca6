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
    return sum(
        (a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in itertools.combinations(range(len(a)), 2)
    )


def law(center, epsilon):
    """All rankings and their Mallows probabilities, by enumeration."""
    every = list(itertools.permutations(range(len(center))))
    gamma = epsilon / (len(center) - 1)
    odds = np.array([math.exp(-gamma * discordant(ranks, center)) for ranks in every])
    return every, odds / odds.sum()


def counts(drawn, every):
    """How often each ranking was drawn."""
    place = {ranks: index for index, ranks in enumerate(every)}
    found = [place[ranks] for ranks in map(tuple, drawn.tolist())]
    return np.bincount(found, minlength=len(every))


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
        assert stats.chisquare(counts(part, every), draws * chances).pvalue > ALARM
    np.testing.assert_array_equal(drawn[2::4], np.tile([-1, -1, 0, -1, -1], (draws, 1)))
    np.testing.assert_array_equal(drawn[3::4], np.full((draws, 5), -1))


def test_extremes():
    reverse = np.tile(np.arange(40)[::-1], (200, 1))
    np.testing.assert_array_equal(sample.release(reverse, 1e6), reverse)
    # m(m-1)/4 pairs are turned on average at ε near 0, with variance m(m-1)(2m+5)/72.
    drawn = sample.release(reverse, 1e-6)
    turned = np.array([np.sum(np.triu(row[:, None] < row, 1)) for row in drawn])
    spread = math.sqrt(40 * 39 * 85 / 72 / 200)
    assert abs(turned.mean() - 40 * 39 / 4) < 5 * spread
    assert sample.release([[0], [4]], 1.0).tolist() == [[0], [0]]
    assert sample.release(np.zeros((0, 3), int), 1.0).shape == (0, 3)


def test_chunks_lose_nothing_and_two_runs_differ(monkeypatch):
    monkeypatch.setattr(mallows, "_CHUNK", 12)
    ranks = np.argsort(np.random.default_rng(0).random((20, 5)), axis=1)
    np.testing.assert_array_equal(sample.release(ranks, 1e4), ranks)
    np.testing.assert_array_equal(sample.release(ranks, np.linspace(1e4, 1e5, 20)), ranks)
    first, second = (sample.release(ranks, 0.1) for _ in range(2))
    assert not np.array_equal(first, second)  # equal by chance below 1e-30


@pytest.mark.parametrize(
    ("ranks", "epsilon", "message"),
    [
        ([[0, 1]], 0.0, "epsilon must be positive"),
        ([[0, 1]], math.nan, "epsilon must be positive"),
        ([[0, 1]], math.inf, "epsilon must be finite"),
        ([[0, 1, 2]], 1e-16, "epsilon = 1e-16 is too small for 3 items"),
        ([[0, 1]], [1.0, 2.0], "shape"),
        ([0, 1], 1.0, "shape"),
        ([[0.0, 1.0]], 1.0, "integers"),
        ([[0, 1, 2], [0, 1, 1]], 1.0, "row 1 holds a rank twice"),
    ],
)
def test_refusals(ranks, epsilon, message):
    with pytest.raises(ValueError, match=message):
        sample.release(ranks, epsilon)
