"""Scales of top-k selection: their values, the range of each, and what is claimed at them.

Exact laws in tests/pairwise (one_shot, top_k) and the registry in tests/privacy_audit test that they are private, and
that less noise is not.
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
from tests.promises import promise

both_rounds = pytest.mark.parametrize(
    ("scale_of", "divisor"), [(peeling_scale, 8), (permute_and_flip_scale, 2)]
)


def one_shot(k=3, num_items=20, sensitivity=2.0, epsilon=0.5, delta=0.0, **settings):
    asked = promise(epsilon, delta=delta)
    return numbers(one_shot_scale(asked, k, num_items, sensitivity=sensitivity, **settings))


def numbers(found):
    """Scale, ε and δ."""
    scale, attained = found
    return float(scale), float(attained.epsilon), float(attained.delta)


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
    traced = jax.jit(
        lambda s: one_shot_scale(promise(0.5), 20, 50, sensitivity=s, total_change=9.0)[0]
    )
    assert [float(traced(s)) for s in (0.1, 3.0)] == [pytest.approx(8.0), 36.0]


# Where it is the smaller of the two: k > 16 ln(m/δ).
MANY = {"k": 400, "num_items": 1000, "sensitivity": 2.0}


@pytest.mark.parametrize(
    ("epsilon", "delta", "applies"),
    [
        (0.2, 0.05, True),
        (0.1, 1e-6, True),
        (0.2001, 0.05, False),
        (0.2, 0.0501, False),
    ],
)
def test_approximate_scale_of_one_shot_where_its_theorem_holds(epsilon, delta, applies):
    """8s√(k ln(m/δ))/ε for ε ≤ 0.2, δ ≤ 0.05, edges included; else 2ks/ε, published or not, traced or known."""
    pure = 2 * 400 * 2.0 / epsilon
    approximate = 16.0 * math.sqrt(400 * math.log(1000 / delta)) / epsilon
    tight = pytest.approx((approximate if applies else pure, epsilon, delta), rel=1e-12)
    assert one_shot(epsilon=epsilon, delta=delta, approximate=True, **MANY) == tight
    assert one_shot(epsilon=epsilon, delta=delta, **MANY) == pytest.approx((pure, epsilon, 0.0))
    few = one_shot(5, 1000, epsilon=epsilon, delta=delta, approximate=True)
    assert few[0] == pytest.approx(2 * 5 * 2.0 / epsilon)

    def published(epsilon, delta):
        options = {"approximate": True, "calibration": "published", "total_change": 300.0}
        return one_shot_scale(privacy=promise(epsilon, delta=delta), **options, **MANY)

    traced = numbers(jax.jit(published)(epsilon, delta))
    if applies:
        assert traced == pytest.approx((approximate, epsilon, delta), rel=1e-12)
        assert numbers(published(epsilon, delta)) == pytest.approx(traced, rel=1e-12)
    else:  # what is proven of the noise that is added: 2 min(ks, T)/λ
        assert traced == pytest.approx((approximate, 600.0 / approximate, 0.0), rel=1e-12)
        with pytest.raises(ValueError, match="guarantee of the one-shot"):
            published(epsilon, delta)


def test_a_traced_delta_of_zero_is_pure():
    """Two of three promises of one sweep have δ = 0, which only a trace can hide."""
    for calibration, attained in (("tight", 0.2), ("published", 0.2 * 300 / 800)):
        found = jax.jit(
            lambda delta, calibration=calibration: one_shot_scale(
                privacy=promise(0.2, delta=delta),
                approximate=True,
                calibration=calibration,
                total_change=300.0,
                **MANY,
            )
        )(0.0)
        scale = 8000.0 if calibration == "published" else 3000.0
        assert numbers(found) == pytest.approx((scale, attained, 0.0))


def test_one_shot_without_noise():
    for calibration in ("tight", "published"):
        found = one_shot(epsilon=math.inf, delta=0.3, approximate=True, calibration=calibration)
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
    found = scale_of(promise(0.5, delta=1e-3), 3, sensitivity=2.0, **settings)
    assert numbers(found) == (scale, 0.5, 0.0)
    for delta in (0.0, 1e-300):  # a δ that saves nothing, and one that is traced
        traced = jax.jit(
            lambda d: scale_of(
                promise(0.5, delta=d), 3, sensitivity=2.0, approximate=True, **settings
            )
        )
        assert numbers(traced(delta)) == pytest.approx((scale, 0.5, delta), rel=1e-12)


@both_rounds
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (2.0, 0.01), (9.0, 1e-12)])
def test_composed_scale_of_rounds(scale_of, divisor, epsilon, delta):
    """k rounds of (R/scale)²/8- or (R/scale)²/2-zCDP add up to the ρ that ε and δ allow."""
    k, sensitivity = 3000, 2.0
    for monotone, span in ((False, 4.0), (True, 2.0)):
        wanted = span * math.sqrt(k / divisor) / root_rho(epsilon, delta)
        assert wanted < k * sensitivity / epsilon
        options = {"sensitivity": sensitivity, "approximate": True}
        found = scale_of(promise(epsilon, delta=delta), k, monotone=monotone, **options)
        assert float(found[0]) == pytest.approx(wanted, rel=1e-12)
    assert float(scale_of(promise(math.inf, delta=delta), k, **options)[0]) == 0.0


def test_bounds_may_be_arrays():
    limits = jnp.array([1.0, 50.0])
    found = peeling_scale(promise(0.5), 3, sensitivity=2.0, total_change=limits)[0]
    np.testing.assert_allclose(found, [14.0, 24.0])
    found = one_shot_scale(promise(0.5), 3, 9, sensitivity=2.0, total_change=limits)[0]
    np.testing.assert_allclose(found, [4.0, 24.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sensitivity": 0.0}, "sensitivity must be positive"),
        ({"sensitivity": math.inf}, "sensitivity must be finite"),
        ({"approximate": True}, "needs delta > 0.*or choose approximate=False"),
    ],
)
def test_refusals(change, message):
    settings = {"sensitivity": 1.0, "privacy": promise(1.0)} | change
    for scale_of in (peeling_scale, permute_and_flip_scale):
        with pytest.raises(ValueError, match=message):
            scale_of(k=2, **settings)
    with pytest.raises(ValueError, match=message):
        one_shot_scale(k=2, num_items=5, **settings)
    with pytest.raises(ValueError, match="calibration must be one of"):
        one_shot_scale(promise(1.0), 2, 5, sensitivity=1.0, calibration="loose")
