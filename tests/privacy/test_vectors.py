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
import scipy.stats

from privrank_jax.privacy import vectors
from privrank_jax.privacy.vectors import privunit_cap, report_norm
from tests.quick import thorough, thorough_but

DIMENSIONS = (2, 3, 10, 435, 5000)
KEY = jax.random.key(3)


@pytest.mark.parametrize("dimension", thorough_but([1, *DIMENSIONS], 1, 2, 10, 5000))
def test_duchi_norm(dimension):
    """Against the mean height of a half sphere by integration (d = 1: randomized response)."""
    if dimension == 1:
        mean = 1.0
    else:
        log_density = -scipy.special.betaln(0.5, (dimension - 1) / 2)
        mean = 2 * math.exp(log_density) / (dimension - 1)
    for epsilon in (0.1, 1.0, 5.0):
        want = 1 / (mean * math.tanh(epsilon / 2))
        assert float(report_norm("duchi", dimension, epsilon)) == pytest.approx(want, rel=1e-9)
        assert report_norm("privunit", dimension, epsilon) <= want * (1 + 1e-9)


@pytest.mark.parametrize(("dimension", "epsilon"), [(3, 1.0), (3, 30.0), thorough(40, 4.0)])
def test_privunit_has_the_stated_law(dimension, epsilon, key):
    """KS test of the height on the axis, 20,000 reports, false-alarm rate 1e-6: the law at 1.3ε is rejected."""
    axis = np.arange(1.0, dimension + 1)
    axis /= np.linalg.norm(axis)
    reports = vectors.privunit_vectors(key, np.tile(axis, (20_000, 1)), epsilon)
    heights = np.asarray(reports) @ axis / float(report_norm("privunit", dimension, epsilon))

    def law(assumed):
        cap = privunit_cap(dimension, assumed)
        edge, chance = float(cap.height), float(cap.probability)
        share = _share(dimension, edge)

        def cdf(height):
            above = _share(dimension, height)
            above = np.where(height < 0, 1 - above, above)
            on_cap = 1 - above / share * chance
            return np.where(height >= edge, on_cap, (1 - above) / (1 - share) * (1 - chance))

        return cdf

    assert scipy.stats.kstest(heights, law(epsilon)).pvalue > 1e-6
    assert scipy.stats.kstest(heights, law(1.3 * epsilon)).pvalue < 1e-6
    off = np.asarray(reports) - np.outer(np.asarray(reports) @ axis, axis)
    assert np.abs(off.mean(0)).max() < 5 * np.sqrt((off**2).mean(0).max() / len(off))


@pytest.mark.parametrize("zero_sum", [False, True])
def test_duchi_reports_from_the_right_half_as_often_as_stated(zero_sum, key):
    """200,000 reports of a vector on the sphere: e^ε to 1 within 5 standard errors; e^(1.05ε), 9 off, is rejected."""
    vector = np.array([1.0, -1.0, 0.0]) / math.sqrt(2)
    reports, longer = (  # which is cut
        vectors.duchi_vectors(key, np.tile(one, (200_000, 1)), 1.0, zero_sum=zero_sum)
        for one in (vector, 10 * vector)
    )
    np.testing.assert_allclose(longer, reports, rtol=1e-12)
    seen = np.mean(np.asarray(reports) @ vector > 0)
    error = 5 * math.sqrt(0.25 / 200_000)
    assert abs(seen - scipy.special.expit(1.0)) < error
    assert abs(seen - scipy.special.expit(1.05)) > error


def test_one_dimension_is_randomized_response(key):
    value = jnp.full((20_000, 1), 0.5)
    for run in (vectors.duchi_vectors, vectors.privunit_vectors):
        reports = np.asarray(run(key, value, 1.0))
        norm = 1 / math.tanh(0.5)
        np.testing.assert_allclose(np.abs(reports), norm)
        assert abs(reports.mean() - 0.5) < 5 * norm / math.sqrt(20_000)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        *((lambda e=e: vectors.duchi_vectors(KEY, [0.6, 0.8], e), "epsilon") for e in (0.0, math.nan)),
        *((lambda r=r: vectors.duchi_vectors(KEY, [0.6, 0.8], 1.0, radius=r), "radius") for r in (0.0, math.inf)),
        (lambda: vectors.duchi_vectors(KEY, [1.0], 1.0, zero_sum=True), "dimension"),
        (lambda: vectors.duchi_vectors(KEY, 1.0, 1.0), "dimension"),
        (lambda: report_norm("duchi", 0, 1.0), "dimension"),
        (lambda: report_norm("laplace", 2, 1.0), "mechanism"),
        (lambda: privunit_cap(1, 1.0), "dimensions"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(call, word):
    with pytest.raises(ValueError, match=word):
        call()


@pytest.mark.parametrize("dimension", [thorough(2), 5])
def test_privunit_at_large_epsilon_in_float32(dimension):
    # The cap shrinks to a point: its edge must not round to 1, where there is none.
    axis = np.tile(np.eye(dimension, dtype=np.float32)[0], (200, 1))
    for epsilon in (30.0, 60.0):
        reports = vectors.privunit_vectors(jax.random.key(3), axis, jnp.float32(epsilon))
        assert reports.dtype == jnp.float32
        assert np.all(np.isfinite(reports))
        np.testing.assert_allclose(np.mean(reports, axis=0), axis[0], atol=0.05)


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
        norm = float(report_norm("privunit", dimension, epsilon))
        assert (1 / norm, float(cap.height)) == pytest.approx((-best.fun,) * 2, rel=1e-7)


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
    [(2, np.float32), (150, np.float64), thorough(5000, np.float32), thorough(2, np.float64)],
)
def test_the_loss_of_privunit_never_exceeds_epsilon(dimension, dtype):
    """From ε = 1e-9 to 1e9; close below it where k and γ are not at their ends."""
    ends = np.array([1e-9, 1e-6, 1e-3, 0.01, 0.012, 1e5, 1e9])
    middle = np.random.default_rng(dimension).uniform(-1, 2.5, 25)
    epsilons = np.sort(np.concatenate([ends, [20, 30, 40], 10**middle])).astype(dtype)
    with jax.enable_x64(dtype == np.float64):
        found = jax.jit(jax.vmap(lambda epsilon: privunit_cap(dimension, epsilon)))(epsilons)
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
        cap = vectors.cap_at(3, epsilon)
        angles = vectors.draw_angles(key, 3, cap, (50,))
        reports = vectors._duchi.__wrapped__(key, axis, epsilon, jnp.float32(1), False)
        return jnp.all(jnp.cos(angles) < cap.height), jnp.all(jnp.sum(reports * axis, axis=-1) <= 0)

    for epsilon in (1.0, 17.0, 30.0, 1e6):
        assert all(worst(jnp.float32(epsilon)))


@pytest.mark.parametrize("chance", [0.0, 2.0**-64, 2.0**-64 * 1.5, 2.0**-32, 0.3, 0.5, 1e-9 / 3])
def test_words_are_the_least_that_reach_a_probability(chance):
    with jax.enable_x64(True):
        high, low = map(int, vectors._words(jnp.float64(chance)))
    assert (high << 32) + low == max(1, math.ceil(Fraction(chance) * 2**64))
