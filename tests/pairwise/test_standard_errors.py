from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.pairwise.questionnaire import questionnaire_counts
from privrank_jax.pairwise.uncertainty import (
    standard_errors,
    totals_standard_errors,
)
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.geometry import Zonotope
from tests import reference
from tests.pairwise.problems import dense_objective
from tests.quick import quick_jit

LINKS = ("logistic", "normal", "laplace")
SIZE = 5
THETA = np.array([1.1, 0.4, 0.1, -0.5, -1.1])


def design(seed=0, size=SIZE, most=200):
    met = np.triu(np.random.default_rng(seed).integers(20, most, (size, size)), 1)
    return (met + met.T).astype(float)


def centered(size=SIZE):
    return np.eye(size) - 1 / size


# --- scores: the formulas ------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "variance"), [("laplace", 2 * 3.0**2), ("gaussian", 3.0**2)])
@pytest.mark.parametrize("target", ["truth", "penalized"])
@pytest.mark.parametrize("link", LINKS)
def test_covariance_is_the_sandwich(link, target, noise, variance):
    comparisons = design()
    for gamma in (0.0, 12.0):
        found = standard_errors(
            THETA,
            comparisons,
            noise=Noise.independent(noise, 3.0, SIZE),
            gamma=gamma,
            link=link,
            target=target,
        )
        information = reference.fisher_information(link, THETA, comparisons)
        bend = gamma if target == "penalized" else 0.0
        wanted = reference.sandwich(information, bend, variance)
        np.testing.assert_allclose(found.covariance, wanted, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(wanted)), rtol=1e-8)
        inverse = np.linalg.pinv(information + bend * centered(), rcond=1e-12)
        np.testing.assert_allclose(found.influence, inverse, rtol=1e-8, atol=1e-12)
        shift = gamma * inverse @ THETA if target == "truth" else 0.0
        np.testing.assert_allclose(found.center, THETA + shift, rtol=1e-8)
        assert np.all(found.linked)


@pytest.mark.parametrize("link", LINKS)
def test_without_privacy_it_is_the_inverse_information_of_the_mle(link):
    """At counts equal to their expectation, observed and expected information agree for every link."""
    comparisons = design(1)
    chance = np.asarray(get_link(link).cdf(THETA[:, None] - THETA[None, :]))
    wins = WinCounts(jnp.asarray(comparisons * chance))
    fitted = quick_jit(functools.partial(mle, link=link))(wins).value
    np.testing.assert_allclose(fitted, THETA, atol=1e-8)
    objective = dense_objective(wins, get_link(link))
    bend = (
        np.asarray(quick_jit(jax.jacobian(objective.gradient))(fitted)) * comparisons.sum(1).mean()
    )
    observed = centered() @ bend @ centered()
    found = standard_errors(fitted, comparisons, link=link)
    np.testing.assert_allclose(found.covariance, np.linalg.pinv(observed, rcond=1e-9), atol=1e-9)


def test_influence_is_the_derivative_of_the_release_by_its_noise():
    comparisons, gamma = design(2), 9.0
    chance = 1 / (1 + np.exp(THETA[None, :] - THETA[:, None]))
    totals = (comparisons * chance).sum(1)

    def release(totals):
        return fit(Counts(comparisons), totals, gamma).value

    slope = jax.jit(jax.jacobian(release))(jnp.asarray(totals))
    found = standard_errors(release(totals), comparisons, gamma=gamma, target="penalized")
    np.testing.assert_allclose(slope, found.influence, rtol=1e-7, atol=1e-11)


def test_the_center_undoes_the_pull_of_the_ridge_to_first_order():
    comparisons = design(3)
    chance = 1 / (1 + np.exp(THETA[None, :] - THETA[:, None]))
    totals, left = (comparisons * chance).sum(1), []
    for gamma in (1.0, 2.0):
        pulled = fit(Counts(comparisons), totals, gamma).value
        found = standard_errors(pulled, comparisons, gamma=gamma)
        left.append(np.abs(np.asarray(found.center) - THETA).max())
        assert left[-1] < 0.1 * np.abs(pulled - THETA).max()
    assert 3.5 < left[1] / left[0] < 4.5  # second order: twice the ridge, four times the bias


def test_shifts_of_the_scores_do_not_matter():
    for target in ("truth", "penalized"):
        settings = {"noise": 2.0, "gamma": 5.0, "target": target}
        one = standard_errors(THETA, design(), **settings)
        other = standard_errors(THETA + 7.0, design(), **settings)
        np.testing.assert_allclose(one.center, other.center, atol=1e-9)
        np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-12)


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
    found = run(values, np.where(np.outer(mask, mask), comparisons, 77.0), noise=1.5, mask=mask)
    alone = run(THETA[keep], comparisons[inner], noise=1.5)
    np.testing.assert_allclose(np.asarray(found.covariance)[inner], alone.covariance, rtol=1e-8)
    np.testing.assert_allclose(found.standard_errors[mask], alone.standard_errors, rtol=1e-8)
    np.testing.assert_allclose(found.center[mask], alone.center, rtol=1e-8)
    np.testing.assert_array_equal(found.standard_errors[~mask], 0.0)
    np.testing.assert_array_equal(found.linked, np.outer(mask, mask))


# --- totals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "variance"), [("laplace", 18.0), ("gaussian", 9.0)])
def test_totals_errors_bound_the_covariance_of_the_totals(noise, variance):
    comparisons = design(6)
    totals = np.arange(5.0)
    law = Noise.independent(noise, 3.0, SIZE)
    found = totals_standard_errors(totals, comparisons, noise=law)
    np.testing.assert_array_equal(found.center, totals)

    def exact(theta):
        chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
        spread = comparisons * chance * (1 - chance)
        return np.diag(spread.sum(1)) - spread + variance * np.eye(SIZE)

    np.testing.assert_allclose(found.covariance, exact(np.zeros(SIZE)), rtol=1e-12)
    for scale in (0.3, 2.0):
        gap = np.asarray(found.covariance) - exact(scale * THETA)
        assert np.linalg.eigvalsh(gap)[0] > -1e-9
        assert np.linalg.eigvalsh(gap)[-1] > 1


# --- batches, dtypes, compilations, refusals -----------------------------------------------------


def test_float32_stays_float32():
    double = standard_errors(THETA, design(), noise=2.0, gamma=3.0)
    single = standard_errors(THETA.astype(np.float32), design(), noise=2.0, gamma=3.0)
    assert single.covariance.dtype == single.standard_errors.dtype == np.float32
    np.testing.assert_allclose(single.standard_errors, double.standard_errors, rtol=1e-4)
    whole = totals_standard_errors([3, 2, 1], 2 * (1 - np.eye(3)))  # integers become floats
    assert whole.center.dtype == np.float64


ASYMMETRIC = np.array([[0, 9.0], [3, 0]])


@pytest.mark.parametrize("run", [standard_errors, totals_standard_errors])
@pytest.mark.parametrize(
    ("value", "comparisons", "settings", "message"),
    [
        (THETA, design()[:4, :4], {}, r"\(5,\) and comparison counts \(4, 4\)"),
        (np.ones((2, 5)), design(), {}, "use jax.vmap"),
        (THETA * np.nan, design(), {}, "finite; did the fit converge"),
        (THETA, design() * np.nan, {}, "finite, at least 0 and symmetric"),
        (THETA, -design(), {}, "finite, at least 0 and symmetric"),
        (THETA[:2], ASYMMETRIC, {}, "finite, at least 0 and symmetric"),
        (THETA, design(), {"noise": -1.0}, "noise must be finite and at least 0"),
        (THETA, design(), {"noise": np.inf}, "noise must be finite and at least 0"),
        (THETA, design(), {"noise": Noise.independent("gaussian", 1.0, 4)}, "on 5 numbers"),
        (THETA, design(), {"mask": np.ones(4, bool)}, r"mask must be bool of shape \(5,\)"),
        (THETA, design(), {"mask": np.ones(5)}, "mask must be bool"),
    ],
)
def test_bad_arguments_are_refused(run, value, comparisons, settings, message):
    with pytest.raises(ValueError, match=message):
        run(value, comparisons, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": -1.0}, "gamma must be finite and at least 0"),
        ({"link": "probit"}, "unknown link"),
        ({"target": "moon"}, "target must be one of 'truth', 'penalized'"),
    ],
)
def test_bad_settings_of_fits_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        standard_errors(THETA, design(), **settings)


# --- K-norm noise, in the shape of a questionnaire ------------------------------------------------

PATH = questionnaire_counts([(0, 1), (1, 2), (2, 3), (3, 4), (0, 1)], SIZE)


def k_norm_covariance():
    """Of noise for :data:`PATH` at scale 1. On a path the zonotope is a box in the coordinates of the edges, of widths
    2, 1, 1, 1, and noise in a box of p dimensions has variances (p + 1)(p + 2)/3 times those."""
    steps = np.eye(SIZE)[:-1] - np.eye(SIZE)[1:]
    return steps.T @ np.diag([4.0, 1.0, 1.0, 1.0]) @ steps * (5 * 6 / 3)


BODY = Zonotope(jnp.asarray(PATH, float))


def shaped(scale):
    return Noise("k-norm", scale, BODY)


def test_k_norm_noise_enters_by_its_covariance():
    comparisons = design(2)
    found = standard_errors(THETA, comparisons, noise=shaped(1.5))
    information = reference.fisher_information("logistic", THETA, comparisons)
    inverse = np.linalg.pinv(information, rcond=1e-12)
    wanted = inverse @ (information + 1.5**2 * k_norm_covariance()) @ inverse
    # The law comes from a simulation, on the safe side.
    np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(wanted)), rtol=0.03)
    totals = totals_standard_errors(10 * THETA, comparisons, noise=shaped(1.5))
    sampling = (np.diag(comparisons.sum(1)) - comparisons) / 4
    np.testing.assert_allclose(
        totals.standard_errors,
        np.sqrt(np.diag(sampling + 1.5**2 * k_norm_covariance())),
        rtol=0.03,
    )


def test_k_norm_noise_under_a_program_and_refusals():
    comparisons = design(2)
    errors = functools.partial(standard_errors, THETA, comparisons)
    known = errors(noise=shaped(2.0)).standard_errors
    traced = jax.jit(lambda scale: errors(noise=shaped(scale)).standard_errors)(2.0)
    np.testing.assert_allclose(traced, known, rtol=1e-9)
    with pytest.raises(ValueError, match="traced"):
        jax.jit(lambda lengths: errors(noise=Noise("k-norm", 1.0, Zonotope(lengths))))(PATH * 1.0)
    with pytest.raises(ValueError, match="on 5 numbers"):
        errors(noise=Noise("k-norm", 1.0, Zonotope(jnp.ones((3, 3)))))
