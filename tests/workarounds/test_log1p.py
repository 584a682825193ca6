"""log(1 - x²) against 30 digits, also where XLA's log1p loses some."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from privrank_jax._workarounds.log1p import log_one_minus_square

VALUES = np.concatenate(
    [np.linspace(1e-9, 1 - 1e-9, 500), np.linspace(0.49, 0.51, 100), np.linspace(0.6, 0.7, 300)]
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_digits(dtype):
    values = VALUES.astype(dtype)
    found = np.asarray(jax.jit(log_one_minus_square)(values))
    assert found.dtype == dtype
    with mpmath.workdps(30):
        exact = [float(mpmath.log1p(-(mpmath.mpf(float(x)) ** 2))) for x in values]
    np.testing.assert_allclose(found, exact, rtol=8 * np.finfo(dtype).eps)


def test_the_ends():
    assert float(log_one_minus_square(jnp.float64(0.0))) == 0.0
    assert float(log_one_minus_square(jnp.float64(1.0))) == -np.inf
