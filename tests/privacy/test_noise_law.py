"""The public law of K-norm noise: closed forms against simulation, simulation against closed forms."""

from __future__ import annotations

import functools
import itertools
import math

import jax
import numpy as np
import pytest
from scipy import stats

from privrank_jax.privacy import noise_law
from privrank_jax.privacy.geometry import Cube, Zonotope, k_norm
from tests.exact.graphs import GRAPHS, zonotope
from tests.quick import thorough
from tests.reference import geometry as naive

ALARM = 1e-6  # at the fixed keys below


def noise(body, number=20_000):
    keys = jax.random.split(jax.random.key(7), number)
    return np.asarray(jax.jit(jax.vmap(lambda key: k_norm(key, body, 1.0)))(keys))


def check_reaches(found, body):
    """The share within the reach is the level, up to the simulation's safety; 5 % less reach is too little."""
    for level in (0.5, 0.9, 0.99):
        most = noise_law.reach(body, level)
        sizes = np.abs(found).max(axis=1)
        within = int((sizes <= most).sum())
        assert stats.binomtest(within, sizes.size, level, "less").pvalue > ALARM
        assert (sizes <= 0.93 * most).mean() < level


def test_the_cube():
    body = Cube.of_pairs(4)
    found, real = noise(body).reshape(-1, 16), np.asarray(body.real).ravel()
    for told, one in ((noise_law.variances, np.square), (noise_law.mean_absolute, np.abs)):
        np.testing.assert_allclose(one(found).mean(), np.mean(told(body)), rtol=0.03)
        assert not told(body).ravel()[~real].any()
    check_reaches(found[:, real], body)


@pytest.mark.parametrize("items", [2, thorough(3), thorough(6)])
def test_complete_zonotopes(items):
    mask = np.append(np.ones(items, bool), False)
    body = Zonotope.of_all_pairs(items + 1, mask)
    found = noise(body)
    covariance = noise_law.covariance(body)
    assert not covariance[-1].any()
    np.testing.assert_allclose(covariance.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.diag(covariance), noise_law.variances(body))
    np.testing.assert_allclose(np.cov(found.T), covariance, atol=0.06 * covariance.max())
    one = noise_law.mean_absolute(body)
    np.testing.assert_allclose(np.abs(found).mean(axis=0), one, rtol=0.04)
    check_reaches(found[:, :-1], body)


@pytest.mark.slow
def test_other_zonotopes():
    """Simulated figures lie on the safe side, and close; a component alone has its own law."""
    complete = Zonotope.of_all_pairs(5)
    simulated = Zonotope(complete.lengths)
    exact = noise_law.variances(complete)
    found = noise_law.variances(simulated)
    assert np.all((exact <= found) & (found < 1.15 * exact))
    reaches = [noise_law.reach(body, 0.9) for body in (simulated, complete)]
    assert reaches[0] == pytest.approx(reaches[1], rel=0.03)
    alone = zonotope([(0, 2)] * 3, 4)
    assert 18 <= noise_law.variances(alone)[0] < 20
    for found in (noise_law.variances(alone), noise_law.mean_absolute(alone)):
        assert found[[1, 3]].tolist() == [0, 0]


@functools.cache
def points_of(name):
    """The points of norm up to 12, with their norms."""
    pairs, items = GRAPHS[name]
    points = [(*one, -sum(one)) for one in itertools.product(range(-24, 25), repeat=items - 1)]
    norms = naive.gauges(points, pairs, items).tolist()
    return [(point, norm) for point, norm in zip(points, norms) if norm <= 12]


def exact_reach(name, level, rate, first=None):
    """The least t with P(max|X| <= t) >= level over the first items, by enumeration of the points of norm up to 12."""
    law = {}
    for point, norm in points_of(name):
        most = max(map(abs, point[:first]))
        law[most] = law.get(most, 0.0) + math.exp(-rate * norm)
    below = np.cumsum([law.get(t, 0.0) for t in range(25)]) / sum(law.values())
    return int(np.argmax(below >= level))


@pytest.mark.parametrize("name", ["K2", "K3", "asked again", "path"])
@pytest.mark.parametrize("rate", [1.5, 2.5, 4.0])
def test_reaches_on_the_lattice_are_enough_and_not_far_too_much(name, rate):
    """At these rates, a norm beyond 12 has probability below 10^-5."""
    pairs, items = GRAPHS[name]
    body = Zonotope(zonotope(pairs, items).lengths, complete=name in ("K2", "K3"))
    for level in (0.8, 0.95, 0.999):
        for first in (None, items - 1):  # the last item may stand for "no answer"
            exact = exact_reach(name, level, rate, first)
            found = noise_law.lattice_reach(body, level, rate, first)
            assert exact <= found <= exact + 1.6 * body.lengths.sum(axis=1).max() + 2
            assert found == int(found)


@pytest.mark.parametrize(
    "body", [Zonotope.of_all_pairs(5), Cube.of_pairs(9)], ids=["zonotope", "cube"]
)
def test_reaches_on_fine_lattices_are_those_of_the_plane(body, monkeypatch):
    """By the long sum and by the short bound alike."""
    plain, reaches = noise_law.reach(body, 0.95) / 0.01, []
    for longest in (noise_law._LONG, 0):
        monkeypatch.setattr(noise_law, "_LONG", longest)
        reaches.append(noise_law.lattice_reach(body, 0.95, 0.01))
    assert plain - 1 < reaches[0] <= reaches[1] < 1.01 * plain + 30


def test_kurtosis_and_reach_of_the_first_items():
    """Differences of two items of a cycle and of an item beside it, against draws of the noise itself, whose
    fourth moments have standard errors of about 5 %."""
    body = zonotope([(0, 1), (1, 2), (2, 3), (0, 3), (0, 4)], 6)
    found = noise(body)
    for first in (3, 6):
        part = found[:, :first]
        apart = [part[:, i] - part[:, j] for i in range(first) for j in range(i)]
        columns = [column for column in (*part.T, *apart) if column.any()]
        expected = max(np.mean(column**4) / np.mean(column**2) ** 2 for column in columns)
        assert noise_law.kurtosis(body, first) == pytest.approx(expected, rel=0.18)
        reach = noise_law.reach(body, 0.9, first)
        assert np.mean(np.abs(part).max(axis=1) <= reach) == pytest.approx(0.9, abs=0.01)
    assert noise_law.reach(body, 0.9, 3) < 0.98 * noise_law.reach(body, 0.9)
    alone = zonotope([(1, 2)], 3)
    assert noise_law.reach(alone, 0.9, 1) == noise_law.lattice_reach(alone, 0.9, 1.0, 1) == 0


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("rate", [1.0, 2.5, 40.0])
def test_it_is_the_least_reach_of_a_cube(dimension, rate):
    """By the numbers of points of each size."""
    size = np.arange(200)
    law = np.diff((2.0 * size + 1) ** dimension, prepend=0) * np.exp(-rate * size)
    below = np.cumsum(law) / law.sum()
    for level in (0.5, 0.9, 0.95, 0.99):
        found = noise_law.lattice_reach(Cube.of_numbers(dimension), level, rate)
        assert found == np.argmax(below >= level)


def test_nothing_real_has_no_noise():
    for body in (Zonotope.of_all_pairs(3, [False] * 3), Cube.of_pairs(1)):
        assert noise_law.reach(body, 0.9) == 0
        assert not noise_law.mean_absolute(body).any()
        assert not noise_law.variances(body).any()
    for level, rate in ((1.0, 1.0), (0.9, 0.0), (0.9, math.inf)):
        with pytest.raises(ValueError, match=r"level|rate"):
            noise_law.lattice_reach(Cube.of_numbers(3), level, rate)
    with pytest.raises(ValueError, match="level"):
        noise_law.reach(Cube.of_pairs(3), 1.0)
