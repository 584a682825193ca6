"""Measured coverage: thousands of releases in one vmapped program, compared with the truth."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.pairwise import interval_estimates, mle, rank_intervals, standard_errors
from privrank_jax.pairwise.critical_values import critical_value
from privrank_jax.pairwise.intervals import (
    MOST_CHANGE,
    _confidence_intervals,
    _rank_intervals,
    center_is_near,
    confidence_intervals,
)
from privrank_jax.pairwise.uncertainty import totals_standard_errors
from tests import reference
from tests.pairwise.releases import (
    DESIGN,
    SIZE,
    TRUTH,
)
from tests.quick import quick_jit

# --- coverage of intervals of perturbed scores ---------------------------------------------------


# --- coverage of intervals of noisy totals -------------------------------------------------------


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_pure_laplace_noise_has_laplace_tails(level, key):
    """No comparisons: the error is one Laplace variable, P(|L| > x) = e^{-x/λ}."""
    errors = totals_standard_errors(np.zeros(SIZE), np.zeros((SIZE, SIZE)), noise_scale=2.0)
    low, high = confidence_intervals(errors, level)
    np.testing.assert_allclose(high, -2.0 * np.log(1 - level), rtol=2e-3)
    np.testing.assert_allclose(low, -high, rtol=1e-12)
    normal = totals_standard_errors(
        np.zeros(SIZE), np.zeros((SIZE, SIZE)), noise_scale=2.0, noise="gaussian"
    )
    wanted = 2.0 * scipy.stats.norm.isf((1 - level) / 2)
    np.testing.assert_allclose(confidence_intervals(normal, level)[1], wanted, rtol=1e-3)


# --- the formulas --------------------------------------------------------------------------------


def scores_of(seed, noise="laplace"):
    rng = np.random.default_rng(seed)
    met = np.triu(rng.integers(20, 60, (SIZE, SIZE)), 1)
    return standard_errors(
        TRUTH, (met + met.T).astype(float), noise_scale=2.0, gamma=1.0, noise=noise
    )


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
    low, high = confidence_intervals(errors, 0.9, simultaneous)
    wanted = np.array([reach(row, SIZE if simultaneous else 1) for row in unit])
    np.testing.assert_allclose(high - errors.center, wanted, rtol=1e-6)
    np.testing.assert_allclose(errors.center - low, wanted, rtol=1e-6)
    differences = SIZE * (SIZE - 1) // 2 if simultaneous else SIZE - 1
    sure = np.zeros((SIZE, SIZE))
    for i, j in zip(*np.nonzero(1 - unit)):
        sure[i, j] = reach(unit[i] - unit[j], differences)
    best, worst = rank_intervals(errors, 0.9, simultaneous)
    wanted = reference.rank_interval(np.asarray(errors.center), sure)
    np.testing.assert_array_equal((best, worst), wanted)
    assert np.any(np.asarray(best) < np.asarray(worst))
    assert best.dtype == worst.dtype == jnp.int32


def test_ranks_are_bounded_within_components_alone():
    comparisons = DESIGN.copy()
    comparisons[:3, 3:] = comparisons[3:, :3] = 0
    errors = standard_errors(10 * TRUTH, comparisons * 1e9)
    best, worst = rank_intervals(errors, simultaneous=True)
    # Among eight items, two are significantly worse than the first, two significantly better than the third, and so on.
    np.testing.assert_array_equal(best, [0, 1, 2, 0, 1, 2, 3, 4])
    np.testing.assert_array_equal(worst, [5, 6, 7, 3, 4, 5, 6, 7])
    low, high = confidence_intervals(errors)
    assert np.all(np.isneginf(low))
    assert np.all(np.isposinf(high))


def test_masked_items_do_not_count():
    keep = np.array([0, 1, 3, 4, 6])
    mask, inner = np.isin(np.arange(SIZE), keep), np.ix_(keep, keep)
    within = standard_errors(TRUTH, DESIGN, noise_scale=5.0, mask=mask)
    alone = standard_errors(TRUTH[keep], DESIGN[inner], noise_scale=5.0)
    for run in (confidence_intervals, rank_intervals):
        for padded, small in zip(run(within, 0.9, True), run(alone, 0.9, True)):
            np.testing.assert_allclose(padded[mask], small, rtol=1e-8)


def test_levels_are_ordered_and_compile_nothing():
    errors = scores_of(8)
    confidence_intervals(errors, 0.5)
    rank_intervals(errors, 0.5)
    before = _confidence_intervals._cache_size(), _rank_intervals._cache_size()
    widths = [
        np.mean(np.subtract(*confidence_intervals(errors, p)[::-1])) for p in (0.5, 0.9, 0.99)
    ]
    spans = [np.mean(np.subtract(*rank_intervals(errors, p)[::-1])) for p in (0.5, 0.9, 0.99)]
    assert widths == sorted(set(widths))
    assert spans == sorted(spans)
    assert spans[0] < spans[-1]
    assert (_confidence_intervals._cache_size(), _rank_intervals._cache_size()) == before


# --- the table of results ------------------------------------------------------------------------


def test_interval_estimates_collect_the_parts():
    settings = {"noise_scale": 3.0, "noise": "gaussian"}
    for method, extra in (("mle", {"gamma": 2.0, "link": "normal"}), ("counts", {})):
        build = standard_errors if method == "mle" else totals_standard_errors
        values = TRUTH[::-1] * (1.0 if method == "mle" else 100.0)
        rows = interval_estimates(values, DESIGN, method=method, level=0.8, **settings, **extra)
        errors = build(values, DESIGN, **settings, **extra)
        np.testing.assert_array_equal(rows.standard_errors, errors.standard_errors)
        ends = confidence_intervals(errors, 0.8)  # of another program, so equal up to rounding
        np.testing.assert_allclose((rows.low, rows.high), ends, rtol=1e-14)
        best, worst = rank_intervals(errors, 0.8)
        assert np.all(rows.rank_low <= rows.ranks)
        assert np.all(rows.ranks <= rows.rank_high)
        np.testing.assert_array_equal(rows.rank_low, np.minimum(best, rows.ranks))
        np.testing.assert_array_equal(rows.rank_high, np.maximum(worst, rows.ranks))


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
            near = bool(center_is_near(scores, comparisons, errors))
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
        return interval_estimates(scores, comparisons, gamma=gamma, link=link)

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
    errors = standard_errors(TRUTH, DESIGN, noise_scale=3.0, gamma=2.0)
    better = np.asarray(interval_estimates(TRUTH, DESIGN, noise_scale=3.0, gamma=2.0).better)
    best, worst = rank_intervals(errors, simultaneous=True)
    np.testing.assert_array_equal(better.sum(0), best)
    np.testing.assert_array_equal(SIZE - 1 - better.sum(1), worst)
    assert 0 < better.sum() < SIZE * (SIZE - 1) / 2
    assert not (better & better.T).any()


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 95, np.nan, "high"])
def test_levels_outside_0_and_1_are_refused(level):
    errors = scores_of(9)
    for run in (confidence_intervals, rank_intervals):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            run(errors, level)
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        interval_estimates(TRUTH, DESIGN, level=level)


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="method must be one of 'mle', 'counts'"):
        interval_estimates(TRUTH, DESIGN, method="median")
