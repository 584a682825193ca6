"""Padded items and users: counts, costs and rankings of the real ones, and noise of the law for their number."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import PositionHistograms, dp_footrule, footrule_optimal
from privrank_jax.aggregation.footrule import assignment, cost_deviation, footrule_costs
from privrank_jax.mechanism import Facts
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.noise import SHAPED_NOISES
from tests.reference import footrule as reference

PROMISE = Privacy(1.0, unit="user", adjacency="replace", delta=1e-4)
MASK = np.array([True, False, True, True, False, True, True, True, True])
REAL = int(MASK.sum())


def padded(items=9, seed=0):
    """Ranks with ties and gaps of 6 users, 3 more rows that only pad, and which rows and items are real."""
    ranks = np.random.default_rng(seed).integers(-1, items, (9, items))
    users = np.array([1, 0, 1, 1, 1, 0, 1, 0, 1], bool)
    return ranks, users


def histograms_of(ranks, users, mask=MASK, missing="last"):
    """Those of the real users and items, with padding."""
    alone = PositionHistograms.from_ranks(ranks[users][:, mask], missing=missing)
    counts = np.zeros((len(mask), len(mask)), np.int32)
    counts[mask, : mask.sum()] = alone.counts
    return PositionHistograms(counts, int(users.sum()), mask)


@pytest.mark.parametrize("missing", ["last", "unknown"])
@pytest.mark.parametrize("items", [9, 70])
def test_counts_are_those_of_real_users(items, missing):
    """Up to 64 items and beyond, positions are found in two ways."""
    ranks, users = padded(items)
    found = PositionHistograms.from_ranks(ranks, missing=missing, users=users)
    assert int(found.num_users) == 6
    np.testing.assert_array_equal(found.counts, reference.histograms(ranks[users], missing))


def ranking(costs):
    return np.asarray(assignment(costs))


def test_padded_items_are_last_and_real_ones_ranked_as_without_them():
    ranks, users = padded()
    found = histograms_of(ranks, users)
    alone = footrule_costs(PositionHistograms.from_ranks(ranks[users][:, MASK]))
    costs = np.asarray(footrule_costs(found))
    np.testing.assert_allclose(costs[MASK][:, :REAL], alone, atol=1e-6)
    places = ranking(costs)
    assert places[~MASK].tolist() == [REAL, REAL + 1]
    spent = np.asarray(alone)[np.arange(REAL), places[MASK]].sum()
    assert spent == pytest.approx(reference.least_cost(np.asarray(alone)), abs=1e-5)


@pytest.mark.parametrize("noise", SHAPED_NOISES)
def test_one_program_serves_worlds_of_all_sizes(key, noise):
    """Batched over masks, users and ranks: each world as alone; with next to no noise the best of real items."""
    ranks, users = padded()
    masks = np.stack([np.arange(9) < real for real in (2, 3, 6, 7, 9)] + [MASK])
    sure = Privacy(1e6, unit="user", adjacency="replace", delta=1e-4)

    def world(key, histograms):
        released = dp_footrule(key, histograms, sure, noise=noise)
        return released.value, released.diagnostics.noise_scale

    keys = jax.random.split(key, len(masks))
    rows = np.stack([np.roll(users, shift) for shift in range(len(masks))])
    worlds = [histograms_of(ranks, row, mask, "unknown") for mask, row in zip(masks, rows)]
    batch = jax.tree.map(lambda *each: jnp.stack([*map(jnp.asarray, each)]), *worlds)
    values, deviations = jax.jit(jax.vmap(world))(keys, batch)
    single = jax.jit(world)
    for place, (mask, row) in enumerate(zip(masks, rows)):
        alone, _ = single(keys[place], worlds[place])
        np.testing.assert_allclose(values[place], alone, rtol=1e-4, atol=1e-4)
        costs = reference.costs(ranks[row][:, mask], "unknown")
        real = int(mask.sum())
        np.testing.assert_allclose(np.asarray(values[place])[mask][:, :real], costs, atol=0.02)
        placed = ranking(values[place])
        assert placed[~mask].tolist() == list(range(real, 9))
        wanted = float(dp_footrule.scale(sure, Facts(real, int(row.sum())), noise))
        assert float(deviations[place]) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("noise", SHAPED_NOISES)
def test_noise_has_the_deviation_for_the_number_of_real_items(key, noise):
    """And is 0 elsewhere; costs are unbiased and reveal nothing but noisy counts."""
    ranks, users = padded()
    histograms = histograms_of(ranks, users, missing="unknown")
    keys = jax.random.split(key, 4000)
    release = jax.jit(jax.vmap(lambda one: dp_footrule(one, histograms, PROMISE, noise=noise)))
    values = np.asarray(release(keys).value)[:, MASK][:, :, :REAL]
    np.testing.assert_allclose(values[..., 0] + values[..., -1], REAL - 1, atol=2e-3)
    error = values - np.asarray(footrule_costs(histograms))[MASK][:, :REAL]
    np.testing.assert_allclose(error.mean(0), 0, atol=6 * error.std() / 4000**0.5)
    error = error - error.mean(2, keepdims=True)
    scale = float(dp_footrule.scale(PROMISE, Facts(REAL, 6), noise))
    wanted = float(cost_deviation(REAL, scale, noise))
    assert np.sqrt(np.mean(error**2)) == pytest.approx(wanted, rel=0.02)


def test_one_item_and_no_noise(key):
    alone = PositionHistograms.from_ranks([[0]])
    assert dp_footrule(key, alone, PROMISE).value.tolist() == [[0.0]]
    ranks, users = padded()
    histograms = histograms_of(ranks, users)
    never = Privacy(jnp.inf, unit="user", adjacency="replace")
    np.testing.assert_allclose(
        dp_footrule(key, histograms, never).value, footrule_costs(histograms), atol=1e-5
    )


def test_what_does_not_fit_is_refused(key):
    ranks, users = padded()
    short: Any = [True]
    with pytest.raises(ValueError, match="users must have shape"):
        PositionHistograms.from_ranks(ranks, users=short)
    with pytest.raises(ValueError, match="num_users"):
        PositionHistograms.from_ranks(ranks, users=np.zeros(9, bool))
    histograms = histograms_of(ranks, users)
    others = PositionHistograms(histograms.counts, histograms.num_users, jnp.roll(MASK, 1))
    with pytest.raises(ValueError, match="not the histograms"):
        dp_footrule(key, others, PROMISE)
    with pytest.raises(ValueError, match="no padding"):
        footrule_optimal(histograms)
