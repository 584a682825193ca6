"""The debiasing kernel: its definition, exactly; its proof, step by step; its precision; its refusals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import mallows
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
    variances = [float(mallows.debiasing_variance(5, epsilon)) for epsilon in (1.0, 2.0, 4.0, 8.0)]
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
        variance = float(mallows.debiasing_variance(m, jnp.float64(epsilon)))
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
