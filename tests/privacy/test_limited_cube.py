"""The cube cut by a limit: gauge, uniform points, noise and its law, against rejection from the cube."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privrank_jax.privacy import geometry, noise_law
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.geometry import Cube
from privrank_jax.privacy.limited_cube import MOST_ITEMS, LimitedCube, tail_of_largest, variance
from tests.reference import geometry as naive

ALARM = 1e-6  # at the fixed keys below
BODIES = [(1, 1), (2, 1), (3, 2), (5, 1), (6, 2)]


@functools.cache
def by_rejection(items, limit):
    """Points of the cube that lie in the body, and what share of it they are."""
    box = np.random.default_rng(items).uniform(-1, 1, (400_000, items))
    sums = np.maximum(np.maximum(box, 0).sum(axis=1), np.maximum(-box, 0).sum(axis=1))
    return box[sums <= limit][:50_000]


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=5), st.integers(1, 6))
def test_the_gauge_is_the_largest_over_all_sums(point, limit):
    body = LimitedCube(len(point), limit)
    found = float(body.gauge(jnp.asarray(point, float)))
    assert math.ceil(found - 1e-9) == naive.limited_cube_gauge(point, limit)


@pytest.mark.parametrize(("items", "limit"), BODIES)
def test_points_are_uniform(items, limit):
    body, box = LimitedCube(items, limit), by_rejection(items, limit)
    keys = jax.random.split(jax.random.key(items), 20_000)
    points = np.asarray(jax.jit(jax.vmap(lambda key: geometry.uniform(key, body)))(keys))
    gauges = np.asarray(jax.vmap(body.gauge)(points))
    assert gauges.max() <= 1 + 1e-12
    assert stats.kstest(gauges**items, "uniform").pvalue > ALARM
    for statistic in (
        lambda x: x[:, 0],
        lambda x: x[:, 0] * x[:, -1],
        lambda x: x[:, -1] - x[:, 0],
        lambda x: x.max(axis=1),
        lambda x: np.maximum(x, 0).sum(axis=1),
        lambda x: np.sum(x > 0, axis=1) + 0.5 * np.abs(x[:, 0]),
    ):
        assert stats.ks_2samp(statistic(points), statistic(box)).pvalue > ALARM
    assert stats.ks_2samp(1.1 * points[:, 0], box[:, 0]).pvalue < 1e-3  # it sees a tenth


@pytest.mark.parametrize(("items", "limit"), BODIES)
def test_the_law_is_that_of_points_times_a_radius(items, limit):
    body, box = LimitedCube(items, limit), by_rejection(items, limit)
    square = variance(body) / ((items + 1) * (items + 2))
    error = (box**2).mean(axis=1).std() / len(box) ** 0.5
    assert abs((box**2).mean() - square) < 5 * error
    noise = np.abs(box).max(axis=1) * np.random.default_rng(0).gamma(items + 1, size=len(box))
    for threshold in (0.5, 2.0, 6.0):
        chance = tail_of_largest(body, threshold)
        assert stats.binomtest(int(np.sum(noise > threshold)), len(box), chance).pvalue > ALARM
    assert tail_of_largest(body, noise_law.reach(body, 0.9)) == pytest.approx(0.1)
    assert tail_of_largest(body, 0.0) == 1.0


@pytest.mark.parametrize("items", [1, 4, 40, MOST_ITEMS])
def test_without_a_limit_it_is_the_cube(items):
    body, cube = LimitedCube(items, items + 3), Cube.of_numbers(items)
    assert variance(body) == pytest.approx(noise_law.variances(cube)[0], rel=1e-10)
    assert noise_law.reach(body, 0.95) == pytest.approx(noise_law.reach(cube, 0.95), rel=1e-9)


def test_one_vote_is_the_difference_of_corners_of_a_simplex():
    """For k = 1 a part with p positive entries is a product of two simplices, whose volumes and moments are known."""
    for items in (1, 2, 5, 30, MOST_ITEMS):
        # Volumes 1/p! and 1/(m - p)!, in which an entry has the mean square 2/((p + 1)(p + 2)).
        ways = [math.comb(items, p) ** 2 for p in range(items + 1)]
        squares = sum(2 * w * p / ((p + 1) * (p + 2)) for p, w in enumerate(ways))
        expected = 2 * squares / items / sum(ways)
        found = variance(LimitedCube(items, 1)) / ((items + 1) * (items + 2))
        assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("limit", [1, 3])
def test_the_noise_has_its_law(limit):
    """Density ∝ e^{-‖z‖/scale}: ‖z‖/scale has the Gamma law of m; 5 % less noise is seen."""
    body, scale = LimitedCube(7, limit), 3.0
    keys = jax.random.split(jax.random.key(limit), 10_000)
    draw = jax.jit(jax.vmap(lambda key: Noise("k-norm", scale, body).draw(key, jnp.float32)))
    found = draw(keys)
    assert found.dtype == jnp.float32
    gauges = np.asarray(jax.vmap(body.gauge)(found), float) / scale
    assert stats.kstest(gauges, "gamma", (7,)).pvalue > ALARM
    assert stats.kstest(0.95 * gauges, "gamma", (7,)).pvalue < ALARM
    noise = Noise("k-norm", scale, body)
    assert np.std(found) == pytest.approx(noise.deviation(), rel=0.03)
    assert np.mean(np.abs(found).max(axis=1) <= noise.reach(0.9)) == pytest.approx(0.9, abs=0.02)
    assert not geometry.k_norm(keys[0], body, 0.0).any()


def test_a_limit_lessens_the_noise_of_cube_and_laplace():
    for items in (5, 20, MOST_ITEMS):
        cube = (items + 1) * (items + 2) / 3
        found = [variance(LimitedCube(items, limit)) for limit in range(1, items + 1)]
        assert np.all(np.diff(found) > -1e-9 * cube)
        assert found[-1] == pytest.approx(cube)
        assert all(one < 2 * (2 * k) ** 2 for k, one in enumerate(found, 1))


@given(st.integers(-3, 300), st.integers(-3, 300))
def test_bodies_that_are_none_are_refused(items, limit):
    if 1 <= items <= MOST_ITEMS and limit >= 1:
        assert LimitedCube(items, limit).dimension == items
    else:
        with pytest.raises(ValueError, match=r"num_items|limit"):
            LimitedCube(items, limit)
