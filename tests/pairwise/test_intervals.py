"""Coverage is measured: thousands of releases in one vmapped program, held against the truth."""

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
from privrank_jax.pairwise import (
    confidence_intervals,
    interval_estimates,
    mle,
    noisy_counts,
    perturbed_mle,
    rank_intervals,
    standard_errors,
    totals_standard_errors,
    uniform_design,
)
from privrank_jax.pairwise.intervals import (
    MOST_CHANGE,
    _confidence_intervals,
    _fourth_moments,
    _rank_intervals,
    center_is_near,
    critical_value,
)
from tests import reference
from tests.promises import promise

SIZE, PER_PAIR, RELEASES = 8, 200, 1500
TRUTH = np.array([1.2, 0.8, 0.4, 0.4, 0.0, -0.5, -0.9, -1.4])  # items 2 and 3 are tied
# By the truth, any rank from the first to the second is the item's.
BEST, WORST = np.array([0, 1, 2, 2, 4, 5, 6, 7]), np.array([0, 1, 3, 3, 4, 5, 6, 7])
CHANCE = 1 / (1 + np.exp(TRUTH[None, :] - TRUTH[:, None]))
DESIGN = PER_PAIR * (1.0 - np.eye(SIZE))


def drawn(comparisons, seed=0):
    """Win counts ``(RELEASES, m, m)`` in float32, outcomes drawn under the truth."""
    met = np.broadcast_to(np.triu(comparisons, 1).astype(int), (RELEASES, SIZE, SIZE))
    won = np.random.default_rng(seed).binomial(met, CHANCE)
    return jnp.asarray(won + np.swapaxes(met - won, 1, 2), jnp.float32)


@jax.jit
def released(keys, wins, epsilon, gamma):
    def release(key, matrix):
        found = perturbed_mle(
            key, WinCounts(matrix), promise(epsilon, adjacency="flip"), gamma=gamma
        )
        return found.value, found.diagnostics.noise_scale

    return jax.vmap(release)(keys, wins)


@jax.jit
def intervals_of(scores, comparisons, scale, gamma, level=0.95):
    """Intervals of every release: of each score, and of all ranks together."""

    def one(theta):
        errors = standard_errors(theta, comparisons, noise_scale=scale, gamma=gamma)
        return confidence_intervals(errors, level), rank_intervals(errors, level, simultaneous=True)

    return jax.vmap(one)(scores)


@jax.jit
def penalized_intervals(scores, comparisons, scale, gamma):
    def one(theta):
        settings = {"noise_scale": scale, "gamma": gamma, "target": "penalized"}
        return confidence_intervals(standard_errors(theta, comparisons, **settings))

    return jax.vmap(one)(scores)


def share(interval, low, high=None):
    """Share of items, or of releases for a bool of all items, whose interval holds low..high; and its error."""
    held = (np.asarray(interval[0]) <= low) & (np.asarray(interval[1]) >= low)
    if high is not None:
        held &= np.asarray(interval[1]) >= high
    of_items = held.mean(1)
    error = of_items.std(ddof=1) / np.sqrt(len(held))
    return of_items.mean(), error, held.all(1).mean()


def release(key, epsilon, gamma, comparisons=DESIGN, seed=0):
    keys = jax.random.split(key, RELEASES)
    scores, scales = released(keys, drawn(comparisons, seed), epsilon, gamma)
    return scores, scales[0]


# --- coverage of intervals of perturbed scores ---------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [np.inf, 0.5, 0.1, 0.05])
def test_intervals_cover_the_true_scores_and_ranks(epsilon, key):
    """95 % within 4.5 standard errors of the simulation and 0.01 for the linear step."""
    gamma = {np.inf: 1.0, 0.5: 1.1, 0.1: 4.0, 0.05: 12.0}[epsilon]  # about the default
    scores, scale = release(key, epsilon, gamma)
    single, ranks = intervals_of(scores, DESIGN, scale, gamma)
    covered, error, _ = share(single, TRUTH)
    assert abs(covered - 0.95) < 4.5 * error + 0.01
    slack = 4.5 * np.sqrt(0.05 * 0.95 / RELEASES)
    together, _ = intervals_of(scores, DESIGN, scale, gamma, 1 - 0.05 / SIZE)
    assert 0.95 - slack < share(together, TRUTH)[2] < 0.99
    assert share(ranks, BEST, WORST)[2] > 0.95 - slack
    assert np.mean(np.asarray(ranks[1]) - np.asarray(ranks[0])) < 0.75 * (SIZE - 1)  # they tell


def test_intervals_that_forget_the_privacy_noise_do_not_cover(key):
    """At ε = 0.05 the noise is ten times the variance of the sampling: 95 % becomes less than 60 %."""
    scores, scale = release(key, 0.05, 12.0)
    single, ranks = intervals_of(scores, DESIGN, 0.0 * scale, 12.0)
    assert share(single, TRUTH)[0] < 0.6
    assert share(ranks, BEST, WORST)[2] < 0.9


def test_the_pull_of_a_large_ridge_is_undone_or_targeted(key):
    """γ = 60, a fifth of the information, pulls scores by several standard errors."""
    gamma = 60.0
    scores, scale = release(key, 0.5, gamma)
    single, _ = intervals_of(scores, DESIGN, scale, gamma)
    assert share(single, TRUTH)[0] > 0.75
    pulled = np.asarray(mle(WinCounts(DESIGN * CHANCE), gamma=gamma).value)
    around = penalized_intervals(scores, DESIGN, scale, gamma)
    covered, error, _ = share(around, pulled)
    assert abs(covered - 0.95) < 4.5 * error + 0.01
    assert share(around, TRUTH)[0] < 0.5


def test_expected_counts_stand_in_for_private_ones(key):
    """The number of comparisons of each pair is random and private; intervals see their public total."""
    met = np.triu(np.random.default_rng(3).poisson(PER_PAIR, (SIZE, SIZE)), 1)
    comparisons = (met + met.T).astype(float)
    scores, scale = release(key, 0.1, 4.0, comparisons)
    public = uniform_design(float(met.sum()), SIZE)
    covered, error, _ = share(intervals_of(scores, public, scale, 4.0)[0], TRUTH)
    assert abs(covered - 0.95) < 4.5 * error + 0.01


# --- coverage of intervals of noisy totals -------------------------------------------------------


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_intervals_cover_the_expected_totals(noise, key):
    asked = promise(0.05, delta=1e-5)
    expected = (DESIGN * CHANCE).sum(1)

    @jax.jit
    def run(keys, wins, known):
        def one(key, matrix):
            found = noisy_counts(key, WinCounts(matrix), asked, noise=noise)
            scale = known * found.diagnostics.noise_scale
            errors = totals_standard_errors(found.value, DESIGN, noise_scale=scale, noise=noise)
            return confidence_intervals(errors), rank_intervals(errors, simultaneous=True)

        return jax.vmap(one)(keys, wins)

    keys, wins = jax.random.split(key, RELEASES), drawn(DESIGN, 1)
    single, ranks = run(keys, wins, 1.0)
    covered, error, _ = share(single, expected)
    assert -4.5 * error < covered - 0.95 < 0.02  # a bound on the variance of the sampling
    assert share(ranks, BEST, WORST)[2] > 0.95
    assert share(run(keys, wins, 0.0)[0], expected)[0] < 0.7


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_pure_laplace_noise_has_laplace_tails(level, key):
    """No comparisons: the error is one Laplace variable, P(|L| > x) = e^{-x/λ}."""
    errors = totals_standard_errors(np.zeros(3), np.zeros((3, 3)), noise_scale=2.0)
    low, high = confidence_intervals(errors, level)
    np.testing.assert_allclose(high, -2.0 * np.log(1 - level), rtol=2e-3)
    np.testing.assert_allclose(low, -high, rtol=1e-12)
    normal = totals_standard_errors(
        np.zeros(3), np.zeros((3, 3)), noise_scale=2.0, noise="gaussian"
    )
    wanted = 2.0 * scipy.stats.norm.isf((1 - level) / 2)
    np.testing.assert_allclose(confidence_intervals(normal, level)[1], wanted, rtol=1e-3)


# --- the formulas --------------------------------------------------------------------------------


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


def test_mixtures_of_noises_have_the_tails_of_their_first_moments():
    """A sum of unequal Laplace variables and a Gaussian, a million draws: α within 5 %, far tails within 15 %."""
    rng, solve = np.random.default_rng(5), jax.jit(critical_value)
    weights = np.array([1.0, 0.4, 0.4, 0.2])
    noise = rng.laplace(size=(1_000_000, 4)) @ weights
    for width in (0.0, 1.0):
        error = np.abs(noise + width * rng.standard_normal(noise.size))
        variance = 2 * np.sum(weights**2) + width**2
        kurtosis = 3 * 4 * np.sum(weights**4) / variance**2
        for alpha, slack in ((0.05, 0.05), (0.005, 0.15)):
            reach = float(solve(alpha, np.sqrt(kurtosis / 3))) * np.sqrt(variance)
            np.testing.assert_allclose(np.mean(error > reach), alpha, rtol=slack)


def test_fourth_moments_are_those_of_all_pairs_of_rows():
    rows = np.random.default_rng(4).standard_normal((5, 5))
    wanted = [[np.sum((one - other) ** 4) for other in rows] for one in rows]
    np.testing.assert_allclose(_fourth_moments(jnp.asarray(rows)), wanted, rtol=1e-9, atol=1e-12)


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
    # Of eight items, two stand surely below the first one, two above the third, and so on.
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
        np.testing.assert_array_equal((rows.low, rows.high), confidence_intervals(errors, 0.8))
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
        change = np.abs(np.log(bends(center, comparisons) / bends(scores, comparisons)))
        if np.all(np.abs(change - math.log(MOST_CHANGE)) > 1e-3):
            near = bool(center_is_near(scores, comparisons, errors))
            assert near == bool(np.all(change < math.log(MOST_CHANGE)))
            seen.add(near)
    assert seen == {True, False}


@pytest.mark.parametrize("link", ["logistic", "laplace", "normal"])
def test_released_scores_lie_in_their_intervals_and_separated_ones_have_none(link):
    """Fits with every ridge, of data that are separated or not, and of such with noise."""
    draw, kinds = np.random.default_rng(7), []
    for number in range(80):
        met = np.triu(draw.integers(1, draw.choice([2, 5, 60]), (4, 4)), 1)
        chance = draw.choice([0.5, 0.8, 1.0])
        won = draw.binomial(met, chance)
        wins = WinCounts.from_matrix((won + (met - won).T).astype(float))
        gamma = draw.choice([1e-3, 0.1, 1.0, 30.0, 1000.0])
        free = mle(wins, link=link)
        scores = np.asarray(mle(wins, link=link, gamma=gamma).value)
        if number % 4 == 0:
            scores = scores + draw.normal(0, 0.3, 4)
        rows = interval_estimates(scores, wins.comparisons, gamma=gamma, link=link)
        low, high = np.asarray(rows.low), np.asarray(rows.high)
        centered = scores - scores.mean()
        known = np.isfinite(low)
        assert np.array_equal(known, np.isfinite(high))
        assert known.all() or not (known.any() or np.asarray(rows.better).any())
        slack = 1e-5 * (1 + np.abs(centered))
        assert np.all(low <= centered + slack)
        assert np.all(centered - slack <= high)
        if number % 4:
            separated = bool(free.diagnostics.separated)
            kinds.append((separated, bool(known.all())))
    assert (
        {(True, False), (False, True)}
        <= set(kinds)
        <= {(True, False), (False, True), (False, False)}
    )


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


def test_intervals_that_are_shown_at_all_cover(key):
    """At ε = 0.02 the ridge's pull can be undone in about half of the releases: 95 % of theirs hold the truth."""
    gamma = 75.0
    scores, scale = release(key, 0.02, gamma)
    settings = {"noise_scale": scale, "gamma": gamma}
    rows = jax.vmap(lambda theta: interval_estimates(theta, DESIGN, **settings))(scores)
    shown = np.isfinite(np.asarray(rows.low)).all(1)
    assert 0.3 < shown.mean() < 0.7
    kept = np.asarray(rows.low)[shown], np.asarray(rows.high)[shown]
    covered, error, _ = share(kept, TRUTH)
    assert covered > 0.95 - 4.5 * error - 0.01


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
