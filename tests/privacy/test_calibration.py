from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.privacy import calibration
from privrank_jax.privacy.calibration import additive_scale, gaussian_scale, laplace_scale
from privrank_jax.privacy.noise import kept_by_noise
from tests import reference
from tests.promises import promise
from tests.quick import thorough

GRID = [
    (epsilon, delta)
    for epsilon in (0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0)
    for delta in (1e-10, 1e-6, 1e-3, 0.05, 0.3)
]


# --- single mechanisms ---------------------------------------------------------------------------


def test_gaussian_scale_is_the_smallest_that_suffices():
    epsilons, deltas = np.array(GRID).T
    ours = jax.jit(jax.vmap(lambda e, d: gaussian_scale(2.0, e, d)))(epsilons, deltas)
    achieved = jax.jit(jax.vmap(lambda s, e: calibration._delta(2.0 / s, e)[0]))(ours, epsilons)
    np.testing.assert_allclose(achieved, deltas, rtol=1e-6)
    for scale, epsilon, delta in zip(np.asarray(ours), epsilons, deltas):
        assert scale == pytest.approx(reference.gaussian_scale(2.0, epsilon, delta), rel=1e-7)
        assert reference.gaussian_delta(scale, 2.0, epsilon) <= delta * (1 + 1e-9)
        assert reference.gaussian_delta(0.999 * scale, 2.0, epsilon) > delta


def test_noise_is_what_was_asked_for_whatever_delta_is():
    np.testing.assert_array_equal(laplace_scale(1.0, jnp.array([0.5, 2.0, math.inf])), [2, 0.5, 0])
    for delta in (0.0, 1e-4):
        assert additive_scale("laplace", promise(0.5, delta=delta), 3.0, 2.0) == 6.0
    expected = reference.gaussian_scale(2.0, 0.5, 1e-4)
    assert float(additive_scale("gaussian", promise(0.5, delta=1e-4), 3.0, 2.0)) == pytest.approx(
        expected, rel=1e-7
    )


def test_attained_delta_is_that_of_the_noise():
    flips = promise(0.5, adjacency="flip", delta=1e-4)
    kinds = ("comparison", "replace"), ("user", "replace")
    found = kept_by_noise("laplace", flips, "sums", *kinds)
    assert (found.kind, found.delta) == (("comparison", "replace"), 0.0)
    assert kept_by_noise("gaussian", flips, "sums", *kinds).delta == 1e-4
    with pytest.raises(ValueError, match="delta"):
        kept_by_noise("gaussian", promise(0.5), "sums", *kinds)
    with pytest.raises(ValueError, match="'add-remove'"):
        kept_by_noise("laplace", promise(0.5, "user", "add-remove"), "sums", *kinds)
    swept = jax.vmap(
        lambda delta: kept_by_noise("gaussian", promise(0.5, delta=delta), "sums", *kinds).delta
    )(jnp.array([0.0, 1e-3]))
    np.testing.assert_array_equal(swept, [0.0, 1e-3])  # traced, so not refused


def test_delta_is_never_negative():
    """Not even where its two tails agree to the last digits, so that rounding decides their order."""
    rng = np.random.default_rng(0)
    ratio = 10 ** rng.uniform(-17, -13, 2000)
    found, *_ = calibration._delta(ratio, ratio * rng.uniform(0, 8, 2000))
    assert np.all(np.asarray(found) >= 0)
    assert np.asarray(found).max() > 0


def test_gaussian_scale_is_never_rounded_below_the_exact_one():
    """Small ε is where the two tails nearly cancel; the budgets are those that float32 stores."""
    rng = np.random.default_rng(0)
    epsilons = (10 ** rng.uniform(-3.5, 1.3, 1000)).astype(np.float32)
    deltas = (10 ** rng.uniform(-12, -0.3, 1000)).astype(np.float32)
    exact = [reference.gaussian_scale(1.0, float(e), float(d)) for e, d in zip(epsilons, deltas)]
    scales = jax.jit(jax.vmap(lambda e, d: gaussian_scale(1.0, e, d)))
    double = np.asarray(scales(epsilons.astype(float), deltas.astype(float))) / exact
    assert double.min() >= 1 - 1e-12  # the twin rounds as well
    assert double.max() <= 1 + 1e-9
    with jax.enable_x64(False):
        single = scales(epsilons, deltas)
        assert single.dtype == np.float32
    ratio = np.asarray(single, float) / exact
    assert ratio.min() >= 1.0
    assert ratio.max() <= 1.03
    assert ratio[epsilons >= 0.01].max() <= 1.001


@pytest.mark.parametrize("double", [True, thorough(False)])
def test_gaussian_scale_of_numbers_is_that_of_arrays(double):
    """Numbers have their ratio remembered, arrays have it computed."""
    with jax.enable_x64(double):
        for sensitivity in (1, 0.3):
            for epsilon in (0.01, 1, 30.0, math.inf):
                for delta in (1e-9, 0.1):
                    told = gaussian_scale(sensitivity, epsilon, delta)
                    computed = gaussian_scale(np.array([sensitivity, 7.0]), epsilon, delta)
                    assert told == computed[0]
                    assert told.dtype == computed.dtype == jnp.result_type(float)


@pytest.mark.parametrize(
    ("scale", "told", "word"),
    [
        *(
            (scale, told, "must be")
            for scale in (laplace_scale, lambda *told: gaussian_scale(*told, 0.1))
            for told in ((0.0, 1.0), (math.inf, 1.0), (1.0, 0.0), (1.0, math.nan), (1.0, True))
        ),
        *((gaussian_scale, (1.0, 1.0, delta), "delta") for delta in (0.0, 1.0, -0.1, math.nan)),
    ],
)
def test_scales_refuse_bad_arguments(scale, told, word):
    with pytest.raises(ValueError, match=word):
        scale(*told)
