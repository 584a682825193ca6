"""Spanning trees: uniform, and the blocks of a graph."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.exact import k_norm
from tests.exact.k_norm_draws import assert_uniform_forests
from tests.reference import geometry as naive


@pytest.mark.parametrize("name", ["K4", "cycle", "asked again", "two components"])
def test_forests_are_uniform(name):
    assert_uniform_forests(name)


def test_blocks_bound_the_weights():
    for dimension, epsilon in ((1, 0.5), (2, 9.0), (9, 1.0), (45, 0.01)):
        law = k_norm._radius(dimension, Fraction(epsilon) / 2)
        weights = naive.radius_law(dimension, epsilon / 2, 6 * law.mode + 4000)
        weights = weights / weights[law.mode]
        right = weights[law.mode :]
        blocks = np.arange(right.size) // law._right
        assert np.all(right <= 2.0**-blocks * (1 + 1e-12))
        left = weights[: law.mode][::-1]
        blocks = np.arange(left.size) // max(law._left, 1)
        assert np.all(left <= 2.0**-blocks * (1 + 1e-12))
