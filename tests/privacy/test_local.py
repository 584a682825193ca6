from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax import privacy
from privrank_jax.privacy.local import flip_threshold
from tests.quick import thorough
from tests.reference import local as reference_local

EPSILONS = [1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 12.0, 20.0]
KEY = jax.random.key(0)
both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@both_dtypes
def test_flip_probability_and_information(dtype):
    epsilons = np.array([*EPSILONS, 80.0, 1000.0, np.inf], dtype)
    flips, information = privacy.flip_probability(epsilons), privacy.report_information(epsilons)
    assert flips.dtype == information.dtype == dtype
    tolerance = 4 * float(np.finfo(dtype).eps)
    for place, epsilon in enumerate(epsilons.astype(float)):
        expected = reference_local.flip_probability(epsilon)
        assert float(flips[place]) == pytest.approx(
            expected, rel=tolerance * (2 + epsilon), abs=1e-37
        )
        tanh = math.expm1(epsilon) / (math.exp(epsilon) + 1) if epsilon < 700 else 1.0
        assert float(information[place]) == pytest.approx(tanh**2, rel=tolerance)
    assert float(flips[-1]) == 0.0
    assert float(information[-1]) == 1.0


def _drawn_loss(count):
    """Loss of a report that is flipped with probability count/2^32, exact to double rounding."""
    return math.log1p((2**32 - 2 * int(count)) / int(count))


@both_dtypes
def test_drawn_probabilities_lose_epsilon_and_never_more(dtype):
    """From the integers that the sampler compares with; a flip probability 1 % smaller is caught."""
    epsilons = np.array(EPSILONS, dtype)
    counts = flip_threshold(jnp.asarray(epsilons)).tolist()
    for epsilon, count in zip(epsilons.astype(float), counts):
        resolution = 1e-9 / epsilon + 2**-32 * math.exp(epsilon)
        assert epsilon * (1 - 2e-6 - resolution) <= _drawn_loss(count) <= epsilon
        assert _drawn_loss(0.99 * count) > epsilon
    beyond = flip_threshold(jnp.array([25.0, 1000.0, jnp.inf], dtype)).tolist()
    assert beyond == [1, 1, 0]


@both_dtypes
def test_debiasing_is_the_printed_formula_and_unbiased(dtype):
    """E[z̃ | y] = y by summing over the two reports, at every ε."""
    epsilons = np.array([1e-6, 1e-3, 0.3, 1.0, 4.0, 30.0, 80.0, 1000.0, np.inf], dtype)
    values = privacy.local.debias(np.broadcast_to([False, True], (9, 2)), epsilons)
    assert values.dtype == dtype
    eps = float(np.finfo(dtype).eps)
    for epsilon, (zero, one) in zip(epsilons.tolist(), np.asarray(values, float).tolist()):
        if epsilon < 500:
            for report, value in enumerate((zero, one)):
                printed = reference_local.debias(report, epsilon)
                assert value == pytest.approx(printed, rel=(8 + epsilon) * eps)
        else:
            assert (zero, one) == (0.0, 1.0)
        flip = reference_local.flip_probability(epsilon)
        for answer, told, opposite in ((1, one, zero), (0, zero, one)):
            mean = (1 - flip) * told + flip * opposite
            assert mean == pytest.approx(answer, abs=8 * eps * max(one, 1))


def test_reports_are_flipped_as_often_as_promised(key):
    """400,000 reports at each of four ε, within 5 standard errors (false alarms 6e-7 each); 10 % off is rejected.
    Both answers alike, and reports of one user are uncorrelated."""
    epsilons = jnp.array([0.2, 1.0, 2.0, 4.0])
    bits = jnp.broadcast_to(jnp.arange(400_000) % 2 == 0, (4, 400_000))
    flips = np.asarray(privacy.randomized_response(key, bits, epsilons) ^ bits)
    for place, epsilon in enumerate(np.asarray(epsilons)):
        promised = reference_local.flip_probability(epsilon)
        error = math.sqrt(promised * (1 - promised) / 400_000)
        assert abs(flips[place].mean() - promised) < 5 * error
        assert abs(flips[place].mean() - 0.9 * promised) > 5 * error
        halves = flips[place].reshape(-1, 2).mean(0)
        assert abs(halves[0] - halves[1]) < 5 * 2 * error
        assert abs(np.corrcoef(flips[place][1:], flips[place][:-1])[0, 1]) < 5 / math.sqrt(400_000)


def test_epsilon_is_one_number_or_personal_or_per_report(key):
    """Square bits, where users and reports of a user are as many: the leading axis is that of users."""
    bits = np.ones((3, 3), bool)
    personal = np.array([1e-6, np.inf, 1.0])
    draw = jax.jit(jax.vmap(lambda k: privacy.randomized_response(k, bits, personal)))
    draws = draw(jax.random.split(key, 2000))
    rates = 1 - np.asarray(draws).mean((0, 2))
    np.testing.assert_allclose(rates, [0.5, 0.0, 1 / (1 + math.e)], atol=5 * 0.5 / math.sqrt(6000))
    by_report = np.broadcast_to(personal[:, None], (3, 3))
    for name in ("randomized_response", "laplace_reports", "debias"):
        np.testing.assert_array_equal(USES[name](personal, bits), USES[name](by_report, bits))


def test_laplace_reports(key):
    """KS test of 200,000 noises, false-alarm rate 1e-6; a scale 5 % off is rejected."""
    bits = np.arange(200_000) % 2
    noise = np.asarray(privacy.local.laplace_reports(key, bits, 0.8)) - bits
    assert scipy.stats.kstest(noise, scipy.stats.laplace(scale=1.25).cdf).pvalue > 1e-6
    for wrong in (0.95, 1.05):
        assert scipy.stats.kstest(noise, scipy.stats.laplace(scale=wrong * 1.25).cdf).pvalue < 1e-6
    assert privacy.local.laplace_reports(key, bits[:5], np.float32(1)).dtype == np.float32


def test_guarantee_shows_comparison_and_user():
    guarantee = privacy.local_guarantee(np.array([1.0, 0.5, 9.0]), np.array([2, 10, 0]))
    assert (guarantee.trust, guarantee.unit, guarantee.adjacency) == ("local", "comparison", "flip")
    assert "148" in guarantee.in_words()
    (whole,) = guarantee.also
    assert (float(guarantee.epsilon), whole.unit, float(whole.epsilon)) == (1.0, "user", 5.0)
    batch = jax.jit(jax.vmap(lambda *told: privacy.local_guarantee(*told).also[0].epsilon))
    found = batch(np.ones((2, 3)), np.array([[1, 2, 3], [0, 0, 4]]))
    np.testing.assert_array_equal(found, [3.0, 4.0])


BIT = [True]
USES = {
    "flip_probability": lambda epsilon, bits: privacy.flip_probability(epsilon),
    "report_information": lambda epsilon, bits: privacy.report_information(epsilon),
    "local_guarantee": lambda epsilon, bits: privacy.local_guarantee(epsilon),
    "randomized_response": lambda epsilon, bits: privacy.randomized_response(KEY, bits, epsilon),
    "laplace_reports": lambda epsilon, bits: privacy.local.laplace_reports(KEY, bits, epsilon),
    "debias": lambda epsilon, bits: privacy.local.debias(bits, epsilon),
}


@pytest.mark.parametrize("name", USES)
def test_bad_arguments_are_refused(name):
    for epsilon in (0.0, -1.0, math.nan, "one", True):
        with pytest.raises(ValueError, match="epsilon"):
            USES[name](epsilon, BIT)
    if name in ("randomized_response", "laplace_reports", "debias"):
        for bits in ([0, 2], [0.5], [math.nan], [-1], ["yes"]):
            with pytest.raises(ValueError, match="0 or 1"):
                USES[name](1.0, [0, *bits])
    for wrong in (np.ones(4), np.ones((3, 1, 1)), np.ones((3, 2))):
        with pytest.raises(ValueError, match="one per user"):
            privacy.randomized_response(KEY, np.ones((3, 4), bool), wrong)
    with pytest.raises(ValueError, match="reports_per_user"):
        privacy.local_guarantee([1.0], [-1])


@pytest.mark.parametrize(
    "odd",
    [np.int8([0, -1, 2, 100, 7]), thorough(np.uint8([0, 255, 2])), np.float32([0, 0.5, np.nan])],
)
def test_traced_bits_of_any_content_are_protected(odd, key):
    """What can't be checked must not leak: whatever isn't 1 is reported as 0 would be."""
    odd = np.tile(odd, 50)
    for mechanism in (privacy.randomized_response, privacy.local.laplace_reports):
        draw = jax.jit(mechanism)
        np.testing.assert_array_equal(draw(key, odd, 0.5), draw(key, np.zeros_like(odd), 0.5))
        np.testing.assert_array_equal(mechanism(key, odd == 1, np.inf), odd == 1)
    reports = jax.jit(privacy.randomized_response)(key, odd, 0.5)
    assert reports.dtype == odd.dtype
    assert set(reports.tolist()) == {0, 1}


def test_debiased_reports_of_either_coding_are_the_same_traced_or_not():
    plain = privacy.local.debias([1, 0, 0], 0.3)
    signed = np.array([1.0, -1.0, -1.0])
    for found in (
        privacy.local.debias(signed, 0.3),
        jax.jit(privacy.local.debias)(signed, 0.3),
        jax.jit(jax.vmap(lambda y: privacy.local.debias(y, 0.3)))(signed.astype(np.int8)),
    ):
        np.testing.assert_allclose(found, plain, rtol=1e-14)
    assert np.isnan(jax.jit(privacy.local.debias)(np.array([2.0, math.nan]), 0.3)).all()
