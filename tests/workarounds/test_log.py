"""The short logarithm against NumPy's in double precision."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax._workarounds.log import log_of_positive

BELOW_ONE = np.arange(1, 2**24 + 1, 31, dtype=np.float32) * np.float32(2.0**-24)
ANY = np.geomspace(np.finfo(np.float32).tiny, np.finfo(np.float32).max, 100_000).astype(np.float32)
ROOTS = np.ldexp(np.float32(0.5**0.5), np.arange(-20, 20)).astype(np.float32)
NEAR_ROOTS = np.concatenate(
    [np.nextafter(ROOTS, np.float32(0)), ROOTS, np.nextafter(ROOTS, np.float32(99))]
)


@pytest.mark.parametrize(
    "values", [BELOW_ONE, ANY, NEAR_ROOTS], ids=["below_one", "any", "near_roots"]
)
def test_digits(values):
    """Within 1.2 units in the last place, like XLA's, and 0 at 1."""
    found = np.asarray(jax.jit(log_of_positive)(values))
    assert found.dtype == np.float32
    exact = np.log(values.astype(float))
    unit = np.spacing(np.abs(exact).astype(np.float32))
    assert np.all(np.abs(found - exact) <= 1.2 * unit)
    assert np.all(found[values == 1] == 0)


def test_zero_is_less_than_any_number():
    assert float(log_of_positive(jnp.float32(0.0))) < float(jnp.log(np.finfo(np.float32).tiny))


def test_double_precision():
    values = jnp.linspace(1e-3, 1e3, 100, dtype=jnp.float64)
    np.testing.assert_allclose(log_of_positive(values), np.log(np.asarray(values)), rtol=1e-15)
