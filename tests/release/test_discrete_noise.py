"""Scales of discrete noise: proven, and the smallest that are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax.release import discrete_noise as exact
from privrank_jax.release.discrete_noise import discrete_gaussian, discrete_laplace
from privrank_jax.release.library import load_opendp


def test_the_scale_of_laplace_noise_is_the_quotient_unless_that_is_not_proven():
    """Some of 80 budgets round down to a scale that OpenDP can't prove, which is raised by an ulp or two."""
    dp = load_opendp()
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    raised = 0
    for epsilon in np.random.default_rng(0).uniform(0.01, 3, 80).tolist():
        _, scale = discrete_laplace(6.0, epsilon)
        quotient = 6 / epsilon
        if dp.m.make_laplace(domain, metric, scale=quotient).map(6) <= epsilon:
            assert scale == quotient
        else:
            assert quotient < scale <= quotient * (1 + 2**-50)
            raised += 1
    assert 0 < raised < 80


def test_gaussian_noise_is_the_least_that_is_proven_for_a_little_more_than_the_sensitivity():
    """A sensitivity is a root, which may have been rounded down; σ is found to a millionth."""
    dp = load_opendp()
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    for sensitivity, epsilon, delta in (
        (2 * math.sqrt(3), 0.01, 1e-9),
        (2.0, 1.0, 1e-5),
        (7.0, 30.0, 0.1),
    ):
        mechanism, scale = discrete_gaussian(sensitivity, epsilon, delta)

        def proven(scale, change, delta=delta):
            concentrated = dp.m.make_gaussian(domain, metric, scale=scale)
            fixed = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(concentrated), delta)
            return fixed.map(change)[0]

        above = math.nextafter(sensitivity, math.inf)
        assert mechanism.map(above)[0] == proven(scale, above) <= epsilon
        assert proven(scale * (1 - 1.1e-6), above) > epsilon


def test_the_epsilon_that_is_checked_is_the_one_that_opendp_proves(monkeypatch):
    checked = []
    monkeypatch.setattr(exact, "_checked", lambda *arguments: checked.append(arguments))
    discrete_laplace(3.0, 0.7)
    discrete_gaussian(3.0, 0.7, 1e-5)
    for _, proven, epsilon in checked:
        assert 0.699 < proven <= epsilon == 0.7
    assert len(checked) == 2
    mechanism, proven, _ = checked[1]
    assert mechanism.map(3.0)[0] < proven  # that of a root which was rounded down


def test_a_sensitivity_that_doubles_may_have_rounded_is_refused():
    assert discrete_laplace(2.0**53, 2.0)[1] == 2.0**52
    with pytest.raises(ValueError, match=r"at most 2\^53 units, got 9.01e\+15"):
        discrete_laplace(2.0**53 + 2, 2.0)


def test_a_proof_of_more_than_epsilon_is_refused():
    assert exact._checked("mechanism", 0.7, 0.7) == "mechanism"
    for proven in (math.nextafter(0.7, 1), math.inf, math.nan):
        with pytest.raises(ValueError, match="ask for another epsilon"):
            exact._checked("mechanism", proven, 0.7)
