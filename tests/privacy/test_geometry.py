"""K-norm noise for simulation: uniform points, gauges, and the law of radius and noise."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax._components import components
from privrank_jax.privacy import geometry
from privrank_jax.privacy.geometry import Cube, Zonotope
from privrank_jax.privacy.noise_law import dimension_of
from tests.exact.graphs import GRAPHS, zonotope
from tests.quick import thorough_but
from tests.reference import geometry as naive

ALARM = 1e-6  # at the fixed keys below
REAL_LENGTHS = np.array([[0, 1, 2, 0], [1, 0, 0.5, 0], [2, 0.5, 0, 3], [0, 0, 3, 0]])


@functools.partial(jax.jit, static_argnums=(0, 2))
def program(function, body, number, seed):
    """One for all bodies of a shape."""
    return jax.vmap(function, (0, None))(jax.random.split(jax.random.key(seed), number), body)


def drawn(function, body, number, seed=0):
    return np.asarray(program(function, body, number, seed))


@pytest.mark.parametrize("items", [2, 3, 5])
def test_the_gauge_is_the_largest_over_all_cuts(items):
    generator = np.random.default_rng(items)
    pairs = list(itertools.combinations(range(items), 2))
    body = Zonotope.of_all_pairs(items)
    mask = np.append(np.ones(items, bool), [False, False])
    padded = Zonotope.of_all_pairs(items + 2, mask)
    for _ in range(20):
        point = generator.integers(-9, 10, items)
        point[-1] -= point.sum()
        gauge = float(geometry.gauge(body, point))
        assert np.ceil(gauge - 1e-9) == naive.zonotope_gauge(point, pairs, items)
        assert float(geometry.gauge(padded, np.append(point, [50, -7]))) == pytest.approx(gauge)
    cube = Cube(jnp.array([[True, False], [True, True]]))
    assert float(geometry.gauge(cube, [[-3.0, 9.0], [1.0, 2.0]])) == 3.0


@pytest.mark.parametrize("name", GRAPHS)
def test_dimensions(name):
    pairs, items = GRAPHS[name]
    body = zonotope(pairs, items)
    assert dimension_of(body) == len(naive.spanning_forests(pairs, items)[0])
    masked = Zonotope.of_all_pairs(5, [True, False, True, True, False])
    assert dimension_of(masked) == dimension_of(Zonotope(masked.lengths)) == 2
    assert dimension_of(Cube.of_pairs(5, [True, False, True, True, False])) == 3


MASK = np.array([1, 0, 1, 1, 0, 1], bool)
BODIES = {
    "three": Zonotope.of_all_pairs(3),
    "masked": Zonotope.of_all_pairs(6, MASK),
    "masked, other way": Zonotope(Zonotope.of_all_pairs(6, MASK).lengths, False),
    "lengths": Zonotope(jnp.asarray(REAL_LENGTHS)),
    "cycle": zonotope(*GRAPHS["cycle"]),
    "path": zonotope(*GRAPHS["path"]),
}


@pytest.mark.parametrize("name", thorough_but(BODIES, "masked", "lengths", "cycle"))
def test_points_are_uniform(name):
    """Against rejection from a box, by four statistics; and the gauge to the power of p is uniform."""
    check_uniform(
        BODIES[name], MASK if "masked" in name else np.ones(len(BODIES[name].lengths), bool)
    )


def check_uniform(body, mask):
    points = drawn(geometry.uniform, body, 8_000)
    assert not points[:, ~mask].any()
    real = int(mask.sum())
    np.testing.assert_allclose(points.sum(axis=1), 0, atol=1e-9)
    most = np.asarray(body.lengths).sum(axis=1)[mask][:-1]
    box = np.random.default_rng(0).uniform(-most, most, (60_000, real - 1))
    padded = np.zeros((len(box), mask.size))
    padded[:, mask] = box = np.column_stack([box, -box.sum(axis=1)])
    everything = np.concatenate([points, padded])  # one program for both
    gauges = naive.cut_gauge(everything, body.lengths)
    gauges, of_box = np.split(gauges, [len(points)])
    assert gauges.max() <= 1 + 1e-12
    assert stats.kstest(gauges ** (real - 1), "uniform").pvalue > ALARM
    points, box = points[:, mask], box[of_box <= 1]
    for statistic in (
        lambda x: x[:, 0],
        lambda x: x[:, 0] * x[:, 1],
        lambda x: x.min(axis=1),
        lambda x: x[:, 0] - x[:, -1],
    ):
        assert stats.ks_2samp(statistic(points), statistic(box)).pvalue > ALARM
    assert stats.ks_2samp(1.1 * points[:, 0], box[:, 0]).pvalue < 0.05  # it sees a tenth


def test_components_are_factors():
    """Two components: the norm is the larger of theirs, and each sums to 0."""
    body = zonotope(*GRAPHS["two components"])
    points = drawn(geometry.uniform, body, 4_000)
    _, group = np.unique(np.asarray(jax.jit(components)(body.lengths)), return_inverse=True)
    sums = points @ np.eye(group.max() + 1)[group]
    np.testing.assert_allclose(sums, 0, atol=1e-12)
    gauges = naive.cut_gauge(points, body.lengths)
    assert stats.kstest(gauges ** dimension_of(body), "uniform").pvalue > ALARM


@pytest.mark.slow
def test_limits():
    key, pairs = jax.random.key(3), Zonotope.of_all_pairs(4)
    assert geometry.k_norm(key, pairs, jnp.float32(1.0), jnp.float32).dtype == jnp.float32
    once, twice = (geometry.k_norm(key, Cube.of_pairs(3), scale) for scale in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2 * once)
    assert np.count_nonzero(once) == 3
    assert not geometry.k_norm(key, pairs, 0.0).any()
    masks = jnp.array([[True, True, False, False], [False, True, False, False]])
    run = jax.vmap(lambda mask: geometry.k_norm(key, Zonotope.of_all_pairs(4, mask), 1.0))
    padded, alone = run(masks)
    assert padded[2:].tolist() == [0, 0]
    assert padded[0] == -padded[1] != 0
    assert alone.tolist() == [0, 0, 0, 0]
    for scale in (-1.0, jnp.inf):
        with pytest.raises(ValueError, match="must"):
            geometry.k_norm(key, pairs, scale)
