"""Rates, thresholds, the score attack and theory of randomized answers, by hand and by enumeration."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.pairwise import theory
from privrank_jax.pairwise.report_theory import (
    convexity_bound,
    ranking_error_rate,
    report_rate,
    reported_chance,
    top_k_error_rate,
)
from privrank_jax.pairwise.theory import score_attack, score_attack_bound
from tests import reference
from tests.quick import thorough

LINKS = ("logistic", "normal", "laplace")
attack = jax.jit(score_attack, static_argnums=3)
attack_bound = jax.jit(score_attack_bound, static_argnums=4)
CASES = [(50, 0.3, 0.5), (300, 1.0, 2.5), (700, 0.05, 0.1)]


@pytest.mark.parametrize(("m", "p", "epsilon"), CASES)
def test_rates_are_the_printed_formulas(m, p, epsilon):
    statistical = math.sqrt(math.log(m) / (m * p))
    private = math.log(m) / (m * p * epsilon)
    assert float(theory.edge_rate(m, p, epsilon)) == pytest.approx(statistical + private, rel=1e-12)
    lower = float(theory.edge_lower_bound(m, p, epsilon))
    assert lower == pytest.approx(statistical + 1 / (m * p * epsilon), rel=1e-12)
    threshold = theory.top_k_threshold(m, epsilon, probability=p)
    assert float(threshold) == pytest.approx(statistical + private, rel=1e-12)
    users = 1000 * p
    of_users = math.sqrt(m * math.log(m) / users) + m * math.log(m) / (users * epsilon)
    assert float(theory.user_rate(m, users, epsilon)) == pytest.approx(of_users, rel=1e-12)
    threshold = theory.top_k_threshold(m, epsilon, num_users=users)
    assert float(threshold) == pytest.approx(of_users, rel=1e-12)
    found = float(report_rate(m, 50.0, p))
    assert found == pytest.approx(math.sqrt(math.log(m) / (m * 50 * p)))


@pytest.mark.parametrize("link", ["logistic", "normal", "laplace"])
def test_average_win_probability_is_the_mean_over_opponents(link):
    scores = np.array([1.0, 0.2, -0.4, -0.8])
    expected = [np.mean([reference.link(link, a - b)[0] for b in scores]) for a in scores]
    np.testing.assert_allclose(theory.average_win_probability(scores, link), expected, rtol=1e-12)


def test_gap_with_tolerance_skips_that_many_items_on_either_side():
    average_wins = jnp.array([0.30, 0.70, 0.55, 0.50, 0.10, 0.45])
    assert float(theory.top_k_gap(average_wins, 3)) == pytest.approx(0.50 - 0.45)
    assert float(theory.top_k_gap(average_wins, 3, 1)) == pytest.approx(0.55 - 0.30)
    assert float(theory.top_k_gap(average_wins, 3, 2)) == pytest.approx(0.70 - 0.10)


@pytest.mark.parametrize("link", LINKS)
def test_a_flipped_answer_has_its_chance(link):
    for difference, epsilon in itertools.product((-1.5, 0.0, 0.4), (0.2, 3.0)):
        truth = float(get_link(link).cdf(difference))
        flip = 1 / (math.exp(epsilon) + 1)
        expected = truth * (1 - flip) + (1 - truth) * flip
        assert float(reported_chance(difference, epsilon, link)) == pytest.approx(
            expected, rel=1e-6
        )


def test_example_1_no_scores_explain_flipped_answers():
    """Odds multiply along a chain in the BTL model, and those of flipped answers don't."""
    chances = np.asarray(reported_chance(np.log([2, 2, 4]), math.log(2)), float)
    np.testing.assert_allclose(chances, [5 / 9, 5 / 9, 3 / 5], rtol=1e-6)
    first, second, both = chances / (1 - chances)
    assert first * second == pytest.approx(25 / 16)
    assert both == pytest.approx(1.5)


def hessian(theta, chances, epsilon, answers, asked, link):
    """Of the published loss, answer by answer: weights that sum to 1, debiased answers, no ridge."""
    size = len(theta)
    weight = np.tanh(epsilon / 2) ** 2
    weight /= weight.sum()
    total = np.zeros((size, size))
    pairs = list(itertools.combinations(range(size), 2))
    gaps = np.array([theta[i] - theta[j] for i, j in pairs])
    up, down = (np.asarray(get_link(link).curvature(sign * gaps), float) for sign in (1, -1))
    debiased = 0.5 + (answers - 0.5) / np.tanh(epsilon / 2)[:, None]
    bends = (weight[:, None] * asked * (debiased * up + (1 - debiased) * down)).sum(0)
    for (i, j), bend in zip(pairs, bends, strict=True):
        total[[i, j], [i, j]] += bend
        total[[i, j], [j, i]] -= bend
    return total


@pytest.mark.parametrize(("link", "spread"), [("logistic", 0.6), thorough("normal", 0.3)])
def test_the_loss_is_as_convex_as_lemma_4_says(link, spread):
    """Where it says something: no draw is below, and the mean has at least the eigenvalue of the mended proof."""
    items, users, share, far = 6, 1500, 0.7, 0.1
    random = np.random.default_rng(1)
    theta = np.linspace(-spread / 2, spread / 2, items)
    epsilon = random.uniform(0.5, 3, users)
    told = float(np.sum(np.tanh(epsilon / 2) ** 2))
    bound = convexity_bound(items, told, share, spread=spread, distance=far, link=link)
    assert bound.probability > 0.99
    first, second = np.triu_indices(items, 1)
    chance = np.asarray(reported_chance(theta[first] - theta[second], epsilon[:, None], link))
    reach = np.linspace(-spread - 2 * far, spread + 2 * far, 1001)
    bends = np.asarray(get_link(link).curvature(reach), float)
    assert bound.eigenvalue == pytest.approx(bends.min() * items * share / 4, rel=1e-5)
    for _ in range(40):
        near = theta + random.uniform(-far, far, items)
        answers, asked = (random.uniform(size=chance.shape) < x for x in (chance, share))
        found = np.linalg.eigvalsh(hessian(near, chance, epsilon, answers, asked, link))
        assert found[1] > bound.eigenvalue
        mean = np.linalg.eigvalsh(share * hessian(near, chance, epsilon, chance, 1, link))
        assert mean[1] >= bends.min() * items * share * (1 - 1e-9)


def test_lemma_4_says_nothing_of_the_laplace_link():
    bound = convexity_bound(10, 1e6, spread=1.0, link="laplace")
    assert (bound.eigenvalue, bound.probability) == (0, 1 - 10)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("gap", [0.03, 0.08])
def test_errors_of_rankings_are_below_their_rates_and_not_far_from_them(link, gap):
    """Normal estimates near equal scores, whose covariance is that of a complete graph."""
    items, told = 8, 400.0
    random = np.random.default_rng(2)
    theta = gap * np.arange(items)
    slope = float(get_link(link).score(0.0)) ** 2  # F'²/(F(1-F)) at 0
    center = np.eye(items) - 1 / items
    drawn = theta + (random.standard_normal((4000, items)) @ center) / math.sqrt(
        items * told * slope
    )
    first, second = np.triu_indices(items, 1)
    neighbors = float(np.mean(drawn[:, :-1] > drawn[:, 1:]))
    rate = float(top_k_error_rate(gap, items, told, link=link))
    assert 0.1 * rate < neighbors <= 0.5 * rate + 0.01
    assert np.mean(drawn[:, first] > drawn[:, second]) <= ranking_error_rate(theta, told, link=link)
    assert float(ranking_error_rate(theta[::-1].copy(), told, link=link)) == pytest.approx(rate)


@pytest.mark.parametrize("name", LINKS)
def test_matches_the_loop_over_comparisons(name):
    generator = np.random.default_rng(0)
    matrix = generator.integers(0, 4, (5, 5)) * (1.0 - np.eye(5))
    scores, estimate = generator.normal(size=5), generator.normal(size=5)
    wins = WinCounts.from_matrix(matrix)
    expected = reference.score_attack(estimate, scores, matrix, name)
    np.testing.assert_allclose(attack(estimate, scores, wins, name), expected, rtol=1e-10)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("name", LINKS)
def test_bound_holds_exactly_for_randomized_response(name, epsilon):
    # Two items, one comparison, M = ±(1, -1) by an ε-DP coin: both sides are finite sums, and
    # equal where the items are.
    stay = math.exp(epsilon) / (1 + math.exp(epsilon))
    link = get_link(name)
    for theta in (np.zeros(2), np.array([0.4, -0.4])):
        mean, error = np.zeros(2), np.zeros(2)
        for first_wins, told_first in itertools.product((1.0, 0.0), repeat=2):
            chance = float(link.cdf((theta[0] - theta[1]) * (1 if first_wins else -1)))
            chance *= stay if first_wins == told_first else 1 - stay
            estimate = np.array([1.0, -1.0]) * (1 if told_first else -1)
            matrix = np.array([[0.0, first_wins], [1 - first_wins, 0.0]])
            mean += chance * np.asarray(attack(estimate, theta, WinCounts(matrix), name))
            error += chance * np.abs(estimate - theta)
        wins = WinCounts(np.array([[0.0, 1.0], [0.0, 0.0]]))
        bound = np.asarray(attack_bound(error, theta, wins, epsilon, name))
        slope = 2 * float(link.cdf(theta[0] - theta[1]) * link.score(theta[0] - theta[1]))
        np.testing.assert_allclose(mean, (2 * stay - 1) * slope, rtol=1e-10)
        assert np.all(mean <= bound * (1 + 1e-12))
        if not np.any(theta):
            np.testing.assert_allclose(mean, bound, rtol=1e-10)


def test_masked_items_are_left_out_and_far_scores_stay_finite():
    matrix = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 5.0], [5.0, 5.0, 0.0]])
    masked = WinCounts(matrix, np.array([True, True, False]))
    estimate, scores = np.array([1.0, 2.0, 3.0]), np.array([0.5, -0.5, np.nan])
    small = attack(estimate[:2], scores[:2], WinCounts(matrix[:2, :2]))
    np.testing.assert_allclose(attack(estimate, scores, masked), [*small, 0.0])
    bound = attack_bound(np.ones(3), scores, masked, np.inf)
    assert float(bound[2]) == 0.0
    assert np.all(np.isfinite(bound))
    far = np.array([1e4, -1e4], np.float32)
    for name in LINKS:
        value = attack(np.zeros(2, np.float32), far, WinCounts(matrix[:2, :2]), name)
        assert np.all(np.isfinite(value))
