from __future__ import annotations

import dataclasses
import math

import jax
import numpy as np
import pytest

from privrank_jax import links
from tests import reference

NAMES = ("logistic", "normal", "laplace")
FUNCTIONS = ("cdf", "log_cdf", "score", "curvature")
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}
# Both sides of every branch point (0, -2, -4) and both ends.
ABOVE = np.concatenate([np.geomspace(1e-6, 1e4, 400), np.linspace(0, 45, 600)])
GRID = np.unique([-ABOVE, ABOVE])
# x, log Φ(x), φ/Φ, −(log Φ)'', (log Φ)''': mpmath at 60 digits.
NORMAL_60_DIGITS = np.array([
    (-10000.0, -50000010.1292789152, 10000.000099999998, 0.9999999900000006, -1.99999976000003e-12),
    (-1234.5, -762003.162360498161, 1234.5008100434894, 0.999999343830406403, -1.06304902430751314e-9),
    (-100.25, -5030.55795507652071, 100.259973078256318, 0.999900557485756054, -1.9827074089490975e-6),
    (-30.0, -454.321243956343197, 30.033259667433677, 0.998896228488109909, -0.0000730999301578443847),
    (-10.5, -58.4041870610732434, 10.5935839261323783, 0.991389175620322102, -0.00155860064038700891),
    (-5.0, -15.0649983939887257, 5.18650396712584212, 0.967303565382887775, -0.0108257645063566997),
    (-4.0009765625, -10.3642285105889172, 4.2265381365588143, 0.953344594901813993, -0.0178470585224321468),
    (-3.9990234375, -10.3559753716292929, 4.2246761694492605, 0.953309719237162606, -0.0178656260559938621),
    (-2.0009765625, -3.78550234932965272, 2.37408052293580497, 0.88577884550085574, -0.0593173771229645016),
    (-1.9990234375, -3.78086716272368163, 2.37235059931603942, 0.885662916075237135, -0.0593943732111259121),
    (-1.0, -1.84102164500926351, 1.52513527616098121, 0.800902334429651208, -0.116931195406048832),
    (-0.125, -0.79792614275302409, 0.879127895756633992, 0.662974870127907874, -0.203679650507528229),
    (0.0, -0.693147180559945309, 0.797884560802865356, 0.636619772367581343, -0.218013614144990161),
    (0.5, -0.368946415288656393, 0.509160433837033486, 0.513824564303632897, -0.270990124468707833),
    (2.0, -0.0230129093289634885, 0.0552478626789899591, 0.11354805168857645, -0.184394815032477592),
    (5.25, -7.6049608056658512e-8, 4.12847130259861086e-7, 2.16744760430702367e-6, -0.00001096625458200106),
    (8.5, -9.4795348222033184e-18, 8.16623563166955012e-17, 6.94130028691911767e-16, -5.81844288756455463e-15),
    (12.5, -3.73256429887771338e-36, 4.695195357975146e-35, 5.8689941974689325e-34, -7.28929079325641416e-33),
])  # fmt: skip

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
    x, log_cdf, score, curvature, third = NORMAL_60_DIGITS.T
    assert (x == x.astype(dtype)).all()
    x = x.astype(dtype)
    close(links.normal.log_cdf(x), log_cdf, dtype)
    close(links.normal.score(x), score, dtype)
    close(links.normal.curvature(x), curvature, dtype)
    # The slope is about −2/t³ at x = −t, the difference of two terms of size 2/t: accurate to them.
    slope = np.asarray(jax.vmap(jax.grad(links.normal.curvature))(x), np.float64)
    assert (np.abs(slope - third) * np.maximum(1.0, -x) < TOLERANCE[dtype]).all()


@dtypes
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
