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
from privrank_jax.aggregation.private_footrule import dp_footrule_deviation, footrule_scale
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.calibration import gaussian_delta
from privrank_jax.privacy.noise import SHAPED_NOISES
from tests.reference import footrule as reference

PROMISE = Privacy(1.0, unit="user", adjacency="replace", delta=1e-4)


@pytest.mark.parametrize("items", [2, 3, 4])
def test_scales_are_the_least_for_what_one_user_changes(items):
    """All pairs of users, ties and gaps under both rules: the largest change costs ε, or δ with Gaussian noise."""
    rows = reference.weak_orders(items, gaps=True)
    values = [reference.prefixes(row, rule).ravel() for row in rows for rule in ("last", "unknown")]
    moved = np.abs(np.array(values)[:, None] - values)
    scale = {noise: float(footrule_scale(items, PROMISE, noise)) for noise in SHAPED_NOISES}
    assert moved.max() / scale["k-norm"] == pytest.approx(1)
    assert moved.sum(-1).max() / scale["laplace"] == pytest.approx(1)
    length = np.sqrt((moved**2).sum(-1).max())
    delta = float(gaussian_delta(scale["gaussian"], length, 1.0))
    assert delta == pytest.approx(float(PROMISE.delta), rel=1e-2)


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
    deviation = float(dp_footrule_deviation(items, 50, PROMISE, noise=noise))
    np.testing.assert_allclose(released.diagnostics.cost_deviation, deviation, rtol=1e-5)
    assert np.sqrt(np.mean(error**2)) == pytest.approx(deviation, rel=0.02)
    assert released.guarantee.attained.delta.max() == (1e-4 if noise == "gaussian" else 0)


@pytest.mark.parametrize("noise", SHAPED_NOISES)
def test_noise_on_prefix_counts_has_its_law(noise):
    """Its norm, by the stated scale, has a Gamma law of its dimension; of normal numbers the square has."""
    histograms, released = releases(noise, 7)
    errors = np.diff(np.asarray(released.value - footrule_costs(histograms)), axis=2) / 2
    drawn = errors.reshape(len(errors), -1) * 50 / float(footrule_scale(7, PROMISE, noise))
    norm, law = {
        "k-norm": (np.abs(drawn).max(1), stats.gamma(42)),
        "laplace": (np.abs(drawn).sum(1), stats.gamma(42)),
        "gaussian": ((drawn**2).sum(1), stats.chi2(42)),
    }[noise]
    assert stats.kstest(norm, law.cdf).pvalue > 1e-4
    share = np.cov(drawn.T) / drawn.var()
    np.testing.assert_allclose(share, np.eye(42), atol=0.15)


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
        scale = dp_footrule_deviation(items, users, PROMISE, noise=noise)
        scale = float(scale) / (2 * (items**2 - 1) / (3 * items)) ** 0.5
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
        dp_footrule(key, histograms, pure, noise="tree")
    with pytest.raises(ValueError, match="not the histograms"):
        dp_footrule(key, PositionHistograms(histograms.counts, 2), pure)
    with pytest.raises(ValueError, match="unit"):
        dp_footrule(key, histograms, Privacy(1.0, unit="user", adjacency="add-remove"))
    for items, users in ((0, 1), (3, 0)):
        with pytest.raises(ValueError, match="num_"):
            dp_footrule_deviation(items, users, pure)
