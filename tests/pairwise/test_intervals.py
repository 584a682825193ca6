"""Intervals by their definition, critical values, quasi-variances, bootstrap, and probabilities of orders and ranks."""

from __future__ import annotations

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.pairwise import confidence_intervals, mle, noisy_counts, uncertainty
from privrank_jax.pairwise.intervals import (
    above_probabilities,
    critical_at,
    critical_of,
    parametric_bootstrap,
    quasi_variances,
    rank_probabilities,
)
from privrank_jax.pairwise.uncertainty import MOST_CHANGE
from privrank_jax.privacy.bodies import Noise
from tests import reference
from tests.promises import promise
from tests.quick import quick_jit, thorough
from tests.reference.quasi_variances import quasi_variances as naive

# Compiled whole: operation by operation they are a dozen programs more for each shape.
standard_errors = jax.jit(pairwise.standard_errors, static_argnames="link")
totals_standard_errors = jax.jit(uncertainty.totals_standard_errors)
SIZE = 8
TRUTH = np.array([1.2, 0.8, 0.4, 0.4, 0.0, -0.5, -0.9, -1.4])
DESIGN = 200 * (1.0 - np.eye(SIZE))


def critical_value(alpha, share):
    share = jnp.asarray(share)
    return critical_at(critical_of(jnp.asarray(alpha, share.dtype)), share)


def test_critical_values_solve_their_equation():
    shares = jnp.array([0.0, 0.01, 0.1, 0.5, 0.9, 1.0])
    solve = jax.jit(critical_value)
    for alpha in (0.3, 0.05, 1e-4):
        for mixed, value in zip(shares.tolist(), solve(alpha, shares).tolist()):
            tail = reference.gaussian_laplace_tail(value, min(max(mixed, 1e-5), 1 - 1e-5))
            # An error of 1e-3 in the value is one of 1e-3 times -d log tail/d log value in the tail.
            np.testing.assert_allclose(tail, alpha, rtol=1e-3 * value**2 + 2e-3)
    single = solve(jnp.float32(0.01), shares.astype(jnp.float32))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, solve(0.01, shares), rtol=1e-3)


# --- coverage of intervals of noisy totals -------------------------------------------------------


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_pure_laplace_noise_has_laplace_tails(level, key):
    """No comparisons: the error is one Laplace variable, P(|L| > x) = e^{-x/λ}."""
    errors = totals_standard_errors(np.zeros(SIZE), np.zeros((SIZE, SIZE)), noise=2.0)
    found = confidence_intervals(errors, level)
    np.testing.assert_allclose(found.high, -2.0 * np.log(1 - level), rtol=2e-3)
    np.testing.assert_allclose(found.low, -found.high, rtol=1e-12)
    normal = Noise.independent("gaussian", 2.0, SIZE)
    normal = totals_standard_errors(np.zeros(SIZE), np.zeros((SIZE, SIZE)), noise=normal)
    wanted = 2.0 * scipy.stats.norm.isf((1 - level) / 2)
    np.testing.assert_allclose(confidence_intervals(normal, level).high, wanted, rtol=1e-3)


# --- the formulas --------------------------------------------------------------------------------


def scores_of(seed, noise="laplace"):
    rng = np.random.default_rng(seed)
    met = np.triu(rng.integers(20, 60, (SIZE, SIZE)), 1)
    law = Noise.independent(noise, 2.0, SIZE)
    found = standard_errors(TRUTH, (met + met.T).astype(float), gamma=1.0, noise=law)
    return dataclasses.replace(found, value=found.center, near=jnp.asarray(True))  # not extended


def test_a_pull_widens_intervals_and_costs_only_the_orders_that_it_may_have_made():
    """A ridge that drew item i by more than j made their difference smaller if i is above j, else larger."""
    errors = dataclasses.replace(scores_of(3, "gaussian"), center=jnp.linspace(1.5, -1.5, SIZE))
    errors = dataclasses.replace(errors, value=errors.center)
    plain = confidence_intervals(errors)
    for pull in (0.5 * errors.center, -0.5 * errors.center):
        found = confidence_intervals(dataclasses.replace(errors, pull=pull))
        wanted = scipy.stats.norm.isf(0.025) * np.sqrt(errors.variances + pull**2)
        np.testing.assert_allclose(found.high - errors.center, wanted, rtol=1e-3)
        shrank = bool(pull[0] > 0)
        assert np.array_equal(found.better, plain.better) == shrank
        if not shrank:  # each difference less half of itself
            half = dataclasses.replace(errors, center=0.5 * errors.center)
            np.testing.assert_array_equal(found.better, confidence_intervals(half).better)
    assert plain.better.any()


@pytest.mark.parametrize(("noise", "simultaneous"), [("laplace", True), ("gaussian", False)])
def test_intervals_are_those_of_their_definition(noise, simultaneous):
    errors = scores_of(6, noise)
    covariance, influence = np.asarray(errors.covariance), np.asarray(errors.influence)

    def reach(combination, count):
        variance = combination @ covariance @ combination
        fourth = np.sum((influence.T @ combination) ** 4)
        mixed = 8.0 * np.sqrt(fourth) / variance if noise == "laplace" else 0.0
        return solve(0.1 / count, mixed) * np.sqrt(variance)

    solve, unit = jax.jit(critical_value), np.eye(SIZE)
    found = confidence_intervals(errors, 0.9, simultaneous)
    wanted = np.array([reach(row, SIZE if simultaneous else 1) for row in unit])
    np.testing.assert_allclose(found.high - errors.center, wanted, rtol=1e-6)
    np.testing.assert_allclose(errors.center - found.low, wanted, rtol=1e-6)
    differences = SIZE * (SIZE - 1) // 2 if simultaneous else SIZE - 1
    sure = np.zeros((SIZE, SIZE))
    for i, j in zip(*np.nonzero(1 - unit)):
        sure[i, j] = reach(unit[i] - unit[j], differences)
    best, worst = found.rank_low, found.rank_high
    wanted = reference.rank_interval(np.asarray(errors.center), sure)
    np.testing.assert_array_equal((best, worst), wanted)
    assert np.any(np.asarray(best) < np.asarray(worst))
    assert best.dtype == worst.dtype == jnp.int32
    if simultaneous:
        np.testing.assert_array_equal(found.better.sum(0), best)
        np.testing.assert_array_equal(found.better, confidence_intervals(errors, 0.9).better)


def test_ranks_are_bounded_within_components_alone():
    comparisons = DESIGN.copy()
    comparisons[:3, 3:] = comparisons[3:, :3] = 0
    errors = standard_errors(10 * TRUTH, comparisons * 1e9)
    found = confidence_intervals(errors, simultaneous=True)
    # Among eight items, two are significantly worse than the first, two significantly better than the third, and so on.
    np.testing.assert_array_equal(found.rank_low, [0, 1, 2, 0, 1, 2, 3, 4])
    np.testing.assert_array_equal(found.rank_high, [5, 6, 7, 3, 4, 5, 6, 7])
    assert np.all(np.isneginf(found.low))
    assert np.all(np.isposinf(found.high))


def test_masked_items_do_not_count():
    keep = np.array([0, 1, 3, 4, 6])
    mask, inner = np.isin(np.arange(SIZE), keep), np.ix_(keep, keep)
    within = standard_errors(TRUTH, DESIGN, noise=5.0, mask=mask)
    alone = standard_errors(TRUTH[keep], DESIGN[inner], noise=5.0)
    padded, small = (confidence_intervals(errors, 0.9, True) for errors in (within, alone))
    for name in ("low", "high", "rank_low", "rank_high"):
        np.testing.assert_allclose(getattr(padded, name)[mask], getattr(small, name), rtol=1e-8)


# --- the table of results ------------------------------------------------------------------------


def test_intervals_contain_what_was_released():
    errors = scores_of(4)
    plain = confidence_intervals(errors, 0.8)
    off = errors.value[::-1] * 3 + 1
    rows = confidence_intervals(dataclasses.replace(errors, value=off), 0.8)
    np.testing.assert_array_equal(rows.standard_errors, errors.standard_errors)
    np.testing.assert_allclose(rows.low, np.minimum(plain.low, off), rtol=1e-12)
    np.testing.assert_allclose(rows.high, np.maximum(plain.high, off), rtol=1e-12)
    np.testing.assert_array_equal(rows.ranks, np.arange(SIZE)[::-1])
    np.testing.assert_array_equal(rows.rank_low, np.minimum(plain.rank_low, rows.ranks))
    np.testing.assert_array_equal(rows.rank_high, np.maximum(plain.rank_high, rows.ranks))
    far = confidence_intervals(dataclasses.replace(errors, near=jnp.asarray(False)))
    assert np.all(np.isneginf(far.low) & np.isposinf(far.high))
    assert np.all((np.asarray(far.rank_low) == 0) & (np.asarray(far.rank_high) == SIZE - 1))
    assert not np.any(far.better)


def bends(scores, comparisons):
    """Information of every compared pair under the logistic link, one by one."""
    found = []
    for i, j in itertools.combinations(range(len(scores)), 2):
        if comparisons[i, j]:
            chance = 1 / (1 + math.exp(scores[j] - scores[i]))
            found.append(chance * (1 - chance))
    return np.array(found)


def test_the_center_is_near_where_no_information_changes_much():
    draw, seen = np.random.default_rng(1), set()
    for _ in range(60):
        comparisons = draw.poisson(draw.choice([1.0, 20.0]), (4, 4))
        comparisons = np.triu(comparisons, 1) + np.triu(comparisons, 1).T
        scores = draw.normal(0, 1, 4)
        errors = standard_errors(scores, comparisons, gamma=draw.choice([0.5, 4.0]))
        center = np.asarray(errors.center, float)
        with np.errstate(divide="ignore"):  # a center so far away that it has no bend
            change = np.abs(np.log(bends(center, comparisons) / bends(scores, comparisons)))
        if np.all(np.abs(change - math.log(MOST_CHANGE)) > 1e-3):
            near = bool(errors.near)
            assert near == bool(np.all(change < math.log(MOST_CHANGE)))
            seen.add(near)
    assert seen == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("link", ["logistic", "laplace"])
def test_released_scores_lie_in_their_intervals_and_separated_ones_have_none(link):
    """Fits with every ridge, to data that are separated or not, with and without noise."""
    draw, number = np.random.default_rng(7), np.arange(80)
    most = draw.choice([2, 5, 60], 80)[:, None, None]
    met = np.triu(draw.integers(1, most, (80, 4, 4)), 1)
    won = draw.binomial(met, draw.choice([0.5, 0.8, 1.0], 80)[:, None, None])
    wins = WinCounts((won + (met - won).swapaxes(1, 2)).astype(float))
    gammas = draw.choice([1e-3, 0.1, 1.0, 30.0, 1000.0], 80)
    over_gammas = jax.vmap(lambda one, gamma: mle(one, link, gamma), (None, 0))
    fits = quick_jit(jax.vmap(over_gammas))(wins, np.stack([0 * gammas, gammas], 1))
    scores = np.asarray(fits.value[:, 1])
    scores = scores + np.where(number % 4 == 0, 1, 0)[:, None] * draw.normal(0, 0.3, (80, 4))

    @quick_jit
    @jax.vmap
    def intervals(scores, comparisons, gamma):
        return confidence_intervals(standard_errors(scores, comparisons, gamma=gamma, link=link))

    rows = intervals(scores, wins.comparisons, gammas)
    low, high = np.asarray(rows.low), np.asarray(rows.high)
    centered = scores - scores.mean(1, keepdims=True)
    known = np.isfinite(low)
    np.testing.assert_array_equal(known, np.isfinite(high))
    assert np.all(known.all(1) | ~(known.any(1) | np.asarray(rows.better).any((1, 2))))
    slack = 1e-5 * (1 + np.abs(centered))
    assert np.all(low <= centered + slack)
    assert np.all(centered - slack <= high)
    separated = np.asarray(fits.diagnostics.separated)[:, 0]
    kinds = set(zip(separated[number % 4 > 0].tolist(), known.all(1)[number % 4 > 0].tolist()))
    seen = {(True, False), (False, True)}
    assert seen <= kinds <= seen | {(False, False)}


SIX = 6
EVEN = np.linspace(1.0, -1.0, SIX)


def design(seed=0, size=SIX):
    met = np.triu(np.random.default_rng(seed).integers(5, 200, (size, size)), 1)
    return (met + met.T).astype(float)


def test_quasi_variances_are_the_least_squares_of_log_ratios():
    errors = standard_errors(EVEN, design(), noise=2.0, gamma=3.0)
    found = quasi_variances(errors)
    wanted, worst = naive(np.asarray(errors.covariance))
    np.testing.assert_allclose(found.variances, wanted, rtol=1e-6)
    np.testing.assert_allclose(found.worst_relative_error, worst, rtol=1e-5)
    assert 0 < worst < 0.1
    np.testing.assert_allclose(found.standard_errors, np.sqrt(wanted), rtol=1e-6)


def test_three_items_fit_exactly_and_one_may_be_negative():
    """q_1 = (V_12 + V_13 - V_23) / 2, negative where the difference of the other two varies most."""
    errors = standard_errors(EVEN[:3], design(size=3))
    wide = np.array([[0.02, 0.0, 0.0], [0.0, 1.0, -0.9], [0.0, -0.9, 1.0]])
    v = np.array([1.02, 1.02, 3.8])  # of differences 0 and 1, 0 and 2, 1 and 2
    wanted = [(v[0] + v[1] - v[2]) / 2, (v[0] + v[2] - v[1]) / 2, (v[1] + v[2] - v[0]) / 2]
    found = quasi_variances(dataclasses.replace(errors, covariance=jnp.asarray(wide)))
    np.testing.assert_allclose(found.variances, wanted, rtol=1e-6)
    assert np.isnan(found.standard_errors[0])


def test_components_are_served_apart_and_an_item_alone_has_no_bar():
    comparisons = design(1)
    comparisons[:3, 3:] = comparisons[3:, :3] = 0
    comparisons[5] = comparisons[:, 5] = 0
    errors = standard_errors(EVEN, comparisons)
    found = quasi_variances(errors)
    first = quasi_variances(standard_errors(EVEN[:3], comparisons[:3, :3]))
    np.testing.assert_allclose(found.variances[:3], first.variances, rtol=1e-5)
    pair = np.asarray(errors.covariance)[3:5, 3:5]
    halves = 0.5 * (np.trace(pair) - pair[0, 1] - pair[1, 0])
    np.testing.assert_allclose(found.variances[3:5], halves, rtol=1e-5)
    assert np.isinf(found.variances[5])
    masked = quasi_variances(standard_errors(EVEN, comparisons, mask=np.arange(SIX) < 5))
    np.testing.assert_allclose(masked.variances, [*found.variances[:5], 0], rtol=1e-6)
    assert found.worst_relative_error < 1e-5


FIVE = np.array([1.0, 0.5, 0.0, -0.4, -1.1])
DRAWS = 2000
MET = np.array(
    [[0, 90, 30, 70, 60], [90, 0, 80, 40, 0], [30, 80, 0, 60, 60], [70, 40, 60, 0, 90], [60, 0, 60, 90, 0]],
    float,
)  # fmt: skip


@pytest.mark.parametrize("masked", [thorough(False), True])
def test_a_bootstrap_draws_binomial_outcomes_and_the_noise_of_the_mechanism(masked, key):
    """Means and variances within 5 standard errors; every comparison has one winner, counts are rounded."""
    mask = np.array([True, True, not masked, True, True])

    def all_seen(key, wins):
        noisy = noisy_counts(key, wins, promise(0.2)).value
        return wins.matrix, wins.item_mask, noisy - wins.totals

    told = {"link": "laplace", "mask": mask}
    counts = MET + np.where(MET > 0, 0.3, 0.0)
    wins, masks, noise = map(
        np.asarray, parametric_bootstrap(key, FIVE, counts, all_seen, DRAWS, **told)
    )
    asked = np.where(np.outer(mask, mask), MET, 0)
    np.testing.assert_array_equal(wins + np.swapaxes(wins, 1, 2), [asked] * DRAWS)
    np.testing.assert_array_equal(masks, [mask] * DRAWS)
    chance = np.asarray(get_link("laplace").cdf(FIVE[:, None] - FIVE))
    variance, met = asked * chance * (1 - chance), asked > 0
    assert np.all(np.abs(wins.mean(0) - asked * chance) <= 5 * np.sqrt(variance / DRAWS))
    relative = wins.var(0)[met] / variance[met] - 1
    assert np.all(np.abs(relative) < 5 * np.sqrt(2.1 / DRAWS))  # kurtosis is near 3
    noise, totals = noise[:, mask], wins.sum(2)[:, mask]
    assert np.all(np.abs(noise.var(0) / (2 * (2 / 0.2) ** 2) - 1) < 5 * np.sqrt(5 / DRAWS))
    assert len(np.unique(noise.round(9))) == noise.size
    covariance = np.corrcoef(noise.T, totals.T)[: mask.sum(), mask.sum() :]
    assert np.all(np.abs(covariance) < 5 / np.sqrt(DRAWS))  # one key does not draw both


def uncertainty_of(scores, seed=0):
    rng = np.random.default_rng(seed)
    met = np.triu(rng.integers(20, 90, (len(scores),) * 2), 1)
    return standard_errors(scores, met + met.T)


def test_as_by_draws_from_the_joint_law():
    errors = uncertainty_of([0.4, 0.2, 0.0, -0.1, -0.5])
    center, covariance = np.asarray(errors.center, float), np.asarray(errors.covariance, float)
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(5))
    drawn = center + np.random.default_rng(0).normal(size=(40_000, 5)) @ root.T
    above = np.asarray(above_probabilities(errors), float)
    np.testing.assert_allclose(above, (drawn[:, :, None] > drawn[:, None]).mean(0), atol=0.012)
    np.testing.assert_allclose(above + above.T, 1 - np.eye(5), atol=1e-6)
    order = np.argsort(-drawn, axis=1)
    naive = np.array([(order == item).mean(0) for item in range(5)])
    ranks = np.asarray(rank_probabilities(jax.random.key(0), errors, 40_000), float)
    np.testing.assert_allclose(ranks, naive, atol=0.015)
    np.testing.assert_allclose([ranks.sum(0), ranks.sum(1)], 1, atol=1e-5)
