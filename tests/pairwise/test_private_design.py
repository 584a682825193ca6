"""Noisy numbers of comparisons: what one unit changes, the cautious design, and whether intervals cover the truth."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import perturbed_mle
from privrank_jax.pairwise.intervals import confidence_intervals
from privrank_jax.pairwise.private_design import (
    APPEARANCES_SHARE,
    NoisyDesign,
    cautious_design,
    design_scales,
    errors_under_private_design,
    noisy_design,
)
from privrank_jax.privacy import Privacy
from tests.reference import private_design as naive

USER = Privacy(1.0, unit="user", adjacency="replace", contributions=3)


def drawn(seed, items=7, total=4000.0, scales=(30.0, 10.0)):
    """Scores and noisy counts of a random crowd."""
    rng = np.random.default_rng(seed)
    pairs = np.triu(rng.gamma(1.0, total / items**2, (items, items)), 1)
    noise = np.triu(rng.laplace(scale=scales[1], size=(items, items)), 1)
    pairs = pairs + pairs.T
    appearances = pairs.sum(1) + rng.laplace(scale=scales[0], size=items)
    return rng.normal(size=items), NoisyDesign(appearances, pairs + noise + noise.T, *scales)


@pytest.mark.parametrize("items", [2, 3, 7])
@pytest.mark.parametrize("scales", [(30.0, 10.0), (1e5, 1e5), (1e-3, 1e-3)])
def test_as_by_loops(items, scales):
    with jax.enable_x64(True):
        scores, design = drawn(items, items, scales=scales)
        told = (design.appearances, design.pairs, *scales)
        expected = naive.cautious_design(scores, *told)
        np.testing.assert_allclose(cautious_design(scores, design), expected, rtol=1e-9, atol=1e-6)
        found = errors_under_private_design(scores, design, noise=5.0, gamma=4.0)
        middle, covariance = naive.errors(scores, expected, 5.0, 4.0)
        np.testing.assert_allclose(found.center, middle, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("adjacency", "unit"),
    [("replace", "comparison"), ("add-remove", "comparison"), ("replace", "user")],
)
def test_one_unit_loses_epsilon_and_no_more(adjacency, unit):
    """All contents of one comparison among four items; L of a user add up."""
    times = 3 if unit == "user" else 1
    asked = Privacy(0.7, unit=unit, adjacency=adjacency, contributions=3 if times > 1 else None)
    of_items, of_pairs = map(float, design_scales(asked))
    contents = []
    for i, j in itertools.combinations(range(4), 2):
        met = np.zeros((4, 4))
        met[i, j] = met[j, i] = times
        contents.append(met)

    def loss(one, other):
        moved = np.abs(one - other)
        appearances = np.abs((one - other).sum(1)).sum()
        return appearances / of_items + np.triu(moved, 1).sum() / of_pairs

    others = contents if adjacency == "replace" else [np.zeros((4, 4))]
    worst = max(loss(one, other) for one in contents for other in others)
    assert worst == pytest.approx(0.7, rel=1e-6)


def test_noise_has_the_scales_of_the_theorem():
    wins = WinCounts.from_matrix(np.array([[0, 90.0, 5], [10, 0, 20], [0, 0, 0]]))
    keys = jax.random.split(jax.random.key(0), 4000)
    found = jax.vmap(lambda key: noisy_design(key, wins, USER))(keys)
    scales = 12 / APPEARANCES_SHARE, 6 / (1 - APPEARANCES_SHARE)
    np.testing.assert_allclose(design_scales(USER), scales, rtol=1e-6)
    met = np.array([[0, 100.0, 5], [100, 0, 20], [5, 20, 0]])
    np.testing.assert_allclose(found.value.appearances.std(0), np.sqrt(2) * scales[0], rtol=0.1)
    np.testing.assert_allclose(found.value.appearances.mean(0), met.sum(1), atol=5)
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(found.value.pairs.std(0)[off], np.sqrt(2) * scales[1], rtol=0.1)
    np.testing.assert_allclose(found.value.pairs.mean(0), met, atol=1)
    assert np.array_equal(found.value.pairs, np.swapaxes(found.value.pairs, 1, 2))


def crowd(rng, items, total, near):
    """True scores and wins; exposure ∝ 1/rank, opponents at random or near in strength."""
    theta = rng.normal(size=items)
    theta -= theta.mean()
    shown = (1 / np.arange(1, items + 1))[rng.permutation(items)]
    gap = theta[:, None] - theta
    weight = shown[:, None] * shown
    if near:
        weight = shown * np.exp(-(gap**2) / (2 * 0.5**2))
        np.fill_diagonal(weight, 0)
        weight = shown[:, None] * weight / weight.sum(1, keepdims=True)
        weight = weight + weight.T
    first, second = np.triu_indices(items, 1)
    number = rng.multinomial(total, weight[first, second] / weight[first, second].sum())
    wins = np.zeros((items, items))
    wins[first, second] = rng.binomial(number, 1 / (1 + np.exp(-gap[first, second])))
    wins[second, first] = number - wins[first, second]
    return theta, wins


@pytest.mark.parametrize(("near", "items", "users"), [(True, 10, 2000), (False, 30, 20_000)])
def test_intervals_cover(near, items, users):
    """At 93 % and more; 30 crowds of correlated items, so a fair share of chance is left below."""
    share, crowds = 0.1, 30
    rng = np.random.default_rng(items + near)
    drawn = [crowd(rng, items, 10 * users, near) for _ in range(crowds)]
    asked = Privacy(1 - share, unit="user", adjacency="replace", contributions=10)
    spent = Privacy(share, unit="user", adjacency="replace", contributions=10)

    def cover(key, theta, matrix):
        first, second = jax.random.split(key)
        fit = perturbed_mle(first, WinCounts(matrix), asked)
        design = noisy_design(second, WinCounts(matrix), spent)
        facts = fit.diagnostics
        told = {"noise": facts.noise_scale, "gamma": facts.gamma}
        errors = errors_under_private_design(fit.value, design.value, **told)
        found = confidence_intervals(errors)
        return (found.low <= theta) & (theta <= found.high), found.high - found.low

    theta, wins = (jnp.asarray(np.stack(x), jnp.float32) for x in zip(*drawn))
    inside, width = jax.vmap(cover)(jax.random.split(jax.random.key(1), crowds), theta, wins)
    assert inside.mean() >= 0.93
    assert np.median(width) < {10: 2.5, 30: 0.8}[items]


def test_without_comparisons_intervals_say_nothing():
    design = NoisyDesign(np.zeros(3), np.zeros((3, 3)), 100.0, 100.0)
    errors = errors_under_private_design([0.5, 0.0, -0.5], design, noise=40.0, gamma=40.0)
    found = confidence_intervals(errors)
    assert np.all(np.isfinite(found.low))
    assert np.all(found.high - found.low > 4)
    assert not np.any(found.better)


def test_bad_input_is_refused():
    wins = WinCounts.from_matrix(np.ones((2, 2)) - np.eye(2))
    key = jax.random.key(0)
    with pytest.raises(ValueError, match="public"):
        noisy_design(key, wins, Privacy(1.0, unit="comparison", adjacency="flip"))
    with pytest.raises(ValueError, match="contributions"):
        noisy_design(key, wins, Privacy(1.0, unit="user", adjacency="replace"))
    design = NoisyDesign(np.ones(2), np.ones((2, 2)), 1.0, 1.0)
    with pytest.raises(ValueError, match="noise"):
        errors_under_private_design([0.0, 0.0], design, noise=-1.0, gamma=1.0)


# --- exact releases ---------------------------------------------------------------------------------

ALARM = 1e-4  # false-alarm rate on fresh noise, which can't be seeded
WINS = WinCounts.from_matrix(np.array([[0, 3.5, 1], [2.5, 0, 0], [0, 4, 0]]))
MET = np.array([[0, 6, 1], [6, 0, 4], [1, 4, 0]])


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_the_law_is_that_of_the_twin_and_no_other(adjacency):
    asked = Privacy(1.0, unit="user", adjacency=adjacency, contributions=2)
    draws = [noisy_design.release(WINS, asked) for _ in range(1500)]
    twin = noisy_design(jax.random.key(0), WINS, asked)
    twin_scales = [float(twin.value.appearances_scale), float(twin.value.pairs_scale)]
    scales = [draws[0].value.appearances_scale, draws[0].value.pairs_scale]
    assert scales == pytest.approx(twin_scales, rel=1e-6)
    appearances = np.concatenate([one.value.appearances - MET.sum(1) for one in draws])
    upper = np.triu_indices(3, 1)
    pairs = np.concatenate([(one.value.pairs - MET)[upper] for one in draws])
    for noise, scale in zip((appearances, pairs), scales):
        smeared = noise + np.random.default_rng(0).uniform(-0.25, 0.25, noise.size)
        assert stats.kstest(smeared, stats.laplace(scale=scale).cdf).pvalue > ALARM
        assert stats.kstest(smeared, stats.laplace(scale=1.3 * scale).cdf).pvalue < ALARM
    assert draws[0].guarantee.numerics == "exact"
    assert draws[0].guarantee.attained.epsilon == 1.0


def test_counts_are_symmetric_halves():
    found = noisy_design.release(WINS, USER).value
    assert np.array_equal(found.pairs, found.pairs.T)
    assert np.all(np.diag(found.pairs) == 0)
    assert np.all(2 * found.pairs == np.round(2 * found.pairs))
    assert np.all(2 * found.appearances == np.round(2 * found.appearances))


@pytest.mark.parametrize(
    ("wins", "privacy", "words"),
    [
        (WINS, Privacy(1.0, unit="comparison", adjacency="flip"), "public"),
        (WINS, Privacy(1.0, unit="user", adjacency="replace"), "contributions"),
        (WINS, Privacy(np.inf, unit="comparison", adjacency="replace"), "epsilon"),
        (WinCounts(np.full((2, 2), 0.3)), USER, "multiples of 1/2"),
    ],
)
def test_what_is_not_exact_is_not_released(wins, privacy, words):
    with pytest.raises(ValueError, match=words):
        noisy_design.release(wins, privacy)
