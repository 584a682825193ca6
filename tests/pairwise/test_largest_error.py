"""Mean and quantiles of the largest of several normal errors against quadrature and closed forms."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from privrank_jax.pairwise.planner import expected_largest, largest_quantile


def test_two_items_have_one_free_error():
    spread = jnp.array([2.0, 2.0])
    assert float(expected_largest(spread)) == pytest.approx(2 * math.sqrt(2 / math.pi), rel=1e-4)
    assert float(largest_quantile(spread, 0.9)) == pytest.approx(2 * stats.norm.ppf(0.95), rel=1e-5)


def test_more_items_are_the_largest_of_independent_errors():
    spread = np.array([0.5, 1.0, 3.0])

    def below(x):
        return np.prod(2 * stats.norm.cdf(x / spread) - 1)

    mean, _ = integrate.quad(lambda x: 1 - below(x), 0, 40)
    assert float(expected_largest(jnp.asarray(spread))) == pytest.approx(mean, rel=1e-5)
    assert below(float(largest_quantile(jnp.asarray(spread), 0.95))) == pytest.approx(
        0.95, rel=1e-5
    )
