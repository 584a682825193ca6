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


@pytest.mark.parametrize("num_items", [2, 3, 4, 5])
def test_recurrence_has_the_mean_of_the_definition_exactly(num_items: int) -> None:
    for q in (Fraction(1, 2), Fraction(9, 10)):
        kernel = twins.exact_kernel(num_items, q)
        for law in twins.pair_transition(num_items, q).values():
            assert sum(chance * kernel[a][b] for (a, b), chance in law.items()) == 1


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


def test_linear_system_agrees_where_it_can() -> None:
    q = math.exp(-4.0 / 4)
    np.testing.assert_allclose(kernel64(5, 4.0), twins.solved_kernel(5, q), atol=1e-10)


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


def test_traced_epsilon_compiles_once_and_differentiates() -> None:
    traces = []

    @jax.jit
    def corner(epsilon: jax.Array) -> jax.Array:
        traces.append(1)
        return mallows.debiasing_kernel(4, epsilon)[0, 3]

    values = [float(corner(jnp.float32(epsilon))) for epsilon in (2.0, 3.0)]
    assert len(traces) == 1
    theta = np.array([2.0, 3.0]) / 3
    np.testing.assert_allclose(values, 1 / np.tanh(theta * 3), rtol=1e-5)
    slope = float(jax.grad(corner)(jnp.float32(2.0)))
    assert slope == pytest.approx(-1 / math.sinh(2.0) ** 2, rel=1e-4)


def test_refuses_what_rounding_has_spoilt() -> None:
    with pytest.raises(ValueError, match=r"enable 64-bit floats.*unbiased_ranks"):
        mallows.debiasing_kernel(8, jnp.float32(0.01))
    assert np.all(np.isfinite(kernel64(8, 0.01)))
    with (
        jax.enable_x64(True),
        pytest.raises(ValueError, match=r"too small to debias.*float64: use larger"),
    ):
        mallows.debiasing_kernel(50, jnp.float64(1.0))
    assert np.isnan(jax.jit(lambda e: mallows.debiasing_kernel(8, e))(jnp.float32(0.01))).any()
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="epsilon must be positive"):
            mallows.debiasing_kernel(3, bad)
    with pytest.raises(ValueError, match="num_items"):
        mallows.debiasing_kernel(0, 1.0)
