from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import PositionHistograms, footrule_optimal
from privrank_jax.aggregation.footrule import assignment, footrule_costs
from tests.reference import aggregation as weights_reference
from tests.reference import footrule as reference

RULES = ("last", "unknown")


def crowd(seed, users, items, gaps=0.3, ties=True):
    rng = np.random.default_rng(seed)
    ranks = (
        rng.integers(0, items, (users, items))
        if ties
        else rng.permuted(np.tile(np.arange(items), (users, 1)), axis=1)
    )
    return np.where(rng.random((users, items)) < gaps, -1, ranks)


@pytest.mark.parametrize("missing", RULES)
def test_histograms_and_costs_are_those_of_the_naive_twin(missing):
    for seed, items in ((0, 1), (1, 2), (2, 5), (3, 8), (4, 70)):
        ranks = crowd(seed, 30, items)
        found = PositionHistograms.from_ranks(ranks, missing=missing)
        np.testing.assert_array_equal(found.counts, reference.histograms(ranks, missing))
        assert (found.counts.dtype, found.num_users) == (jnp.int32, 30)
        np.testing.assert_allclose(
            footrule_costs(found), reference.costs(ranks, missing), rtol=1e-6
        )


def test_full_rankings_count_each_place_once():
    counts = PositionHistograms.from_ranks(crowd(0, 50, 6, gaps=0, ties=False)).counts
    assert counts.sum(0).tolist() == counts.sum(1).tolist() == [200] * 6


@pytest.mark.parametrize("missing", RULES)
def test_optimum_is_least_and_its_kemeny_ratio_holds(missing):
    for seed in range(12):
        items, users = 2 + seed % 5, (1, 12, 7, 4, 9)[seed % 5]
        ranks = crowd(seed, users, items, gaps=0.2 * (seed % 3))
        histograms = PositionHistograms.from_ranks(ranks, missing=missing)
        found = footrule_optimal(histograms)
        assert sorted(found.ranks) == list(range(items))
        mean = np.mean([reference.footrule(found.ranks, row, missing) for row in ranks])
        assert found.footrule == pytest.approx(mean, abs=1e-12)
        assert found.footrule == pytest.approx(
            reference.least_cost(reference.costs(ranks, missing)), abs=1e-12
        )
        w = weights_reference.pairwise_weights(ranks, missing)
        score = weights_reference.kemeny_score(found.ranks, w)
        least = weights_reference.least_kemeny_score(w)
        assert found.lower_bound <= least + 1e-12
        assert score <= found.ratio * least + 1e-12
        placed = assignment(footrule_costs(histograms))
        assert sum(reference.costs(ranks, missing)[range(items), placed]) == pytest.approx(
            mean, abs=1e-5
        )


def test_two_items_are_solved_exactly_and_one_costs_nothing():
    ranks = [[0, 1], [1, 0], [1, 0]]
    found = footrule_optimal(PositionHistograms.from_ranks(ranks))
    assert found.ranks.tolist() == [1, 0]
    alone = footrule_optimal(PositionHistograms.from_ranks([[0], [-1]]))
    assert (alone.ranks.tolist(), alone.footrule, alone.ratio) == ([0], 0, 1)


def test_histograms_are_a_pytree_for_batches_and_don_t_show_counts():
    crowds = np.stack([crowd(seed, 9, 4) for seed in range(3)])
    batch = jax.vmap(PositionHistograms.from_ranks)(crowds)
    costs = jax.vmap(footrule_costs)(batch)
    for ranks, one in zip(crowds, costs):
        np.testing.assert_allclose(one, reference.costs(ranks), rtol=1e-6)
    assert repr(batch) == "<PositionHistograms of 4 items; counts not shown>"


@pytest.mark.parametrize(
    ("ranks", "match"),
    [
        (np.zeros((0, 3), int), "at least one of each"),
        ([0, 1, 2], "shape"),
        ([[0.0, 1.0]], "integers"),
        ([[0, 2**31 - 1]], "renumber"),
    ],
)
def test_bad_rankings_are_refused(ranks, match):
    with pytest.raises(ValueError, match=match):
        PositionHistograms.from_ranks(ranks)


def test_bad_histograms_are_refused():
    with pytest.raises(ValueError, match="missing"):
        PositionHistograms.from_ranks([[0, 1]], missing="first")
    good = PositionHistograms.from_ranks([[0, 1]])
    for counts, users, match in (
        ([[4, 0], [0, 4]], 2, "not the histograms"),
        ([[5, -1], [0, 4]], 1, "not the histograms"),
        ([[4.0, 0.0], [0.0, 4.0]], 1, "integers"),
        ([[4, 0]], 1, "square"),
        ([[4, 0], [0, 4]], 0, "num_users"),
    ):
        bad = PositionHistograms(np.array(counts), users)
        for function in (footrule_costs, footrule_optimal):
            with pytest.raises(ValueError, match=match):
                function(bad)
    plain: Any = good.counts
    for function in (footrule_costs, footrule_optimal):
        with pytest.raises(TypeError, match="from_ranks"):
            function(plain)
    with pytest.raises(ValueError, match="traced"):
        jax.jit(lambda one: footrule_optimal(one).footrule)(good)
    with pytest.raises(ValueError, match="exact sums"):
        footrule_optimal(PositionHistograms(np.array([[2**51, 0], [0, 2**51]]), 2**49))
