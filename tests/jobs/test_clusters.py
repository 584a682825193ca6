"""Intervals without privacy: users, not their answers, are independent."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.jobs import certainty
from tests.jobs.released import released

ITEMS = "abc"


def lines(users=40, each=8, seed=0):
    """Users who nearly always agree with themselves, and ties."""
    draw = np.random.default_rng(seed)
    found = []
    for user in range(users):
        order = list(draw.permutation(list(ITEMS))) if user % 2 else list(ITEMS)
        for _ in range(each):
            one, other = sorted(draw.choice(3, 2, replace=False))
            found.append(f"u{user},{order[one]},{order[other]},{int(draw.random() < 0.2)}")
    return found


@pytest.fixture
def crowd(write):
    return write(*lines(), header="user,winner,loser,tie")


def fit(path, **read):
    return released(path, epsilon=None, read=read)


def half_widths(result):
    ends = result.certainty.intervals
    return (ends["high"] - ends["low"]) / 2


def test_errors_are_clustered_by_user_where_a_file_names_users(crowd):
    """Their numbers are those of the library, as ``test_weights`` says."""
    found = fit(crowd)
    assert found.facts["clusters"] == 40
    assert any("clustered by user (40 users)" in note for note in found.notes)
    assert "not the answers of one" in found.certainty.words
    assert np.all(half_widths(found) > 1.3 * half_widths(fit(crowd, user=None)))


def test_single_answers_and_a_single_user_stay_as_they_were(write):
    alone = [f"u{k},{line.partition(',')[2]}" for k, line in enumerate(lines())]
    one = [f"u,{line.partition(',')[2]}" for line in lines()]
    for rows in (alone, one):
        path = write(*rows, header="user,winner,loser,tie")
        found = fit(path)
        assert "clusters" not in found.facts
        np.testing.assert_allclose(half_widths(found), half_widths(fit(path, user=None)))


def test_rankings_are_clusters_of_their_pairs(write):
    path = write(*["a,b,c"] * 9, *["b,c,a"] * 5, *["c,b,a"] * 4, header="rank_1,rank_2,rank_3")
    assert fit(path, user=None).facts["clusters"] == 18


def test_too_many_rows_count_as_independent(crowd, monkeypatch):
    monkeypatch.setattr(certainty, "_MOST_CLUSTERED", 10)
    found = fit(crowd)
    assert "clusters" not in found.facts
    assert any("independent" in note for note in found.notes)
