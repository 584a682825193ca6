from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.mechanism import Facts
from privrank_jax.pairwise import perturbed_mle
from privrank_jax.pairwise.published import published_mle
from tests import reference
from tests.privacy_audit.losses import (
    largest_loss,
    perturbed_mle_log_density,
    perturbed_mle_privacy_loss,
)
from tests.privacy_audit.search import ADJACENCIES, ROUNDING, counts, worst_loss
from tests.promises import promise

LINKS = ("logistic", "laplace")


def of_several(epsilon, adjacency, comparisons):
    unit = "comparison" if comparisons == 1 else "user"
    return promise(epsilon, unit, adjacency, comparisons)


def calibrated(link, adjacency, comparisons, epsilon, gamma=None, calibration="tight"):
    asked = of_several(epsilon, adjacency, comparisons)
    record = published_mle if calibration == "published" else perturbed_mle
    scale, gamma = record.scale(asked, Facts(2, rules=(get_link(link), False)), gamma=gamma)
    return float(scale), float(gamma)


# --- the density ---------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("link", LINKS)
def test_density_is_the_naive_one(link, noise):
    rng = np.random.default_rng(1)
    matrix = rng.integers(0, 5, (5, 5)) * (1 - np.eye(5))
    thetas = 2 * rng.standard_normal((6, 5))
    ours = jax.vmap(
        lambda theta: perturbed_mle_log_density(
            theta, WinCounts.from_matrix(matrix), noise_scale=1.7, gamma=0.6, link=link, noise=noise
        )
    )(thetas)
    naive = [reference.perturbed_mle_log_density(t, matrix, 1.7, 0.6, link, noise) for t in thetas]
    np.testing.assert_allclose(ours, naive, rtol=1e-11)


@pytest.mark.parametrize("noise", ["laplace", pytest.param("gaussian", marks=pytest.mark.slow)])
@pytest.mark.parametrize("link", LINKS)
def test_density_integrates_to_one(link, noise):
    """Two items, in mean and difference of the scores; the mean carries no likelihood.

    Beyond the grid the density is below 10^-6 of its largest. The kink of the Laplace link, at difference 0, falls
    between two points of the grid.
    """
    wins = counts(2, (0, 1, 3), (1, 0, 1))
    mean, difference = np.linspace(-24, 24, 241), np.linspace(-40, 40, 2000)
    density = jax.jit(
        jax.vmap(
            jax.vmap(
                lambda c, u: jnp.exp(
                    perturbed_mle_log_density(
                        jnp.array([c + u / 2, c - u / 2]),
                        wins,
                        noise_scale=2.0,
                        gamma=0.9,
                        link=link,
                        noise=noise,
                    )
                ),
                (None, 0),
            ),
            (0, None),
        )
    )(mean, difference)
    total = scipy.integrate.trapezoid(scipy.integrate.trapezoid(density, difference), mean)
    assert total == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("link", ["logistic", pytest.param("laplace", marks=pytest.mark.slow)])
def test_density_is_that_of_the_estimator(link, key):
    """KS test of θ̃₀ - θ̃₁ over 8,000 keys; false-alarm rate 1e-6, and a scale 15 % off is rejected."""
    wins, gamma, draws = counts(2, (0, 1, 3), (1, 0, 1)), 30.0, 8_000
    scale, _ = calibrated(link, "flip", 1, 1.0, gamma)
    fits = jax.vmap(
        lambda k: (
            perturbed_mle(k, wins, promise(1.0, adjacency="flip"), link=link, gamma=gamma).value
        )
    )(jax.random.split(key, draws))
    sample = np.asarray(fits[:, 0] - fits[:, 1])
    # The noise scale and curvature of the problem, on a grid that holds all but 1e-6 of the mass.
    difference, mean = np.linspace(-4, 4, 800), np.linspace(-2, 2, 401)

    def distance(assumed_scale):
        def density(c, u):
            theta = jnp.array([c + u / 2, c - u / 2])
            return jnp.exp(
                perturbed_mle_log_density(
                    theta, wins, noise_scale=assumed_scale, gamma=gamma, link=link
                )
            )

        grid = jax.vmap(jax.vmap(density, (None, 0)), (0, None))(mean, difference)
        marginal = scipy.integrate.trapezoid(np.asarray(grid), mean, axis=0)
        cdf = scipy.integrate.cumulative_trapezoid(marginal, difference, initial=0.0)
        assert cdf[-1] == pytest.approx(1.0, abs=1e-3)
        return scipy.stats.ks_1samp(sample, lambda x: np.interp(x, difference, cdf)).pvalue

    assert distance(scale) > 1e-6
    assert distance(0.85 * scale) < 1e-6


def test_density_follows_the_dtype():
    wins = counts(3, (0, 1, 4), (2, 1, 1), (1, 0, 2))
    settings = {"noise_scale": 2.0, "gamma": 1.5}
    theta = np.array([0.3, -1.0, 0.4])
    alone = perturbed_mle_log_density(theta, wins, **settings)
    single = perturbed_mle_log_density(
        theta, WinCounts.from_matrix(np.asarray(wins.matrix, np.float32)), **settings
    )
    assert single.dtype == np.float32
    assert float(single) == pytest.approx(float(alone), rel=1e-5)


# --- ε is never exceeded -------------------------------------------------------------------------


# Users of two comparisons are held in the quick tier by the registry (test_enumeration.py).
@pytest.mark.parametrize("comparisons", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("link", LINKS)
def test_no_loss_above_epsilon(link, adjacency, comparisons):
    """γ at its floor (0.05 where there is none), by default, and far above."""
    for epsilon in (0.5, 3.0):
        asked = of_several(epsilon, adjacency, comparisons)
        facts = Facts(2, rules=(get_link(link), False))
        change = perturbed_mle.slope(asked, facts)
        floor = float(perturbed_mle.ridge(asked, facts, change).floor)
        for gamma in (max(floor, 0.05), None, 10 * max(floor, 0.3)):
            scale, ridge = calibrated(link, adjacency, comparisons, epsilon, gamma)
            worst = worst_loss(
                link=link,
                adjacency=adjacency,
                comparisons=comparisons,
                noise_scale=scale,
                gamma=ridge,
            )
            assert worst <= epsilon * ROUNDING, (epsilon, gamma)
            assert worst >= 0.8 * epsilon, "the search has lost its power"


@pytest.mark.parametrize("comparisons", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("link", LINKS)
def test_published_calibration_is_sound_but_loose(link, comparisons):
    for adjacency in ADJACENCIES:
        scale, gamma = calibrated(link, adjacency, comparisons, 1.0, calibration="published")
        worst = worst_loss(
            link=link,
            adjacency=adjacency,
            comparisons=comparisons,
            noise_scale=scale,
            gamma=gamma,
        )
        assert worst <= 1.0
        if link == "logistic" and comparisons == 1:
            assert worst <= 0.8


# --- a wrong calibration is caught by the same search --------------------------------------------


@pytest.mark.parametrize(
    ("adjacency", "comparisons"), [("flip", 3), ("replace", 1), ("add-remove", 3)]
)
def test_search_rejects_five_percent_less_noise(adjacency, comparisons):
    scale, gamma = calibrated("logistic", adjacency, comparisons, 3.0)
    worst = worst_loss(
        link="logistic",
        adjacency=adjacency,
        comparisons=comparisons,
        noise_scale=0.95 * scale,
        gamma=gamma,
    )
    assert worst > 3.0 * ROUNDING


def test_search_rejects_the_scale_of_flips_under_replacement():
    scale, _ = calibrated("logistic", "flip", 1, 1.0)
    worst = worst_loss(
        link="logistic", adjacency="replace", comparisons=1, noise_scale=scale, gamma=4.0
    )
    assert worst > 1.9


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_search_rejects_a_ridge_below_the_floor(adjacency):
    """γ < λ: a new comparison that is not saturated has gradient and curvature to spend."""
    scale, floor = calibrated("logistic", adjacency, 1, 0.5, None)
    assert floor == pytest.approx(scale)
    for share in (0.8, 0.25):
        worst = worst_loss(
            link="logistic",
            adjacency=adjacency,
            comparisons=1,
            noise_scale=scale,
            gamma=share * floor,
        )
        assert worst > 0.5 * ROUNDING


@pytest.mark.parametrize(
    ("adjacency", "comparisons"), [("flip", 3), ("replace", 1), ("add-remove", 3)]
)
def test_search_rejects_a_forgotten_log_determinant(adjacency, comparisons):
    """Laplace link: the noise term alone already uses ε."""
    gradient = {"flip": 4.0, "replace": 4.0, "add-remove": 2.0}[adjacency] * comparisons
    _, gamma = calibrated("laplace", adjacency, comparisons, 1.0)
    worst = worst_loss(
        link="laplace",
        adjacency=adjacency,
        comparisons=comparisons,
        noise_scale=gradient / 1.0,
        gamma=gamma,
    )
    assert worst > 1.1


# --- each tight calibration is attained ----------------------------------------------------------


def logistic_instance(adjacency, comparisons, gamma):
    """Output, and two neighbors whose loss there is the calibration's whole ε.

    * flip: two items, θ = (-t, t), the unit says L times "0 beats 1" or the opposite. -γθ = (γt, -γt)
      sets the signs of w for γt > L, every answer moves ‖w‖₁ by 2 in one direction, and the Hessian stays.
    * add-remove: the same two items far apart; the added upset "0 beats 1" has gradient 1, curvature 0.
    * replace: four items on a ladder θ = (-3t, -t, t, 3t). "1 beats 2" becomes "0 beats 3": both upsets,
      both saturated. For 0 and 3, -γθ already has the sign that makes the upset enlarge ‖w‖₁. For 1 and 2
      it must shrink it, so the sign has to be turned: k > γt + L further saturated upsets "0 beats 1" and
      "2 beats 3", common to both neighbors, do that, with no curvature of their own. (With one comparison
      per pair it takes some forty items to supply those k upsets; repeated pairs need four items.)
    """
    if adjacency == "flip":
        t = (comparisons + 1) / gamma
        return (
            np.array([-t, t]),
            counts(2, (1, 0, comparisons)),
            counts(2, (0, 1, comparisons)),
        )
    if adjacency == "add-remove":
        return np.array([-10.0, 10.0]), counts(2), counts(2, (0, 1, comparisons))
    t = 6.0
    k = np.ceil(gamma * t) + comparisons + 1
    common = [(0, 1, k), (2, 3, k)]
    return (
        t * np.array([-3.0, -1.0, 1.0, 3.0]),
        counts(4, *common, (1, 2, comparisons)),
        counts(4, *common, (0, 3, comparisons)),
    )


def laplace_instance(adjacency, comparisons):
    """The same for the Laplace link, whose score is exactly 1 and whose curvature is 0 for x < 0, and whose
    curvature jumps to κ₂ at 0: L pairs at x = ±h, h → 0, so that the determinant lemma is attained L times.

    In each pair (i, j), θ_j - θ_i = 2h, "i beats j" k times (at 0-, no curvature) sets the sign of w; the
    unit then says "j beats i" (at 0+: gradient 1, curvature 2) and shrinks ‖w‖₁.
    """
    h, k = 1e-13, 2.0
    pairs = [(2 * pair, 2 * pair + 1) for pair in range(comparisons)]
    size = 2 * comparisons + 2
    theta = np.array([-h, h] * comparisons + [-1.0, 1.0])
    common = [(i, j, k) for i, j in pairs]
    sharp = counts(size, *common, *((j, i, 1) for i, j in pairs))
    other = {
        "flip": [(i, j, 1) for i, j in pairs],
        "add-remove": [],
        # an upset between the two items that are far apart: -γθ gives the sign
        "replace": [(size - 2, size - 1, comparisons)],
    }[adjacency]
    return theta, sharp, counts(size, *common, *other)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("comparisons", [1, 3])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("link", LINKS)
def test_tight_calibration_is_attained(link, adjacency, comparisons, epsilon):
    scale, gamma = calibrated(link, adjacency, comparisons, epsilon)
    if link == "logistic":
        theta, wins, neighbor = logistic_instance(adjacency, comparisons, gamma)
    else:
        theta, wins, neighbor = laplace_instance(adjacency, comparisons)
    loss = perturbed_mle_privacy_loss(
        theta, wins, neighbor, noise_scale=scale, gamma=gamma, link=link
    )
    assert 0.99 * epsilon <= float(loss) <= epsilon * ROUNDING


def test_largest_loss_takes_both_directions():
    wins = counts(2, (0, 1, 1))
    neighbors = np.stack([counts(2, (1, 0, 1)).matrix, wins.matrix])
    thetas = np.array([[-2.0, 2.0], [0.0, 0.0], [2.0, -2.0]])
    settings = {"noise_scale": 2.0, "gamma": 1.0}
    each = [
        perturbed_mle_privacy_loss(theta, wins, WinCounts.from_matrix(other), **settings)
        for theta in thetas
        for other in neighbors
    ]
    assert float(min(each)) == pytest.approx(-float(max(each)))
    assert float(largest_loss(thetas, wins, neighbors, **settings)) == pytest.approx(1.0)
