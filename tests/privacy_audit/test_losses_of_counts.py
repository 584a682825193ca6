"""Exact privacy loss of noisy counts, and of the top item of two."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
import scipy.integrate
import scipy.stats

from privrank_jax.privacy_audit import top_item_log_probability


@pytest.mark.parametrize("gap", [-40.0, -3.0, -0.2, 0.0, 1.5, 12.0])
def test_top_item_probability_is_the_integral(gap):
    direct, _ = scipy.integrate.quad(
        lambda z: (
            scipy.stats.laplace.pdf(z, scale=2.0) * scipy.stats.laplace.cdf(gap + z, scale=2.0)
        ),
        -120,
        120,
        points=sorted({0.0, -gap}),
        epsabs=1e-18,
        epsrel=1e-10,
    )
    assert float(jnp.exp(top_item_log_probability(gap, 2.0))) == pytest.approx(direct, rel=1e-8)
