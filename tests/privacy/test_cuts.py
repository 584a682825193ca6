"""The largest ratio of demands to cuts, by enumeration and by linear program, against all cuts one by one."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.privacy import cuts
from privrank_jax.privacy.geometry import Zonotope, gauge


def naive_ratio(demands, lengths):
    """Over all sets of items."""
    items, worst = range(len(demands)), 0.0
    for size in range(1, len(demands) + 1):
        for side in itertools.combinations(items, size):
            cut = sum(lengths[i][j] for i in side for j in items if j not in side)
            moved = abs(sum(demands[i] for i in side))
            if not cut and moved > 1e-9:
                return math.inf
            worst = max(worst, moved / cut if cut else 0.0)
    return worst


@pytest.mark.parametrize("seed", range(4))
def test_both_ways_find_the_largest_ratio(seed):
    generator = np.random.default_rng(seed)
    for real in (False, True):
        lengths = np.triu(
            generator.integers(0, 3, (6, 6)) * (1.0 + real * generator.random((6, 6))), 1
        )
        lengths += lengths.T
        for point in (generator.normal(size=6), generator.integers(-3, 4, 6) * 1.0, np.zeros(6)):
            point -= point.mean()
            expected = naive_ratio(point, lengths)
            assert float(
                cuts.largest_ratio(jnp.asarray(point), jnp.asarray(lengths))
            ) == pytest.approx(expected)
            assert cuts._by_program(point, lengths) == pytest.approx(expected)


def test_components_each_have_their_demands():
    lengths = np.kron(np.eye(2), 1 - np.eye(3))
    balanced = np.array([1.0, -1, 0, 4, -2, -2])
    apart = np.array([1.0, 0, 0, -1, 0, 0])
    for ratio in (
        cuts._by_program,
        lambda z, w: float(cuts._enumerated(jnp.asarray(z), jnp.asarray(w))),
    ):
        assert ratio(balanced, lengths) == pytest.approx(naive_ratio(balanced, lengths))
        assert ratio(apart, lengths) == math.inf


def test_many_items_take_the_program():
    generator = np.random.default_rng(0)
    point = generator.normal(size=20)
    point -= point.mean()
    complete = Zonotope.of_all_pairs(20)
    other = Zonotope(complete.lengths)
    assert float(gauge(other, point)) == pytest.approx(float(gauge(complete, point)))
    with pytest.raises(ValueError, match="linear program"):
        jax.jit(lambda z: gauge(other, z))(point)
