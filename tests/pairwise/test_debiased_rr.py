"""Debiased fits of randomized answers: sums, scores, errors, ridges, objectives that are not convex."""

from __future__ import annotations

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise import debiased_rr, standard_errors
from privrank_jax.pairwise.debiased_fit import (
    DebiasedSums,
    debiased_sums,
    report_standard_errors,
    scores_from_sums,
    smallest_curvature,
)
from tests import reference
from tests.quick import quick_jit, thorough, thorough_but
from tests.reference import local as reference_local
from tests.reference.local import debias, pairs_of

USERS, ITEMS, PAIRS = 14, 4, 6
LINKS = ("logistic", "normal", "laplace")


def problem(low=0.4, high=4.0):
    """Reports, who was asked what, and personal ε."""
    rng = np.random.default_rng(0)
    reports = rng.random((USERS, PAIRS)) < np.array([0.6, 0.7, 0.8, 0.55, 0.7, 0.6])
    return reports, rng.random((USERS, PAIRS)) < 0.8, rng.uniform(low, high, USERS)


def by_loops(reports, observed, epsilon, weighted=True, debiased=True, laplace=False):
    """Published weights and targets, report by report: (wins, weights)."""
    wins, weights = np.zeros((2, ITEMS, ITEMS))
    for user, (place, (i, j)) in itertools.product(range(USERS), enumerate(pairs_of(ITEMS))):
        if observed[user, place]:
            square = epsilon[user] ** 2
            known = square / (square + 8) if laplace else math.tanh(epsilon[user] / 2) ** 2
            weight, report = known if weighted else 1.0, reports[user, place]
            target = debias(report, epsilon[user]) if debiased and not laplace else report
            for first, second, value in ((i, j, target), (j, i, 1 - target)):
                wins[first, second] += weight * value
                weights[first, second] += weight
    return wins, weights


@pytest.mark.parametrize(("weighted", "debiased"), list(itertools.product((True, False), repeat=2)))
@pytest.mark.parametrize("mechanism", ["randomized-response", "laplace"])
def test_sums_are_those_of_a_loop_over_reports(weighted, debiased, mechanism):
    reports, *rest = problem()
    found = debiased_sums(reports * 1.0, *rest, weighted, debiased, mechanism=mechanism)
    wins, weights = by_loops(reports, *rest, weighted, debiased, mechanism == "laplace")
    np.testing.assert_allclose(found.weights, weights, atol=1e-12)
    np.testing.assert_allclose(found.wins, wins, atol=1e-12)
    np.testing.assert_allclose(found.margins, -found.margins.T, atol=0)


# --- against twins -------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["logistic", *(thorough(one) for one in LINKS[1:])])
def test_scores_minimize_the_published_objective(link):
    """Equation (5), up to the factor that normalizes the weights."""
    reports, observed, epsilons = problem()
    estimate = debiased_rr(reports, observed, epsilons, link, 1.6)
    wins, _ = by_loops(reports, observed, epsilons)
    _, gradient = reference_local.signed_objective(np.asarray(estimate.value), wins, link, 0.8)
    assert np.abs(gradient).max() < 1e-7
    assert estimate.value.dtype == np.float64
    assert int(estimate.diagnostics.fit.code) == 0


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS)
def test_scores_in_float32_are_those_in_float64(link):
    reports, observed, epsilons = problem()
    estimate = debiased_rr(reports, observed, epsilons, link, 1.6)
    arguments = reports.astype(np.float32), observed, epsilons.astype(np.float32)
    single = debiased_rr(*arguments, link, 1.6)
    assert single.value.dtype == np.float32
    np.testing.assert_allclose(single.value, estimate.value, atol=3e-5)


def test_sums_are_unbiased_by_exact_expectation():
    """Over all 2^3 reports of three users on one pair, E[Z] = Σ a t² y; without debiasing this fails."""
    answers, epsilons = np.array([1, 0, 1]), np.array([0.2, 1.0, 3.0])
    seen = np.ones((3, 1), bool)
    told = np.array(list(itertools.product([0, 1], repeat=3)))
    flip = np.array([reference_local.flip_probability(e) for e in epsilons])
    chance = np.prod(np.where(told == answers, 1 - flip, flip), axis=1)
    assert chance.sum() == pytest.approx(1.0)
    for debiased in (True, False):
        wins = [debiased_sums(r[:, None], seen, epsilons, True, debiased).wins[0, 1] for r in told]
        wanted = float(np.sum(np.tanh(epsilons / 2) ** 2 * answers))
        error = abs(float(chance @ np.array(wins)) - wanted)
        assert (error < 1e-14) == debiased


# --- guarantee and diagnostics -------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int8, thorough(np.float32)])
def test_reports_of_either_coding_mean_the_same_traced_or_not(kind):
    reports, observed, epsilons = problem()
    signed = np.where(reports, 1, -1).astype(kind)
    sums = jax.jit(debiased_sums)
    for found in (debiased_sums(signed, observed, epsilons), sums(signed, observed, epsilons)):
        wanted = debiased_sums(reports, observed, epsilons)
        np.testing.assert_allclose(found.margins, wanted.margins, rtol=1e-12)
    assert np.isnan(sums(np.where(reports, 2.0, 0.0), observed, epsilons).margins).any()


def test_guarantee_and_diagnostics():
    reports, observed, epsilons = problem()
    observed[3] = False
    epsilons[3] = 50.0  # a user without reports does not affect the result
    estimate = debiased_rr(reports, observed, epsilons, weighted=False)
    guarantee, found = estimate.guarantee, estimate.diagnostics
    present = np.arange(USERS) != 3
    assert float(guarantee.epsilon) == epsilons[present].max()
    spent = observed.sum(1) * epsilons
    assert float(guarantee.also[0].epsilon) == pytest.approx(spent[present].max())
    assert guarantee.also[0].unit == "user"
    information = np.tanh(epsilons[present] / 2) ** 2
    assert float(found.gamma) == pytest.approx(2 / information.mean())
    assert float(debiased_rr(reports, observed, epsilons).diagnostics.gamma) == pytest.approx(2.0)
    given = debiased_rr(reports, observed, epsilons, gamma=0.7)
    assert float(given.diagnostics.gamma) == pytest.approx(0.7)


def test_ridge_where_little_or_nothing_is_known():
    """The ridge is 2 over the mean information of users with reports; without any it is 2, and scores are equal."""
    reports, observed, _ = problem()
    run = jax.jit(lambda seen: debiased_rr(reports, seen, 0.5, weighted=False))
    one = run(observed & (np.arange(USERS) == 0)[:, None])
    assert float(one.diagnostics.gamma) == pytest.approx(2 / np.tanh(0.25) ** 2)
    none = run(np.zeros_like(observed))
    assert float(none.diagnostics.gamma) == 2.0
    np.testing.assert_array_equal(none.value, np.zeros(ITEMS))


@pytest.mark.parametrize("link", LINKS)
def test_smallest_curvature(link):
    sums = debiased_sums(*problem(low=0.1, high=0.8))
    theta = np.array([0.3, -0.5, 0.1, 0.9])
    curvature = jax.jit(smallest_curvature, static_argnums=2)
    found = float(curvature(theta, sums, link))
    hessian = reference_local.signed_hessian(theta, np.asarray(sums.wins), link)
    least = reference_local.smallest_nonzero_eigenvalue(hessian)
    assert found == pytest.approx(least, abs=1e-10)
    wide = [np.pad(part, (0, 2)) for part in (sums.margins, sums.weights)]
    padded = DebiasedSums(*wide, np.arange(6) < 4)
    found = curvature(np.pad(theta, (0, 2)), padded, link)
    np.testing.assert_allclose(found, least, atol=1e-10)


# --- objectives that are not convex --------------------------------------------------------------


def _signed(margins, weights):
    upper = np.triu_indices(ITEMS, 1)
    matrices = np.zeros((2, ITEMS, ITEMS))
    matrices[:, upper[0], upper[1]] = [margins, weights]
    return DebiasedSums(
        jnp.asarray(matrices[0] - matrices[0].T), jnp.asarray(matrices[1] + matrices[1].T)
    )


# Newton's method on the Hessian itself ends in NaN on both.
NOT_CONVEX = [
    thorough("normal", [0.25, -0.25, -0.5, 4.0, -4.0, 2.0], [0.5, 0.25, 1.75, 1.0, 1.75, 0.0], 1.0),
    ("laplace", [-2.0, 3.0, 0.5, 2.75, -1.5, 2.0], [1.0, 2.0, 1.5, 1.5, 1.0, 0.25], 0.5),
]


@pytest.mark.parametrize(("link", "margins", "weights", "constant"), NOT_CONVEX)
def test_a_non_convex_objective_ends_in_a_stationary_point(link, margins, weights, constant):
    """SciPy finds the same minimum from some of twelve starts; without the ridge its curvature is negative."""
    sums = _signed(margins, weights)
    estimate = quick_jit(lambda sums: scores_from_sums(sums, link, 2 * constant))(sums)
    assert int(estimate.diagnostics.fit.code) == 0
    wins = np.asarray(sums.wins)
    objective = functools.partial(
        reference_local.signed_objective, wins=wins, name=link, constant=constant
    )
    value, gradient = objective(np.asarray(estimate.value))
    assert np.abs(gradient).max() < 1e-7
    starts = np.random.default_rng(0).normal(size=(12, ITEMS)) * np.linspace(0, 3, 12)[:, None]
    found = [reference_local.stationary_point(objective, start) for start in starts]
    assert min(np.abs(x - estimate.value).max() for x in found) < 1e-5
    assert value < objective(np.zeros(ITEMS))[0]
    hessian = reference_local.signed_hessian(np.asarray(estimate.value), wins, link)
    assert np.linalg.eigvalsh(hessian + 2 * constant * np.eye(ITEMS))[0] > 0
    least = reference_local.smallest_nonzero_eigenvalue(hessian)
    assert float(estimate.diagnostics.smallest_eigenvalue) == pytest.approx(least, abs=1e-9)
    assert least < 0


def test_masks_of_users_and_items_change_nothing():
    """Real data in the corner of a larger problem whose padding holds arbitrary values."""
    reports, observed, epsilons = problem()
    small = debiased_rr(reports, observed, epsilons, weighted=False)
    wide = np.full((USERS + 3, 15), np.nan)
    seen = np.ones((USERS + 3, 15), bool)
    seen[USERS:] = False
    places = [place for place, (_, j) in enumerate(reference_local.pairs_of(6)) if j < ITEMS]
    wide[:USERS, places] = reports
    seen[:USERS, places] = observed
    personal = np.concatenate([epsilons, [0.1, 9.0, np.inf]])
    mask = np.arange(6) < ITEMS
    large = debiased_rr(wide, seen, personal, weighted=False, mask=mask)
    np.testing.assert_allclose(large.value[:ITEMS], small.value, atol=1e-10)
    np.testing.assert_array_equal(large.value[ITEMS:], 0)
    both = (small.guarantee, small.diagnostics), (large.guarantee, large.diagnostics)
    for one, other in zip(*map(jax.tree.leaves, both)):
        np.testing.assert_allclose(one, other, atol=1e-9)


THETA = np.array([1.4, 0.3, -0.2, -1.5])
FIRST, SECOND = np.triu_indices(4, 1)


def symmetric(pairs):
    full = np.zeros((4, 4))
    full[FIRST, SECOND] = pairs
    return full + full.T


def naive(theta, weights, fourth, link):
    """The sandwich, pair by pair, by a pseudo-inverse."""
    size = theta.size
    bread, meat = np.zeros((size, size)), np.zeros((size, size))
    for i in range(size):
        for j in range(i):
            gap = theta[i] - theta[j]
            chance, _, score, _ = reference.link(link, gap)
            density = chance * score
            direction = np.zeros(size)
            direction[i], direction[j] = 1, -1
            outer = np.outer(direction, direction)
            bread += weights[i, j] * density**2 / (chance * (1 - chance)) * outer
            variance = weights[i, j] / 4 - fourth[i, j] * (chance - 0.5) ** 2
            meat += variance * (density / (chance * (1 - chance))) ** 2 * outer
    inverse = np.linalg.pinv(bread)
    return inverse @ meat @ inverse


@pytest.mark.parametrize("link", thorough_but(LINKS, "logistic"))
def test_the_covariance_is_the_sandwich(link):
    weights = symmetric([30.0, 20.0, 55.0, 41.0, 0.0, 12.0])
    fourth = weights * symmetric([0.9, 0.2, 0.5, 0.7, 0.0, 0.1])
    sums = DebiasedSums(jnp.zeros((4, 4)), jnp.asarray(weights))
    found = report_standard_errors(THETA, sums, fourth, link=link)
    expected = naive(THETA, weights, fourth, link)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-8, atol=1e-12)
    safe = report_standard_errors(THETA, sums, link=link).standard_errors
    assert np.all(safe > found.standard_errors)


def test_answers_in_the_clear_have_the_standard_errors_of_the_ordinary_fit():
    counts = symmetric([30.0, 20.0, 55.0, 41.0, 7.0, 12.0])
    sums = DebiasedSums(jnp.zeros((4, 4)), jnp.asarray(counts))
    found = report_standard_errors(THETA, sums, counts, gamma=1.4)
    expected = standard_errors(THETA, counts, gamma=1.4)  # c‖θ‖² is γ‖θ‖²/2 at γ = 2c
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(found.center, expected.center, rtol=1e-9)
