"""Theory of randomized answers: against enumeration, Hessians summed answer by answer, and the normal approximation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from privrank_jax.links import get_link
from privrank_jax.pairwise.report_theory import (
    convexity_bound,
    ranking_error_rate,
    report_rate,
    reported_chance,
    top_k_error_rate,
)

LINKS = ("logistic", "normal", "laplace")


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


@pytest.mark.parametrize(("link", "spread"), [("logistic", 0.6), ("normal", 0.3)])
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
    for _ in range(100):
        near = theta + random.uniform(-far, far, items)
        answers, asked = (random.uniform(size=chance.shape) < x for x in (chance, share))
        found = np.linalg.eigvalsh(hessian(near, chance, epsilon, answers, asked, link))
        assert found[1] > bound.eigenvalue
        mean = np.linalg.eigvalsh(share * hessian(near, chance, epsilon, chance, 1, link))
        assert mean[1] >= bends.min() * items * share * (1 - 1e-9)


def test_lemma_4_says_nothing_of_the_laplace_link_whose_mean_is_convex_all_the_same():
    bound = convexity_bound(10, 1e6, spread=1.0, link="laplace")
    assert bound.eigenvalue == 0
    assert bound.probability == 1 - 10
    theta = np.linspace(-0.5, 0.5, 4)
    first, second = np.triu_indices(4, 1)
    epsilon = np.full(3, 2.0)
    chance = np.asarray(reported_chance(theta[first] - theta[second], epsilon[:, None], "laplace"))
    assert np.linalg.eigvalsh(hessian(theta, chance, epsilon, chance, 1, "laplace"))[1] > 0.1


def test_the_rate_is_that_of_the_paper():
    found = float(report_rate(20, 50.0, 0.3))
    assert found == pytest.approx(math.sqrt(math.log(20) / (20 * 50 * 0.3)))


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


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: reported_chance(0.0, 0.0), "epsilon"),
        (lambda: report_rate(1, 10.0), "num_items"),
        (lambda: report_rate(5, 0.0), "effective_users"),
        (lambda: convexity_bound(5, 10.0, spread=-1.0), "spread"),
        (lambda: convexity_bound(5, 10.0, 0.0, spread=1.0), "share_observed"),
        (lambda: top_k_error_rate(-0.1, 5, 10.0), "gap"),
        (lambda: top_k_error_rate(0.1, 5, 10.0, link="cauchy"), "link"),
        (lambda: ranking_error_rate([1.0], 10.0), "num_items"),
    ],
)
def test_bad_arguments_are_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
