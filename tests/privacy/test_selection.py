"""Scales of top-k selection as such: their values, where each of them takes over, and what is claimed at them.

That they are private, and that less noise is not, is held by exact laws in tests/pairwise (one_shot, top_k) and by the
registry of tests/privacy_audit.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from privrank_jax.privacy.selection import (
    one_shot_scale,
    peeling_scale,
    permute_and_flip_scale,
)

both_rounds = pytest.mark.parametrize(
    ("scale_of", "divisor"), [(peeling_scale, 8), (permute_and_flip_scale, 2)]
)


def one_shot(k=3, num_items=20, sensitivity=2.0, epsilon=0.5, **settings):
    found = one_shot_scale(k, num_items, sensitivity=sensitivity, epsilon=epsilon, **settings)
    return tuple(float(x) for x in found)


def root_rho(epsilon, delta):
    """√ρ for which ρ + 2√(ρ ln 1/δ) is ε, by Brent's method."""
    reach = math.sqrt(math.log(1 / delta))
    return scipy.optimize.brentq(
        lambda root: root**2 + 2 * root * reach - epsilon, 0, 100, xtol=1e-15
    )


# --- one-shot Laplace ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "scale"),
    [
        ({}, 24.0),  # 2ks/ε
        ({"monotone": True}, 12.0),
        ({"total_change": 5.0}, 20.0),  # 2T/ε, as T < ks
        ({"total_change": 5.0, "monotone": True}, 10.0),
        ({"total_change": 7.0}, 24.0),  # T > ks
        ({"k": 1, "total_change": 5.0}, 8.0),
        ({"calibration": "published", "total_change": 5.0, "monotone": True}, 24.0),
        ({"epsilon": math.inf}, 0.0),
    ],
)
def test_pure_scale_of_one_shot(settings, scale):
    assert one_shot(**settings) == (scale, settings.get("epsilon", 0.5), 0.0)
    traced = jax.jit(lambda s: one_shot_scale(20, 50, sensitivity=s, epsilon=0.5, total_change=9.0))
    assert [float(traced(s)[0]) for s in (0.1, 3.0)] == [pytest.approx(8.0), 36.0]


# Where it is the smaller of the two: k > 16 ln(m/δ).
MANY = {"k": 400, "num_items": 1000, "sensitivity": 2.0}


@pytest.mark.parametrize(
    ("epsilon", "delta", "applies"),
    [
        (0.2, 0.05, True),
        (0.1, 1e-6, True),
        (0.2001, 0.05, False),
        (0.2, 0.0501, False),
        (0.2, 0.0, False),
    ],
)
def test_approximate_scale_of_one_shot_where_its_theorem_holds(epsilon, delta, applies):
    """8s√(k ln(m/δ))/ε for ε ≤ 0.2, δ ≤ 0.05, edges included; else 2ks/ε, published or not, traced or known."""
    pure = 2 * 400 * 2.0 / epsilon
    approximate = 16.0 * math.sqrt(400 * math.log(1000 / delta)) / epsilon if delta else math.inf
    tight = pytest.approx((approximate if applies else pure, epsilon, delta), rel=1e-12)
    assert one_shot(epsilon=epsilon, delta=delta, **MANY) == tight
    few = one_shot(5, 1000, epsilon=epsilon, delta=delta)
    assert few[0] == pytest.approx(2 * 5 * 2.0 / epsilon)

    def published(epsilon, delta):
        return one_shot_scale(
            epsilon=epsilon, delta=delta, calibration="published", total_change=300.0, **MANY
        )

    traced = tuple(float(x) for x in jax.jit(published)(epsilon, delta))
    if applies:
        assert traced == pytest.approx((approximate, epsilon, delta), rel=1e-12)
        assert [float(x) for x in published(epsilon, delta)] == pytest.approx(traced, rel=1e-12)
    else:  # what is proven of the noise that is added: 2 min(ks, T)/λ
        scale = approximate if delta else pure
        assert traced == pytest.approx((scale, 600.0 / scale, 0.0), rel=1e-12)
        if delta:
            with pytest.raises(ValueError, match="guarantee of the one-shot"):
                published(epsilon, delta)


def test_one_shot_without_noise():
    for calibration in ("tight", "published"):
        found = one_shot(epsilon=math.inf, delta=0.3, calibration=calibration)
        assert found == (0.0, math.inf, 0.3)


# --- rounds --------------------------------------------------------------------------------------


@both_rounds
@pytest.mark.parametrize(
    ("settings", "scale"),
    [
        ({}, 24.0),  # 2ks/ε
        ({"total_change": 5.0}, 22.0),  # (ks + T)/ε
        ({"total_change": 7.0}, 24.0),
        ({"monotone": True}, 12.0),  # ks/ε
        ({"monotone": True, "total_change": 5.0}, 12.0),
    ],
)
def test_pure_scale_of_rounds(scale_of, divisor, settings, scale):
    found = scale_of(3, sensitivity=2.0, epsilon=0.5, **settings)
    assert float(found) == scale
    for delta in (0.0, 1e-300):  # a δ that saves nothing, and one that is traced
        traced = jax.jit(lambda d: scale_of(3, sensitivity=2.0, epsilon=0.5, delta=d, **settings))
        assert float(traced(delta)) == pytest.approx(scale, rel=1e-12)


@both_rounds
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (2.0, 0.01), (9.0, 1e-12)])
def test_composed_scale_of_rounds(scale_of, divisor, epsilon, delta):
    """k rounds of (R/scale)²/8- or (R/scale)²/2-zCDP add up to the ρ that ε and δ allow."""
    k, sensitivity = 3000, 2.0
    for monotone, span in ((False, 4.0), (True, 2.0)):
        wanted = span * math.sqrt(k / divisor) / root_rho(epsilon, delta)
        assert wanted < k * sensitivity / epsilon
        found = scale_of(
            k, sensitivity=sensitivity, epsilon=epsilon, delta=delta, monotone=monotone
        )
        assert float(found) == pytest.approx(wanted, rel=1e-12)
    assert float(scale_of(k, sensitivity=2.0, epsilon=math.inf, delta=delta)) == 0.0


@both_rounds
def test_one_delta_of_several_that_is_not_zero_counts(scale_of, divisor):
    assert scale_of(3000, sensitivity=2.0, epsilon=1.0) == 12_000.0  # δ is 0 unless told otherwise
    several = scale_of(3000, sensitivity=2.0, epsilon=1.0, delta=np.array([0.0, 1e-6]))
    one = scale_of(3000, sensitivity=2.0, epsilon=1.0, delta=1e-6)
    np.testing.assert_allclose(several, [12_000.0, one])
    assert float(one) < 12_000.0


def test_bounds_may_be_arrays():
    limits = jnp.array([1.0, 50.0])
    found = peeling_scale(3, sensitivity=2.0, epsilon=0.5, total_change=limits)
    np.testing.assert_allclose(found, [14.0, 24.0])
    found = one_shot_scale(3, 9, sensitivity=2.0, epsilon=0.5, total_change=limits)[0]
    np.testing.assert_allclose(found, [4.0, 24.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sensitivity": 0.0}, "sensitivity must be positive"),
        ({"sensitivity": math.inf}, "sensitivity must be finite"),
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"delta": -0.1}, "delta must be"),
        ({"delta": 1.0}, "delta must be"),
    ],
)
def test_refusals(change, message):
    settings = {"sensitivity": 1.0, "epsilon": 1.0} | change
    for scale_of in (peeling_scale, permute_and_flip_scale):
        with pytest.raises(ValueError, match=message):
            scale_of(2, **settings)
    with pytest.raises(ValueError, match=message):
        one_shot_scale(2, 5, **settings)
    with pytest.raises(ValueError, match="calibration must be one of"):
        one_shot_scale(2, 5, sensitivity=1.0, epsilon=1.0, calibration="loose")
