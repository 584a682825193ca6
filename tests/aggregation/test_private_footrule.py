from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import PositionHistograms, dp_footrule
from privrank_jax.aggregation.footrule import assignment, cost_deviation, footrule_costs
from privrank_jax.mechanism import Facts
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.noise import SHAPED_NOISES
from tests.reference import footrule as reference

PROMISE = Privacy(1.0, unit="user", adjacency="replace", delta=1e-4)


@functools.cache
def releases(noise, items):
    """Histograms of 50 users, who leave items out, and 4,000 releases of their costs."""
    ranks = np.random.default_rng(0).integers(-1, items, (50, items))
    histograms = PositionHistograms.from_ranks(ranks, missing="unknown")
    release = jax.jit(jax.vmap(lambda one: dp_footrule(one, histograms, PROMISE, noise=noise)))
    return histograms, release(jax.random.split(jax.random.key(20261120), 4000))


@pytest.mark.parametrize("noise", SHAPED_NOISES)
def test_costs_are_unbiased_with_the_stated_deviation(noise):
    items = 7
    histograms, released = releases(noise, items)
    error = np.asarray(released.value - footrule_costs(histograms))
    np.testing.assert_allclose(error.mean(0), 0, atol=6 * error.std() / 4000**0.5)
    error = error - error.mean(2, keepdims=True)
    scale = float(released.diagnostics.noise_scale[0])
    deviation = float(cost_deviation(items, scale, noise))
    assert np.sqrt(np.mean(error**2)) == pytest.approx(deviation, rel=0.02)
    assert released.guarantee.attained.delta.max() == (1e-4 if noise == "gaussian" else 0)


@pytest.mark.parametrize("noise", SHAPED_NOISES)
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


@pytest.mark.parametrize("noise", SHAPED_NOISES)
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
        scale = float(dp_footrule.scale(PROMISE, Facts(items, users), noise))
        bound = 4 * items * (2 * (items - 1) / np.pi) ** 0.5 * scale
    elif noise == "laplace":
        bound = 8 * items * ((items - 1) / np.pi) ** 0.5 * (items**2 // 2) / users
    else:
        bound = 2 * items * (items - 1) ** 0.5 * (d + 1) / users
    assert 0.3 * bound < ranges.mean() <= bound


def test_without_noise_costs_are_exact_and_one_item_needs_none(key):
    histograms = PositionHistograms.from_ranks([[0, 1, 2], [0, 2, -1]])
    never = Privacy(jnp.inf, unit="user", adjacency="replace")
    np.testing.assert_allclose(
        dp_footrule(key, histograms, never).value, footrule_costs(histograms), atol=1e-6
    )
    alone = dp_footrule(key, PositionHistograms.from_ranks([[0]]), PROMISE)
    assert alone.value.tolist() == [[0.0]]
