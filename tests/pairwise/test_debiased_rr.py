from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.pairwise import debiased_rr
from privrank_jax.pairwise.debiased_fit import (
    DebiasedSums,
    debiased_sums,
    scores_from_sums,
    smallest_curvature,
)
from tests.pairwise.problems import ITEMS, PAIRS, USERS, _problem
from tests.quick import quick_jit
from tests.reference import local as reference_local

LINKS = ("logistic", "normal", "laplace")


# --- against twins -------------------------------------------------------------------------------

VARIANTS = [
    {},
    {"weighted": False},
    {"weighted": False, "debiased": False},
    {"debiased": False},
    {"mechanism": "laplace", "weighted": False},
    {"mechanism": "laplace"},
]


@pytest.mark.parametrize(
    ("link", "variant"),
    [
        ("logistic", {}),
        *(pytest.param("logistic", variant, marks=pytest.mark.slow) for variant in VARIANTS[1:]),
        *(pytest.param(link, {}, marks=pytest.mark.slow) for link in LINKS[1:]),
    ],
)
def test_scores_minimize_the_published_objective(link, variant):
    """Equation (5) with normalized weights, report by report; float32 agrees with float64."""
    reports, observed, epsilons = _problem()
    reports = reports.astype(float)
    settings = dict(variant)
    laplace = {"laplace": settings.pop("mechanism", None) == "laplace"}
    if laplace["laplace"]:
        reports += np.random.default_rng(1).laplace(size=reports.shape) / epsilons[:, None]
    # The published λ is 0.8/Σ tanh²(ε/2), and ours γ/2 over the sum of the weights.
    weighted = variant.get("weighted", True)
    total = reference_local.weights_and_targets(reports, epsilons, weighted, True, **laplace)[2]
    gamma = 2 * 0.8 * total / np.sum(np.tanh(epsilons / 2) ** 2)
    estimate = debiased_rr(reports, observed, epsilons, link, gamma, **variant)
    expected = reference_local.debiased_scores(
        reports, observed, epsilons, link, 0.8, **settings, **laplace
    )
    np.testing.assert_allclose(estimate.value, expected - expected.mean(), atol=2e-7)
    assert estimate.value.dtype == np.float64
    assert int(estimate.diagnostics.fit.code) == 0
    if not variant:
        arguments = reports.astype(np.float32), observed, epsilons.astype(np.float32)
        single = debiased_rr(*arguments, link, gamma, **variant)
        assert single.value.dtype == np.float32
        assert int(single.diagnostics.fit.code) == 0
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


def test_logistic_scores_are_those_of_noisy_totals():
    reports, observed, epsilons = _problem(3)
    sums = debiased_sums(reports, observed, epsilons)
    totals = pairwise.fit(pairwise.Counts(sums.weights), sums.wins.sum(1), 1.4)
    np.testing.assert_allclose(
        debiased_rr(reports, observed, epsilons, gamma=1.4).value, totals.value, atol=1e-9
    )


def test_the_count_method_is_the_sums_without_weights_and_debiasing():
    reports, observed, epsilons = _problem(5)
    found = debiased_sums(reports, observed, epsilons, False, False).wins.sum(1)
    expected = reference_local.report_counts(reports, observed, ITEMS)
    np.testing.assert_allclose(found, expected)


# --- guarantee and diagnostics -------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int8, np.float32])
def test_reports_of_either_coding_mean_the_same_traced_or_not(kind):
    reports, observed, epsilons = _problem()
    signed = np.where(reports, 1, -1).astype(kind)
    sums = jax.jit(debiased_sums)
    for found in (debiased_sums(signed, observed, epsilons), sums(signed, observed, epsilons)):
        wanted = debiased_sums(reports, observed, epsilons)
        np.testing.assert_allclose(found.margins, wanted.margins, rtol=1e-12)
    wrong = np.where(reports, 2.0, 0.0)
    assert np.isnan(sums(wrong, observed, epsilons).margins).any()
    with pytest.raises(ValueError, match="or all of them -1 or 1"):
        debiased_sums(np.where(observed, signed, 0), observed | True, epsilons)


def test_guarantee_and_diagnostics():
    reports, observed, epsilons = _problem()
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
    reports, observed, _ = _problem()
    run = jax.jit(lambda seen: debiased_rr(reports, seen, 0.5, weighted=False))
    one = run(observed & (np.arange(USERS) == 0)[:, None])
    assert float(one.diagnostics.gamma) == pytest.approx(2 / np.tanh(0.25) ** 2)
    none = run(np.zeros_like(observed))
    assert float(none.diagnostics.gamma) == 2.0
    np.testing.assert_array_equal(none.value, np.zeros(ITEMS))


@pytest.mark.parametrize(("link", "repeats"), [*((link, 1) for link in LINKS), (LINKS[0], 400)])
def test_smallest_curvature(link, repeats):
    reports, observed, epsilons = _problem(low=0.1, high=0.8)
    sums = jax.tree.map(lambda x: repeats * x, debiased_sums(reports, observed, epsilons))
    theta = np.array([0.3, -0.5, 0.1, 0.9])
    found = float(smallest_curvature(theta, sums, link))
    hessian = reference_local.signed_hessian(theta, np.asarray(sums.wins), link)
    least = reference_local.smallest_nonzero_eigenvalue(hessian)
    assert found == pytest.approx(least, abs=1e-10 * repeats)
    padded = DebiasedSums(
        jnp.pad(sums.margins, (0, 2)), jnp.pad(sums.weights, (0, 2)), jnp.arange(6) < 4
    )
    both = jax.vmap(lambda s: smallest_curvature(jnp.pad(theta, (0, 2)), s, link))(
        jax.tree.map(lambda x: jnp.stack([x, x]), padded)
    )
    np.testing.assert_allclose(both, found, atol=1e-10 * repeats)


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
    ("normal", [0.25, -0.25, -0.5, 4.0, -4.0, 2.0], [0.5, 0.25, 1.75, 1.0, 1.75, 0.0], 1.0),
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


@pytest.mark.slow
def test_an_unbounded_objective_says_so_and_the_remedies_help():
    """Two items, normal link: with a count of -2 and a ridge of 2 the loss is unbounded below."""
    sums = DebiasedSums(jnp.array([[0.0, 2.5], [-2.5, 0.0]]), jnp.array([[0.0, 1.0], [1.0, 0.0]]))
    estimate = scores_from_sums(sums, "normal", 2.0)
    assert int(estimate.diagnostics.fit.code) != 0
    assert float(estimate.diagnostics.smallest_eigenvalue) < 0
    for better, link, gamma in (
        (sums, "normal", 6.0),
        (sums, "logistic", 2.0),
    ):
        found = scores_from_sums(better, link, gamma)
        assert int(found.diagnostics.fit.code) == 0
        assert float(found.value[0]) > float(found.value[1])


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"epsilon": np.ones(USERS + 1)}, "one per user"),
        ({"epsilon": np.ones((USERS, PAIRS))}, "one per user"),
        ({"observed": np.ones((USERS, PAIRS + 1))}, "one shape"),
        ({"observed": np.full((USERS, PAIRS), 0.5)}, "observed must be 0 or 1"),
        ({"observed": np.zeros((USERS, PAIRS))}, "nothing is observed"),
        ({"mask": np.ones(5, bool)}, "mask must have shape"),
        ({"reports": np.full((USERS, PAIRS), np.nan)}, "reports must be 0 or 1"),
        ({"reports": np.ones((USERS, 5)), "observed": np.ones((USERS, 5))}, "number m >= 2 of items"),
        ({"reports": np.ones((3, USERS, PAIRS)), "observed": np.ones((3, USERS, PAIRS))}, "vmap"),
        ({"gamma": -1.0}, "gamma"),
        ({"link": "cauchy"}, "unknown link"),
        ({"mechanism": "gauss"}, "mechanism must be one of"),
        ({"reports": np.full((USERS, PAIRS), np.inf), "mechanism": "laplace"}, "finite"),
    ],
)  # fmt: skip
def test_refusals(changed, message):
    reports, observed, epsilons = _problem()
    arguments = {"reports": reports, "observed": observed, "epsilon": epsilons} | changed
    with pytest.raises(ValueError, match=message):
        debiased_rr(**arguments)
