"""Lower bounds by the score attack: the prior by quadrature, and private estimates that do as well as they can."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax.links import get_link
from privrank_jax.pairwise import theory
from privrank_jax.pairwise.attack_floors import (
    attack_floor,
    private_error_floor,
    published_attack_bound,
)
from privrank_jax.simulate import worlds

GRID = np.linspace(-1, 1, 4001)


def prior(t):
    return 15 / 16 * (1 - t * t) ** 2


def test_scores_of_the_attack_have_their_density():
    drawn = np.asarray(worlds.attack_scores(jax.random.key(3), 20_000))
    law = scipy.stats.beta(3, 3, loc=-1, scale=2)
    np.testing.assert_allclose(law.pdf(GRID), prior(GRID), atol=1e-12)
    assert scipy.stats.kstest(drawn, law.cdf).pvalue > 1e-3
    with pytest.raises(ValueError, match="num_items"):
        worlds.attack_scores(jax.random.key(0), 0)


@pytest.mark.parametrize(
    "estimate",
    [lambda t: 0.9 * t, lambda t: t**3, lambda t: np.clip(t + 0.2, -1, 1), np.zeros_like],
)
def test_the_mean_attack_is_no_less_than_its_floor(estimate):
    """E_θ ∂E[M_k]/∂θ_k, by differences and quadrature, of estimates with a mean that is a function of θ_k."""
    mean = estimate(GRID)
    attack = np.trapezoid(np.gradient(mean, GRID) * prior(GRID), GRID)
    error = float(np.max(np.abs(mean - GRID)))
    assert attack >= float(attack_floor(error)) - 1e-3
    assert np.trapezoid(np.abs(np.gradient(prior(GRID), GRID)), GRID) == pytest.approx(
        15 / 8, abs=1e-3
    )


def test_the_floor_of_the_attack_is_attained_by_an_estimate_that_is_off_where_the_prior_falls():
    """M = θ - c sign(θ), smoothed at 0: found out by no more than 1 - 15c/8."""
    attack = np.trapezoid(np.gradient(GRID - 0.1 * np.tanh(50 * GRID), GRID) * prior(GRID), GRID)
    assert attack == pytest.approx(float(attack_floor(0.1)), abs=0.01)


def least_largest_error(comparisons: int, epsilon: float, link: str) -> float:
    """Largest error over θ_k of the posterior median, from randomized answers against opponents of score 0."""
    truth = np.asarray(get_link(link).cdf(GRID), float)
    told = 0.5 + math.tanh(epsilon / 2) * (truth - 0.5)
    chances = scipy.stats.binom.pmf(np.arange(comparisons + 1)[:, None], comparisons, told)
    posterior = np.cumsum(chances * prior(GRID), axis=1)
    medians = GRID[np.argmax(posterior >= posterior[:, -1:] / 2, axis=1)]
    errors = np.sum(chances * np.abs(medians[:, None] - GRID), axis=0)
    return float(errors.max())


@pytest.mark.parametrize("link", ["logistic", "normal", "laplace"])
@pytest.mark.parametrize(
    ("comparisons", "epsilon"), [(1, 0.3), (4, 2.0), (30, 0.5), (200, 1.0), (60, 8.0)]
)
def test_no_randomized_answers_do_better(comparisons, epsilon, link):
    floor = float(private_error_floor(comparisons, epsilon, link=link))
    assert 0 < floor < least_largest_error(comparisons, epsilon, link)


@pytest.mark.parametrize("link", ["logistic", "normal", "laplace"])
def test_the_floor_is_made_of_the_steepest_link_and_follows_the_rate(link):
    """ρ by a search of its own; at small ε the floor is 4/(Dε) for the logistic link."""
    model = get_link(link)
    for epsilon in (0.2, 3.0):
        steepest = max(
            float(model.cdf(x) * model.score(x)) / (1 / math.expm1(epsilon) + float(model.cdf(-x)))
            for x in np.linspace(0, 2, 401)
        )
        expected = 1 / (50 * steepest + 15 / 8)
        assert float(private_error_floor(50, epsilon, link=link)) == pytest.approx(
            expected, rel=1e-4
        )
    assert float(private_error_floor(1e6, 0.01)) * 1e6 * 0.01 == pytest.approx(4, rel=0.02)
    some = float(private_error_floor(50, 0.2, delta=1e-3, link=link))
    assert some < float(private_error_floor(50, 0.2, link=link))
    assert float(private_error_floor(50, 0.2, delta=0.5, link=link)) == 0


def test_the_printed_bound_is_the_formula_and_is_looser():
    found = published_attack_bound(0.2, 50, 0.4, 0.5, kappa1=1.0, delta=1e-3)
    assert float(found) == pytest.approx(4 * 50 * 0.4 * 0.5 * 0.2 + 4 * 49 * 1e-3 + 2 / 50)
    own = 1 / float(private_error_floor(20, 0.5)) - 15 / 8  # Dρ of mp = 20 comparisons
    assert own < 4 * 20 * 0.5


def test_the_rate_in_the_scale_of_the_noise_is_that_of_theorem_2_1_at_its_scale():
    for items, chance, scale in ((50, 0.3, 2.0), (700, 1.0, 16.0)):
        ours = float(theory.perturbed_rate(items, chance, scale, noise_constant=3.0))
        expected = math.sqrt(math.log(items) / (items * chance))
        expected += 3 * scale * math.log(items) / (items * chance)
        assert ours == pytest.approx(expected, rel=1e-12)
        without = theory.edge_rate(items, chance, jnp.inf)
        assert float(theory.perturbed_rate(items, chance, 0.0)) == pytest.approx(float(without))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: attack_floor(-0.1), "mean_absolute_error"),
        (lambda: private_error_floor(-1, 1.0), "num_comparisons"),
        (lambda: private_error_floor(5, 0.0), "epsilon"),
        (lambda: private_error_floor(5, 1.0, delta=-1e-9), "delta"),
        (lambda: published_attack_bound(0.1, 1, 0.5, 0.5, kappa1=1.0), "num_items"),
        (lambda: published_attack_bound(0.1, 5, 0.5, 0.5, kappa1=0.0), "kappa1"),
        (lambda: theory.perturbed_rate(5, 0.5, -1.0), "noise_scale"),
        (lambda: theory.perturbed_rate(5, 1.5, 1.0), "probability"),
    ],
)
def test_bad_arguments_are_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
