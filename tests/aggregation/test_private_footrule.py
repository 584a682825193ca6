from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax.aggregation import PositionHistograms, dp_footrule
from privrank_jax.aggregation.assignments import assignment
from privrank_jax.aggregation.footrule import footrule_costs
from privrank_jax.aggregation.footrule_levels import tree_levels
from privrank_jax.aggregation.private_footrule import (
    FOOTRULE_NOISES,
    dp_footrule_deviation,
    level_noises,
)
from privrank_jax.privacy import Privacy
from tests.reference import footrule as reference

PROMISE = Privacy(1.0, unit="user", adjacency="replace", delta=1e-4)


def drawn(key, draws, items, levels):
    """So many draws of the noise of each level, ``(draws, items, cuts)``."""
    draw = jax.jit(jax.vmap(lambda keys: level_noises(keys, items, levels, jnp.float32)))
    return map(np.asarray, draw(jax.random.split(key, (draws, len(levels)))))


@pytest.mark.parametrize(("items", "branching"), [(4, (4,)), (4, (2, 2)), (6, (2, 3))])
def test_noise_of_a_level_has_its_law(key, items, branching):
    """The gauge has the law Gamma(d), and is independent of a uniform place; entries have the stated variance."""
    levels = tree_levels(items, branching)
    for level, noise in zip(levels, drawn(key, 4000, items, levels)):
        nodes = range(level.nodes.max() + 1)
        largest = np.stack([np.abs(noise[..., level.nodes == n]).max(-1) for n in nodes], -1)
        gauge = largest.sum(-1).max(-1)
        dimension, cuts = items * len(level.nodes), len(level.nodes)
        assert stats.kstest(gauge, stats.gamma(dimension).cdf).pvalue > 1e-4
        size = np.bincount(level.nodes)[level.nodes]
        variance = (dimension + 1) * (dimension + 2) * (size + 1) * (size + 2)
        variance = variance / (3 * (cuts + 1) * (cuts + 2))
        np.testing.assert_allclose((noise**2).mean((0, 1)), variance, rtol=0.08)
        # In a row, given that the point is in K: Σ of the largest entries over the radius has the law Beta(k, 1).
        uniform = largest.sum(-1)[:, 0] / gauge
        inside = uniform[np.argmax(largest.sum(-1), axis=1) != 0]
        assert stats.kstest(inside, stats.beta(cuts, 1).cdf).pvalue > 1e-4
        # Entries of a node over the largest one are those of a uniform point of a cube.
        first = noise[:, 0, level.nodes == 0]
        if first.shape[1] == 2:
            sides = np.abs(first).min(1) / np.abs(first).max(1)
            assert stats.kstest(sides, "uniform").pvalue > 1e-4


def test_noise_of_two_nodes_is_that_of_points_rejected_from_a_cube(key):
    """One row in ℓ₁ of ℓ_∞ of 1 and 2 cuts; the second entry over the gauge, against plain rejection."""
    level = tree_levels(5, (2, 3))[1]
    assert np.bincount(level.nodes).tolist() == [1, 2]
    noise = next(drawn(key, 6000, 1, (level,)))[:, 0]
    noise = noise / (np.abs(noise[:, 0]) + np.abs(noise[:, 1:]).max(1))[:, None]
    points = np.random.default_rng(5).uniform(-1, 1, (60000, 3))
    size = np.abs(points[:, 0]) + np.abs(points[:, 1:]).max(1)
    points = (points / size[:, None])[size <= 1]
    for column in range(3):
        found: Any = stats.ks_2samp(noise[:, column], points[:, column])
        assert found.pvalue > 1e-4


@functools.cache
def releases(noise, items):
    """Histograms of 50 users, who leave items out, and 4,000 releases of their costs."""
    ranks = np.random.default_rng(0).integers(-1, items, (50, items))
    histograms = PositionHistograms.from_ranks(ranks, missing="unknown")
    release = jax.jit(jax.vmap(lambda one: dp_footrule(one, histograms, PROMISE, noise=noise)))
    return histograms, release(jax.random.split(jax.random.key(20261120), 4000))


@pytest.mark.parametrize("noise", FOOTRULE_NOISES)
def test_costs_are_unbiased_with_the_stated_deviation(noise):
    items = 7
    histograms, released = releases(noise, items)
    error = np.asarray(released.value - footrule_costs(histograms))
    np.testing.assert_allclose(error.mean(0), 0, atol=6 * error.std() / 4000**0.5)
    error = error - error.mean(2, keepdims=True)
    deviation = float(dp_footrule_deviation(items, 50, PROMISE, noise=noise))
    np.testing.assert_allclose(released.diagnostics.cost_deviation, deviation, rtol=1e-5)
    assert np.sqrt(np.mean(error**2)) == pytest.approx(deviation, rel=0.02)
    assert released.guarantee.attained.delta.max() == (1e-4 if noise == "gaussian" else 0)


@pytest.mark.parametrize("noise", FOOTRULE_NOISES)
@pytest.mark.parametrize("items", [5, 7])
def test_costs_reveal_nothing_but_noisy_counts(noise, items):
    """In a row the costs are a function of m - 1 noisy counts: the first and the last one add up to m - 1.

    And no linear combination of costs that the counts leave free goes without noise: the covariance has rank m - 1.
    """
    values = np.asarray(releases(noise, items)[1].value)
    np.testing.assert_allclose(values[..., 0] + values[..., -1], items - 1, atol=1e-9)
    for item in range(items):
        size = np.linalg.eigvalsh(np.cov(values[:, item].T))
        assert size[0] < 1e-9 * size[-1] < size[1]


@pytest.mark.parametrize("noise", ["tree", "gaussian"])
def test_errors_of_rankings_obey_the_theorem(key, noise):
    """C(σ̃) - C(σ) is at most the sum of ranges, whose mean is at most the stated bound."""
    items, users = 5, 40
    ranks = np.random.default_rng(1).permuted(np.tile(np.arange(items), (users, 1)), axis=1)
    histograms = PositionHistograms.from_ranks(ranks)
    costs = np.asarray(footrule_costs(histograms))
    release = jax.vmap(lambda one: dp_footrule(one, histograms, PROMISE, noise=noise).value)
    noisy = np.asarray(release(jax.random.split(key, 500)))
    ranges = np.ptp(noisy - costs, axis=2).sum(1)
    placed = np.asarray(jax.vmap(assignment)(noisy))
    spent = costs[np.arange(items), placed].sum(1)
    assert np.all(spent <= reference.least_cost(costs) + ranges + 1e-4)
    d = items * (items - 1)
    if noise == "gaussian":
        scale = dp_footrule_deviation(items, users, PROMISE, noise=noise)
        scale = float(scale) / (2 * (items**2 - 1) / (3 * items)) ** 0.5
        bound = 4 * items * (2 * (items - 1) / np.pi) ** 0.5 * scale
    else:
        bound = 4 * items * ((items - 1) / 3) ** 0.5 * (d + 1) / users
    assert 0.3 * bound < ranges.mean() <= bound


def test_without_noise_costs_are_exact_and_one_item_needs_none(key):
    histograms = PositionHistograms.from_ranks([[0, 1, 2], [0, 2, -1]])
    never = Privacy(jnp.inf, unit="user", adjacency="replace")
    np.testing.assert_allclose(
        dp_footrule(key, histograms, never).value, footrule_costs(histograms), atol=1e-6
    )
    alone = dp_footrule(key, PositionHistograms.from_ranks([[0]]), PROMISE)
    assert alone.value.tolist() == [[0.0]]
    assert float(dp_footrule_deviation(1, 5, PROMISE, noise="gaussian")) == 0


def test_what_can_t_be_promised_is_refused(key):
    histograms = PositionHistograms.from_ranks([[0, 1, 2]])
    pure = Privacy(1.0, unit="user", adjacency="replace")
    plain: Any = histograms.counts
    with pytest.raises(TypeError, match="from_ranks"):
        dp_footrule(key, plain, pure)
    with pytest.raises(ValueError, match="delta > 0"):
        dp_footrule(key, histograms, pure, noise="gaussian")
    with pytest.raises(ValueError, match="noise"):
        dp_footrule(key, histograms, pure, noise="laplace")
    with pytest.raises(ValueError, match="not the histograms"):
        dp_footrule(key, PositionHistograms(histograms.counts, 2), pure)
    with pytest.raises(ValueError, match="unit"):
        dp_footrule(key, histograms, Privacy(1.0, unit="user", adjacency="add-remove"))
    for items, users in ((0, 1), (3, 0)):
        with pytest.raises(ValueError, match="num_"):
            dp_footrule_deviation(items, users, pure)
