"""Measured coverage: thousands of releases in one vmapped program, compared with the truth."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import (
    confidence_intervals,
    fit,
    noisy_counts,
    perturbed_mle,
    standard_errors,
)
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.questionnaire import noise_on_totals
from privrank_jax.pairwise.uncertainty import totals_standard_errors
from privrank_jax.privacy import Privacy
from tests.promises import promise
from tests.quick import quick_jit

SIZE, PER_PAIR, RELEASES = 8, 200, 1500
TRUTH = np.array([1.2, 0.8, 0.4, 0.4, 0.0, -0.5, -0.9, -1.4])  # items 2 and 3 are tied
CHANCE = 1 / (1 + np.exp(TRUTH[None, :] - TRUTH[:, None]))
DESIGN = PER_PAIR * (1.0 - np.eye(SIZE))


def drawn(comparisons, seed=0):
    """Win counts ``(RELEASES, m, m)`` in float32, outcomes drawn under the truth."""
    met = np.broadcast_to(np.triu(comparisons, 1).astype(int), (RELEASES, SIZE, SIZE))
    won = np.random.default_rng(seed).binomial(met, CHANCE)
    return jnp.asarray(won + np.swapaxes(met - won, 1, 2), jnp.float32)


@jax.jit
@functools.partial(jax.vmap, in_axes=(0, 0, None, None))
def released(key, matrix, epsilon, gamma):
    asked = promise(epsilon, adjacency="flip")
    found = perturbed_mle(key, WinCounts(matrix), asked, gamma=gamma)
    return found.value, found.diagnostics.noise_scale


def release(key, epsilon, gamma):
    keys = jax.random.split(key, RELEASES)
    scores, scales = released(keys, drawn(DESIGN), epsilon, gamma)
    return scores, scales[0]


# Under the truth, the item may have any rank from the first to the second.
BEST, WORST = np.array([0, 1, 2, 2, 4, 5, 6, 7]), np.array([0, 1, 3, 3, 4, 5, 6, 7])


def both(errors, level=0.95):
    """Intervals of each item, and of all ranks together."""
    single = confidence_intervals(errors, level)
    ranks = confidence_intervals(errors, level, simultaneous=True)
    return (single.low, single.high), (ranks.rank_low, ranks.rank_high)


@functools.partial(jax.jit, static_argnames="target")
def intervals_of(scores, comparisons, scale, gamma, level=0.95, target="truth"):
    """Intervals of every release: of each score, and of all ranks together."""
    told = {"noise": scale, "gamma": gamma, "target": target}
    return jax.vmap(lambda theta: both(standard_errors(theta, comparisons, **told), level))(scores)


def share(interval, low, high=None):
    """Share of items, or of releases for a bool of all items, whose interval holds low..high; and its error."""
    held = (np.asarray(interval[0]) <= low) & (np.asarray(interval[1]) >= low)
    if high is not None:
        held &= np.asarray(interval[1]) >= high
    of_items = held.mean(1)
    error = of_items.std(ddof=1) / np.sqrt(len(held))
    return of_items.mean(), error, held.all(1).mean()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.05, np.inf])
def test_intervals_cover_the_true_scores_and_ranks(epsilon, key):
    """95 % within 4.5 standard errors of the simulation and 0.01 for the linear step; without the privacy noise, which
    at ε = 0.05 has ten times the sampling variance, less than 60 %."""
    gamma = 12.0 if epsilon == 0.05 else 1.0  # about the default
    scores, scale = release(key, epsilon, gamma)
    single, ranks = intervals_of(scores, DESIGN, scale, gamma)
    covered, error, _ = share(single, TRUTH)
    assert abs(covered - 0.95) < 4.5 * error + 0.01
    slack = 4.5 * np.sqrt(0.05 * 0.95 / RELEASES)
    together, _ = intervals_of(scores, DESIGN, scale, gamma, 1 - 0.05 / SIZE)
    assert 0.95 - slack < share(together, TRUTH)[2] < 0.99
    assert share(ranks, BEST, WORST)[2] > 0.95 - slack
    assert np.mean(np.asarray(ranks[1]) - np.asarray(ranks[0])) < 0.75 * (SIZE - 1)  # they tell
    if epsilon == 0.05:
        single, ranks = intervals_of(scores, DESIGN, 0.0 * scale, gamma)
        assert share(single, TRUTH)[0] < 0.6
        assert share(ranks, BEST, WORST)[2] < 0.9


ASKED = (1 - np.eye(SIZE)).astype(int)  # every pair once
RING = np.roll(np.eye(SIZE), 1, 1) + np.roll(np.eye(SIZE), -1, 1)  # each item with the next


@pytest.mark.parametrize(("asked", "epsilon", "gamma"), [(RING, 1.0, 0.5), (ASKED, 0.7, 8.0)])
@pytest.mark.slow
def test_intervals_know_the_covariance_of_k_norm_noise(asked, epsilon, gamma, key):
    """200 users answer every pair, or the pairs of a ring. 95 % as above, and the spread of the errors of
    differences, of neighbors on the ring and of items far apart, is the one that is stated."""
    privacy = Privacy(epsilon, unit="user", adjacency="flip")
    design = PER_PAIR * asked
    met = np.broadcast_to(np.triu(design, 1).astype(int), (RELEASES, SIZE, SIZE))
    won = np.random.default_rng(5).binomial(met, CHANCE)
    wins = jnp.asarray(won + np.swapaxes(met - won, 1, 2), jnp.float32)

    @jax.jit
    @jax.vmap
    def released(key, matrix):
        noisy = noisy_counts(key, WinCounts(matrix), privacy, questionnaire=asked).value
        return fit(Counts(jnp.asarray(design, noisy.dtype)), noisy, gamma).value

    def about(theta, known):
        law = noise_on_totals("k-norm", known / epsilon, SIZE, asked, "flip")
        errors = standard_errors(theta, design, noise=law, gamma=gamma)
        apart = errors.covariance[0, 0] + jnp.diagonal(errors.covariance)
        apart = jnp.sqrt(apart - 2 * errors.covariance[0])
        gap = errors.center[0] - errors.center
        return *both(errors), jnp.abs(gap - TRUTH[0] + TRUTH) / apart

    scores = released(jax.random.split(key, RELEASES), wins)
    run = quick_jit(jax.vmap(about, (0, None)))
    single, ranks, gaps = run(scores, 1.0)
    covered, error, _ = share(single, TRUTH)
    assert abs(covered - 0.95) < 4.5 * error + 0.012
    assert share(ranks, BEST, WORST)[2] > 0.95 - 4.5 * np.sqrt(0.05 * 0.95 / RELEASES)
    spread = np.sqrt(np.mean(np.asarray(gaps)[:, 1:] ** 2, axis=0))
    np.testing.assert_allclose(spread, 1.0, atol=0.09)  # 4.5 standard errors, heavy tails included
    assert share(run(scores, 0.0)[0], TRUTH)[0] < 0.87


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["laplace", "gaussian", "k-norm"])
def test_intervals_cover_the_expected_totals(noise, key):
    user = Privacy(0.5, unit="user", adjacency="flip")
    asked = user if noise == "k-norm" else promise(0.05, delta=1e-5)
    counts = ASKED if noise == "k-norm" else None
    expected = (DESIGN * CHANCE).sum(1)

    settings = {"noise": noise, "questionnaire": counts}

    @jax.jit
    @jax.vmap
    def released(key, matrix):
        found = noisy_counts(key, WinCounts(matrix), asked, **settings)
        return found.value, found.diagnostics.noise_scale

    def about(value, scale):
        law = noise_on_totals(noise, scale, SIZE, counts, "flip")
        return both(totals_standard_errors(value, DESIGN, noise=law))

    values, scales = released(jax.random.split(key, RELEASES), drawn(DESIGN, 1))
    run = quick_jit(jax.vmap(about))
    single, ranks = run(values, scales)
    covered, error, _ = share(single, expected)
    assert -4.5 * error < covered - 0.95 < 0.02  # a bound on the variance of the sampling
    assert share(ranks, BEST, WORST)[2] > 0.95
    assert share(run(values, 0 * scales)[0], expected)[0] < 0.7


@pytest.mark.slow
def test_intervals_that_are_shown_at_all_cover(key):
    """At ε = 0.02 the ridge's pull can be undone in about half of the releases: 95 % of their intervals cover."""
    scores, scale = release(key, 0.02, 75.0)
    (low, high), _ = intervals_of(scores, DESIGN, scale, 75.0)
    shown = np.isfinite(np.asarray(low)).all(1)
    assert 0.3 < shown.mean() < 0.7
    covered, error, _ = share((low[shown], high[shown]), TRUTH)
    assert covered > 0.95 - 4.5 * error - 0.01
