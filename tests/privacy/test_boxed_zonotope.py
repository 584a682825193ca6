from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.privacy.boxed_zonotope import (
    BoxedZonotope,
    boxed_covariance,
    boxed_gauge,
    boxed_kurtosis,
    boxed_noise,
)
from privrank_jax.privacy.geometry import Zonotope
from tests.reference.covariates import shape_gauge

MET = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
WIDTHS = np.array([0.5, 0.0, 3.0])
BODIES = {
    "all pairs": BoxedZonotope(Zonotope.of_all_pairs(3), WIDTHS),
    "others": BoxedZonotope(Zonotope(jnp.asarray(MET * 1.0)), WIDTHS),
}


def test_the_gauge_is_that_of_all_cuts():
    rng = np.random.default_rng(0)
    points = rng.normal(0, 3, (20, 6))
    points[:, 2] = -points[:, :2].sum(1)
    points[:, 4] = 0
    found = jax.vmap(lambda point: boxed_gauge(BODIES["others"], point))(jnp.asarray(points))
    np.testing.assert_allclose(found, [shape_gauge(point, MET, WIDTHS) for point in points])


@pytest.mark.parametrize("name", BODIES)
def test_the_noise_has_its_law(name, key):
    """20,000 draws: the gauge is Gamma(4), and covariances are those that are told; 5 % off is refused."""
    body = BODIES[name]
    scale, draws = 0.7, 20_000
    noise = jax.jit(jax.vmap(lambda one: boxed_noise(one, body, scale)))(
        jax.random.split(key, draws)
    )
    assert int(body.dimension) == 4
    gauges = np.asarray(jax.vmap(lambda point: boxed_gauge(body, point))(noise)) / scale
    assert gauges.mean() == pytest.approx(4, rel=0.02)
    assert gauges.var() == pytest.approx(4, rel=0.06)
    told = boxed_covariance(body)
    found = np.cov(np.asarray(noise).T) / scale**2
    spread = np.sqrt(np.maximum(np.diag(told), 1e-9))
    np.testing.assert_allclose(
        found / spread / spread[:, None], told / spread / spread[:, None], atol=0.05
    )
    assert np.diag(told)[3:].tolist() == pytest.approx([30 / 3 * 0.25, 0.0, 30 / 3 * 9])
    standard = np.asarray(noise)[:, [0, 1, 2, 3, 5]]
    kurtosis = np.mean(standard**4, 0) / np.mean(standard**2, 0) ** 2
    assert np.all(kurtosis < boxed_kurtosis(body) * 1.05)
