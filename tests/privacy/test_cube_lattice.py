"""The law of the largest coordinate of exact noise in the shape of the cube, against sums over all points."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from privrank_jax.privacy import cube_lattice, noise_law
from privrank_jax.privacy.cube_lattice import cube_lattice_reach
from privrank_jax.privacy.geometry import Cube


@pytest.mark.parametrize(("dimension", "farthest"), [(1, 60), (2, 40), (3, 20)])
@pytest.mark.parametrize("rate", [1.0, 2.5, 40.0])
def test_it_is_the_least_reach(dimension, farthest, rate):
    """By enumeration; what lies farther out has probability below 10^-4."""
    law = np.zeros(farthest + 1)
    for point in itertools.product(range(-farthest, farthest + 1), repeat=dimension):
        largest = max(map(abs, point))
        law[largest] += math.exp(-rate * largest)
    below = np.cumsum(law) / law.sum()
    for level in (0.5, 0.9, 0.95, 0.99):
        assert cube_lattice_reach(dimension, level, rate) == int(np.argmax(below >= level))


@pytest.mark.parametrize("items", [2, 4, 9])
def test_the_bound_for_fine_lattices_is_near_the_sum(items, monkeypatch):
    """And both are near the law on real numbers, whose unit is 1/ρ steps."""
    body = Cube.of_pairs(items)
    dimension, rate = items * (items - 1) // 2, 0.01
    plain = noise_law.reach(body, 0.95) / rate
    exact = cube_lattice_reach(dimension, 0.95, rate)
    monkeypatch.setattr(cube_lattice, "_LONG", 0)
    bound = cube_lattice_reach(dimension, 0.95, rate)
    assert plain - 1 < exact <= bound < plain + 0.01 * plain + 1


def test_what_is_no_level_or_rate_is_refused():
    for level, rate in ((1.0, 1.0), (0.9, 0.0), (0.9, math.inf)):
        with pytest.raises(ValueError, match=r"level|rate"):
            cube_lattice_reach(3, level, rate)
