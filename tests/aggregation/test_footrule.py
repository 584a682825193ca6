"""Position histograms, their costs and best rankings, also of padded crowds, and the noise of costs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import PositionHistograms, dp_footrule, footrule_optimal
from privrank_jax.aggregation.footrule import assignment, cost_deviation, footrule_costs
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.noise import SHAPED_NOISES
from tests.quick import thorough
from tests.reference import aggregation as weights_reference
from tests.reference import footrule as reference

RULES = ("last", "unknown")
MASK = np.array([True, False, True, True, False, True, True, True, True])


def crowd(seed, users, items, gaps=0.3):
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, items, (users, items))
    return np.where(rng.random((users, items)) < gaps, -1, ranks)


@pytest.mark.parametrize("missing", [thorough("last"), "unknown"])
@pytest.mark.parametrize("items", [thorough(1), thorough(5), 70])
def test_histograms_and_costs_are_those_of_the_naive_twin(missing, items):
    """Of all users, and of those that are real; up to 64 items and beyond, positions are found in two ways."""
    ranks, users = crowd(items, 30, items), np.arange(30) % 3 < 2
    for found, rows in (
        (PositionHistograms.from_ranks(ranks, missing=missing), ranks),
        (PositionHistograms.from_ranks(ranks, missing=missing, users=users), ranks[users]),
    ):
        np.testing.assert_array_equal(found.counts, reference.histograms(rows, missing))
        assert (found.counts.dtype, int(found.num_users)) == (jnp.int32, len(rows))
        wanted = reference.costs(rows, missing)
        np.testing.assert_allclose(footrule_costs(found), wanted, rtol=1e-6)


@pytest.mark.parametrize("missing", RULES)
def test_optimum_is_least_and_its_kemeny_ratio_holds(missing):
    for seed in range(12):
        items, users = ((2, 1), (4, 12), (6, 7))[seed % 3]
        ranks = crowd(seed, users, items, gaps=0.2 * (seed // 3 % 3))
        histograms = PositionHistograms.from_ranks(ranks, missing=missing)
        found, costs = footrule_optimal(histograms), reference.costs(ranks, missing)
        assert sorted(found.ranks) == list(range(items))
        mean = np.mean([reference.footrule(found.ranks, row, missing) for row in ranks])
        assert found.footrule == pytest.approx(mean, abs=1e-12)
        assert found.footrule == pytest.approx(reference.least_cost(costs), abs=1e-12)
        w = weights_reference.pairwise_weights(ranks, missing)
        score = weights_reference.kemeny_score(found.ranks, w)
        least = weights_reference.least_kemeny_score(w)
        assert found.lower_bound <= least + 1e-12
        assert score <= found.ratio * least + 1e-12
    alone = footrule_optimal(PositionHistograms.from_ranks([[0], [-1]], missing=missing))
    assert (alone.ranks.tolist(), alone.footrule, alone.ratio) == ([0], 0, 1)


def test_histograms_are_a_pytree_for_batches_and_don_t_show_counts():
    crowds = np.stack([crowd(seed, 9, 4) for seed in range(3)])
    batch = jax.vmap(PositionHistograms.from_ranks)(crowds)
    for ranks, one in zip(crowds, jax.vmap(footrule_costs)(batch)):
        np.testing.assert_allclose(one, reference.costs(ranks), rtol=1e-6)
    assert repr(batch) == "<PositionHistograms of 4 items; counts not shown>"


def test_padded_items_are_last_and_real_ones_ranked_as_without_them(key):
    alone = PositionHistograms.from_ranks(crowd(0, 6, int(MASK.sum())))
    counts = np.zeros((9, 9), np.int32)
    counts[MASK, : MASK.sum()] = alone.counts
    padded = PositionHistograms(counts, 6, MASK)
    costs, real = np.asarray(footrule_costs(padded)), np.asarray(footrule_costs(alone))
    np.testing.assert_allclose(costs[MASK][:, : len(real)], real, atol=1e-6)
    places = np.asarray(assignment(costs))
    assert places[~MASK].tolist() == [7, 8]
    spent = real[np.arange(7), places[MASK]].sum()
    assert spent == pytest.approx(reference.least_cost(real), abs=1e-5)
    promise = Privacy(1.0, unit="user", adjacency="replace")

    @jax.jit
    def scale(mask):
        return dp_footrule(key, PositionHistograms(counts, 6, mask), promise).diagnostics

    stated = float(dp_footrule.scale(promise, Facts(7, 6)))
    assert float(scale(MASK).noise_scale) == pytest.approx(stated, rel=1e-5)
    with pytest.raises(ValueError, match="no padding"):
        footrule_optimal(padded)
    others = PositionHistograms(counts, 6, np.roll(MASK, 1))
    with pytest.raises(ValueError, match="histograms"):
        dp_footrule(key, others, promise)


@pytest.mark.parametrize("noise", SHAPED_NOISES)
@pytest.mark.parametrize("items", [5, thorough(7)])
def test_costs_are_unbiased_with_the_stated_deviation_and_reveal_nothing_but_noisy_counts(
    noise, items, key
):
    """4,000 releases. In a row the costs are a function of m - 1 noisy counts, none of which goes without noise."""
    promise = Privacy(1.0, unit="user", adjacency="replace", delta=1e-4)
    histograms = PositionHistograms.from_ranks(crowd(0, 50, items), missing="unknown")
    release = jax.jit(jax.vmap(lambda one: dp_footrule(one, histograms, promise, noise=noise)))
    released = release(jax.random.split(key, 4000))
    values = np.asarray(released.value)
    np.testing.assert_allclose(values[..., 0] + values[..., -1], items - 1, atol=1e-9)
    for item in range(items):
        size = np.linalg.eigvalsh(np.cov(values[:, item].T))
        assert size[0] < 1e-9 * size[-1] < size[1]
    error = values - np.asarray(footrule_costs(histograms))
    np.testing.assert_allclose(error.mean(0), 0, atol=6 * error.std() / 4000**0.5)
    error = error - error.mean(2, keepdims=True)
    scale = float(released.diagnostics.noise_scale[0])
    deviation = float(cost_deviation(items, scale, noise))
    assert np.sqrt(np.mean(error**2)) == pytest.approx(deviation, rel=0.02)
