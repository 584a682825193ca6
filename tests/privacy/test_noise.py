from __future__ import annotations

import jax
import numpy as np
import pytest
import scipy.stats

from privrank_jax.privacy import noise
from tests.quick import thorough

SAMPLERS = {
    "laplace": (noise.laplace, scipy.stats.laplace),
    "gaussian": (noise.gaussian, scipy.stats.norm),
    "gumbel": (noise.gumbel, scipy.stats.gumbel_r),
}


@pytest.mark.parametrize("dtype", [thorough(np.float32), np.float64])
@pytest.mark.parametrize("name", SAMPLERS)
def test_distribution(name, dtype, key):
    """KS test of 100,000 draws: false-alarm rate 1e-6; a scale 10 % off, either way, is rejected."""
    draw, distribution = SAMPLERS[name]
    sample = draw(key, (100_000,), 3.0, dtype)
    assert sample.dtype == dtype

    def agrees(scale):
        law = distribution(scale=scale).cdf
        return scipy.stats.kstest(np.asarray(sample), law, method="asymp").pvalue > 1e-6

    assert [agrees(scale) for scale in (2.7, 3.0, 3.3)] == [False, True, False]
    np.testing.assert_array_equal(draw(key, (5,), 0.0, dtype), 0.0)
    again = draw(key, (100_000,), 6.0, dtype)
    np.testing.assert_allclose(again, 2 * sample, rtol=1e-6)
    assert not np.any(draw(jax.random.fold_in(key, 1), (5,), 3.0, dtype) == sample[:5])
