"""Intervals by their definition, where they are infinite, and that they contain what was released."""

from __future__ import annotations

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.pairwise import confidence_intervals, mle, standard_errors
from privrank_jax.pairwise.intervals import _intervals
from privrank_jax.pairwise.uncertainty import MOST_CHANGE, totals_standard_errors
from privrank_jax.privacy.bodies import Noise
from tests import reference
from tests.pairwise.releases import (
    DESIGN,
    SIZE,
    TRUTH,
)
from tests.pairwise.test_critical_values import critical_value
from tests.quick import quick_jit

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


def test_levels_are_ordered_and_compile_nothing():
    errors = scores_of(8)
    confidence_intervals(errors, 0.5)
    before = _intervals._cache_size()
    found = [confidence_intervals(errors, p) for p in (0.5, 0.9, 0.99)]
    widths = [float(jnp.mean(one.high - one.low)) for one in found]
    spans = [float(jnp.mean(one.rank_high - one.rank_low)) for one in found]
    assert widths == sorted(set(widths))
    assert spans == sorted(spans)
    assert spans[0] < spans[-1]
    assert _intervals._cache_size() == before


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


@pytest.mark.parametrize("link", ["logistic", "laplace", "normal"])
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


def test_a_step_past_what_separated_data_take_is_never_short():
    """Where the likelihood has no maximum, some pair's information changes by more than allowed (module head)."""
    for link, most in (("logistic", 0.43), ("laplace", 0.37), ("normal", 0.56)):
        link = get_link(link)
        gap = np.linspace(-6, 12, 20001)
        after = gap + 1 / np.asarray(link.score(-gap), float)
        kept = np.asarray(
            link.score(after) * link.score(-after) / (link.score(gap) * link.score(-gap))
        )
        assert most - 0.02 < kept.max() < most < 1 / MOST_CHANGE


def test_who_is_better_is_what_ranks_of_all_items_together_say():
    errors = standard_errors(TRUTH, DESIGN, noise=3.0, gamma=2.0)
    better = np.asarray(confidence_intervals(errors).better)
    found = confidence_intervals(errors, simultaneous=True)
    np.testing.assert_array_equal(better, found.better)
    np.testing.assert_array_equal(better.sum(0), found.rank_low)
    np.testing.assert_array_equal(SIZE - 1 - better.sum(1), found.rank_high)
    assert 0 < better.sum() < SIZE * (SIZE - 1) / 2
    assert not (better & better.T).any()


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 95, np.nan, "high"])
def test_levels_outside_0_and_1_are_refused(level):
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        confidence_intervals(scores_of(9), level)
