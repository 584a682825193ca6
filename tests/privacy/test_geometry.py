"""K-norm noise for simulation: uniform points, gauges, and the law of radius and noise."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax.privacy import geometry
from tests.reference import geometry as naive

ALARM = 1e-6  # at the fixed keys below


def drawn(function, number, seed=0):
    return np.asarray(jax.jit(jax.vmap(function))(jax.random.split(jax.random.key(seed), number)))


@pytest.mark.parametrize("items", [2, 3, 5])
def test_the_gauge_is_the_largest_over_all_cuts(items):
    generator = np.random.default_rng(items)
    pairs = list(itertools.combinations(range(items), 2))
    for _ in range(20):
        point = generator.integers(-9, 10, items)
        point[-1] -= point.sum()
        gauge = float(geometry.zonotope_gauge(point))
        assert np.ceil(gauge - 1e-9) == naive.zonotope_gauge(point, pairs, items)
        mask = np.append(np.ones(items, bool), [False, False])
        padded = np.append(point, [50, -7])
        assert float(geometry.zonotope_gauge(padded, mask)) == pytest.approx(gauge)


@pytest.mark.parametrize(("items", "mask"), [(3, None), (4, None), (6, (1, 0, 1, 1, 0, 1))])
def test_points_are_uniform(items, mask):
    """Against rejection from a box, by four statistics; and the gauge to the power of p is uniform."""
    mask = np.ones(items, bool) if mask is None else np.array(mask, bool)
    real = int(mask.sum())
    points = drawn(lambda key: geometry.uniform_zonotope(key, items, mask), 8_000)
    assert not points[:, ~mask].any()
    points = points[:, mask]
    np.testing.assert_allclose(points.sum(axis=1), 0, atol=1e-9)
    gauges = np.asarray(jax.vmap(geometry.zonotope_gauge)(points))
    assert gauges.max() <= 1 + 1e-12
    assert stats.kstest(gauges ** (real - 1), "uniform").pvalue > ALARM
    box = np.random.default_rng(0).uniform(1 - real, real - 1, (60_000, real - 1))
    box = np.column_stack([box, -box.sum(axis=1)])
    box = box[np.asarray(jax.vmap(geometry.zonotope_gauge)(box)) <= 1]
    for statistic in (
        lambda x: x[:, 0],
        lambda x: x[:, 0] * x[:, 1],
        lambda x: x.min(axis=1),
        lambda x: x[:, 0] - x[:, -1],
    ):
        assert stats.ks_2samp(statistic(points), statistic(box)).pvalue > ALARM
    assert stats.ks_2samp(1.1 * points[:, 0], box[:, 0]).pvalue < 0.05  # it sees a tenth


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_noise_has_its_law(epsilon):
    """Density ∝ e^{-ε‖z‖}: ε‖z‖ has the Gamma law of p; 5 % less noise is seen."""
    found = drawn(lambda key: geometry.zonotope_noise(key, 5, epsilon), 8_000)
    gauges = epsilon * np.asarray(jax.vmap(geometry.zonotope_gauge)(found))
    assert stats.kstest(gauges, "gamma", args=(4,)).pvalue > ALARM
    assert stats.kstest(0.95 * gauges, "gamma", args=(4,)).pvalue < ALARM
    cube = drawn(lambda key: geometry.cube_noise(key, 6, epsilon), 8_000)
    largest = epsilon * np.abs(cube).max(axis=1)
    assert stats.kstest(largest, "gamma", args=(6,)).pvalue > ALARM
    assert stats.kstest(0.95 * largest, "gamma", args=(6,)).pvalue < ALARM
    # A coordinate of the cube: E|z| = (d + 1)/(2ε), and the standard deviation is below (d + 2)/(√3 ε).
    assert np.abs(cube).mean() == pytest.approx(7 / (2 * epsilon), rel=0.03)


def test_less_noise_than_laplace_has():
    """Centered variance of a score over Laplace's 2⌊m²/2⌋²/ε²."""
    for items, share in ((3, 0.62), (5, 0.55), (10, 0.53)):
        found = drawn(lambda key: geometry.zonotope_noise(key, items, 1.0), 8_000)  # noqa: B023
        laplace = 2 * (items**2 // 2) ** 2 * (1 - 1 / items)
        assert found.var() / laplace == pytest.approx(share, abs=0.03)


def test_dtypes_batches_and_limits():
    key = jax.random.key(3)
    assert geometry.zonotope_noise(key, 4, jnp.float32(1.0), dtype=jnp.float32).dtype == jnp.float32
    sweep = jax.vmap(lambda epsilon: geometry.cube_noise(key, 3, epsilon))(jnp.array([0.5, 1.0]))
    np.testing.assert_allclose(sweep[0], 2 * sweep[1])
    assert not geometry.zonotope_noise(key, 4, jnp.inf).any()
    padded = geometry.zonotope_noise(key, 4, 1.0, jnp.array([True, True, False, False]))
    assert padded[2:].tolist() == [0, 0]
    assert padded[0] == -padded[1] != 0
    for call in (
        lambda: geometry.zonotope_noise(key, 1, 1.0),
        lambda: geometry.zonotope_noise(key, 3, 0.0),
        lambda: geometry.zonotope_noise(key, 3, 1.0, [True]),
        lambda: geometry.cube_noise(key, 0, 1.0),
        lambda: geometry.cube_noise(key, 2, -1.0),
    ):
        with pytest.raises(ValueError, match="must"):
            call()
