"""Standard errors of scores and totals: sandwiches, noise of every kind, clustered answers, ties as half wins."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.links import get_link
from privrank_jax.pairwise import uncertainty
from privrank_jax.pairwise.meetings import varying_share
from privrank_jax.pairwise.questionnaire import questionnaire_counts
from privrank_jax.pairwise.uncertainty import clustered_covariance
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.geometry import Zonotope
from tests import reference
from tests.quick import thorough, thorough_but
from tests.reference.clustered import clustered_covariance as by_loops

standard_errors = jax.jit(uncertainty.standard_errors, static_argnames=("link", "target"))
totals_standard_errors = jax.jit(uncertainty.totals_standard_errors)
LINKS = ("logistic", "normal", "laplace")
SIZE = 5
THETA = np.array([1.1, 0.4, 0.1, -0.5, -1.1])


def design(seed=0, size=SIZE, most=200):
    met = np.triu(np.random.default_rng(seed).integers(20, most, (size, size)), 1)
    return (met + met.T).astype(float)


# --- scores: the formulas ------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["truth", "penalized"])
@pytest.mark.parametrize("link", thorough_but(LINKS, "logistic"))
def test_covariance_is_the_sandwich(link, target):
    """Also of scores that are not centered."""
    comparisons = design()
    information = reference.fisher_information(link, THETA, comparisons)
    cases = itertools.product((("laplace", 2 * 3.0**2), ("gaussian", 3.0**2)), (0.0, 12.0))
    for (noise, variance), gamma in cases:
        law = Noise.independent(noise, 3.0, SIZE)
        told = {"noise": law, "gamma": gamma, "link": link, "target": target}
        found = standard_errors(THETA + 7.0, comparisons, **told)
        bend = gamma if target == "penalized" else 0.0
        wanted = reference.sandwich(information, bend, variance)
        np.testing.assert_allclose(found.covariance, wanted, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(wanted)), rtol=1e-8)
        inverse = np.linalg.pinv(information + bend * (np.eye(SIZE) - 1 / SIZE), rcond=1e-12)
        np.testing.assert_allclose(found.influence, inverse, rtol=1e-8, atol=1e-12)
        shift = gamma * inverse @ THETA if target == "truth" else 0.0
        np.testing.assert_allclose(found.center, THETA + shift, rtol=1e-8)
        assert np.all(found.linked)


# --- scores: several components, masks -----------------------------------------------------------


def test_items_that_never_meet_even_indirectly_have_infinite_errors():
    comparisons, parts = design(4), (np.arange(2), np.arange(2, SIZE))
    comparisons[:2, 2:] = comparisons[2:, :2] = 0
    found = standard_errors(THETA, comparisons, noise=2.0)
    assert np.all(np.isinf(found.standard_errors))
    for part in parts:
        inner = np.ix_(part, part)
        alone = reference.fisher_information("logistic", THETA[part], comparisons[inner])
        wanted = reference.sandwich(alone, 0.0, 8.0)
        np.testing.assert_allclose(np.asarray(found.covariance)[inner], wanted, rtol=1e-8)
    linked = np.zeros((SIZE, SIZE), bool)
    linked[:2, :2] = linked[2:, 2:] = True
    np.testing.assert_array_equal(found.linked, linked)


@pytest.mark.parametrize("estimate", ["scores", "totals"])
def test_masked_items_do_not_count(estimate):
    run = standard_errors if estimate == "scores" else totals_standard_errors
    keep, comparisons = np.array([0, 2, 4]), design(5)
    mask, inner = np.isin(np.arange(SIZE), keep), np.ix_(keep, keep)
    values = np.where(mask, THETA, np.nan)  # values at masked items must not matter
    met, ties = (
        np.where(np.outer(mask, mask), one, 77.0) for one in (comparisons, comparisons / 4)
    )
    found = run(values, met, noise=1.5, ties=ties, mask=mask)
    alone = run(THETA[keep], comparisons[inner], noise=1.5, ties=comparisons[inner] / 4)
    np.testing.assert_allclose(np.asarray(found.covariance)[inner], alone.covariance, rtol=1e-8)
    np.testing.assert_allclose(found.standard_errors[mask], alone.standard_errors, rtol=1e-8)
    np.testing.assert_allclose(found.center[mask], alone.center, rtol=1e-8)
    np.testing.assert_array_equal(found.standard_errors[~mask], 0.0)
    np.testing.assert_array_equal(found.linked, np.outer(mask, mask))


# --- totals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "variance"), [("laplace", 18.0), ("gaussian", 9.0)])
def test_totals_errors_bound_the_covariance_of_the_totals(noise, variance):
    """With ties, which vary less, too."""
    comparisons, totals = design(6), np.arange(5.0)
    law = Noise.independent(noise, 3.0, SIZE)

    def exact(theta, share=1.0):
        chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
        spread = share * comparisons * chance * (1 - chance)
        return np.diag(spread.sum(1)) - spread + variance * np.eye(SIZE)

    for ties, share in ((None, 1), (comparisons / 4, 3 / 4)):
        found = totals_standard_errors(totals, comparisons, noise=law, ties=ties)
        np.testing.assert_array_equal(found.center, totals)
        np.testing.assert_allclose(found.covariance, exact(np.zeros(SIZE), share), rtol=1e-12)
        gap = np.asarray(found.covariance) - exact(THETA, share)
        assert np.linalg.eigvalsh(gap)[0] > -1e-9


def test_float32_stays_float32():
    double = standard_errors(THETA, design(), noise=2.0, gamma=3.0)
    single = standard_errors(THETA.astype(np.float32), design(), noise=2.0, gamma=3.0)
    assert single.covariance.dtype == single.standard_errors.dtype == np.float32
    np.testing.assert_allclose(single.standard_errors, double.standard_errors, rtol=1e-4)
    whole = totals_standard_errors([3, 2, 1], 2 * (1 - np.eye(3)))  # integers become floats
    assert whole.center.dtype == np.float64


# --- K-norm noise, in the shape of a questionnaire ------------------------------------------------

PATH = questionnaire_counts([(0, 1), (1, 2), (2, 3), (3, 4), (0, 1)], SIZE)


def k_norm_covariance():
    """Of noise for :data:`PATH` at scale 1. On a path the zonotope is a box in the coordinates of the edges, of widths
    2, 1, 1, 1, and noise in a box of p dimensions has variances (p + 1)(p + 2)/3 times those."""
    steps = np.eye(SIZE)[:-1] - np.eye(SIZE)[1:]
    return steps.T @ np.diag([4.0, 1.0, 1.0, 1.0]) @ steps * (5 * 6 / 3)


def test_k_norm_noise_enters_by_its_covariance():
    """The law comes from a simulation, on the safe side; its scale may be traced."""
    comparisons = design(2)
    information = reference.fisher_information("logistic", THETA, comparisons)
    inverse = np.linalg.pinv(information, rcond=1e-12)
    wanted = inverse @ (information + 1.5**2 * k_norm_covariance()) @ inverse
    body = Zonotope(jnp.asarray(PATH, float))

    @jax.jit
    def found(scale):
        law = Noise("k-norm", scale, body)
        scores = uncertainty.standard_errors(THETA, comparisons, noise=law)
        totals = uncertainty.totals_standard_errors(10 * THETA, comparisons, noise=law)
        return scores.standard_errors, totals.standard_errors

    scores, totals = found(1.5)
    np.testing.assert_allclose(scores, np.sqrt(np.diag(wanted)), rtol=0.03)
    sampling = (np.diag(comparisons.sum(1)) - comparisons) / 4
    wanted = np.sqrt(np.diag(sampling + 1.5**2 * k_norm_covariance()))
    np.testing.assert_allclose(totals, wanted, rtol=0.03)


def rows(seed, number=60, users=12, size=SIZE):
    draw = np.random.default_rng(seed)
    winners = draw.integers(0, size, number)
    losers = (winners + draw.integers(1, size, number)) % size
    return draw.integers(0, users, number), winners, losers, draw


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("users", [4, 60])
def test_clusters_are_what_loops_over_users_find(link, users):
    who, winners, losers, draw = rows(users, users=users)
    weights, tied = draw.gamma(1.0, size=60), draw.random(60) < 0.3
    for told in ({}, {"weights": weights, "tied": tied}):
        found = clustered_covariance(THETA, 7 - 100 * who, winners, losers, link=link, **told)
        rest = told.values() or (np.ones(60), np.zeros(60, bool))
        wanted = by_loops(link, THETA, who, winners, losers, *rest)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_users_who_compared_most_items_are_added_up():
    scores = np.linspace(1, -1, 40)
    for number in (25, 2000):
        who, winners, losers, _ = rows(40, number, 15, 40)
        found = clustered_covariance(scores, who, winners, losers)
        rest = np.ones(number), np.zeros(number, bool)
        wanted = by_loops("logistic", scores, who, winners, losers, *rest)
        np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("link", [LINKS[0], *(thorough(one) for one in LINKS[1:])])
def test_outcomes_vary_as_their_ties_or_their_covariance_say(link):
    """Against the sandwich by a pseudo-inverse, with ties on some pairs only, noise and a ridge."""
    met, gaps = design(7), THETA[:, None] - THETA
    fisher = reference.fisher_information(link, THETA, met)
    chance = np.asarray(get_link(link).cdf(gaps))
    ties = np.floor(met * (np.add.outer(THETA, THETA) > 0) * np.minimum(chance, 1 - chance))
    left = met * (1 - 0.25 * ties / (met + np.eye(SIZE)) / (chance * (1 - chance)))
    outcomes = reference.fisher_information(link, THETA, left)
    for target, gamma in (("truth", 0.0), ("penalized", 7.0)):
        told = {"noise": 3.0, "gamma": 7.0, "link": link, "target": target}
        inverse = np.linalg.pinv(fisher + gamma * (np.eye(SIZE) - 1 / SIZE), rcond=1e-12)
        wanted = inverse @ (outcomes + 2 * 3.0**2 * np.eye(SIZE)) @ inverse
        for known in ({"ties": ties}, {"outcomes": outcomes}):
            found = standard_errors(THETA, met, **known, **told)
            np.testing.assert_allclose(found.covariance, wanted, rtol=1e-8, atol=1e-12)


def test_the_estimated_variance_is_never_below_the_true_one_on_average():
    """One to five comparisons of a pair, by the binomial law of its ties; p(1 - p) is never exceeded."""
    for chance in (0.5, 0.7, 0.95):
        for tie in np.array([0.1, 0.6, 1.0]) * 2 * min(chance, 1 - chance):
            for number in (1, 2, 5, 200):
                ties = np.arange(number + 1.0)
                # Weights of the binomial law, as products: C(n, t) τ^t (1 - τ)^(n - t).
                ways = np.cumprod(np.r_[1.0, (number - ties[:-1]) / ties[1:]])
                law = ways * tie**ties * (1 - tie) ** (number - ties)
                most = np.full_like(ties, number * chance * (1 - chance))
                kept = most * np.asarray(varying_share(most, ties))
                true = number * (chance * (1 - chance) - tie / 4)
                assert true - 1e-12 <= law @ kept <= most[0]
                assert np.all((kept >= 0) & (kept <= most))
                if number == 200 and true > 10:
                    assert law @ kept < 1.001 * true
