"""Calibration of composed releases, and what composition refuses."""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.privacy import (
    GaussianRelease,
    Guarantee,
    Privacy,
    calibrate_gaussian,
    compose,
    gaussian_scale,
)
from tests import reference
from tests.privacy.releases import KIND, USERS, epsilon


def test_calibration_agrees_with_the_traced_one():
    epsilons, deltas = np.array(
        [(e, d) for e in (0.01, 0.1, 1.0, 10.0, 100.0) for d in (1e-12, 1e-6, 1e-3, 0.3)]
    ).T
    ours = jax.jit(jax.vmap(lambda e, d: gaussian_scale(2.0, e, d)))(epsilons, deltas)
    theirs = [calibrate_gaussian(e, d, 2.0) for e, d in zip(epsilons, deltas)]
    np.testing.assert_allclose(theirs, ours, rtol=1e-6)
    assert calibrate_gaussian(math.inf, 1e-6) == gaussian_scale(1.0, math.inf, 1e-6) == 0


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_calibrated_releases_compose_to_the_budget(count):
    scale = calibrate_gaussian(0.8, 1e-7, 3.0, releases=count)
    found = epsilon([GaussianRelease(scale, 3.0)] * count, 1e-7)
    assert found == pytest.approx(0.8, rel=1e-6)
    assert reference.gaussian_delta(scale, 3.0 * math.sqrt(count), 0.8) <= 1e-7
    looser = [GaussianRelease(0.999 * scale, 3.0)] * count
    assert epsilon(looser, 1e-7) > 0.8


@pytest.mark.parametrize(
    ("releases", "message"),
    [
        ([(-1, 0)], "epsilon of release 1 must be one number, at least 0, got -1"),
        ([(0.1, 0), (math.nan, 0)], "epsilon of release 2 must be one number"),
        ([("0.5", 0)], "epsilon of release 1 must be one number"),
        ([(True, 0)], "epsilon of release 1 must be one number"),
        ([(np.array([1.0, 2.0]), 0)], "epsilon of release 1 must be one number"),
        ([(1, 1)], "delta of release 1 must be below 1, got 1"),
        ([(1, -1e-9)], "delta of release 1 must be one number"),
        (
            [0.5],
            "release 1 must be a Guarantee, a Privacy, an .* pair, a LaplaceRelease or a GaussianRelease, got 0.5",
        ),
        ([(0.5, 0, 0)], "release 1 must be a Guarantee"),
        (
            Guarantee(Privacy.proven(1.0, unit="comparison", adjacency="replace")),
            "give a list of releases",
        ),
        (
            [Guarantee(Privacy.proven(jnp.ones(3), **KIND))],
            "epsilon of release 1 must be one number",
        ),
    ],
)
def test_bad_releases(releases, message):
    with pytest.raises(ValueError, match=message):
        compose(releases, delta=1e-6, **USERS)


def test_bad_arguments():
    one = [(0.5, 0)]
    for wanted in ({}, {"delta": 1e-6, "epsilon": 1}):
        with pytest.raises(ValueError, match="one of the two"):
            compose(one, **wanted, **USERS)
    for delta in (1, -1e-6, math.nan, "1e-6"):
        with pytest.raises(ValueError, match="delta must be"):
            compose(one, delta=delta, **USERS)
    for bad in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match="epsilon must be"):
            compose(one, epsilon=bad, **USERS)
    with pytest.raises(ValueError, match="trust must be one of"):
        compose(one, delta=0, trust="none", **USERS)
    with pytest.raises(ValueError, match="scale must be one number, at least 0"):
        GaussianRelease(-1.0)
    with pytest.raises(ValueError, match="sensitivity must be positive"):
        GaussianRelease(1.0, 0.0)
    with pytest.raises(ValueError, match="sensitivity must be finite"):
        GaussianRelease(1.0, math.inf)
    for arguments in ((0, 1e-6), (1, 0), (1, 1), (-1, 1e-6), (1, 1e-6, 0)):
        with pytest.raises(ValueError, match="must be"):
            calibrate_gaussian(*arguments)
    for releases in (0, 1.5, True):
        with pytest.raises(ValueError, match="releases must be a whole number"):
            calibrate_gaussian(1, 1e-6, releases=releases)
    with pytest.raises(ValueError, match="runs on the host"):
        jax.jit(lambda e: compose([(e, 0)], delta=0, **USERS).epsilon)(1.0)


def test_numbers_are_decimals_as_people_write_them():
    for tenth in (0.1, np.float32(0.1), jnp.float32(0.1), Decimal("0.1"), Fraction(1, 10)):
        assert epsilon([(tenth, 0)] * 10, 0) == 1.0


def test_without_the_library_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match=r'pip install "privrank-jax\[accounting\]"'):
        compose([(0.5, 0)], delta=1e-6, **USERS)
    assert compose([(0.5, 0)], delta=0, **USERS).epsilon == 0.5
