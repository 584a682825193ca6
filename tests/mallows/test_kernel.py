"""The debiasing kernel, unbiased ranks, and Laplace noise on ranks."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import mallows
from privrank_jax.mallows.kernel import mean_square
from privrank_jax.mallows.laplace import laplace_ranks
from tests.reference import debias as twins


def kernel64(num_items: int, epsilon: float) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(mallows.debiasing_kernel(num_items, jnp.float64(epsilon)))


@pytest.mark.parametrize(("num_items", "q"), [(2, 0.3), (5, 0.5), (9, 0.9)])
def test_kernel_is_the_exact_recurrence(num_items: int, q: float) -> None:
    exact = twins.exact_kernel(num_items, Fraction(q))
    epsilon = -math.log(q) * (num_items - 1)
    np.testing.assert_allclose(
        kernel64(num_items, epsilon), np.array(exact, float), rtol=1e-12, atol=1e-13
    )
    single = np.asarray(mallows.debiasing_kernel(num_items, jnp.float32(epsilon)))
    assert single.dtype == np.float32
    size = np.abs(np.array(exact, float)).max()
    np.testing.assert_allclose(single, np.array(exact, float), atol=2e-6 * size)


def test_printed_values() -> None:
    q = 0.6
    assert kernel64(2, -math.log(q))[0, 1] == pytest.approx((1 + q) / (1 - q), rel=1e-13)
    three = kernel64(3, -2 * math.log(q))
    assert three[0, 2] == pytest.approx((1 - q**3) / (1 + q**3), rel=1e-13)
    near = (1 + q**2) * (1 + q + q**2) / ((1 - q) * (1 + q**3))
    assert three[0, 1] == pytest.approx(near, rel=1e-13) == three[1, 2]
    variances = [
        float(mean_square(mallows.debiasing_kernel(5, epsilon), 5)) - 1
        for epsilon in (1.0, 2.0, 4.0, 8.0)
    ]
    assert variances == pytest.approx([171.8, 29.2, 3.4, 0.37], rel=0.02)


def test_mean_is_the_sign_and_variance_the_mean_square_for_more_items() -> None:
    m, epsilon = 9, 4.0
    law = twins.inserted_pairs(m, math.exp(-epsilon / (m - 1)))
    kernel = kernel64(m, epsilon)
    pairs = list(itertools.combinations(range(m), 2))
    means = [np.sum(law[:, :, c, d] * kernel) for c, d in pairs]
    np.testing.assert_allclose(means, 1, atol=1e-11)
    squares = [np.sum(law[:, :, c, d] * kernel**2) for c, d in pairs]
    with jax.enable_x64(True):
        variance = float(mean_square(mallows.debiasing_kernel(m, jnp.float64(epsilon)), m)) - 1
    assert variance == pytest.approx(np.mean(squares) - 1, rel=1e-11)


def test_row_sums_are_the_unbiased_ranks() -> None:
    m, epsilon = 12, 5.0
    with jax.enable_x64(True):
        ranks = np.asarray(mallows.unbiased_ranks(jnp.arange(m), jnp.float64(epsilon)))
    np.testing.assert_allclose(kernel64(m, epsilon).sum(axis=1), m - 1 - 2 * ranks, atol=1e-10)


def test_symmetries_and_limits() -> None:
    kernel = kernel64(8, 3.0)
    np.testing.assert_array_equal(kernel, -kernel.T)
    np.testing.assert_allclose(kernel, kernel[::-1, ::-1].T, rtol=1e-12)
    signs = np.sign(np.arange(8)[None] - np.arange(8)[:, None])
    np.testing.assert_array_equal(mallows.debiasing_kernel(8, math.inf), signs)
    np.testing.assert_allclose(mallows.debiasing_kernel(8, 1000.0), signs, atol=1e-6)
    assert mallows.debiasing_kernel(1, 1.0).tolist() == [[0.0]]


def test_what_rounding_has_spoilt_is_nan_where_traced() -> None:
    assert np.all(np.isfinite(kernel64(8, 0.01)))
    assert np.isnan(jax.jit(lambda e: mallows.debiasing_kernel(8, e))(jnp.float32(0.01))).any()


ORDERS = np.array(list(itertools.permutations(range(5))))
CENTERS = np.array([[0, 1, 2, 3, 4], [2, 4, 0, 3, 1]])


@pytest.fixture(scope="module")
def tables():
    """Probabilities ``(ε, center, output)`` of all rankings of 5, and their unbiased ranks, at three ε."""
    epsilons = jnp.array([0.03, 2.0, 40.0])
    each = jax.vmap(mallows.log_prob, in_axes=(0, None, None))
    both = jax.vmap(each, in_axes=(None, 0, None))
    chance = jnp.exp(jax.vmap(both, in_axes=(None, None, 0))(ORDERS, CENTERS, epsilons))
    rows = jax.vmap(mallows.unbiased_ranks, in_axes=(0, None))
    return epsilons, chance, jax.vmap(rows, in_axes=(None, 0))(ORDERS, epsilons)


def test_the_mean_is_the_users_own_rank(tables):
    _, chance, found = tables
    np.testing.assert_allclose(
        jnp.einsum("eco,eoi->eci", chance, found),
        np.broadcast_to(CENTERS, (3, 2, 5)),
        rtol=0,
        atol=1e-9,
    )


def test_limits_and_missing_items():
    np.testing.assert_allclose(mallows.unbiased_ranks([2, 0, 1], jnp.inf), [2, 0, 1])
    part = mallows.unbiased_ranks([2, -1, 0, 1, -7], 3.0)
    np.testing.assert_allclose(part[jnp.array([0, 2, 3])], mallows.unbiased_ranks([2, 0, 1], 3.0))
    assert np.isnan(part[jnp.array([1, 4])]).all()
    assert mallows.unbiased_ranks([0], 0.1).tolist() == [0.0]
    assert mallows.unbiased_ranks([1, 0], jnp.float32(1)).dtype == jnp.float32
    assert mallows.unbiased_ranks(np.uint8([1, 0]), 9.0)[0] > 0.9  # -1 is not an unsigned number
    wide = mallows.unbiased_ranks(np.arange(1000), jnp.float32(1e-3))
    np.testing.assert_allclose(wide + wide[::-1], 999.0, atol=40)  # of values up to 7e6


def test_scale_is_two_places_for_every_other_item(key):
    """Mean |noise| is the scale and its standard deviation too: within five standard errors, for users of two sizes."""
    centers = jnp.array([[2, 0, 1, 3], [1, -1, -1, 0]])
    epsilon = jnp.array([3.0, 0.5])
    keys = jax.random.split(key, (5000, 2))
    noisy = jax.vmap(jax.vmap(laplace_ranks), (0, None, None))(keys, centers, epsilon)
    size = np.abs(np.asarray(noisy - centers))
    for user, scale in enumerate((2 * 3 / 3.0, 2 * 1 / 0.5)):
        mine = size[:, user][:, np.asarray(centers[user]) >= 0]
        assert abs(mine.mean() - scale) < 5 * scale / np.sqrt(mine.size)
        assert abs((mine**2).mean() - 2 * scale**2) < 5 * np.sqrt(20 / mine.size) * scale**2
    assert np.isnan(size[:, 1, 1:3]).all()
