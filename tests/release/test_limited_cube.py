"""Exact noise in the shape of the cube cut by a limit: uniform whole points, its law, and what neighbors lose."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.privacy.limited_cube import LimitedCube
from privrank_jax.privacy.limited_cube_lattice import limited_cube_reach, series
from privrank_jax.release import limited_cube
from privrank_jax.release.limited_cube import (
    discrete_limited_cube,
    limited_cube_noise,
    uniform_whole_point,
)
from tests.reference import geometry as naive
from tests.reference import scores as ballots_of
from tests.release.laws import LESS, RATE, assert_shares


def counted(draws, points):
    """How often each point was drawn; all draws are points."""
    found = Counter(tuple(draw.tolist()) for draw in draws)
    assert set(found) <= set(points)
    return [found[point] for point in points]


@pytest.mark.parametrize(
    ("items", "limit", "radius"), [(1, 1, 4), (3, 1, 2), (3, 2, 2), (4, 1, 1), (4, 2, 1), (2, 5, 2)]
)
def test_whole_points_are_drawn_equally_often(items, limit, radius):
    points = list(naive.limited_cube_points(items, limit, radius))
    body = LimitedCube(items, limit)
    draws = [uniform_whole_point(body, radius) for _ in range(60 * len(points))]
    assert_shares(counted(draws, points), np.full(len(points), 1 / len(points)))


@pytest.mark.parametrize(
    ("limit", "radius", "number", "boxed"),
    [(3, 4, 4, True), (2, 6, 3, True), (2, 3, 2, True), (2, 5, 3, False), (2, 3, 4, False)],
)
def test_entries_of_a_sign_are_uniform_from_either_set(limit, radius, number, boxed):
    assert (radius**number <= math.comb(radius * limit, number)) == boxed
    box = itertools.product(range(1, radius + 1), repeat=number)
    every = [x for x in box if sum(x) <= radius * limit]
    draws = [limited_cube._entries(limit, radius, number) for _ in range(200 * len(every))]
    assert_shares(counted(draws, every), np.full(len(every), 1 / len(every)))


def log_law(items, limit, rate, reach):
    """Log probabilities of all points within reach, up to a constant: e^{-rate·M}, M by all sums."""
    return {
        point: -rate * gauge
        for point, gauge in naive.limited_cube_points(items, limit, reach).items()
    }


@pytest.mark.parametrize(("items", "limit"), [(3, 1), (3, 2), (4, 1)])
@pytest.mark.parametrize("most", [1, 2])
def test_neighbors_lose_epsilon_and_no_more(items, limit, most):
    """All pairs of ballots at all outputs within reach; with 5 % less noise they lose more than ε."""
    ballots = ballots_of.ballots(items, most, limit)
    moves = {tuple(np.subtract(one, other).tolist()) for one in ballots for other in ballots}

    def worst(rate):
        law = log_law(items, limit, rate, 3)
        near = (
            abs(law[point] - law[moved])
            for point in law
            for move in moves
            if (moved := tuple(np.add(point, move).tolist())) in law
        )
        return max(near)

    epsilon = 0.8
    assert worst(epsilon / most) == pytest.approx(epsilon)
    assert worst(epsilon / (most * LESS)) > epsilon


@pytest.mark.parametrize(("items", "limit", "rate"), [(2, 1, 1.0), (3, 1, 2.0), (3, 2, 3.0)])
def test_draws_have_the_law(items, limit, rate):
    """Points by their probabilities, with those beyond a reach of 4 as one; 5 % less noise is another law."""
    body, points = LimitedCube(items, limit), naive.limited_cube_points(items, limit, 4)
    add_noise, _ = discrete_limited_cube(body, 2, 2 * rate)
    draws = [add_noise(np.arange(items)) - np.arange(items) for _ in range(6000)]
    found = Counter(tuple(draw.tolist()) for draw in draws)

    def law(at):
        radii = np.arange(400)
        total = -math.expm1(-at) * sum(series(body).count(r) * math.exp(-at * r) for r in radii)
        inside = [math.exp(-at * gauge) / total for gauge in points.values()]
        return [*inside, 1 - sum(inside)]

    observed = [found[point] for point in points]
    observed.append(len(draws) - sum(observed))
    assert_shares(observed, law(rate))
    with pytest.raises(AssertionError):
        assert_shares(10 * np.round(len(draws) * np.array(law(rate * 0.8))), law(rate), RATE)


@pytest.mark.parametrize(("items", "limit"), [(12, 2), (30, 8), (60, 1)])
def test_noise_of_many_items_stays_within_the_reach(items, limit):
    """Of 400 draws, all items stay within the reach of 0.9 as often as that says, and gauges are as large as said."""
    body = LimitedCube(items, limit)
    most = limited_cube_reach(body, 0.9, 0.5)
    draws = [np.abs(limited_cube_noise(body, Fraction(1, 2))).max() for _ in range(400)]
    within = np.mean(np.array(draws) <= most)
    assert (
        -5 * (0.09 / 400) ** 0.5 < within - 0.9 < 5 * (0.09 / 400) ** 0.5 + 0.05
    )  # it is a whole number
    gauges = [float(body.gauge(limited_cube_noise(body, Fraction(1, 2)))) for _ in range(200)]
    # ‖X‖ is nearly Gamma(m)/ρ, of deviation √m/ρ; a step of the lattice moves it by less than 1.
    assert np.mean(gauges) == pytest.approx(2 * items, abs=5 * 2 * (items / 200) ** 0.5 + 1)


def test_the_mechanism_adds_noise_of_its_scale():
    body = LimitedCube(3, 2)
    add_noise, scale = discrete_limited_cube(body, 2, 1e4)
    assert scale == 2e-4
    assert add_noise(np.array([5, 0, -7])).tolist() == [5.0, 0.0, -7.0]
    with pytest.raises(ValueError, match="64 bits"):
        discrete_limited_cube(body, 1, 1e-18)
