"""The density of the perturbed MLE, and the loss that its calibration allows and attains."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise import perturbed_mle
from tests import reference
from tests.privacy_audit.losses import counts, perturbed_mle_log_density
from tests.promises import promise


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("link", ["logistic", "laplace"])
def test_density_is_the_naive_one(link, noise):
    rng = np.random.default_rng(1)
    matrix = rng.integers(0, 5, (5, 5)) * (1 - np.eye(5))
    thetas = 2 * rng.standard_normal((6, 5))
    told = {"noise_scale": 1.7, "gamma": 0.6, "link": link, "noise": noise}
    wins = WinCounts.from_matrix(matrix)
    ours = jax.jit(jax.vmap(lambda theta: perturbed_mle_log_density(theta, wins, **told)))(thetas)
    naive = [reference.perturbed_mle_log_density(t, matrix, 1.7, 0.6, link, noise) for t in thetas]
    np.testing.assert_allclose(ours, naive, rtol=1e-11)


def hard_instance(adjacency, comparisons):
    """Output, and two neighbors whose loss there is the calibration's whole ε.

    The score of the link is exactly 1 and its curvature 0 for x < 0, and its curvature jumps to κ₂ at 0: L pairs at
    x = ±h, h → 0, so that the determinant lemma is attained L times.

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


@functools.partial(jax.jit, static_argnames="link")
@functools.partial(jax.vmap, in_axes=(0, None, None, None, None))
def log_densities(theta, matrix, noise_scale, gamma, link):
    """One program for all calibrations of a size."""
    told = {"noise_scale": noise_scale, "gamma": gamma, "link": link}
    return perturbed_mle_log_density(theta, WinCounts.from_matrix(matrix), **told)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("comparisons", [1, 3])
@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
def test_calibration_of_the_laplace_link_is_attained_and_never_exceeded(
    adjacency, comparisons, epsilon
):
    """At a hard output, and at 2,000 random ones: far apart, nearly equal (the kink), and in between.

    For the logistic link tests/mechanism/test_objectives.py does the same.
    """
    asked = promise(epsilon, "comparison" if comparisons == 1 else "user", adjacency, comparisons)
    scale, gamma = map(
        float, perturbed_mle.scale(asked, Facts(2, rules=(get_link("laplace"), False)))
    )
    hard, *pair = hard_instance(adjacency, comparisons)
    rng = np.random.default_rng(0)
    spreads = rng.choice([1e-9, 0.1, 1.0, 6.0, 25.0], (1000, 1))
    random = spreads * rng.standard_normal((1000, len(hard)))
    outputs = np.concatenate([[hard], random, hard + random])
    logs = [log_densities(outputs, wins.matrix, scale, gamma, "laplace") for wins in pair]
    found = np.abs(logs[0] - logs[1])
    assert 0.99 * epsilon <= found[0]
    assert found.max() <= epsilon * (1 + 1e-9)
