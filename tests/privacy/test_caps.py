"""The best cap of PrivUnit and its integers: exactly private, and no other cap has a smaller error."""

from __future__ import annotations

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.optimize
import scipy.special

from privrank_jax.privacy import caps, vectors
from privrank_jax.privacy.caps import privunit_cap
from privrank_jax.privacy.vectors import report_norm

DIMENSIONS = (2, 3, 10, 435, 5000)


def _share(dimension, height):
    return 0.5 * scipy.special.betainc((dimension - 1) / 2, 0.5, 1 - height**2)


def _mean_height(dimension, epsilon, height):
    """c(γ) at p/(1-p) = e^ε q/(1-q), by SciPy's beta functions."""
    log_first = 0.5 * (dimension - 1) * math.log1p(-(height**2)) - math.log(dimension - 1)
    first = math.exp(log_first - scipy.special.betaln(0.5, (dimension - 1) / 2))
    return first * math.expm1(epsilon) / (1 + math.expm1(epsilon) * _share(dimension, height))


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_privunit_is_exactly_private_at_the_best_cap(dimension):
    """Density ratio between cap and rest, with the cap's share from SciPy: ε to 1e-9; no other cap does better."""
    for epsilon in (0.01, 1.0, 8.0):
        cap = privunit_cap(dimension, epsilon)
        share = _share(dimension, float(cap.height))
        chance = float(cap.probability)
        loss = math.log(chance / share) - math.log((1 - chance) / (1 - share))
        assert loss == pytest.approx(epsilon, rel=1e-8)
        best = scipy.optimize.minimize_scalar(
            lambda height, e=epsilon: -_mean_height(dimension, e, height),
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert 1 / float(report_norm("privunit", dimension, epsilon)) == pytest.approx(
            -best.fun, rel=1e-7
        )
        assert float(cap.height) == pytest.approx(-best.fun, rel=1e-7)


def _exact_loss(dimension, cap):
    """Loss of the cap that is drawn from, of γ and k/2^64 as they are, to 40 digits."""
    with mpmath.workdps(60):
        height = mpmath.mpf(float(cap.height))
        beside = (1 - height) * (1 + height)
        half = mpmath.mpf(1) / 2
        share = mpmath.betainc((dimension - 1) * half, half, 0, beside, regularized=True) / 2
        off = mpmath.mpf((int(cap.off[0]) << 32) + int(cap.off[1])) / 2**64
        return mpmath.log((1 - off) / off) - mpmath.log(share / (1 - share))


@pytest.mark.parametrize(
    ("dimension", "dtype"),
    [*((size, np.float32) for size in (2, 3, 30, 1000, 5000)), (2, np.float64), (150, np.float64)],
)
def test_the_loss_of_privunit_never_exceeds_epsilon(dimension, dtype):
    """From ε = 1e-9 to 1e9; close below it where k and γ are not at their ends."""
    ends = np.array([1e-9, 1e-6, 1e-3, 0.01, 0.012, 1e5, 1e9])
    middle = np.random.default_rng(dimension).uniform(-1, 2.5, 25)
    epsilons = np.sort(np.concatenate([ends, [20, 30, 40], 10**middle])).astype(dtype)
    with jax.enable_x64(dtype == np.float64):
        found = jax.vmap(lambda epsilon: privunit_cap(dimension, epsilon))(jnp.asarray(epsilons))
    assert found.height.dtype == dtype
    machine = float(np.finfo(dtype).eps)
    for place, epsilon in enumerate(epsilons.astype(float)):
        loss = _exact_loss(dimension, jax.tree.map(lambda x, k=place: x[k], found))
        assert loss <= epsilon
        if 1e-6 < epsilon < 16:
            assert loss >= epsilon * (1 - 1e3 * machine) - 400 * machine - 2.0**-29


def test_some_word_leads_off_the_cap_at_any_epsilon(key, monkeypatch):
    """In float32 a probability of e^-17 is lost beside 1; integers keep it, and Duchi's too."""
    monkeypatch.setattr(jax.random, "bits", lambda key, shape, dtype: jnp.zeros(shape, dtype))
    axis = jnp.eye(3, dtype=jnp.float32)

    @jax.jit
    def worst(epsilon):
        cap = caps.cap_at(3, epsilon)
        angles = caps.draw_angles(key, 3, cap, (50,))
        reports = vectors._duchi.__wrapped__(key, axis, epsilon, jnp.float32(1), False)
        return jnp.all(jnp.cos(angles) < cap.height), jnp.all(jnp.sum(reports * axis, axis=-1) <= 0)

    for epsilon in (1.0, 17.0, 30.0, 1e6):
        assert all(worst(jnp.float32(epsilon)))


@pytest.mark.parametrize("chance", [0.0, 2.0**-64, 2.0**-64 * 1.5, 2.0**-32, 0.3, 0.5, 1e-9 / 3])
def test_words_are_the_least_that_reach_a_probability(chance):
    with jax.enable_x64(True):
        high, low = map(int, caps._words(jnp.float64(chance)))
    assert (high << 32) + low == max(1, math.ceil(Fraction(chance) * 2**64))
