from __future__ import annotations

import functools
import math

import jax
import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights, noise_all
from privrank_jax.aggregation.split_weights import default_focus, private_weights
from privrank_jax.mechanism.data import Facts
from tests.promises import user
from tests.quick import thorough_but
from tests.reference import private_weights as reference

W = np.array([[0, 0.6, 0.5, 0.4], [0.4, 0, 0.55, 0.5], [0.5, 0.45, 0, 0.6], [0.6, 0.5, 0.4, 0]])
ABOVE = np.triu_indices(4, 1)
USERS = 100
NOISES = ("k-norm", "gaussian")
DRAWS = 10_000


def weights(mask=None):
    return PairWeights(W, USERS, mask)


def promised(noise, epsilon=0.8):
    return user(epsilon, 1e-4 if noise == "gaussian" else 0.0)


@functools.partial(jax.jit, static_argnames="noise")
@functools.partial(jax.vmap, in_axes=(0, None, None))
def drawn(key, focus, noise):
    """Releases of ``weights()``, not shrunk, one for each key."""
    return private_weights(key, weights(), promised(noise), noise=noise, focus=focus, shrink="none")


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("focus", [0.0, 0.6, 1.0])
def test_both_parts_have_the_stated_noise(noise, focus, key):
    """Mean squares of 10,000 draws, off by 6 standard errors less than once in 10^8; 10 % more noise is rejected."""
    found = drawn(jax.random.split(key, DRAWS), focus, noise)
    stated = found.diagnostics.gradient_scale[0], found.diagnostics.cycle_scale[0]
    np.testing.assert_allclose(
        stated,
        private_weights.scale(promised(noise), Facts(4, USERS), noise, focus=focus),
        rtol=1e-6,
    )
    error = np.asarray(found.value) - W
    np.testing.assert_allclose(error, -error.transpose(0, 2, 1), atol=1e-6)
    slopes = error.sum(2)
    gradient = (slopes[:, :, None] - slopes[:, None]) / 4
    if focus == 1:  # nothing is said about cycles
        assert math.isinf(stated[1])
        np.testing.assert_allclose(
            error - gradient, -reference.parts(W)[1][None] + 0 * error, atol=1e-6
        )
    for part, dimension, scale in ((gradient, 3, stated[0]), (error - gradient, 3, stated[1])):
        if math.isinf(scale):
            continue
        squares = (part[:, *ABOVE] ** 2).sum(1) / dimension
        deviation = squares.std() / math.sqrt(DRAWS)
        assert abs(squares.mean() - scale**2) < 6 * deviation
        assert abs(squares.mean() - (1.1 * scale) ** 2) > 6 * deviation
    if focus < 1:
        both = (gradient[:, 0, 1] * (error - gradient)[:, 0, 1]).mean()
        assert abs(both) < 6 * float(stated[0] * stated[1]) / math.sqrt(DRAWS)


@pytest.mark.parametrize("noise", thorough_but(NOISES, "gaussian"))
def test_shrinkage_is_that_of_the_twin_and_keeps_scores(noise, key):
    for focus, epsilon in ((0.2, 3.0), (0.5, 30.0), (1.0, 3.0)):
        rough, fine = (
            private_weights(
                key, weights(), promised(noise, epsilon), noise=noise, focus=focus, shrink=shrink
            )
            for shrink in ("none", "james-stein")
        )
        wanted, factor = reference.shrunk(
            np.asarray(rough.value), float(fine.diagnostics.cycle_scale)
        )
        np.testing.assert_allclose(fine.value, wanted, atol=1e-6)
        assert float(fine.diagnostics.cycle_factor) == pytest.approx(factor, abs=1e-5)
        np.testing.assert_allclose(fine.value.sum(1), rough.value.sum(1), atol=1e-5)


@pytest.mark.parametrize("private", [noise_all, private_weights])
@pytest.mark.parametrize("noise", thorough_but(NOISES, "gaussian"))
def test_values_read_only_the_upper_half_and_are_exact_without_noise(private, noise, key):
    """Of noise for all pairs they are clipped."""
    other = np.triu(W) + 7 * np.tril(np.ones((4, 4)), -1)

    @jax.jit
    def run(w, epsilon):
        return private(key, PairWeights(w, 3), promised(noise, epsilon), noise=noise).value

    noisy = np.asarray(run(other, 0.2))
    np.testing.assert_array_equal(noisy, run(W, 0.2))
    np.testing.assert_allclose(noisy + noisy.T, 1 - np.eye(4), atol=1e-5)
    np.testing.assert_allclose(run(W, np.inf), W, atol=1e-6)
    if private is noise_all:
        assert {0.0, 1.0} == {noisy[ABOVE].min(), noisy[ABOVE].max()}


@pytest.mark.parametrize("noise", thorough_but(NOISES, "gaussian"))
def test_masked_items_do_not_count(noise, key):
    """Traced or not."""
    run = jax.jit(
        lambda mask, focus: private_weights(
            key, weights(mask), promised(noise), noise=noise, focus=focus
        )
    )
    for focus in (0.0, 0.5, 1.0):
        found = run(np.array([True, False, True, True]), focus)
        value = np.asarray(found.value)
        assert not value[1].any()
        assert not value[:, 1].any()
        np.testing.assert_allclose((value + value.T)[0, 2:], 1, rtol=1e-6)
        scales = private_weights.scale(promised(noise), Facts(3, USERS), noise, focus=focus)
        stated = found.diagnostics.gradient_scale, found.diagnostics.cycle_scale
        np.testing.assert_allclose(stated, scales, rtol=1e-5)
    for lonely in (np.arange(4) == 0, np.zeros(4, bool)):
        assert not np.asarray(run(lonely, 0.5).value).any()


def test_default_focus_depends_on_the_noise_of_a_weight():
    for noise, limit, much in (("k-norm", 0.25, 1.0), ("gaussian", 0.5, 0.5)):
        for items in (3, 12):
            for users in (30, 300, 3000):
                privacy = promised(noise)
                _, cycle = private_weights.scale(privacy, Facts(items, users), noise, focus=0.0)
                wanted = much if cycle > limit else 0.0
                found = default_focus(items, users, privacy, noise=noise)
                assert float(found) == wanted
        assert {
            float(default_focus(12, users, promised(noise), noise=noise)) for users in (30, 3000)
        } == {0.0, much}
