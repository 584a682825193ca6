"""The density of the perturbed MLE, and the loss that its calibration allows and attains."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise import perturbed_mle
from tests import reference
from tests.privacy_audit.losses import (
    counts,
    perturbed_mle_log_density,
    perturbed_mle_privacy_loss,
)
from tests.promises import promise

LINKS, ADJACENCIES = ("logistic", "laplace"), ("flip", "replace", "add-remove")
ROUNDING = 1 + 1e-9  # of a loss of ε


def calibrated(link, adjacency, comparisons, epsilon, gamma=None):
    unit = "comparison" if comparisons == 1 else "user"
    asked = promise(epsilon, unit, adjacency, comparisons)
    facts = Facts(2, rules=(get_link(link), False))
    return tuple(map(float, perturbed_mle.scale(asked, facts, gamma=gamma)))


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


@pytest.mark.parametrize("link", ["logistic", pytest.param("laplace", marks=pytest.mark.slow)])
def test_density_is_that_of_the_estimator(link, key):
    """KS test of θ̃₀ - θ̃₁ over 8,000 keys; false-alarm rate 1e-6, and a scale 15 % off is rejected."""
    wins, gamma, draws = counts(2, (0, 1, 3), (1, 0, 1)), 30.0, 8_000
    scale, _ = calibrated(link, "flip", 1, 1.0, gamma)
    asked = promise(1.0, adjacency="flip")
    fits = jax.vmap(lambda k: perturbed_mle(k, wins, asked, link=link, gamma=gamma).value)(
        jax.random.split(key, draws)
    )
    sample = np.asarray(fits[:, 0] - fits[:, 1])
    # The noise scale and curvature of the problem, on a grid that holds all but 1e-6 of the mass.
    difference, mean = np.linspace(-4, 4, 800), np.linspace(-2, 2, 401)

    def distance(assumed_scale):
        told = {"noise_scale": assumed_scale, "gamma": gamma, "link": link}

        def density(c, u):
            theta = jnp.array([c + u / 2, c - u / 2])
            return jnp.exp(perturbed_mle_log_density(theta, wins, **told))

        grid = jax.vmap(jax.vmap(density, (None, 0)), (0, None))(mean, difference)
        marginal = scipy.integrate.trapezoid(np.asarray(grid), mean, axis=0)
        cdf = scipy.integrate.cumulative_trapezoid(marginal, difference, initial=0.0)
        assert cdf[-1] == pytest.approx(1.0, abs=1e-3)
        return scipy.stats.ks_1samp(sample, lambda x: np.interp(x, difference, cdf)).pvalue

    assert distance(scale) > 1e-6
    assert distance(0.85 * scale) < 1e-6


def logistic_instance(adjacency, comparisons, gamma):
    """Output, and two neighbors whose loss there is the calibration's whole ε.

    * flip: two items, θ = (-t, t), the unit says L times "0 beats 1" or the opposite. -γθ = (γt, -γt)
      sets the signs of w for γt > L, every answer moves ‖w‖₁ by 2 in one direction, and the Hessian stays.
    * add-remove: the same two items far apart; the added upset "0 beats 1" has gradient 1, curvature 0.
    * replace: four items on a ladder θ = (-3t, -t, t, 3t). "1 beats 2" becomes "0 beats 3": both upsets,
      both saturated. For 0 and 3, -γθ already has the sign that makes the upset enlarge ‖w‖₁. For 1 and 2
      it must shrink it, so the sign has to be turned: k > γt + L further saturated upsets "0 beats 1" and
      "2 beats 3", common to both neighbors, do that, with no curvature of their own.
    """
    if adjacency == "flip":
        t = (comparisons + 1) / gamma
        first, second = counts(2, (1, 0, comparisons)), counts(2, (0, 1, comparisons))
        return np.array([-t, t]), first, second
    if adjacency == "add-remove":
        return np.array([-10.0, 10.0]), counts(2), counts(2, (0, 1, comparisons))
    t = 6.0
    k = np.ceil(gamma * t) + comparisons + 1
    common = [(0, 1, k), (2, 3, k)]
    first, second = (counts(4, *common, (*pair, comparisons)) for pair in ((1, 2), (0, 3)))
    return t * np.array([-3.0, -1.0, 1.0, 3.0]), first, second


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
def test_calibration_is_attained_and_never_exceeded(link, adjacency, comparisons, epsilon):
    """At a hard output, and at 2,000 random ones: far apart, nearly equal (the kink), and in between."""
    scale, gamma = calibrated(link, adjacency, comparisons, epsilon)
    if link == "logistic":
        hard, *pair = logistic_instance(adjacency, comparisons, gamma)
    else:
        hard, *pair = laplace_instance(adjacency, comparisons)
    rng = np.random.default_rng(0)
    spreads = rng.choice([1e-9, 0.1, 1.0, 6.0, 25.0], (1000, 1))
    random = spreads * rng.standard_normal((1000, len(hard)))
    outputs = np.concatenate([[hard], random, hard + random])
    told = {"noise_scale": scale, "gamma": gamma, "link": link}
    losses = jax.jit(jax.vmap(lambda theta: perturbed_mle_privacy_loss(theta, *pair, **told)))
    found = np.abs(losses(outputs))
    assert 0.99 * epsilon <= found[0]
    assert found.max() <= epsilon * ROUNDING
