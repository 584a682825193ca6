"""Exact reports of two item sets: integers that decide acceptance, ranks of any type."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import stats

from privrank_jax.exact import local_reports
from tests.exact.laws import RATE


def test_ranks_of_any_type_and_size_are_ordered():
    big = np.array([[2**64 - 1, 0, 2**63]], np.uint64)
    np.testing.assert_array_equal(local_reports.strict_scores(big, "last"), [[0, 2, 1]])
    largest = np.array([[np.iinfo(np.int64).max, -1, 0]])
    np.testing.assert_array_equal(local_reports.strict_scores(largest, "last"), [[1, 0, 2]])


def test_the_last_accepted_word_is_accepted_and_the_next_is_not(monkeypatch):
    """One user whose pair is never the better one: the words alone decide."""
    last = local_reports.last_accepted(1.0)
    words = iter([last + np.uint64(1), last])
    met = []

    def fed(count):
        met.append(next(words))
        return np.full(count, met[-1])

    monkeypatch.setattr(local_reports, "random_words", fed)
    one = np.ones(1, np.int64)
    local_reports._pairs(np.zeros((1, 2), np.int64), one, one, one, 1.0)
    assert len(met) == 2


@pytest.mark.parametrize("epsilon", [2.0**-70, 1e-9, 0.5, 1.0, 7.3, 39.9, 44.3, 46.0, 1000.0])
def test_acceptance_is_at_least_due_and_by_less_than_one_word(epsilon):
    """⌈2^64 e^-ε⌉ by mpmath."""
    kept = int(local_reports.last_accepted(epsilon)) + 1
    with mpmath.workdps(60):
        assert kept == max(1, mpmath.ceil(2**64 * mpmath.exp(-mpmath.mpf(epsilon))))


def test_orders_are_uniform():
    """χ² of 24,000 orders of 4 items."""
    places = local_reports.uniform_places(24_000, 4)
    orders, counts = np.unique(places, axis=0, return_counts=True)
    assert len(orders) == 24
    assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(4), (24, 1)))
    assert stats.chisquare(counts).pvalue > RATE
