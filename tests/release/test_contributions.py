"""Which rows of a user are kept in a release."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.release import exact_bound


def test_the_smallest_words_of_each_user_stay(monkeypatch):
    words = np.array([5, 1, 9, 2, 2, 2, 0], np.uint64)
    monkeypatch.setattr("secrets.token_bytes", lambda size: words.tobytes()[:size])
    kept = exact_bound([1, 1, 1, 2, 2, 2, 7], 2)  # the first rows of those whose words agree
    assert kept.tolist() == [True, True, False, True, True, False, True]


def test_extremes():
    assert exact_bound([], 1).tolist() == []
    assert exact_bound([], 2, items=([], []), max_per_item=1).tolist() == []
    assert exact_bound([3, 3, 3], 7).tolist() == [True] * 3
    assert exact_bound(np.zeros(1000, np.uint8), 1).sum() == 1


@pytest.mark.parametrize(
    ("users", "most", "more", "word"),
    [
        ([1], 0, {}, "max_per_user"),
        ([[1]], 1, {}, "shape"),
        ([1, 1], 2, {"max_per_item": 1}, "items="),
        ([1, 1], 2, {"items": ([1], [2]), "max_per_item": 1}, "columns"),
        ([1, 1], 2, {"items": ([1, 2], [2, 1]), "max_per_item": 0}, "max_per_item"),
    ],
)
def test_refusals(users, most, more, word):
    with pytest.raises(ValueError, match=word):
        exact_bound(users, most, **more)


def test_no_item_of_a_user_stays_too_often():
    """Bounds for users and for items hold together, other users don't matter, and no row is favored."""
    users = np.array([4, 4, 4, 4, 9, 9, 4])
    winners, losers = np.array([0, 1, 2, 0, 0, 0, 3]), np.array([1, 0, 3, 2, 1, 1, 4])
    chosen = np.zeros(7)
    for _ in range(3000):
        kept = exact_bound(users, 3, items=(winners, losers), max_per_item=1)
        chosen += kept
        for user in (4, 9):
            rows = kept & (users == user)
            degrees = np.bincount(np.append(winners[rows], losers[rows]))
            assert degrees.max() == 1
            assert 1 <= rows.sum() <= 3
    for one, other in ((0, 1), (4, 5)):  # alike, but for their outcomes
        assert abs(chosen[one] - chosen[other]) < 6 * np.sqrt(3000)
    assert chosen[4] + chosen[5] == 3000
