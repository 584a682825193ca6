from __future__ import annotations

import dataclasses
import math

import jax
import mpmath
import numpy as np
import pytest

from privrank_jax import links
from tests import reference
from tests.quick import thorough

NAMES = ("logistic", "normal", "laplace")
FUNCTIONS = ("cdf", "log_cdf", "score", "curvature")
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}
# Both sides of every branch point (0, -2, -4) and both ends.
ABOVE = np.concatenate([np.geomspace(1e-6, 1e4, 400), np.linspace(0, 45, 600)])
GRID = np.unique([-ABOVE, ABOVE])
NORMAL = [
    -1e4, -1234.5, -100.25, -30, -10.5, -5, -4.0009765625, -3.9990234375, -2.0009765625, -1.9990234375,
    -1, -0.125, 0, 0.5, 2, 5.25, 8.5, 12.5,
]  # fmt: skip


def normal_with_60_digits():
    """log Φ(x), φ/Φ, its curvature -(log Φ)'', and the slope of that."""
    rows = []
    with mpmath.workdps(60):
        for x in map(mpmath.mpf, NORMAL):
            score = mpmath.npdf(x) / mpmath.ncdf(x)
            curvature = score * (score + x)
            third = score - curvature * (2 * score + x)
            rows.append([float(y) for y in (mpmath.log(mpmath.ncdf(x)), score, curvature, third)])
    return np.array(rows).T


dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
names = pytest.mark.parametrize("name", NAMES)


def close(actual, expected, dtype):
    """Relative agreement, but for values so small that a factor of them has underflowed."""
    expected = np.asarray(expected, np.float64)
    floor = 100 * float(np.finfo(dtype).tiny)
    np.testing.assert_allclose(
        np.asarray(actual, np.float64), expected, rtol=TOLERANCE[dtype], atol=floor
    )


@dtypes
@names
def test_values_on_the_grid(name, dtype):
    x = GRID.astype(dtype)
    expected = np.array([reference.link(name, value) for value in x]).T
    for function, values in zip(FUNCTIONS, expected, strict=True):
        actual = getattr(links.get_link(name), function)(x)
        assert actual.dtype == dtype
        assert np.isfinite(actual).all()
        close(actual, values, dtype)


@dtypes
def test_normal_link_has_the_digits_of_mpmath(dtype):
    log_cdf, score, curvature, third = normal_with_60_digits()
    x = np.array(NORMAL, dtype)
    close(links.normal.log_cdf(x), log_cdf, dtype)
    close(links.normal.score(x), score, dtype)
    close(links.normal.curvature(x), curvature, dtype)
    # The slope is about −2/t³ at x = −t, the difference of two terms of size 2/t: accurate to them.
    slope = np.asarray(jax.vmap(jax.grad(links.normal.curvature))(x), np.float64)
    assert (np.abs(slope - third) * np.maximum(1.0, -x) < TOLERANCE[dtype]).all()


@pytest.mark.parametrize("dtype", [np.float32, thorough(np.float64)])
@names
def test_gradients_are_the_declared_functions_and_finite(name, dtype):
    link = links.get_link(name)
    x = GRID.astype(dtype)
    with jax.disable_jit():  # two programs may round the same formula differently
        np.testing.assert_array_equal(jax.vmap(jax.grad(link.log_cdf))(x), link.score(x))
        np.testing.assert_array_equal(
            jax.vmap(jax.grad(jax.grad(link.log_cdf)))(x), -link.curvature(x)
        )
        forward = jax.jvp(link.log_cdf, (x,), (np.full_like(x, 2),))[1]
        np.testing.assert_array_equal(forward, 2 * link.score(x))
    third = jax.vmap(jax.grad(link.curvature))(x)
    assert third.dtype == dtype
    assert np.isfinite(third).all()
    density = jax.vmap(jax.grad(link.cdf))(x)
    close(density, np.asarray(link.cdf(x), float) * np.asarray(link.score(x), float), dtype)


@names
def test_constants_are_the_suprema(name):
    link = links.get_link(name)
    # F'/(F(1 − F)) = F'/F at x plus F'/F at −x, by symmetry.
    kappa1 = np.asarray(link.score(GRID)) + np.asarray(link.score(-GRID))
    for values, constant in (
        (kappa1, link.kappa1),
        (np.asarray(link.curvature(GRID)), link.kappa2),
        (np.asarray(link.score(GRID)), link.sup_score),
    ):
        if math.isinf(constant):
            assert values.max() > 9999
        else:
            assert values.max() <= constant * (1 + 1e-12)
            assert values.max() >= constant * (1 - 1e-6)


def test_laplace_kink_takes_the_right_limit():
    assert float(links.laplace.curvature(0.0)) == 2.0
    assert float(links.laplace.curvature(-1e-300)) == 0.0
    assert float(links.laplace.score(0.0)) == 1.0
    assert float(jax.grad(links.laplace.cdf)(0.0)) == 0.5


@names
def test_links_are_found_by_name_and_compared_by_value(name):
    link = links.get_link(name)
    assert links.get_link(link) is link
    assert hash(dataclasses.replace(link)) == hash(link)
    assert float(link.cdf(0)) == 0.5
    assert np.isnan(link.cdf(np.nan))
    for unknown in ("probit", "Logistic", None, ["normal"]):
        with pytest.raises(ValueError, match="'logistic', 'normal', 'laplace'"):
            links.get_link(unknown)
