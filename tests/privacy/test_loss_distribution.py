"""zCDP of pure releases, and its conversion, against closed forms."""

from __future__ import annotations

import math

import pytest

from privrank_jax.privacy.loss_distribution import pure_zcdp, zcdp_delta, zcdp_epsilon
from tests import reference
from tests.reference import accounting as naive


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 8.0])
def test_pure_is_the_least_rho_of_randomized_response(epsilon):
    rho = pure_zcdp(epsilon)
    slopes = [
        naive.response_divergence(epsilon, 1 + excess) / (1 + excess)
        for excess in (1e-3, 0.1, 1.0, 3.0, 10.0, 30.0)
    ]
    assert max(slopes) <= rho * (1 + 1e-9)
    assert max(slopes) >= rho * 0.998
    assert rho < epsilon**2 / 2
    assert pure_zcdp(0) == 0
    assert pure_zcdp(1e-4) == pytest.approx(5e-9, rel=1e-6)
    assert pure_zcdp(1000.0) == 1000.0
    assert pure_zcdp(math.inf) == math.inf


@pytest.mark.parametrize("rho", [1e-8, 1e-4, 0.01, 0.5, 3.0, 50.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 0.01])
def test_conversion_against_closed_forms(rho, delta):
    found = zcdp_epsilon(rho, delta)
    tight = naive.canonne_kamath_steinke_epsilon(rho, delta)
    assert tight * (1 - 1e-9) <= found <= tight * (1 + 1e-4) + 1e-12
    assert found <= naive.bun_steinke_epsilon(rho, delta) * (1 + 1e-4)
    # Above the ε of the Gaussian mechanism with this ρ, a lower bound for every conversion.
    assert reference.gaussian_delta(1.0, math.sqrt(2 * rho), found) <= delta
    if found > 0:
        assert zcdp_delta(rho, found) == pytest.approx(delta, rel=1e-3)


def test_conversion_at_the_ends():
    assert zcdp_epsilon(0, 0) == 0
    assert zcdp_epsilon(0.1, 0) == math.inf
    assert zcdp_epsilon(math.inf, 0.1) == math.inf
    assert zcdp_delta(0, 0) == 0
    assert zcdp_delta(math.inf, 5) == 1
    assert zcdp_delta(0.1, math.inf) == 0
    assert 0 < zcdp_delta(5.0, 0.0) <= 1
