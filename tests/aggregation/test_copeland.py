from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax.aggregation import copeland
from privrank_jax.aggregation.majority_rules import copeland_scores
from privrank_jax.rankings import ranks_from_scores
from tests.reference import aggregation as reference


@pytest.mark.parametrize("kind", reference.KINDS)
def test_scores_count_majorities(kind):
    batch = reference.tournaments(kind, 20, 6)
    scores = jax.vmap(copeland_scores)(batch)
    for w, row in zip(batch, scores):
        expected = [sum((w[i] > w[:, i]) + 0.5 * (w[i] == w[:, i])) - 0.5 for i in range(6)]
        np.testing.assert_array_equal(row, expected)
    assert copeland_scores(batch[0].astype(np.float32)).dtype == np.float32


def test_consistent_majorities_are_ranked_as_kemeny_ranks_them():
    rng = np.random.default_rng(0)
    for _ in range(20):
        ranks = rng.permutation(5)
        w = np.where(
            ranks[:, None] < ranks, *rng.uniform([[[0.51]], [[0]]], [[[1]], [[0.49]]], (2, 5, 5))
        )
        np.fill_diagonal(w, 0)
        np.testing.assert_array_equal(copeland(w), ranks)
        least = reference.least_kemeny_score(w)
        assert reference.kemeny_score(ranks, w) == pytest.approx(least)


def test_ties_go_by_index_or_at_random(key):
    cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], float)
    assert copeland(cycle).tolist() == [0, 1, 2]
    drawn = jax.vmap(lambda k: ranks_from_scores(copeland_scores(cycle), key=k))(
        jax.random.split(key, 300)
    )
    # Each item is first with probability 1/3: 5 standard errors are 41.
    np.testing.assert_allclose(np.bincount(np.argmin(drawn, axis=1)), [100] * 3, atol=41)


def test_masked_items_come_last_and_count_for_nobody():
    w = reference.tournaments("uniform", 1, 6)[0]
    mask = np.array([True, False, True, True, False, True])
    ranks = copeland(w, mask)
    assert ranks[mask].tolist() == copeland(w[np.ix_(mask, mask)]).tolist()
    assert ranks[~mask].tolist() == [4, 5]


@pytest.mark.parametrize(
    "w", [np.zeros((2, 3)), np.zeros(3), np.zeros((0, 0)), np.zeros((2, 3, 3))]
)
def test_bad_shapes_are_refused(w):
    with pytest.raises(ValueError, match=r"must be a square|no items|must have shape"):
        copeland(w)
