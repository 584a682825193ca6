"""Noisy totals after every step: the twin, the law of the noise, the promise."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.privacy import Guarantee
from privrank_jax.privacy.continual import ContinualDiagnostics
from privrank_jax.privacy.prefix_sums import STRATEGIES, prefix_sum_errors, strategy_matrices
from tests import reference
from tests.promises import promise
from tests.reference import continual as twin

STEPS, ITEMS = 5, 3
NOISES = ("laplace", "gaussian")
STREAM = np.random.default_rng(0).integers(0, 9, (STEPS, ITEMS, ITEMS)) * (1.0 - np.eye(ITEMS))
TOTALS = STREAM.sum(-1)
ASKED = promise(0.8, "user", "replace", 4, delta=1e-4)


@pytest.mark.parametrize("strategy", [*STRATEGIES, "unbounded-tree"])
def test_it_is_the_twin(strategy, key):
    """The same noise, told by the strategy whose noise is drawn step by step, which adds nothing up."""
    drawn = continual_totals(key, TOTALS, ASKED, strategy="independent")
    noise = np.asarray(drawn.value) - np.cumsum(TOTALS, 0)
    noise /= float(drawn.diagnostics.noise_scale)
    found = continual_totals(key, TOTALS, ASKED, strategy=strategy)
    decode = strategy_matrices(strategy, STEPS)[0]
    expected = twin.noisy_prefix_sums(TOTALS, decode, noise * float(found.diagnostics.noise_scale))
    np.testing.assert_allclose(found.value, expected, rtol=1e-9)


@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
def test_noise_scales(adjacency, key):
    asked = promise(0.5, "user", adjacency, 3, delta=1e-4)
    of_one = 3 * (1 if adjacency == "add-remove" else math.sqrt(2))
    length = math.sqrt(sum((math.comb(2 * k, k) / 4**k) ** 2 for k in range(STEPS)))
    found = continual_totals(key, TOTALS, asked).diagnostics.noise_scale
    assert float(found) == pytest.approx(reference.gaussian_scale(of_one * length, 0.5, 1e-4))
    found = continual_totals(key, TOTALS, asked, noise="laplace", strategy="tree").diagnostics
    assert float(found.noise_scale) == pytest.approx(
        3 * (1 if adjacency == "add-remove" else 2) * 3 / 0.5
    )


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_noise_has_the_stated_covariance(noise, key):
    """Within 6 standard errors in 20,000 releases; noise that is 5 % smaller, or independent over steps, is not."""
    release = jax.jit(
        jax.vmap(lambda key: continual_totals(key, TOTALS, ASKED, noise=noise, strategy="tree"))
    )
    found = release(jax.random.split(key, 20_000))
    errors = np.asarray(found.value) - np.cumsum(TOTALS, 0)
    decode = strategy_matrices("tree", STEPS)[0]
    scale = float(found.diagnostics.noise_scale[0]) * (math.sqrt(2) if noise == "laplace" else 1)
    expected = scale**2 * decode @ decode.T
    spread = np.sqrt(np.diag(expected))
    correlated = np.einsum("rti,rsi->ts", errors, errors) / (len(errors) * ITEMS)
    off = (correlated - expected) / np.outer(spread, spread)
    margin = 6 * math.sqrt(
        6 / (len(errors) * ITEMS)
    )  # of a product of variables with kurtosis at most 6
    assert np.abs(off).max() < margin < 1 - 0.95**2
    between = np.einsum("rti,rtj->ij", errors / spread[:, None], errors / spread[:, None])
    assert np.abs(np.triu(between, 1)).max() / (len(errors) * STEPS) < margin
    np.testing.assert_allclose(found.diagnostics.deviations[0], spread, rtol=1e-6)


def test_the_default_is_the_square_root(key):
    found = continual_totals(key, TOTALS, ASKED).diagnostics.deviations
    once = pairwise.noisy_counts(key, WinCounts.from_matrix(STREAM[0]), ASKED, noise="gaussian")
    ratio = np.asarray(found) / float(once.diagnostics.noise_scale)
    np.testing.assert_allclose(
        ratio, prefix_sum_errors("square-root", STEPS, "gaussian"), rtol=1e-6
    )


def test_no_noise_and_one_step(key):
    exact = continual_totals(key, TOTALS, promise(math.inf, delta=1e-4)).value
    np.testing.assert_allclose(exact, np.cumsum(TOTALS, 0), rtol=1e-12)
    found = continual_totals(key, TOTALS[:1], ASKED)
    alone = pairwise.noisy_counts(key, WinCounts.from_matrix(STREAM[0]), ASKED, noise="gaussian")
    np.testing.assert_allclose(found.diagnostics.noise_scale, alone.diagnostics.noise_scale)


def test_promises_are_kept_in_a_sweep_and_refused_in_clear_words(key):
    epsilons = jnp.array([0.5, 2.0])
    sweep = dataclasses.replace(ASKED, epsilon=epsilons)
    found = jax.vmap(
        lambda asked: continual_totals(key, TOTALS, asked).diagnostics.noise_scale,
        in_axes=(sweep.axes(epsilon=0),),
    )(sweep)
    assert found[0] > 2 * found[1]
    told = {noise: continual_totals(key, TOTALS, ASKED, noise=noise) for noise in NOISES}
    assert told["gaussian"].guarantee == Guarantee(ASKED, ASKED)
    assert told["laplace"].guarantee == Guarantee(ASKED, dataclasses.replace(ASKED, delta=0.0))
    with pytest.raises(ValueError, match="noise='gaussian' needs delta > 0"):
        continual_totals(key, TOTALS, promise(1.0))
    with pytest.raises(ValueError, match=r"totals must have shape \(T, m\)"):
        continual_totals(key, TOTALS[0], ASKED)
    with pytest.raises(ValueError, match="unit='user' needs contributions=L"):
        continual_totals(key, TOTALS, dataclasses.replace(ASKED, contributions=None))
    with pytest.raises(ValueError, match="strategy must be one of"):
        continual_totals(key, TOTALS, ASKED, strategy="banded")


def test_diagnostics_are_public(key):
    """The same from other data under another key."""
    one = continual_totals(key, TOTALS, ASKED).diagnostics
    other = continual_totals(jax.random.key(5), 0 * TOTALS, ASKED).diagnostics
    assert isinstance(one, ContinualDiagnostics)
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other)):
        np.testing.assert_array_equal(ours, theirs)
