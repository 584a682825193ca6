"""Measured coverage: thousands of releases in one vmapped program, compared with the truth."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import (
    confidence_intervals,
    interval_estimates,
    mle,
    noisy_counts,
    rank_intervals,
    standard_errors,
    totals_standard_errors,
    uniform_design,
)
from tests.pairwise.releases import (
    CHANCE,
    DESIGN,
    PER_PAIR,
    RELEASES,
    SIZE,
    TRUTH,
    drawn,
    release,
)
from tests.promises import promise

# Under the truth, the item may have any rank from the first to the second.
BEST, WORST = np.array([0, 1, 2, 2, 4, 5, 6, 7]), np.array([0, 1, 3, 3, 4, 5, 6, 7])


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
    """At ε = 0.05 the noise has ten times the sampling variance: coverage falls from 95 % to less than 60 %."""
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
    """The number of comparisons of each pair is random and private; intervals use their public total."""
    met = np.triu(np.random.default_rng(3).poisson(PER_PAIR, (SIZE, SIZE)), 1)
    comparisons = (met + met.T).astype(float)
    scores, scale = release(key, 0.1, 4.0, comparisons)
    public = uniform_design(float(met.sum()), SIZE)
    covered, error, _ = share(intervals_of(scores, public, scale, 4.0)[0], TRUTH)
    assert abs(covered - 0.95) < 4.5 * error + 0.01


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


def test_intervals_that_are_shown_at_all_cover(key):
    """At ε = 0.02 the ridge's pull can be undone in about half of the releases: 95 % of their intervals cover."""
    gamma = 75.0
    scores, scale = release(key, 0.02, gamma)
    settings = {"noise_scale": scale, "gamma": gamma}
    rows = jax.vmap(lambda theta: interval_estimates(theta, DESIGN, **settings))(scores)
    shown = np.isfinite(np.asarray(rows.low)).all(1)
    assert 0.3 < shown.mean() < 0.7
    kept = np.asarray(rows.low)[shown], np.asarray(rows.high)[shown]
    covered, error, _ = share(kept, TRUTH)
    assert covered > 0.95 - 4.5 * error - 0.01
