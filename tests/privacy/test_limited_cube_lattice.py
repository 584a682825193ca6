"""Whole points of the cube cut by a limit, and the largest coordinate of exact noise, against all points."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrank_jax.privacy import limited_cube_lattice as lattice
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.cube_lattice import cube_lattice_reach
from privrank_jax.privacy.limited_cube import MOST_ITEMS, LimitedCube, variance
from privrank_jax.privacy.limited_cube_lattice import limited_cube_reach
from tests.reference import geometry as naive


@pytest.mark.parametrize(("items", "limit"), [(1, 1), (2, 1), (3, 1), (3, 2), (4, 2), (4, 3)])
def test_numbers_of_points(items, limit):
    """Of every radius up to 4, by how many entries are positive and negative."""
    body, gauges = LimitedCube(items, limit), naive.limited_cube_points(items, limit, 4)
    for radius in range(5):
        found = Counter(
            (sum(x != 0 for x in point), sum(x > 0 for x in point))
            for point, gauge in gauges.items()
            if gauge <= radius
        )
        table = lattice.ways(body, radius)
        assert all(table[s][p] == found[s, p] for s in range(items + 1) for p in range(s + 1))
        assert lattice.series(body).count(radius) == found.total()


def test_series():
    assert lattice.Series(LimitedCube(6, 1)).h == [math.comb(6, i) ** 2 for i in range(7)]
    for items, limit in itertools.product(range(1, 13), range(1, 14)):
        body = LimitedCube(items, limit)
        found = lattice.Series(body)  # log-concave
        far = sum(map(sum, lattice.ways(body, 3 * items)))
        assert found.count(3 * items) == far
        if limit >= items:
            assert far == (6 * items + 1) ** items


def test_the_volume_is_that_of_points():
    """Σ h_i is m! times the volume, whose logarithm the law on real numbers knows."""
    from privrank_jax.privacy.limited_cube import _law

    for items, limit in ((4, 2), (20, 3), (60, 20)):
        body = LimitedCube(items, limit)
        log_volume = math.log(sum(lattice.series(body).h)) - math.lgamma(items + 1)
        assert _law(body).log_volume == pytest.approx(log_volume, abs=1e-9)


@pytest.mark.parametrize("numbers", [(1, 4, 109), (1, 1, 1)])  # h = 1, 1, 100 and 1, -2, 1
def test_numbers_that_are_not_log_concave_are_refused(numbers, monkeypatch):
    monkeypatch.setattr(lattice, "ways", lambda body, radius: [[numbers[radius]]])
    with pytest.raises(ArithmeticError, match="log-concave"):
        lattice.Series(LimitedCube(2, 1))


@pytest.mark.parametrize(
    ("items", "limit", "farthest"), [(1, 1, 60), (2, 1, 40), (2, 2, 40), (3, 1, 20), (3, 2, 20)]
)
@pytest.mark.parametrize("rate", [1.5, 2.5, 40.0])
def test_it_is_the_least_reach(items, limit, farthest, rate):
    """By enumeration; what lies farther out has probability below 10^-4."""
    points = np.array(list(itertools.product(range(-farthest, farthest + 1), repeat=items)))
    sums = np.maximum(np.maximum(points, 0).sum(axis=1), np.maximum(-points, 0).sum(axis=1))
    largest = np.abs(points).max(axis=1)
    law = np.bincount(largest, np.exp(-rate * np.maximum(largest, -(-sums // limit))))
    below = np.cumsum(law) / law.sum()
    for level in (0.5, 0.9, 0.95, 0.99):
        found = limited_cube_reach(LimitedCube(items, limit), level, rate)
        assert found == int(np.argmax(below >= level))
    for most in range(4):
        chance = lattice._chance_within(LimitedCube(items, limit), most, rate, 500)
        assert chance == pytest.approx(below[most], abs=1e-9)


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_without_a_limit_it_is_the_cube(rate):
    for items in (1, 7, 30):
        found = limited_cube_reach(LimitedCube(items, items), 0.95, rate)
        assert found == cube_lattice_reach(items, 0.95, rate)


@pytest.mark.parametrize(("items", "limit"), [(4, 1), (10, 3), (30, 2)])
def test_the_bound_for_fine_lattices_is_near_the_sum(items, limit, monkeypatch):
    """And both are near the law on real numbers, whose unit is 1/ρ steps."""
    body, rate = LimitedCube(items, limit), 0.02
    plain = noise_law.reach(body, 0.95) / rate
    exact = limited_cube_reach(body, 0.95, rate)
    monkeypatch.setattr(lattice, "_LONG", 0)
    bound = limited_cube_reach(body, 0.95, rate)
    assert plain - 2 < exact <= bound < 1.02 * plain + 1


@given(st.floats(), st.floats())
def test_what_is_no_level_or_rate_is_refused(level, rate):
    if 0 < level < 1 and 0 < rate < math.inf:
        return
    with pytest.raises(ValueError, match=r"level|rate"):
        limited_cube_reach(LimitedCube(3, 2), level, rate)


def test_noise_on_integers_is_near_that_on_real_numbers():
    """Its variance by all whole points, at ρ = 1/3, within a hundredth."""
    body, rate = LimitedCube(2, 1), 1 / 3
    points = np.array(list(itertools.product(range(-80, 81), repeat=2)))
    sums = np.maximum(np.maximum(points, 0).sum(axis=1), np.maximum(-points, 0).sum(axis=1))
    weights = np.exp(-rate * np.maximum(np.abs(points).max(axis=1), sums))
    found = np.sum(weights * points[:, 0] ** 2) / weights.sum()
    assert found == pytest.approx(variance(body) / rate**2, rel=0.01)


@pytest.mark.slow
def test_series_of_more_items_are_log_concave():
    """Limits above half of the items tell little: their series are nearly that of the cube."""
    for items in (*range(13, 31), 40, 60, MOST_ITEMS):
        for limit in range(1, items // 2 + 2, 1 if items <= 30 else 7):
            lattice.Series(LimitedCube(items, limit))
